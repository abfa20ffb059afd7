"""Finds what is wrong with files of written sentences: `miniserve-training check-lines FILE...`.

A line is at fault if it cannot be parsed, if a correction of it is one the guard refuses, if it is too long, or if it
stands among the held-out sentences.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from pathlib import Path

import click

from api.grammar.guard import Guard
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words, split_pieces
from miniserve_training.text.edits import apply_edits, edits_of, with_mistake
from miniserve_training.text.view import Candidate
from miniserve_training.text.written.lines import is_line, parse
from scheduler.messages import MAX_WORDS

_NOT_A_LETTER = re.compile(r"[^a-z]+")
_HELD_OUT = Path(__file__).parents[5] / "tests" / "heldout"
_NUM_DRAWS = 40  # of a line


def faults(text: str, guard: Guard, held_out: HeldOutSentences, num_draws: int = _NUM_DRAWS) -> Iterator[str]:
    """What is wrong with a line; nothing if all is well."""
    try:
        line = parse(text)
        drawn = [line.draw(random.Random(seed)) for seed in range(num_draws)]
    except ValueError as error:
        yield str(error)
        return
    for right, broken in drawn:
        if count_words(right) > MAX_WORDS:
            yield f"more than {MAX_WORDS} words"
        for candidate in (one for options in broken for one in options):
            yield from _faults_of_mistake(right, candidate, guard)
        if held_out.is_near(right):
            yield f"is a held-out sentence, but for two words at most: {right}"


def _faults_of_mistake(right: str, candidate: Candidate, guard: Guard) -> Iterator[str]:
    wrong = with_mistake(right, candidate)
    pieces = [piece for piece in split_pieces(wrong) if piece.word_number is not None]
    place = pieces[candidate.first : candidate.first + count_words(candidate.wrong)]
    if not place or (place[0].start, wrong[place[0].start : place[-1].end]) != (candidate.start, candidate.wrong):
        yield f"the brace of {candidate.wrong!r} stands inside a word"
        return
    words = [piece.text for piece in pieces]
    edits = edits_of(right, [candidate])
    if apply_edits(wrong, edits) != right:
        yield f"mending {candidate.wrong!r} does not give the right text back: is it a name that opens a sentence?"
        return
    changes = [(words[edit.word : edit.word + edit.num_words], edit.replacement.split(" ")) for edit in edits]
    before = words[edits[0].word - 1] if edits[0].word else None
    if len(changes) == 2 and guard.allows_move(*changes, candidate.reason, before):
        return
    for edit, (old, new) in zip(edits, changes, strict=True):
        previous = words[edit.word - 1] if edit.word else None
        if not guard.allows(old, new, edit.reason) or guard.is_noun(old[0], previous, edit.reason):
            yield f"the guard refuses {' '.join(old)!r} -> {edit.replacement!r} as {edit.reason.value}"


class HeldOutSentences:
    """The sentences kept for evaluation, and what is nearly one of them; the order of words and marks do not count."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._signatures = frozenset(signature for text in texts for signature in _signatures(text))

    @classmethod
    def of_folder(cls, folder: Path) -> HeldOutSentences:
        """Those of the `.jsonl` files, right and wrong ones."""
        items = (json.loads(line) for path in folder.glob("*.jsonl") for line in path.open(encoding="utf-8"))
        return cls(text for item in items for text in (item["sentence"], item["corrected"]))

    def is_near(self, text: str) -> bool:
        """Whether as many words as may differ would make the text one of them."""
        return not self._signatures.isdisjoint(_signatures(text))


def _signatures(text: str) -> Iterator[tuple[str, ...]]:
    """Its words, sorted: all of them and without one of them, from 7 words on without two."""
    words = sorted(_NOT_A_LETTER.sub(" ", text.lower()).split())
    most_left_out = 0 if len(words) < 4 else 1 if len(words) < 7 else 2
    return chain.from_iterable(combinations(words, len(words) - number) for number in range(most_left_out + 1))


@click.command()
@click.argument("files", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
@click.option("--held-out", type=click.Path(exists=True, file_okay=False, path_type=Path),
              default=_HELD_OUT, help="Folder of sentences to avoid, if not tests/heldout.")  # fmt: skip
def main(files: tuple[Path, ...], held_out: Path) -> None:
    """Print the faults of FILES; the exit status is 1 if there is one."""
    guard, to_avoid = Guard(VerbWords(VerbTable.load())), HeldOutSentences.of_folder(held_out)
    num_faulty = 0
    for path in files:
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found = dict.fromkeys(faults(text, guard, to_avoid)) if is_line(text) else ()
            num_faulty += bool(found)
            for fault in found:
                click.echo(f"{path.name}:{number}: {fault}")
    raise SystemExit(num_faulty > 0)
