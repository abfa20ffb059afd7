"""What the generator makes of a corpus: `python -m ops.training.text.corpus_table CORPUS... > docs/training/corpus.md`.

Counts per reason with an example, where right sentences come from, and how long everything is.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from ops.training.text.corpus import is_held_out, read_corpus
from ops.training.text.maker import Example, ExampleMaker
from ops.training.text.written import lines as written

NUM_EXAMPLES = 200_000
_SEED = 0
# Shown in the table: what the generator put together from short phrases, and text that is free of any condition.
_FREE_SOURCES = ("made", "commonvoice")
# The sources, or how their names begin, and whose text that is: some licences ask that it is said.
_LICENCES = {
    "tanaka": "Tanaka corpus, as in graded-enja-corpus by marmooo, CC BY-SA 4.0; the text is of Tatoeba, CC BY 2.0 FR",
    "tatoeba": "tatoeba.org, CC BY 2.0 FR",
    "commonvoice": "Mozilla Common Voice sentences, CC0 1.0",
    "masc": "Manually Annotated Sub-Corpus of the American National Corpus, free for research and products",
    "state-union": "State of the Union addresses, US public domain",
    "inaugural": "inaugural addresses, US public domain",
    "made": "written by the generator with words and phrases of the text above",
    "frames": "written by the generator with verb phrases of the text above",
    "fragment": "noun phrases cut out of the text above",
    "hard": "written for this project",
    "written": "written for this project",
}
_LONGEST_SHOWN = 60  # characters
_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64)  # upper bounds of the bins, in words


@dataclass(slots=True)
class Tally:
    """Counts over drawn examples."""

    num_examples: int = 0
    edits: Counter[Reason] = field(default_factory=Counter)
    num_edits: Counter[int] = field(default_factory=Counter)  # edits in a sentence
    clean_sources: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  # upper bound of the bin
    shown: dict[Reason, Example] = field(default_factory=dict)

    def add(self, example: Example) -> None:
        """Count one example."""
        self.num_examples += 1
        self.num_edits[len(example.edits)] += 1
        num_words = count_words(example.sentence)
        self.lengths[next((bound for bound in _LENGTHS if num_words <= bound), _LENGTHS[-1])] += 1
        for edit in example.edits:
            self.edits[edit.reason] += 1
        if not example.edits:
            self.clean_sources[example.source] += 1
        elif len(example.edits) == 1 and example.source in _FREE_SOURCES and _is_plain(example):
            self.shown.setdefault(example.edits[0].reason, example)


def tally(examples: Iterable[Example]) -> Tally:
    """All of them counted."""
    counts = Tally()
    for example in examples:
        counts.add(example)
    return counts


def corpus_page(counts: Tally, in_index: dict[Reason, int]) -> Iterator[str]:
    """Lines of the page in Markdown."""
    yield "# What the generator makes"
    yield ""
    command = "python -m ops.training.text.corpus_table CORPUS..."
    yield f"Of {counts.num_examples:,} examples (seed {_SEED}), by `{command}`."
    yield "*Sentences* allow the mistake (rewritten ones included), *share* is of the mistakes drawn."
    yield ""
    yield from _reasons_table(counts, in_index)
    yield from _shares("Mistakes in a sentence", counts.num_edits, counts.num_examples)
    yield from _shares("Source of the right sentences", counts.clean_sources, counts.num_edits[0])
    bounds = {f"{low + 1} to {high}": counts.lengths[high] for low, high in zip((0, *_LENGTHS), _LENGTHS, strict=False)}
    yield from _shares("Words in a sentence", bounds, counts.num_examples)
    yield ""
    yield "| Source | whose text, and its licence |"
    yield "|---|---|"
    yield from (f"| {source} | {licence} |" for source, licence in _LICENCES.items())


def _reasons_table(counts: Tally, in_index: dict[Reason, int]) -> Iterator[str]:
    yield "| reason | sentences | share | example |"
    yield "|---|---|---|---|"
    total = max(1, counts.edits.total())
    for reason in Reason:
        example = counts.shown.get(reason)
        shown = f"{example.sentence} -> {example.corrected}" if example else ""
        yield (f"| `{reason.value}` | {in_index.get(reason, 0):,} | {counts.edits[reason] / total:.1%} "
               f"| {shown.replace('|', '')} |")  # fmt: skip


def _shares(title: str, counts: dict[object, int], total: int) -> Iterator[str]:
    yield ""
    yield f"| {title} | share |"
    yield "|---|---|"
    rows = sorted(counts.items(), key=lambda row: -row[1]) if isinstance(counts, Counter) else counts.items()
    yield from (f"| {name} | {count / max(1, total):.1%} |" for name, count in rows)


def _is_plain(example: Example) -> bool:
    """Fit for a table: short, whole, and nothing unusual in it."""
    sentence = example.sentence
    return sentence.isascii() and len(sentence) <= _LONGEST_SHOWN and sentence[0].isupper() and sentence[-1] in ".?"


def main() -> None:
    """Print the page; the corpora are the arguments."""
    corpora = [Path(name) for name in sys.argv[1:]]
    if not corpora:
        raise SystemExit("usage: python -m ops.training.text.corpus_table CORPUS...")
    sentences = [sentence for sentence in read_corpus(corpora) if not is_held_out(sentence.text)]
    with tqdm(total=NUM_EXAMPLES, unit="ex", desc="index") as bar:
        maker = ExampleMaker(VerbTable.load(), sentences, written=written.load())
        in_index = maker.reason_counts()
        bar.set_description("examples")
        counts = Tally()
        for example in itertools.islice(maker.stream(_SEED), NUM_EXAMPLES):
            counts.add(example)
            bar.update()
    print("\n".join(corpus_page(counts, in_index)))


if __name__ == "__main__":
    main()
