"""Turns a text into prompts, one for each sentence, and the model's edit scripts into the corrected text with reasons.

The API puts the queue between `prepare_text` and `conclude_text`; `miniserve correct` calls the model itself.
Concluding never raises: an edit without sense is dropped and counted. Outside of edits every code point stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from api.grammar.correction import Correction, Edit, Note, NoteCode, Part, left_out, notes_on_links, put_together
from api.grammar.edit_script import EOS_ID, ScriptEdit, parse_script
from api.grammar.explain.fact_finder import FactFinder
from api.grammar.explain.templates import explain
from api.grammar.guard import Guard
from api.grammar.language import language_of, seems_english
from api.grammar.proposals import (
    Proposal,
    brings_do,
    contradict,
    joined,
    lacks_its_auxiliary,
    may_move,
    mends_the_verb,
    previous_word,
    proposal_of,
)
from api.grammar.reading import Reading, read
from api.grammar.reasons import Reason
from api.grammar.sentences import find_sentences, go_on
from api.grammar.surface import in_small_letters, match_case
from api.grammar.surroundings.vetoes import speak_against
from api.grammar.tokenizer import Prompt, PromptTokenizer, Tokenizer
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words, split_pieces
from scheduler.errors import InvalidRequest, SentenceTooLong
from scheduler.messages import ID_MASK, MAX_OUTPUT_TOKENS, MAX_SENTENCES, MAX_WORDS

_LONG = 2_000  # characters; no usual sentence of 64 words is as long, and to refuse one takes 2 ms
MAX_CHARACTERS = 8_000  # of a sentence; 64 words or 128 tokens are shorter
# The longest request: 64 sentences of 64 long words. Cutting it into sentences takes at most 50 ms, with pauses.
MAX_TEXT_CHARACTERS = 40_000
PAUSE_AFTER = 4  # sentences; one of rare words, or with many edits, takes a millisecond
_MORE = f"The answer for this sentence has the most tokens it may, {MAX_OUTPUT_TOKENS}. Send the corrected text again."
_T = TypeVar("_T")


@dataclass(slots=True)
class Draft:
    """Holds a sentence and its prompt while the model works on it."""

    sentence: str
    prompt: Prompt
    start: int  # in the reading of the text, in code points
    min_confidence: float  # edits below it are left out
    notes: tuple[Note, ...] = ()


@dataclass(slots=True)
class TextDraft:
    """Holds a text while the model works on its sentences, each a sequence of its own."""

    reading: Reading
    sentences: tuple[Draft, ...]
    skipped: tuple[Note, ...]  # of sentences that are too long; with places in the reading


class TextPipeline:
    """Prepares texts and concludes outputs for all requests of a process. Long texts call `pause` now and then."""

    def __init__(self, tokenizer: PromptTokenizer, verbs: VerbTable, pause: Callable[[], None] = go_on) -> None:
        words = VerbWords(verbs)
        self.pause = pause
        self._tokenizer = tokenizer
        self._words = words
        self._guard = Guard(words)
        self._facts = FactFinder(words)

    @classmethod
    def load(cls, pause: Callable[[], None] = go_on) -> TextPipeline:
        """Load the tokenizer and the verb table that ship with the package."""
        return cls(Tokenizer.load(), VerbTable.load(), pause)

    def in_steps(self, items: Iterable[_T]) -> Iterator[_T]:
        """Return the items, with a pause behind every few of them."""
        for number, item in enumerate(items, start=1):
            yield item
            if number % PAUSE_AFTER == 0:
                self.pause()

    @property
    def tokenizer_fingerprint(self) -> str:
        """Return what each request carries, so that no model reads ids of another vocabulary."""
        return self._tokenizer.fingerprint

    def prepare_text(self, text: str, min_confidence: float = 0.0) -> TextDraft:
        """Cut the text into sentences. One that is too long is skipped, or, if it is alone, raises SentenceTooLong.

        Raises InvalidRequest for too many sentences and too long a text.
        """
        reading = read(text[:MAX_TEXT_CHARACTERS], self.pause)
        places = find_sentences(reading.text, MAX_SENTENCES, self.pause)
        if len(places) < 2:
            whole = reading.text if len(text) <= MAX_TEXT_CHARACTERS else text
            return TextDraft(reading, (self.prepare(whole, min_confidence=min_confidence),), ())
        if len(text) > MAX_TEXT_CHARACTERS:
            problem = f"`sentence` has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are read at once."
            raise InvalidRequest("sentence", f"{problem} Send it in parts.")
        if len(places) > MAX_SENTENCES:
            problem = f"The text holds more than {MAX_SENTENCES} sentences; at most {MAX_SENTENCES} are taken at once."
            end = reading.end(places[MAX_SENTENCES - 1][1])
            raise InvalidRequest("sentence", f"{problem} Send it in parts: the first can have {end:,} characters.")
        drafts: list[Draft] = []
        skipped: list[Note] = []
        for start, end in self.in_steps(places):
            try:
                drafts.append(self.prepare(reading.text[start:end], start, min_confidence))
            except (SentenceTooLong, InvalidRequest) as error:
                skipped.append(Note(NoteCode.TOO_LONG, start, end, str(error)))
        return TextDraft(reading, tuple(drafts), tuple(skipped))

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
        prompt = self._encode(sentence)
        return Draft(sentence, prompt, start, min_confidence, notes_on_links(prompt.words))

    def _encode(self, sentence: str) -> Prompt:
        """Encode a sentence. The model reads some capitals as small letters; the words keep their capitals."""
        small = in_small_letters(sentence, self._words)
        if small == sentence or count_words(sentence) < 2:
            return self._tokenizer.encode(sentence)
        words = (piece for piece in split_pieces(sentence) if piece.word_number is not None)
        return replace(self._tokenizer.encode(small), words=tuple(words))

    def conclude_text(self, draft: TextDraft, outputs: Sequence[Sequence[int]]) -> Correction:
        """Apply the outputs of the model, one for each sentence in order, to the text."""
        parts = [self.part(*pair) for pair in self.in_steps(zip(draft.sentences, outputs, strict=True))]
        return put_together(draft.reading, parts, draft.skipped, self.in_steps)

    def conclude(self, draft: Draft, output_ids: Sequence[int]) -> Correction:
        """Apply the output of the model to a sentence that is a text of its own."""
        return put_together(Reading(draft.sentence, draft.sentence), [self.part(draft, output_ids)], (), self.in_steps)

    def part(self, draft: Draft, output_ids: Sequence[int]) -> Part:
        """Return the answer for a sentence."""
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words))
        language = language_of(draft.sentence)
        found = self._found(draft, _proposals(draft, script.edits), language.is_english)
        edits = possible = [edit for _, edit in found if edit is not None]
        notes = [*draft.notes]
        if least := draft.min_confidence:
            edits = [edit for edit in possible if edit.confidence >= least]
            notes += [left_out(edit, least) for edit in possible if edit.confidence < least]
        if len(output_ids) >= MAX_OUTPUT_TOKENS and output_ids[-1] & ID_MASK != EOS_ID:
            notes.append(Note(NoteCode.MORE_POSSIBLE, 0, len(draft.sentence), _MORE))
        num_senseless = len(found) - len(possible)
        counts = script.num_dropped + num_senseless, script.num_dropped, len(output_ids)
        return Part(draft.start, draft.sentence, language, edits, notes, counts)

    def certain_edits(self, draft: Draft, output_ids: Sequence[int]) -> tuple[Edit, ...]:
        """Return the first edits of an unfinished output, up to the first that later tokens can still change.

        The last edit may turn out to be half of a move, and an edit that is alone may get the second one it needs.
        """
        script = parse_script(self._tokenizer, output_ids, len(draft.prompt.words))
        proposals = _proposals(draft, script.edits)
        last = len(proposals) - 1
        num_certain = next((rank for rank in range(last) if self._is_alone(proposals, rank)), last)
        if num_certain < 1:
            return ()
        is_english = seems_english(draft.sentence)
        found = [edit for last_rank, edit in self._found(draft, proposals, is_english) if last_rank < num_certain]
        return tuple(edit for edit in found if edit is not None and edit.confidence >= draft.min_confidence)

    def _found(self, draft: Draft, proposals: Sequence[Proposal], is_english: bool) -> list[tuple[int, Edit | None]]:
        """Return the edits as they go into the sentence, with None for those that make no sense.

        Two that hold only together are one edit, made whole or not at all. Each comes with the number of its last half.
        """
        if not proposals:
            return []
        moves = self._moves(draft, proposals)
        halves = moves | {rank + 1 for rank in moves}
        makes_sense = [
            is_english
            and self._makes_sense(draft, edit, is_sure=rank in halves)
            and not self._is_alone(proposals, rank)
            for rank, edit in enumerate(proposals)
        ]
        for rank, (one, other) in enumerate(pairwise(proposals)):
            if makes_sense[rank + 1] and contradict(one, other):
                makes_sense[rank] = False
        # What explanations quote: the words as they are once the edits before are made.
        texts: list[tuple[str, ...]] = [(piece.text,) for piece in draft.prompt.words]
        found: list[tuple[int, Edit | None]] = []
        rank = 0
        while rank < len(proposals):
            is_pair = rank in moves or (
                rank + 1 < len(proposals)
                and halves.isdisjoint((rank, rank + 1))
                and self._hold_together(draft.sentence, proposals[rank], proposals[rank + 1])
            )
            parts = proposals[rank : rank + 1 + is_pair]
            is_made = all(makes_sense[rank : rank + len(parts)]) and not (
                lacks_its_auxiliary(parts[0], texts[: parts[0].word])
            )
            rank += len(parts)
            found.append((rank - 1, self._edit(draft, parts, texts) if is_made else None))
        return found

    def _moves(self, draft: Draft, proposals: Sequence[Proposal]) -> set[int]:
        """Return the numbers of edits that with the next move a word: "[the] new [bank is]" > "[is the] new [bank]"."""
        firsts: set[int] = set()
        for rank, pair in enumerate(pairwise(proposals)):
            # An edit is half of one move only, as three would lose a word.
            if rank - 1 not in firsts and may_move(draft.sentence, *pair) and self._is_move(draft, *pair):
                firsts.add(rank)
        return firsts

    def _hold_together(self, sentence: str, one: Proposal, other: Proposal) -> bool:
        """Return whether two edits that move nothing mend one mistake, so that either alone would leave another."""
        if self._guard.needs_the_verb(one):
            return one.reason is other.reason and not self._guard.needs_the_verb(other)
        return mends_the_verb(sentence, one, other) or brings_do(sentence, one, other)

    def _is_move(self, draft: Draft, one: Proposal, other: Proposal) -> bool:
        """Return whether the edits move a word. Both must be possible: one alone would double the word or lose it."""
        previous = previous_word(draft.sentence, draft.prompt.words, one.word)
        edits = (one.source, one.replacement), (other.source, other.replacement)
        return self._guard.allows_move(*edits, one.reason, previous)

    def _is_alone(self, proposals: Sequence[Proposal], rank: int) -> bool:
        """Return whether the edit needs a later one of the same reason, and there is none."""
        edit = proposals[rank]
        return self._guard.needs_the_verb(edit) and all(
            other.reason is not edit.reason for other in proposals[rank + 1 :]
        )

    def _makes_sense(self, draft: Draft, edit: Proposal, *, is_sure: bool) -> bool:
        """Return whether the edit may be made. `is_sure` says that the guard has allowed it as half of a move."""
        previous = previous_word(draft.sentence, draft.prompt.words, edit.word)
        if edit.gap is None or self._guard.is_noun(edit.source[0], previous, edit.reason):
            return False
        if speak_against(draft.sentence, edit, self._words):
            return False
        return is_sure or self._guard.allows(edit.source, edit.replacement, edit.reason)

    def _edit(self, draft: Draft, parts: Sequence[Proposal], texts: list[tuple[str, ...]]) -> Edit | None:
        """Return one proposal, or two as one, as they go into the sentence, or None where nothing changes."""
        first, last = parts[0], parts[-1]
        about = first if first is last else joined(draft.prompt.words, first, last)
        original = draft.sentence[about.start : about.end]
        news = [self._cased(draft, part) for part in parts]
        text = draft.sentence[first.end : last.start].join(map(_written, parts, news))
        if text == original:
            return None
        new = news[0] if about is first else self._cased(draft, about)
        facts = self._facts.find(draft.sentence, draft.prompt.words, texts, about, new)
        explanation = explain(facts)
        for part, words in zip(parts, news, strict=True) if about.confidence >= draft.min_confidence else ():
            texts[part.word : part.word + len(part.source)] = [words, *[()] * (len(part.source) - 1)]
        is_move = first is not last and about.reason is Reason.QUESTION_ORDER  # then the last word is any
        verb = "" if is_move else facts.lemma
        return Edit(about.start, about.end, original, text, about.reason, explanation, about.confidence, verb)

    def _cased(self, draft: Draft, edit: Proposal) -> tuple[str, ...]:
        """Return the replacement with the capitals and apostrophes of the sentence."""
        is_upper = draft.sentence.isupper() and len(draft.prompt.words) > 1
        has_curly = "\u2019" in draft.sentence
        return match_case(edit.source, edit.replacement, has_curly, is_start=edit.word == 0, is_upper=is_upper)


def _proposals(draft: Draft, edits: Sequence[ScriptEdit]) -> list[Proposal]:
    return [proposal_of(draft.sentence, draft.prompt.words, edit) for edit in edits]


def _written(part: Proposal, new: Sequence[str]) -> str:
    return ((part.gap or " ") if len(new) == len(part.source) else " ").join(new)
