"""Natural text that no training sees, as evaluation files: `miniserve-training natural OUT CORPUS...`.

`natural.jsonl` is every 20th sentence as it stands, `natural-wrong.jsonl` the same with one mistake each, where the
rules can make one: for the figures. `calibration.jsonl` and `calibration-wrong.jsonl` are another tenth, and of the
other text the quarter that tunes: for the calibration. They hold nothing of Debian's documents, of which
too little has been read to tell a right edit from a wrong one. What the text itself has wrong is mended in what is
wanted, where somebody has read it: `real_mistakes.tsv` names the sentences by a hash. The files hold text of the corpus
and stay out of the repository.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import click

from api.grammar.verbs import VerbTable
from miniserve_training.text.corpus import TaggedSentence, read_corpus
from miniserve_training.text.edits import with_mistake
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.maker import ExampleMaker
from miniserve_training.text.tables import texts
from ops.evaluation.items import Item, write_items


def with_one_mistake(sentences: Sequence[TaggedSentence], lexicon: Lexicon) -> Iterator[Item]:
    """Each sentence that can be broken, once, the same at every call; a reason is as likely as any other it allows."""
    maker, rng = ExampleMaker(VerbTable.load(), sentences, lexicon=lexicon), random.Random(0)
    for sentence in sentences:
        candidates = maker.candidates(sentence)
        if candidates:
            reason = rng.choice(list(dict.fromkeys(one.reason for one in candidates)))
            mistake = rng.choice([one for one in candidates if one.reason is reason])
            yield Item(with_mistake(sentence.text, mistake), as_meant(sentence.text), (reason,))


def as_meant(text: str) -> str:
    """A sentence without the real mistakes of its verbs that were found by eye."""
    name = blake2b(text.encode(), digest_size=8).hexdigest()
    for place in reversed(texts("real_mistakes", name)):
        start, end, new = place.split(" ", 2)
        text = text[: int(start)] + new + text[int(end) :]
    return text


CALIBRATION = ("calibration.jsonl", "calibration-wrong.jsonl")


def write_files(out: Path, corpora: Iterable[Path]) -> None:
    """Write the four files into the folder."""
    sentences = read_corpus(corpora)
    lexicon = Lexicon.build(VerbTable.load(), sentences)
    held_out = [sentence for sentence in sentences if sentence.is_held_out]
    measured = [sentence for sentence in held_out if sentence.is_natural and sentence.is_for_test]
    others = [one for one in held_out if not one.is_for_test and not one.source.startswith("debian-")]
    tenth = [sentence for sentence in others if sentence.is_natural]
    out.mkdir(parents=True, exist_ok=True)
    for name, right, broken in (("natural", measured, measured), ("calibration", others, tenth)):
        write_items((Item(sentence.text, as_meant(sentence.text)) for sentence in right), out / f"{name}.jsonl")
        write_items(with_one_mistake(broken, lexicon), out / f"{name}-wrong.jsonl")


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.argument("corpora", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
def main(out: Path, corpora: tuple[Path, ...]) -> None:
    """Write the four files into the folder OUT."""
    write_files(out, corpora)
