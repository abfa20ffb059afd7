"""Sentences generated for the training, with the places where they can be broken: the files of `sentences/`.

    [My uncle/The nurse] {has worked|perfect_tense:works} here since [May/2015].

`[a/b]` is a free choice. In `{right|reason:wrong|reason:wrong}` the right text comes first; `/` inside braces parts
parallel lists, of which one place is drawn. A line without braces is right and tempting. `miniserve
training check-lines FILE...` says what is wrong with a file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from api.grammar.reasons import Reason
from api.grammar.words import count_words, split_pieces
from miniserve_training.text.corpus import TaggedSentence, TaggedToken, is_held_out
from miniserve_training.text.edits import parts
from miniserve_training.text.view import Candidate
from miniserve_training.text.written.swaps import Swaps, swapped

FOLDER = Path(__file__).with_name("sentences")
HELD_OUT_PER_MILLE = 40
# A line of short frames stands for dozens of sentences by its choices, so it is drawn as often as so many lines; those
# of kinds that weights which shipped had wrong, more often, and the newest, which no weights have seen.
_DRAWS = {"frames_": 40, "kinds_": 120, "wave8_": 6}
_SECOND_MISTAKE_SHARE = 0.5  # of the other places of a broken line
_PART = re.compile(r"\[([^\[\]{}]*)\]|\{([^{}\[\]]*)\}|([^\[\]{}]+)")


class Variant(NamedTuple):
    """One way to write a place: the right text, and the wrong ones with what a teacher says of them."""

    right: str
    wrong: tuple[tuple[Reason, str], ...]


class Place(NamedTuple):
    """A part of a line; plain text is a place with one variant that has no wrong text."""

    variants: tuple[Variant, ...]

    @property
    def can_break(self) -> bool:
        return bool(self.variants[0].wrong)

    def swapped(self, others: dict[str, str]) -> Place:
        return Place(
            tuple(
                Variant(
                    swapped(one.right, others), tuple((reason, swapped(text, others)) for reason, text in one.wrong)
                )
                for one in self.variants
            )
        )


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """One line of a file."""

    places: tuple[Place, ...]

    @property
    def can_break(self) -> bool:
        return any(place.can_break for place in self.places)

    def swapped(self, others: dict[str, str]) -> WrittenLine:
        """The same line with other words, in what is right and what is wrong."""
        return WrittenLine(tuple(place.swapped(others) for place in self.places)) if others else self

    def words_in(self, swaps: Swaps) -> frozenset[str]:
        """The words of its right texts that others may stand for."""
        return frozenset().union(*(swaps.words_in(one.right) for place in self.places for one in place.variants))

    def draw(self, rng: random.Random) -> tuple[str, list[list[Candidate]]]:
        """A right sentence, and for every place that can be broken its wrong versions."""
        text, broken = "", []
        for place in self.places:
            variant = rng.choice(place.variants)
            # An empty choice leaves its blanks behind.
            right = variant.right.lstrip(" ") if text[-1:] in ("", " ") else variant.right
            if right[:1] in (",", ".", "?", "!", ";", ":"):
                text = text.rstrip(" ")
            if variant.wrong:
                broken.append([_candidate(text, right, wrong, reason) for reason, wrong in variant.wrong])
            text += right
        return text, broken


_Swappable = tuple[WrittenLine, frozenset[str]]


class Written:
    """Draws sentences from lines."""

    def __init__(self, lines: Sequence[WrittenLine], small_words: frozenset[str], swaps: Swaps) -> None:
        """`small_words`: what text has in small letters; any other word at the beginning is taken for a name."""
        self._lines = [(line, line.words_in(swaps)) for line in lines]
        self._breakable = [(line, words) for line, words in self._lines if line.can_break]
        self._small_words = small_words
        self._swaps = swaps

    def right(self, rng: random.Random) -> TaggedSentence:
        """A right sentence."""
        return self._tagged(self._draw(self._lines, rng)[0])

    def wrong(self, rng: random.Random) -> tuple[TaggedSentence, list[Candidate]]:
        """A sentence and the mistakes to make in it, at least one, in order."""
        text, broken = self._draw(self._breakable, rng)
        first = rng.randrange(len(broken))
        chosen = [
            rng.choice(options)
            for number, options in enumerate(broken)
            if number == first or rng.random() < _SECOND_MISTAKE_SHARE
        ]
        return self._tagged(text), chosen

    def _draw(self, lines: Sequence[_Swappable], rng: random.Random) -> tuple[str, list[list[Candidate]]]:
        line, words = rng.choice(lines)
        return line.swapped(self._swaps.draw(words, rng)).draw(rng)

    def _tagged(self, text: str) -> TaggedSentence:
        """With tags that say no more than the surface asks: is the first word a name?"""
        words = [piece.text for piece in split_pieces(text) if piece.word_number is not None]
        tags = ["" if words[0].lower() in self._small_words else "NNP", *[""] * (len(words) - 1)]
        tokens = (TaggedToken(word, tag, number) for number, (word, tag) in enumerate(zip(words, tags, strict=True)))
        return TaggedSentence("written", text, tuple(tokens))


def load(folder: Path = FOLDER, *, held_out: bool = False) -> list[WrittenLine]:
    """The lines to train on, or the 4 % kept to choose the bias of <eos> by. Raises ValueError for a faulty file."""
    return [
        line
        for path in sorted(folder.glob("*.txt"))
        for line in [*read(path, HELD_OUT_PER_MILLE, held_out=held_out)] * (1 if held_out else _draws(path.name))
    ]


def _draws(name: str) -> int:
    return next((draws for beginning, draws in _DRAWS.items() if name.startswith(beginning)), 1)


def read(path: Path, per_mille: int = 0, *, held_out: bool = False) -> Iterator[WrittenLine]:
    """The lines of a file but the share held out, or that share alone. Raises ValueError for a faulty one."""
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if is_line(text) and is_held_out(text, per_mille) is held_out:
            try:
                yield parse(text)
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from None


def is_line(text: str) -> bool:
    """Whether it is a sentence, and neither a heading nor empty."""
    return bool(text.strip()) and not text.startswith("#")


def parse(text: str) -> WrittenLine:
    """A line as its places. Raises ValueError telling the fault."""
    text = text.strip()
    if "".join(match.group() for match in _PART.finditer(text)) != text:
        raise ValueError("brackets or braces that do not match, or stand inside each other")
    places = []
    for match in _PART.finditer(text):
        choice, group, plain = match.groups()
        if choice is not None:
            places.append(Place(tuple(Variant(each, ()) for each in choice.split("/"))))
        elif group is not None:
            places.append(_parse_group(group))
        elif "|" in plain or "/" in plain:
            raise ValueError(f"| and / belong into brackets or braces: {plain!r}")
        else:
            places.append(Place((Variant(plain, ()),)))
    return WrittenLine(tuple(places))


def _parse_group(group: str) -> Place:
    right, *wrong = group.split("|")
    if not wrong:
        raise ValueError(f"{{{group}}} has no wrong version")
    rights = right.split("/")
    columns: list[list[tuple[Reason, str]]] = [[] for _ in rights]
    for each in wrong:
        slug, colon, versions = each.partition(":")
        if not colon:
            raise ValueError(f"{each!r} lacks its reason, as in past_tense:go")
        texts = versions.split("/")
        if len(texts) != len(rights):
            raise ValueError(f"{each!r} has {len(texts)} versions for {len(rights)} right ones")
        for column, right_text, wrong_text in zip(columns, rights, texts, strict=True):
            mistake = (Reason(slug.strip()), wrong_text.strip())
            _candidate("", right_text.strip(), mistake[1], mistake[0])  # tells faults now rather than when it is drawn
            column.append(mistake)
    return Place(tuple(Variant(one.strip(), tuple(column)) for one, column in zip(rights, columns, strict=True)))


def _candidate(before: str, right: str, wrong: str, reason: Reason) -> Candidate:
    """The words in which right and wrong differ, at least one on either side. Raises ValueError for too many."""
    rights, wrongs, num_before = _differing(right.split(" "), wrong.split(" "))
    if rights == wrongs:
        raise ValueError(f"{wrong!r} is no other text than the right one")
    parts(wrongs, rights)
    start = len(before) + sum(len(word) + 1 for word in right.split(" ")[:num_before])
    right, wrong = " ".join(rights), " ".join(wrongs)
    if count_words(right) != len(rights) or count_words(wrong) != len(wrongs):
        raise ValueError(f"{right!r} or {wrong!r} is empty, or holds more than words")
    return Candidate(reason, "", count_words(before) + num_before, len(rights), wrong, start, start + len(right))


def _differing(right: list[str], wrong: list[str]) -> tuple[list[str], list[str], int]:
    """Both without the words they share at the ends, and how many were dropped at the beginning.

    What stays has a verb: "not like" is kept together, for "not" alone is none.
    """
    num_before = 0
    while len(right) > 1 and len(wrong) > 1 and right[0] == wrong[0]:
        right, wrong, num_before = right[1:], wrong[1:], num_before + 1
    while len(right) > 1 and len(wrong) > 1 and right[-1] == wrong[-1] and wrong[:-1] != ["not"]:
        right, wrong = right[:-1], wrong[:-1]
    return right, wrong, num_before
