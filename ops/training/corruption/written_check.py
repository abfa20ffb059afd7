"""Tells what is wrong with files of written sentences: `python -m ops.training.corruption.written_check FILE...`.

A line is at fault if it cannot be parsed, if a correction of it is one the guard refuses, if it is too long, or if it
stands among the held-out sentences.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from api.guard import Guard
from api.verb_words import VerbWords
from api.verbs import VerbTable
from api.words import count_words, split_pieces
from ops.training.corruption.edits import edits_of
from ops.training.corruption.view import Candidate
from ops.training.corruption.written import MOST_WORDS, WrittenLine, parse

_NOT_A_LETTER = re.compile(r"[^a-z]+")
_NUM_DRAWS = 40  # of a line


def faults(text: str, guard: Guard, held_out: frozenset[str], num_draws: int = _NUM_DRAWS) -> Iterator[str]:
    """What is wrong with a line; nothing if all is well."""
    try:
        line = parse(text)
        drawn = [line.draw(random.Random(seed)) for seed in range(num_draws)]
    except ValueError as error:
        yield str(error)
        return
    for right, broken in drawn:
        if count_words(right) > MOST_WORDS:
            yield f"more than {MOST_WORDS} words"
        for candidate in (one for options in broken for one in options):
            yield from _faults_of_mistake(right, candidate, guard, held_out)
        if letters(right) in held_out:
            yield f"is among the held-out sentences: {right}"


def _faults_of_mistake(right: str, candidate: Candidate, guard: Guard, held_out: frozenset[str]) -> Iterator[str]:
    wrong = right[: candidate.start] + candidate.wrong + right[candidate.end :]
    if letters(wrong) in held_out:
        yield f"is among the held-out sentences: {wrong}"
    words = [piece.text for piece in split_pieces(wrong) if piece.word_number is not None]
    for edit in edits_of(right, [candidate]):
        old, new = words[edit.word : edit.word + edit.num_words], edit.replacement.split(" ")
        previous = words[edit.word - 1] if edit.word else None
        is_refused = not guard.allows(old, new, edit.reason) or guard.is_noun(old[0], previous, edit.reason)
        if is_refused:
            yield f"the guard refuses {' '.join(old)!r} -> {edit.replacement!r} as {edit.reason.value}"


def letters(text: str) -> str:
    """A sentence as far as two may be called the same."""
    return _NOT_A_LETTER.sub(" ", text.lower()).strip()


def held_out_letters(folder: Path) -> frozenset[str]:
    """The sentences of a folder's `.jsonl` files, as far as two may be called the same."""
    items = (json.loads(line) for path in folder.glob("*.jsonl") for line in path.open(encoding="utf-8"))
    return frozenset(letters(text) for item in items for text in (item["sentence"], item["corrected"]))


def _show(lines: list[WrittenLine], num_shown: int) -> None:
    rng = random.Random()
    for line in rng.sample(lines, min(num_shown, len(lines))):
        right, broken = line.draw(rng)
        options = [one for options in broken for one in options]
        if options:
            one = rng.choice(options)
            print(f"{right[: one.start]}*{one.wrong}*{right[one.end :]}\n   {one.reason.value}: ", end="")
        print(right)


def main() -> int:
    """Print faults, counts and, where asked, examples; the exit status is 1 if there is a fault."""
    parser = argparse.ArgumentParser(description="Check files of written training sentences.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N random examples")
    parser.add_argument("--held-out", type=Path, default=Path("tests/heldout"), help="folder of sentences to avoid")
    options = parser.parse_args()
    guard, held_out = Guard(VerbWords(VerbTable.load())), held_out_letters(options.held_out)
    counts, good, num_faulty = Counter(), [], 0
    for path in options.files:
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not text.strip() or text.startswith("#"):
                continue
            found = list(dict.fromkeys(faults(text, guard, held_out)))
            num_faulty += bool(found)
            for fault in found:
                print(f"{path.name}:{number}: {fault}")
            if not found:
                good.append(parse(text))
                counts.update(
                    reason for place in good[-1].places for variant in place.variants[:1] for reason, _ in variant.wrong
                )
    _show(good, options.show)
    for reason, count in counts.most_common():
        print(f"{count:5d} {reason.value}")
    print(f"{len(good)} good lines ({sum(not line.can_break for line in good)} right only), {num_faulty} with faults")
    return 1 if num_faulty else 0


if __name__ == "__main__":
    sys.exit(main())
