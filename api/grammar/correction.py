"""The answer for a text: its edits, what they make of it, and notes on what was left unread or left out.

`put_together` is the one place where the answers for sentences become that of a text, with places in the text as sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from api.grammar.language import (
    ENGLISH,
    NOT_ENGLISH,
    PARTLY_ENGLISH,
    Language,
    are_foreign,
    language_of,
    nothing_found,
    seems_english,
)
from api.grammar.reading import Reading
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Prompt

_LONG_LINK = 80  # characters; as many random ones would take some 90 of the 128 tokens of a sentence
_LINK_IS_SKIPPED = "The sentence is read with one word in the place of this link, address or long word."


class NoteCode(StrEnum):
    """Names what a note is about; its value is the code in the answer."""

    NOT_ENGLISH = "not-english"
    TOO_LONG = "too-long"
    LEFT_OUT = "left-out"
    MORE_POSSIBLE = "more-possible"
    LINK_SKIPPED = "link-skipped"


class Note(NamedTuple):
    """Says of [start, end) of the text what was not done there, and why, in words."""

    code: NoteCode
    start: int
    end: int
    detail: str


@dataclass(slots=True)
class Edit:
    """Replaces `original`, which stands at [start, end) of the text in code points, by `replacement`."""

    start: int
    end: int
    original: str
    replacement: str
    reason: Reason
    explanation: str
    confidence: float = 1.0  # how often such edits are right in natural text
    verb: str = field(default="", compare=False)  # one of the table; '' where it is not certain
    # What the confidence is made of, for evaluations only: that of the model, and the log-odds that evidence adds.
    model_confidence: float = field(default=1.0, compare=False)
    evidence: float = field(default=0.0, compare=False)


@dataclass(slots=True)
class Correction:
    """Holds the answer for one text."""

    corrected: str
    edits: tuple[Edit, ...]
    explanation: str
    num_dropped: int  # edits of the model that made no sense
    # For evaluations only: different outputs may give the same answer.
    num_malformed: int = field(default=0, compare=False)  # of those dropped: by the parser, not by the guard
    language: Language = field(default=Language(ENGLISH, 0.5), compare=False)
    notes: tuple[Note, ...] = field(default=(), compare=False)  # in the order of the text


@dataclass(slots=True)
class Part:
    """Holds the answer for a sentence, with places in the sentence as it is read, which begins at `start`."""

    start: int
    sentence: str
    language: Language
    edits: Sequence[Edit]
    notes: Sequence[Note]
    num_dropped: int  # edits that made no sense
    num_malformed: int  # of those dropped: by the parser


Steps = Callable[[Iterable[Any]], Iterable[Any]]  # the same items, with a pause behind every few of them


def put_together(reading: Reading, parts: Sequence[Part], skipped: Sequence[Note], in_steps: Steps) -> Correction:
    """Return the answer for a text from those for its sentences and the notes on the sentences that were not read."""
    edits: list[Edit] = []
    notes = [*skipped]
    num_dropped = num_malformed = 0
    for part in in_steps(parts):
        for edit in part.edits:
            edits.append(edit_as_sent(reading, part.start, edit))
        for note in part.notes:
            notes.append(_moved(note, part.start))
        num_dropped += part.num_dropped
        num_malformed += part.num_malformed
    is_alone = len(parts) == 1 and not skipped
    language = parts[0].language if is_alone else language_of(reading.text)
    doubtful, are_noted = ([], False) if is_alone else _doubtful(reading, parts, skipped, in_steps)
    is_doubtful = not language.is_english
    if is_doubtful and edits:  # what was corrected is English
        language = language_of(" ".join([part.sentence for part in parts if part.edits]))
    if are_noted or is_doubtful:
        places = [(start, start + len(text)) for start, text in doubtful] or [(0, len(reading.text))]
        notes += [Note(NoteCode.NOT_ENGLISH, *place, "It seems not to be English.") for place in places]
    if notes:
        notes = [note._replace(start=reading.place(note.start), end=reading.end(note.end)) for note in notes]
        notes.sort(key=lambda note: note.start)
    if edits:
        said = [edit.explanation for edit in edits]
    else:
        said = [nothing_found(language, sum([note.code is NoteCode.LEFT_OUT for note in notes]))]
    if (are_noted or is_doubtful) and said != [NOT_ENGLISH]:
        said.append(PARTLY_ENGLISH)
    said += _unread(len(skipped))
    corrected = _applied(reading.sent, in_steps(edits))
    if (to_unit := reading.to_unit) is not None:
        edits = [in_units(edit, to_unit) for edit in in_steps(edits)]
        notes = [note._replace(start=to_unit(note.start), end=to_unit(note.end)) for note in notes]
    return Correction(
        corrected,
        tuple(edits),
        " ".join(said),
        num_dropped,
        num_malformed,
        language,
        tuple(notes),
    )


def _doubtful(
    reading: Reading, parts: Sequence[Part], skipped: Sequence[Note], in_steps: Steps
) -> tuple[list[tuple[int, str]], bool]:
    """Return the sentences that seem not to be English, with their places, and whether they are worth a note.

    A few words of another language are not, unless edits are withheld because of them.
    """
    foreign = [part for part in parts if not part.language.is_english]
    unread = [(note.start, reading.text[note.start : note.end]) for note in in_steps(skipped)]
    doubtful = [(part.start, part.sentence) for part in foreign]
    doubtful += [(start, text) for start, text in unread if not seems_english(text)]
    are_noted = any(part.num_dropped for part in foreign) or are_foreign([text for _, text in doubtful])
    return doubtful, are_noted


def in_units(edit: Edit, to_unit: Callable[[int], int]) -> Edit:
    """Return an edit with its place in other units."""
    return replace(edit, start=to_unit(edit.start), end=to_unit(edit.end))


def edit_as_sent(reading: Reading, offset: int, edit: Edit) -> Edit:
    """Return an edit of a sentence that begins at `offset` as one of the text as sent."""
    if reading.text is reading.sent:
        return replace(edit, start=edit.start + offset, end=edit.end + offset) if offset else edit
    start, end = reading.span(edit.start + offset, edit.end + offset)
    new = edit.replacement.replace("'", reading.apostrophe(start, end))
    return replace(edit, start=start, end=end, original=reading.sent[start:end], replacement=new)


def left_out(edit: Edit, min_confidence: float) -> Note:
    """Return the note on an edit that is less certain than asked."""
    detail = f"An edit with a confidence of {edit.confidence:g}, under min_confidence {min_confidence}, was left out."
    return Note(NoteCode.LEFT_OUT, edit.start, edit.end, detail)


def notes_on_links(prompt: Prompt) -> tuple[Note, ...]:
    """Return notes on long links. A name takes the place of others without a note."""
    notes: list[Note] = []
    for number in prompt.links:
        start, length = prompt.starts[number], len(prompt.words[number])
        if length > _LONG_LINK:
            notes.append(Note(NoteCode.LINK_SKIPPED, start, start + length, _LINK_IS_SKIPPED))
    return tuple(notes)


def _moved(note: Note, by: int) -> Note:
    return note._replace(start=note.start + by, end=note.end + by)


def _unread(num_skipped: int) -> list[str]:
    if num_skipped < 2:
        return ["1 sentence is too long and was not read."] * num_skipped
    return [f"{num_skipped} sentences are too long and were not read."]


def _applied(text: str, edits: Iterable[Edit]) -> str:
    pieces, done = [], 0
    for edit in edits:  # the parser ensures that they are in order and do not overlap
        pieces += [text[done : edit.start], edit.replacement]
        done = edit.end
    return "".join([*pieces, text[done:]])
