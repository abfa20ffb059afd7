"""The agent: a text becomes prompts, one a sentence; the model's edit scripts become the corrected text with reasons.

Pure: no I/O, no clock. The API puts the queue between `prepare_text` and `conclude_text`, `miniserve correct` the model
itself. Whatever the model wrote, concluding never raises: an edit that makes no sense is dropped and counted, and all
of the text that no edit touches stays as it was, code point for code point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

from api.edit_facts import EditWords, FactFinder
from api.edit_script import ScriptEdit, TokenDecoder, parse_script
from api.explanations import NOTHING_WRONG, explain
from api.guard import Guard
from api.reasons import Reason
from api.sentences import find_sentences
from api.surface import dress
from api.tokenizer import Prompt, Tokenizer
from api.verb_words import VerbWords
from api.verbs import VerbTable
from api.words import Piece, count_words, split_pieces
from scheduler.errors import InvalidRequest, SentenceTooLong
from scheduler.messages import MAX_SENTENCES, MAX_WORDS

_LONG = 2_000  # characters; sentences of 64 words are far shorter, longer ones have their words counted first
# Of a sentence; no 64 words and no 128 tokens are as long. 250 kB without a blank would hold up everybody for 190 ms.
MAX_CHARACTERS = 8_000
# Of a request: 64 sentences of 64 long words. Whatever the text, cutting it takes 50 ms at most.
MAX_TEXT_CHARACTERS = 40_000
NOTHING_WRONG_ANYWHERE = "The sentences look correct: no verb mistakes found."
_LONGEST_MOVE = 10  # words
_MARK = re.compile(r"[^\w\s'\u2019-]")
_LONE_I = re.compile(r"\bi\b")  # also of I'm


class PromptTokenizer(TokenDecoder, Protocol):
    """The side of the tokenizer that the agent needs."""

    fingerprint: str

    def encode(self, sentence: str) -> Prompt: ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence on its way through the model."""

    sentence: str
    prompt: Prompt
    start: int = 0  # in the text, in code points


@dataclass(frozen=True, slots=True)
class TextDraft:
    """A text on its way through the model: each sentence is a sequence of its own."""

    text: str
    sentences: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """`original` at [start, end) of the text, in code points, becomes `replacement`."""

    start: int
    end: int
    original: str
    replacement: str
    reason: Reason
    explanation: str


@dataclass(frozen=True, slots=True)
class Correction:
    """The answer for one text."""

    corrected: str
    edits: tuple[Edit, ...]
    explanation: str
    num_dropped: int  # edits of the model that made no sense
    # For evaluations; the same answer may come of different outputs.
    num_malformed: int = field(default=0, compare=False)  # of those dropped: by the parser, not by the guard
    num_tokens: int = field(default=0, compare=False)  # that the model wrote


