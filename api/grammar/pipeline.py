"""Turns a text into prompts, one for each sentence, and the model's edit scripts into the corrected text with reasons.

The API puts the queue between `prepare_text` and `conclude_text`; `miniserve correct` calls the model itself.
Concluding never raises: an edit that makes no sense is dropped and counted. All text outside the edits stays the same,
code point for code point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

from api.grammar.edit_script import ScriptEdit, TokenDecoder, parse_script
from api.grammar.explain.fact_finder import EditWords, FactFinder
from api.grammar.explain.templates import explain
from api.grammar.guard import Guard
from api.grammar.language import nothing_found
from api.grammar.reasons import Reason
from api.grammar.sentences import find_sentences, go_on
from api.grammar.surface import match_case
from api.grammar.tokenizer import Prompt, Tokenizer
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from api.grammar.words import Piece, count_words, split_pieces
from scheduler.errors import InvalidRequest, SentenceTooLong
from scheduler.messages import MAX_SENTENCES, MAX_WORDS

_LONG = 2_000  # characters; no usual sentence of 64 words is as long, so the words of longer ones are counted first
# The longest sentence; 64 words or 128 tokens are shorter. 250 kB without a blank would take 190 ms of the process.
MAX_CHARACTERS = 8_000
# The longest request: 64 sentences of 64 long words. Cutting it into sentences takes at most 50 ms, with pauses.
MAX_TEXT_CHARACTERS = 40_000
_LONGEST_MOVE = 10  # words
PAUSE_AFTER = 4  # sentences concluded; one with many edits takes a millisecond
_MARK = re.compile(r"[^\w\s'\u2019-]")
_LONE_I = re.compile(r"\bi\b")  # also of I'm


class PromptTokenizer(TokenDecoder, Protocol):
    """Encodes sentences and decodes edits; the pipeline needs no more of the tokenizer."""

    fingerprint: str

    def encode(self, sentence: str) -> Prompt: ...


@dataclass(slots=True)
class Draft:
    """Holds a sentence and its prompt while the model works on it."""

    sentence: str
    prompt: Prompt
    start: int  # in the text, in code points
    min_confidence: float  # edits below it are left out


@dataclass(slots=True)
class TextDraft:
    """Holds a text while the model works on its sentences, each a sequence of its own."""

    text: str
    sentences: tuple[Draft, ...]


@dataclass(slots=True)
class Edit:
    """Replaces `original`, which stands at [start, end) of the text in code points, by `replacement`."""

    start: int
    end: int
    original: str
    replacement: str
    reason: Reason
    explanation: str
    confidence: float = 1.0  # the model's probability of this edit against none, where it began it


@dataclass(slots=True)
class Correction:
    """Holds the answer for one text."""

    corrected: str
    edits: tuple[Edit, ...]
    explanation: str
    num_dropped: int  # edits of the model that made no sense
    # For evaluations only: different outputs may give the same answer.
    num_malformed: int = field(default=0, compare=False)  # of those dropped: by the parser, not by the guard
    num_tokens: int = field(default=0, compare=False)  # that the model wrote


class TextPipeline:
    """Prepares texts and concludes outputs for all requests of a process. Long texts call `pause` now and then."""

    def __init__(self, tokenizer: PromptTokenizer, verbs: VerbTable, pause: Callable[[], None] = go_on) -> None:
        words = VerbWords(verbs)
        self.pause = pause
        self._tokenizer = tokenizer
        self._guard = Guard(words)
        self._facts = FactFinder(words)

    @classmethod
    def load(cls, pause: Callable[[], None] = go_on) -> TextPipeline:
        """Load the tokenizer and the verb table that ship with the package."""
        return cls(Tokenizer.load(), VerbTable.load(), pause)

    @property
    def tokenizer_fingerprint(self) -> str:
        """Return what each request carries, so that no model reads ids of another vocabulary."""
        return self._tokenizer.fingerprint

    def prepare_text(self, text: str, min_confidence: float = 0.0) -> TextDraft:
        """Cut the text into sentences. Raises SentenceTooLong, and InvalidRequest for too many or too long a text."""
        places = find_sentences(text[:MAX_TEXT_CHARACTERS], MAX_SENTENCES, self.pause)
        if len(places) < 2:
            return TextDraft(text, (self.prepare(text, min_confidence=min_confidence),))
        if len(text) > MAX_TEXT_CHARACTERS:
            problem = f"`sentence` has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are read at once."
            raise InvalidRequest("sentence", f"{problem} Send it in parts.")
        if len(places) > MAX_SENTENCES:
            problem = f"The text holds more than {MAX_SENTENCES} sentences; at most {MAX_SENTENCES} are taken at once."
            end = places[MAX_SENTENCES - 1][1]
            raise InvalidRequest("sentence", f"{problem} Send it in parts: the first can have {end:,} characters.")
        return TextDraft(text, tuple(self._prepare_numbered(text, places, min_confidence)))

    def _prepare_numbered(self, text: str, places: Sequence[tuple[int, int]], min_confidence: float) -> Iterator[Draft]:
        for number, (start, end) in enumerate(places, start=1):
            try:
                yield self.prepare(text[start:end], start, min_confidence)
            except SentenceTooLong as error:
                raise SentenceTooLong(error.num_words, error.num_tokens, sentence_number=number) from None

    def prepare(self, sentence: str, start: int = 0, min_confidence: float = 0.0) -> Draft:
        """Encode one sentence. Raises SentenceTooLong, and InvalidRequest where blanks alone make it too long."""
        if len(sentence) > MAX_CHARACTERS:
            chunks = sentence.split()  # a hundred times as fast as counting words properly
            if len(chunks) > MAX_WORDS or sum(map(len, chunks)) > MAX_CHARACTERS:
                raise SentenceTooLong(len(chunks))
            problem = f"`sentence` holds a sentence of {len(sentence):,} characters; at most {MAX_CHARACTERS:,} are"
            raise InvalidRequest("sentence", f"{problem} read. Leave out blanks.")
        if len(sentence) > _LONG:
            self.pause()
            if (num_words := count_words(sentence)) > MAX_WORDS:
                raise SentenceTooLong(num_words)
        return Draft(sentence, self._encode(sentence), start, min_confidence)

    def _encode(self, sentence: str) -> Prompt:
        """Encode a sentence. The model reads one all in capitals in small letters; its words keep their capitals."""
        if not sentence.isupper():
            return self._tokenizer.encode(sentence)
        quiet = _LONE_I.sub("I", sentence.lower())
        if len(quiet) != len(sentence) or count_words(sentence) < 2:
            return self._tokenizer.encode(sentence)
        words = (piece for piece in split_pieces(sentence) if piece.word_number is not None)
        return replace(self._tokenizer.encode(quiet), words=tuple(words))

    def conclude_text(self, draft: TextDraft, outputs: Sequence[Sequence[int]]) -> Correction:
        """Apply the outputs of the model, one for each sentence in order, to the text."""
        parts: list[Correction] = []
        for sentence, ids in zip(draft.sentences, outputs, strict=True):
            parts.append(self.conclude(sentence, ids))
            if len(parts) % PAUSE_AFTER == 0:
                self.pause()
        if len(parts) == 1:
            return parts[0]
        edits = tuple(
            replace(edit, start=edit.start + at, end=edit.end + at)
            for at, part in zip([sentence.start for sentence in draft.sentences], parts, strict=True)
            for edit in part.edits
        )
        explanation = " ".join(edit.explanation for edit in edits) if edits else nothing_found(draft.text)
        counts = [sum(getattr(part, name) for part in parts) for name in ("num_dropped", "num_malformed", "num_tokens")]
        return Correction(_apply(draft.text, edits), edits, explanation, *counts)

    def conclude(self, draft: Draft, output_ids: Sequence[int]) -> Correction:
        """Apply the output of the model to the sentence."""
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words), draft.min_confidence)
        found = self._found(draft, [_proposal(draft, edit) for edit in script.edits])
        edits = tuple(edit for edit in found if edit is not None)
        num_dropped = script.num_dropped + len(found) - len(edits)
        explanation = " ".join(edit.explanation for edit in edits) if edits else nothing_found(draft.sentence)
        counts = num_dropped, script.num_dropped, len(output_ids)
        return Correction(_apply(draft.sentence, edits), edits, explanation, *counts)

    def certain_edits(self, draft: Draft, output_ids: Sequence[int]) -> tuple[Edit, ...]:
        """Return the first edits of an unfinished output, up to the first that later tokens can still change.

        The last edit may turn out to be half of a move, and an edit that is alone may get the second one it needs.
        """
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words), draft.min_confidence)
        proposals = [_proposal(draft, edit) for edit in script.edits]
        last = max(0, len(proposals) - 1)
        num_certain = next((rank for rank in range(last) if self._is_alone(proposals, rank)), last)
        return tuple(edit for edit in self._found(draft, proposals)[:num_certain] if edit is not None)

    def _found(self, draft: Draft, proposals: Sequence[_Proposal]) -> list[Edit | None]:
        """Return the edits as they go into the sentence, with None for those that make no sense."""
        moves = self._moves(draft, proposals)
        texts = [piece.text for piece in draft.prompt.words] if proposals else []
        return [
            None if self._is_alone(proposals, rank) else self._edit(draft, proposal, texts, is_sure=rank in moves)
            for rank, proposal in enumerate(proposals)
        ]

    def _moves(self, draft: Draft, proposals: Sequence[_Proposal]) -> set[int]:
        """Return the numbers of edits that together move a word: "[the] new [bank is]" > "[is the] new [bank]"."""
        numbers: set[int] = set()
        for rank, pair in enumerate(pairwise(proposals)):
            # An edit is half of one move only, as three would lose a word.
            if rank not in numbers and self._is_move(draft, *pair):
                numbers |= {rank, rank + 1}
        return numbers

    def _is_move(self, draft: Draft, one: _Proposal, other: _Proposal) -> bool:
        """Tell whether two edits near each other, without a mark between them, move a word.

        Both must be possible: one alone would double the word or lose it.
        """
        return (
            one.reason is other.reason
            and other.word - one.word <= _LONGEST_MOVE
            and one.gap is not None
            and other.gap is not None
            and self._guard.allows_move((one.source, one.replacement), (other.source, other.replacement), one.reason)
            and _MARK.search(draft.sentence, one.end, other.start) is None
        )

    def _is_alone(self, proposals: Sequence[_Proposal], rank: int) -> bool:
        """Tell whether the edit needs a later one of the same reason, and there is none."""
        edit = proposals[rank]
        if not self._guard.needs_the_verb(edit.source, edit.replacement, edit.reason):
            return False
        return all(other.reason is not edit.reason for other in proposals[rank + 1 :])

    def _edit(self, draft: Draft, edit: _Proposal, texts: list[str], *, is_sure: bool) -> Edit | None:
        """Return the edit as it goes into the sentence, or None where it makes no sense.

        `is_sure` says that the guard has allowed it as half of a move. `texts` are the words that explanations quote.
        They are corrected here, so that no explanation says "After 'haved' comes ...".
        """
        sentence, source, reason = draft.sentence, edit.source, edit.reason
        if edit.gap is None or self._guard.is_noun(source[0], _previous(draft, edit.word), reason):
            return None
        if not is_sure and not self._guard.allows(source, edit.replacement, reason):
            return None
        is_upper = sentence.isupper() and len(texts) > 1
        has_curly = "\u2019" in sentence
        new = match_case(source, edit.replacement, has_curly, is_start=edit.word == 0, is_upper=is_upper)
        text = (edit.gap if len(new) == len(source) else " ").join(new)
        original = sentence[edit.start : edit.end]
        if text == original:
            return None
        change = EditWords(source, new, reason)
        facts = self._facts.find(sentence, draft.prompt.words, texts, edit.word, change)
        if len(new) == len(source):
            texts[edit.word : edit.word + len(new)] = new
        return Edit(edit.start, edit.end, original, text, reason, explain(facts), edit.confidence)


@dataclass(slots=True)
class _Proposal:
    """Holds an edit of the model with its place in the sentence."""

    word: int
    source: tuple[str, ...]
    replacement: tuple[str, ...]
    reason: Reason
    start: int
    end: int
    gap: str | None  # what stands between two words where it is white space
    confidence: float


def _proposal(draft: Draft, edit: ScriptEdit) -> _Proposal:
    pieces = draft.prompt.words[edit.word : edit.word + edit.num_words]
    source = tuple([piece.text for piece in pieces])
    new, gap = tuple(edit.replacement.split()), _gap(draft.sentence, pieces)
    return _Proposal(edit.word, source, new, edit.reason, pieces[0].start, pieces[-1].end, gap, edit.confidence)


def _previous(draft: Draft, word: int) -> str | None:
    """Return the word right before if only white space separates them: in "A: Does you" it does not."""
    pieces = draft.prompt.words[word - 1 : word + 1] if word else ()
    return None if not pieces or _gap(draft.sentence, pieces) is None else pieces[0].text


def _gap(sentence: str, pieces: Sequence[Piece]) -> str | None:
    """Return the white space between two words, a blank for one word, None where a mark stands there."""
    gap = sentence[pieces[0].end : pieces[-1].start] if len(pieces) > 1 else " "
    return gap if gap.isspace() else None


def _apply(sentence: str, edits: Sequence[Edit]) -> str:
    parts, done = [], 0
    for edit in edits:  # the parser ensures that they are in order and do not overlap
        parts += [sentence[done : edit.start], edit.replacement]
        done = edit.end
    return "".join([*parts, sentence[done:]])
