"""Counts the mistakes that answers add: `miniserve-training added CORPUS...`.

Held-out sentences are broken in one to three places. An answer adds a mistake where it differs from the right sentence
in a way in which the broken one did not, and which is itself a mistake that the training's rules make there: "where
does he lives?" must not become "where he live?". Mistakes that no rule knows are not seen.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click

from api.grammar.verbs import VerbTable
from api.grammar.words import split_pieces
from miniserve_training.text.corpus import TaggedSentence, read_corpus
from miniserve_training.text.edits import with_mistake
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.maker import ExampleMaker
from miniserve_training.text.view import Candidate
from ops.evaluation.product import ProductCorrector
from scheduler.settings import Settings

_MOST_MISTAKES = 3
_MOST_ROUNDS = 10  # over the held-out sentences, each time with other mistakes

Difference = tuple[int, int, tuple[str, ...]]  # the words of the right sentence that others stand for


class Broken(NamedTuple):
    """A right sentence, what was made of it, and every other mistake that the rules know for it."""

    right: str
    sentence: str
    others: frozenset[Difference]


def break_sentences(sentences: Sequence[TaggedSentence], maker: ExampleMaker, rng: random.Random) -> Iterator[Broken]:
    """Each sentence that can be broken, once."""
    for sentence in sentences:
        candidates = maker.candidates(sentence)
        if not candidates:
            continue
        chosen: list[Candidate] = []
        for one in rng.sample(candidates, min(len(candidates), rng.randint(1, _MOST_MISTAKES))):
            if all(one.end < other.start or other.end < one.start for other in chosen):
                chosen.append(one)
        text = broken = sentence.text
        for one in sorted(chosen, key=lambda one: -one.start):
            broken = with_mistake(broken, one)
        made, others = (
            frozenset().union(*(differences(text, with_mistake(text, one)) for one in mistakes))
            for mistakes in (chosen, candidates)
        )
        yield Broken(sentence.text, broken, others - made)


def added(broken: Broken, answer: str) -> frozenset[Difference]:
    """The mistakes of the answer that the broken sentence did not have."""
    return (differences(broken.right, answer) & broken.others) - differences(broken.right, broken.sentence)


def differences(right: str, other: str) -> frozenset[Difference]:
    """Where the other differs, in words: each by itself where as many stand for as many."""
    left, words = ([piece.text for piece in split_pieces(text)] for text in (right, other))
    found: set[Difference] = set()
    for kind, i, j, u, v in SequenceMatcher(a=left, b=words, autojunk=False).get_opcodes():
        if kind == "replace" and j - i == v - u:
            found |= {(i + at, i + at + 1, (words[u + at],)) for at in range(j - i)}
        elif kind != "equal":
            found.add((i, j, tuple(words[u:v])))
    return frozenset(found)


@click.command()
@click.argument("corpora", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
@click.option("--sentences", "num_sentences", default=20_000, show_default=True, help="How many to break.")
def main(corpora: tuple[Path, ...], num_sentences: int) -> None:
    """Print the answers with a new mistake, and how many they are."""
    sentences = read_corpus(corpora)
    lexicon = Lexicon.build(VerbTable.load(), sentences)
    held_out = [sentence for sentence in sentences if sentence.is_held_out]
    maker, rng = ExampleMaker(VerbTable.load(), held_out, lexicon=lexicon), random.Random(0)
    again = (one for _ in range(_MOST_ROUNDS) for one in break_sentences(held_out, maker, rng))
    broken = list(islice(again, num_sentences))
    answers = ProductCorrector(Settings.from_env(os.environ))([one.sentence for one in broken])
    num_added = num_malformed = 0
    for one, answer in zip(broken, answers, strict=True):
        num_malformed += answer.num_malformed
        if added(one, answer.corrected):
            num_added += 1
            click.echo(f"{one.sentence}\n  became {answer.corrected}\n  right: {one.right}")
    click.echo(f"{num_added} of {len(broken)} answers add a mistake; {num_malformed} malformed outputs")