class Agent:
    """Stateless once built; shared by all requests of a process."""

    def __init__(self, tokenizer: PromptTokenizer, verbs: VerbTable) -> None:
        words = VerbWords(verbs)
        self._tokenizer = tokenizer
        self._guard = Guard(words)
        self._facts = FactFinder(words)

    @classmethod
    def load(cls) -> Agent:
        """With the tokenizer and the verbs that ship."""
        return cls(Tokenizer.load(), VerbTable.load())

    @property
    def tokenizer_fingerprint(self) -> str:
        """Travels with each request, so that no model reads ids of another vocabulary."""
        return self._tokenizer.fingerprint

    def prepare_text(self, text: str) -> TextDraft:
        """Cut the text into sentences. Raises SentenceTooLong, and InvalidRequest for too many or too long a text."""
        places = find_sentences(text[:MAX_TEXT_CHARACTERS], MAX_SENTENCES)
        if len(places) < 2:
            return TextDraft(text, (self.prepare(text),))
        if len(text) > MAX_TEXT_CHARACTERS:
            told = f"`sentence` has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are read at once."
            raise InvalidRequest("sentence", f"{told} Send it in parts.")
        if len(places) > MAX_SENTENCES:
            told = f"`sentence` holds more than {MAX_SENTENCES} sentences, the most that are taken at once."
            raise InvalidRequest("sentence", f"{told} Send it in parts.")
        return TextDraft(text, tuple(self._prepare_numbered(text, places)))

    def _prepare_numbered(self, text: str, places: Sequence[tuple[int, int]]) -> Iterator[Draft]:
        for number, (start, end) in enumerate(places, start=1):
            try:
                yield replace(self.prepare(text[start:end]), start=start)
            except SentenceTooLong as error:
                raise SentenceTooLong(error.num_words, error.num_tokens, sentence_number=number) from None

    def prepare(self, sentence: str) -> Draft:
        """One sentence. Raises SentenceTooLong, and InvalidRequest for a few words in a heap of blanks."""
        if len(sentence) > MAX_CHARACTERS:
            chunks = sentence.split()  # a hundred times as fast as counting words properly
            if len(chunks) > MAX_WORDS or sum(map(len, chunks)) > MAX_CHARACTERS:
                raise SentenceTooLong(len(chunks))
            told = f"`sentence` holds a sentence of {len(sentence):,} characters; at most {MAX_CHARACTERS:,} are read."
            raise InvalidRequest("sentence", f"{told} Leave out blanks.")
        if len(sentence) > _LONG and (num_words := count_words(sentence)) > MAX_WORDS:
            raise SentenceTooLong(num_words)
        return Draft(sentence, self._encode(sentence))

    def _encode(self, sentence: str) -> Prompt:
        """A sentence all in capitals is read in small letters, which the model knows; its words stay as they are."""
        quiet = _LONE_I.sub("I", sentence.lower())
        if not sentence.isupper() or len(quiet) != len(sentence) or count_words(sentence) < 2:
            return self._tokenizer.encode(sentence)
        words = (piece for piece in split_pieces(sentence) if piece.word_number is not None)
        return replace(self._tokenizer.encode(quiet), words=tuple(words))

    def conclude_text(self, draft: TextDraft, outputs: Sequence[Sequence[int]]) -> Correction:
        """Apply what the model wrote for each sentence, in order, to the text."""
        parts = [self.conclude(sentence, ids) for sentence, ids in zip(draft.sentences, outputs, strict=True)]
        if len(parts) == 1:
            return parts[0]
        edits = tuple(
            replace(edit, start=edit.start + sentence.start, end=edit.end + sentence.start)
            for sentence, part in zip(draft.sentences, parts, strict=True)
            for edit in part.edits
        )
        explanation = " ".join(edit.explanation for edit in edits) if edits else NOTHING_WRONG_ANYWHERE
        counts = [sum(getattr(part, name) for part in parts) for name in ("num_dropped", "num_malformed", "num_tokens")]
        return Correction(_apply(draft.text, edits), edits, explanation, *counts)

    def conclude(self, draft: Draft, output_ids: Sequence[int]) -> Correction:
        """Apply what the model wrote to the sentence."""
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words))
        found = self._found(draft, script.edits)
        edits = tuple(edit for edit in found if edit is not None)
        num_dropped = script.num_dropped + len(found) - len(edits)
        explanation = " ".join(edit.explanation for edit in edits) if edits else NOTHING_WRONG
        corrected = _apply(draft.sentence, edits)
        return Correction(corrected, edits, explanation, num_dropped, script.num_dropped, len(output_ids))

    def certain_edits(self, draft: Draft, output_ids: Sequence[int]) -> tuple[Edit, ...]:
        """Of an output that is still being written, the first edits that nothing to come can change.

        The last one may yet turn out to be half of a move, and one that is alone may get the company it needs.
        """
        edits = parse_script(self._tokenizer, output_ids, len(draft.prompt.words)).edits
        last = max(0, len(edits) - 1)
        num_certain = next((rank for rank in range(last) if self._is_alone(draft, edits, rank)), last)
        return tuple(edit for edit in self._found(draft, edits)[:num_certain] if edit is not None)

    def _found(self, draft: Draft, edits: Sequence[ScriptEdit]) -> list[Edit | None]:
        """As they go into the sentence; None for what makes no sense."""
        texts = [piece.text for piece in draft.prompt.words]
        moves = self._moves(draft, edits)
        return [
            None if self._is_alone(draft, edits, rank) else self._edit(draft, edit, texts, is_sure=rank in moves)
            for rank, edit in enumerate(edits)
        ]

    def _moves(self, draft: Draft, edits: Sequence[ScriptEdit]) -> frozenset[int]:
        """Numbers of the edits that move a word together: "[the] new [bank is]" > "[is the] new [bank]"."""
        numbers: set[int] = set()
        for rank, pair in enumerate(pairwise(edits)):
            if rank not in numbers and self._is_move(draft, *pair):  # half of one move only: three would lose a word
                numbers |= {rank, rank + 1}
        return frozenset(numbers)

    def _is_move(self, draft: Draft, one: ScriptEdit, other: ScriptEdit) -> bool:
        """Both halves must be edits that can be made: one alone would double the word, or lose it.

        They lie near each other in one clause, as far as marks tell.
        """
        between = draft.sentence[_pieces_of(draft, one)[-1].end : _pieces_of(draft, other)[0].start]
        return (
            other.word - one.word <= _LONGEST_MOVE
            and _MARK.search(between) is None
            and one.reason is other.reason
            and all(_gap(draft.sentence, _pieces_of(draft, edit)) is not None for edit in (one, other))
            and self._guard.allows_move(_words_of(draft, one), _words_of(draft, other), one.reason)
        )

    def _is_alone(self, draft: Draft, edits: Sequence[ScriptEdit], rank: int) -> bool:
        """Whether the edit makes no sense without one of the same reason behind it, and there is none."""
        reason = edits[rank].reason
        if any(other.reason is reason for other in edits[rank + 1 :]):
            return False
        return self._guard.needs_the_verb(*_words_of(draft, edits[rank]), reason)

    def _edit(self, draft: Draft, script_edit: ScriptEdit, texts: list[str], *, is_sure: bool) -> Edit | None:
        """The edit as it goes into the sentence, or None where it makes no sense; `is_sure`: the guard has seen it.

        `texts` are the words that explanations quote: mended here, so that "After 'haved' comes ..." is never said.
        """
        words, sentence = draft.prompt.words, draft.sentence
        pieces = _pieces_of(draft, script_edit)
        source = tuple(piece.text for piece in pieces)
        replacement = script_edit.replacement.split()
        gap = _gap(sentence, pieces)
        near = words[max(0, script_edit.word - 1) : script_edit.word + 1]
        previous = near[0].text if len(near) > 1 and _gap(sentence, near) else None  # "A: Does you" has none
        if gap is None or self._guard.is_noun(source[0], previous, script_edit.reason):
            return None
        if not is_sure and not self._guard.allows(source, replacement, script_edit.reason):
            return None
        start, end = pieces[0].start, pieces[-1].end
        is_loud = sentence.isupper() and len(words) > 1
        new = dress(source, replacement, "\u2019" in sentence, is_start=script_edit.word == 0, is_loud=is_loud)
        text = (gap if len(new) == len(source) else " ").join(new)
        if text == sentence[start:end]:
            return None
        facts = self._facts.find(sentence, texts, script_edit.word, EditWords(source, new, script_edit.reason))
        if len(new) == len(source):
            texts[script_edit.word : script_edit.word + len(new)] = new
        return Edit(start, end, sentence[start:end], text, script_edit.reason, explain(facts))


def _pieces_of(draft: Draft, edit: ScriptEdit) -> tuple[Piece, ...]:
    return draft.prompt.words[edit.word : edit.word + edit.num_words]


def _words_of(draft: Draft, edit: ScriptEdit) -> tuple[Sequence[str], Sequence[str]]:
    return [piece.text for piece in _pieces_of(draft, edit)], edit.replacement.split()


def _gap(sentence: str, pieces: Sequence[Piece]) -> str | None:
    """The white space between two words, a blank for one; None where anything else lies there."""
    gap = sentence[pieces[0].end : pieces[-1].start] if len(pieces) > 1 else " "
    return gap if gap.isspace() else None


def _apply(sentence: str, edits: Sequence[Edit]) -> str:
    parts, done = [], 0
    for edit in edits:  # in order and apart: the parser saw to that
        parts += [sentence[done : edit.start], edit.replacement]
        done = edit.end
    return "".join([*parts, sentence[done:]])
