"""Turns a text into prompts, one for each sentence, and the model's edit scripts into the corrected text with reasons.

The API puts the queue between `prepare_text` and `add_answers`; `miniserve correct` calls the model itself.
Concluding never raises: an edit without sense is dropped and counted. Outside of edits every code point stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from itertools import chain, islice
from math import exp
from typing import Literal, TypeVar

from api.grammar.correction import Correction, Edit, Note, NoteCode, Part, left_out, notes_on_links, put_together
from api.grammar.drafts import Draft, TextDraft
from api.grammar.edit_script import EOS_ID, parse_script
from api.grammar.edits import EditMaker, proposals_of
from api.grammar.language import language_of, seems_english
from api.grammar.reading import Offsets, Reading, read
from api.grammar.sentences import find_sentences, go_on
from api.grammar.surface import in_small_letters
from api.grammar.tokenizer import Prompt, Tokenizer
from api.grammar.unread import end_of_label, without_emphasis
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from scheduler.errors import InvalidRequest, SentenceTooLong
from scheduler.messages import ID_MASK, MAX_OUTPUT_TOKENS, MAX_WORDS

_LONG = 2_000  # characters; no usual sentence of 64 words is as long, and to refuse one takes 2 ms
MAX_CHARACTERS = 8_000  # of a sentence; 64 words or 128 tokens are shorter
PAUSE_AFTER = 4  # sentences; one of rare words, or with many edits, takes a millisecond
_MORE = f"The answer for this sentence has the most tokens it may, {MAX_OUTPUT_TOKENS}. Send the corrected text again."
Level = Literal["quiet", "picky"]
STRICTNESS = 3.0
_LESS: dict[Level, float] = {"quiet": 0.0, "picky": 2.0}  # than the strictness a level asks for
_EVEN_STRICTNESS = 8.0  # asks for a confidence of one half, 3 for 0.15
_LOG_ODDS_OF_STRICTNESS = 0.35  # of each unit more, as when a step of confidence was as large
_T = TypeVar("_T")


class TextPipeline:
    """Prepares texts and concludes outputs for all requests of a process. Long texts call `pause` now and then."""

    def __init__(
        self, tokenizer: Tokenizer, verbs: VerbTable, pause: Callable[[], None] = go_on, strictness: float = STRICTNESS
    ) -> None:
        words = VerbWords(verbs)
        self.pause = pause
        self._asked = {level: _least_confidence(strictness - less) for level, less in _LESS.items()}
        self._tokenizer = tokenizer
        self._words = words
        self._edits = EditMaker(words)

    @classmethod
    def load(cls, pause: Callable[[], None] = go_on, strictness: float = STRICTNESS) -> TextPipeline:
        """Load the tokenizer and the verb table that ship with the package."""
        return cls(Tokenizer.load(), VerbTable.load(), pause, strictness)

    def in_steps(self, items: Iterable[_T]) -> Iterable[_T]:
        """Return the items, with a pause behind every few of them."""
        return items if isinstance(items, Sized) and len(items) < PAUSE_AFTER else self._in_steps(items)

    def _in_steps(self, items: Iterable[_T]) -> Iterator[_T]:
        for number, item in enumerate(items, start=1):
            yield item
            if number % PAUSE_AFTER == 0:
                self.pause()

    @property
    def tokenizer_fingerprint(self) -> str:
        """Return what each request carries, so that no model reads ids of another vocabulary."""
        return self._tokenizer.fingerprint

    def prepare_text(
        self, text: str, min_confidence: float = 0.0, offsets: Offsets = "codepoints", level: Level = "quiet"
    ) -> TextDraft:
        """Begin a text. Of several sentences one that is too long is skipped; if it is alone, raises SentenceTooLong.

        `offsets`: what places in the answer count. Raises InvalidRequest where blanks alone make the text too long.
        """
        asked = self._asked[level]
        reading = read(text, self.pause, offsets)
        places = find_sentences(reading.text, self.pause)
        first = [*islice(places, 2)]
        if len(first) < 2:
            alone = self.prepare(reading.text, 0, min_confidence, asked)
            return TextDraft(reading, iter((alone,)), is_alone=True)
        return self._text(reading, chain(first, places), min_confidence, asked)

    def prepare_document(self, text: str, level: Level = "quiet") -> TextDraft:
        """Begin a text in which any sentence may be skipped, the only one, too; it may be blank."""
        reading = read(text, self.pause)
        return self._text(reading, find_sentences(reading.text, self.pause), 0.0, self._asked[level])

    def _text(self, reading: Reading, places: Iterable[tuple[int, int]], *least: float) -> TextDraft:
        draft = TextDraft(reading)
        draft.left = self._sentences(draft, places, *least)
        return draft

    def _sentences(self, draft: TextDraft, places: Iterable[tuple[int, int]], *least: float) -> Iterator[Draft]:
        for start, end in self.in_steps(places):
            try:
                yield self.prepare(draft.reading.text[start:end], start, *least)
            except (SentenceTooLong, InvalidRequest) as error:
                draft.skipped.append(Note(NoteCode.TOO_LONG, start, end, str(error)))

    def prepare(self, sentence: str, start: int = 0, min_confidence: float = 0.0, asked: float = 0.0) -> Draft:
        """Encode one sentence. Raises SentenceTooLong, and InvalidRequest where blanks alone make it too long."""
        if len(sentence) > MAX_CHARACTERS:
            chunks = sentence.split()  # a hundred times as fast as counting words properly
            if len(chunks) > MAX_WORDS or sum(map(len, chunks)) > MAX_CHARACTERS:
                raise SentenceTooLong(len(chunks))
            problem = f"`sentence` holds a sentence of {len(sentence):,} characters; at most {MAX_CHARACTERS:,} are"
            raise InvalidRequest("sentence", f"{problem} read. Leave out blanks.")
        if len(sentence) > _LONG:
            self.pause()
        plain = without_emphasis(sentence)
        prompt = self._encode(plain)
        return Draft(sentence, plain, prompt, start, asked, min_confidence, notes_on_links(prompt))

    def _encode(self, sentence: str) -> Prompt:
        """Encode a sentence. The model reads no label, and some capitals as small letters; the words stay as sent."""
        start = end_of_label(sentence)
        rest = sentence[start:]
        small = in_small_letters(rest, self._words)
        if small != rest and count_words(rest) < 2:
            small = rest
        as_read = " " * start + small
        prompt = self._tokenizer.encode(as_read)
        if as_read == sentence:
            return prompt
        words = [sentence[at : at + len(word)] for at, word in zip(prompt.starts, prompt.words, strict=True)]
        return replace(prompt, words=tuple(words))

    def add_answers(self, draft: TextDraft, answers: Iterable[tuple[Draft, Sequence[int]]]) -> None:
        """Note the outputs of the model for sentences of the text."""
        draft.parts += [self.part(*answer) for answer in self.in_steps(answers)]

    def conclude_text(self, draft: TextDraft) -> Correction:
        """Apply the answers for the sentences to the text."""
        return put_together(draft.reading, draft.parts, draft.skipped, self.in_steps)

    def conclude(self, draft: Draft, output_ids: Sequence[int]) -> Correction:
        """Apply the output of the model to a sentence that is a text of its own."""
        return put_together(Reading(draft.sentence, draft.sentence), [self.part(draft, output_ids)], (), self.in_steps)

    def part(self, draft: Draft, output_ids: Sequence[int]) -> Part:
        """Return the answer for a sentence."""
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words))
        language = language_of(draft.sentence)
        notes = [*draft.notes]
        edits: Sequence[Edit] = ()
        num_senseless = 0
        if script.edits:
            proposals = proposals_of(draft, script.edits)
            edits, num_senseless = self._edits.make(draft, proposals, len(proposals), language.is_english)
        if least := draft.min_confidence:
            notes += [left_out(edit, least) for edit in edits if draft.asked <= edit.confidence < least]
        edits = [edit for edit in edits if edit.confidence >= draft.least]
        if len(output_ids) >= MAX_OUTPUT_TOKENS and output_ids[-1] & ID_MASK != EOS_ID:
            notes.append(Note(NoteCode.MORE_POSSIBLE, 0, len(draft.sentence), _MORE))
        num_dropped = script.num_dropped + num_senseless
        return Part(draft.start, draft.sentence, language, edits, notes, num_dropped, script.num_dropped)

    def certain_edits(self, draft: Draft, output_ids: Sequence[int]) -> tuple[Edit, ...]:
        """Return the first edits of an unfinished output, up to the first that later tokens can still change.

        The last edit may turn out to be half of a move, and an edit that is alone may get the second one it needs.
        """
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words))
        proposals = proposals_of(draft, script.edits)
        last = len(proposals) - 1
        num_certain = next((rank for rank in range(last) if self._edits.is_alone(proposals, rank)), last)
        if num_certain < 1:
            return ()
        edits, _ = self._edits.make(draft, proposals, num_certain, seems_english(draft.sentence))
        return tuple([edit for edit in edits if edit.confidence >= draft.least])


def _least_confidence(strictness: float) -> float:
    return 1 / (1 + exp((_EVEN_STRICTNESS - strictness) * _LOG_ODDS_OF_STRICTNESS))
