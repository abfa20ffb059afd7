"""Makes training examples from tagged sentences: endless, fresh in every pass, and the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.corruption.agreement import add_agreement_errors
from miniserve_training.text.corruption.base_forms import add_base_form_errors
from miniserve_training.text.corruption.complements import add_complement_errors
from miniserve_training.text.corruption.forms import add_form_errors
from miniserve_training.text.corruption.negated_be import add_be_for_do_errors
from miniserve_training.text.corruption.tense import add_tense_errors
from miniserve_training.text.edits import apply_edits, edits_of
from miniserve_training.text.generators.fragments import fragments
from miniserve_training.text.generators.hard_clean import hard_clean_sentence
from miniserve_training.text.generators.heavy import heavy_subjects
from miniserve_training.text.generators.subjects import subject_rewrites
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.longer import Joiner
from miniserve_training.text.noise import add_slips
from miniserve_training.text.sampling import CandidateIndex, Pool, choose, wanted_edits
from miniserve_training.text.surface import OPENING_QUOTES, Span, frame, shout, vary
from miniserve_training.text.view import Candidate, View
from miniserve_training.text.written.lines import Written, WrittenLine
from miniserve_training.text.written.swaps import Swaps

CLEAN_SHARE = 0.52
# Parts of the clean examples; the rest is drawn from the whole text.
_FRAGMENT_SHARE = 0.02
_HARD_CLEAN_SHARE = 0.11
_CONTRAST_SHARE = 0.38
_LONG_CLEAN_SHARE = 0.3  # as long and as varied as people write: nothing else teaches silence on such text
_LONG_TOKENS = 17
# Parts of all examples, wrong or right.
_JOINED_SHARE = 0.11
_NEIGHBOUR_SHARE = 0.05
_FRAME_SHARE = 0.15
_SHOUT_SHARE = 0.03
_SLIP_SHARE = 0.08
_PROSE_SLIP_SHARE = 0.3  # as learners write: their essays are as long as prose
_PROSE_SHARE = 0.22  # names, titles, long subjects: by reason and verb alone they would be drawn too seldom
_MOST_TOKENS_WITH_NEIGHBOUR = 24
_MOST_NEIGHBOUR_CHARACTERS = 60
_SEARCH_CHUNK = 500  # sentences
_RULES = (
    add_form_errors, add_agreement_errors, add_base_form_errors, add_complement_errors, add_tense_errors,
    add_be_for_do_errors,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as a learner may send it; applying `edits` to it gives `corrected`. No edits: it is right."""

    sentence: str
    corrected: str
    edits: tuple[ScriptEdit, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Mix:
    """What a stream of examples is drawn from, next to the rules and their sentences."""

    written: Sequence[WrittenLine] = ()
    written_share: float = 0.36  # of the examples that are not prose: written lines
    right_prose: float = 0.7  # of prose: what is written for readers is more often right than what learners write


class ExampleMaker:
    """Knows every corruption of its sentences; finds them once and keeps them."""

    def __init__(
        self,
        verbs: VerbTable,
        sentences: Sequence[TaggedSentence],
        *,
        lexicon: Lexicon | None = None,
        mix: Mix = Mix(),
    ) -> None:
        """`lexicon`: that of another maker, where these sentences are too few to tell which words are real."""
        self._sentences = sentences
        self._mix = mix
        self.lexicon = lexicon or Lexicon.build(verbs, sentences)
        self._long_sentences = [sentence for sentence in sentences if len(sentence.tokens) >= _LONG_TOKENS]
        self._prose = [sentence for sentence in sentences if sentence.is_prose]
        self._joiner = Joiner(sentences)
        self._fragments = fragments(sentences, random.Random(0))
        small_words = frozenset(token.text for one in sentences for token in one.tokens if token.text.islower())
        self._written = Written(mix.written, small_words, Swaps(verbs.is_form)) if mix.written else None
        self._index: CandidateIndex | None = None

    def candidates(self, sentence: TaggedSentence) -> tuple[Candidate, ...]:
        """Every certain corruption of the sentence, in order of position."""
        view = View(sentence, self.lexicon)
        for add_errors in _RULES:
            add_errors(view)
        return tuple(sorted(view.candidates, key=lambda candidate: candidate.first))

    def make(self, sentence: TaggedSentence, rng: random.Random) -> Example:
        """One example of this sentence, clean about half of the time."""
        candidates = () if rng.random() < CLEAN_SHARE else self.candidates(sentence)
        chosen = choose(candidates, rng.choice(candidates), wanted_edits(rng), rng) if candidates else []
        return self._example(sentence, chosen, rng)

    def stream(self, seed: int) -> Iterator[Example]:
        """Examples for ever: rare reasons and rare verbs more often than text has them."""
        rng = random.Random(seed)
        index = self._candidate_index()
        prose = Pool(self._prose, index)
        while True:
            is_clean = rng.random() < CLEAN_SHARE
            if prose and rng.random() < _PROSE_SHARE:
                part = prose.draw(rng, is_clean=rng.random() < self._mix.right_prose)
            elif self._written and rng.random() < self._mix.written_share:
                part = (self._written.right(rng), ()) if is_clean else self._written.wrong(rng)
            else:
                part = (self._clean_sentence(rng, index), ()) if is_clean else _corruption(index, rng)
            if rng.random() < _JOINED_SHARE:
                part = self._joiner.lengthen(part, rng)
            yield self._example(*part, rng)

    def find_candidates(self, num_processes: int) -> None:
        """Find them now, in so many processes: most of the time before the first example."""
        self._candidate_index(num_processes)

    def _candidate_index(self, num_processes: int = 1) -> CandidateIndex:
        if self._index is None:
            # The same rewritten sentences for every stream: two streams of one maker differ by their seed alone.
            rng = random.Random(0)
            made = subject_rewrites(self._sentences, self.lexicon, rng)
            made += heavy_subjects(self._sentences, self.lexicon, rng)
            everything = [*self._sentences, *made]
            candidates = self._candidates_of_all(everything, num_processes)
            self._index = CandidateIndex(zip(everything, candidates, strict=True))
        return self._index

    def _candidates_of_all(
        self, sentences: Sequence[TaggedSentence], num_processes: int
    ) -> Iterator[tuple[Candidate, ...]]:
        if num_processes == 1:
            yield from map(self.candidates, sentences)
            return
        context = get_context("fork")
        with ProcessPoolExecutor(num_processes, context, _search, (self, sentences)) as pool:
            yield from pool.map(_found, range(len(sentences)), chunksize=_SEARCH_CHUNK)

    def _clean_sentence(self, rng: random.Random, index: CandidateIndex) -> TaggedSentence:
        if self._fragments and rng.random() < _FRAGMENT_SHARE:
            return rng.choice(self._fragments)
        roll = rng.random()
        if roll < _HARD_CLEAN_SHARE:
            return hard_clean_sentence(rng)
        # Half of the clean ones have the same words that call for corruption elsewhere: time words, clauses.
        if roll < _HARD_CLEAN_SHARE + _CONTRAST_SHARE and index.is_useful:
            return index.draw(rng)[0]
        if roll < _HARD_CLEAN_SHARE + _CONTRAST_SHARE + _LONG_CLEAN_SHARE and self._long_sentences:
            return rng.choice(self._long_sentences)
        return rng.choice(self._sentences)

    def _example(self, sentence: TaggedSentence, chosen: Sequence[Candidate], rng: random.Random) -> Example:
        spans = _spans(sentence.text, chosen)
        opening = sentence.tokens[0]
        keeps_capital = opening.text == "I" or opening.tag.startswith("NNP")
        vary(spans, rng, keeps_capital=keeps_capital)
        if spans[0].wrong == "(" and any(one.reason is Reason.MISSING_BE for one in chosen):
            spans = spans[1:-1]  # the guard lets nothing lack a 'be' in brackets: "(Ann sleeping)"
        edits = edits_of(sentence.text, chosen)
        if rng.random() < _SHOUT_SHARE and not _begins_with_moved_name(edits, spans):
            shout(spans, rng)
        if rng.random() < (_PROSE_SLIP_SHARE if sentence.is_prose else _SLIP_SHARE):
            edits = add_slips(spans, edits, self.lexicon, rng, most=3 if sentence.is_prose else 2)
        edits = self._surround(spans, edits, len(sentence.tokens), rng, keeps_capital=keeps_capital)
        wrong = "".join(span.wrong for span in spans)
        right = "".join(span.right for span in spans)
        assert not edits or apply_edits(wrong, edits) == right, (wrong, right, edits)
        return Example(wrong, right, edits, sentence.source)

    def _surround(
        self,
        spans: list[Span],
        edits: tuple[ScriptEdit, ...],
        num_tokens: int,
        rng: random.Random,
        *,
        keeps_capital: bool,
    ) -> tuple[ScriptEdit, ...]:
        if _begins_with_moved_name(edits, spans) or spans[0].wrong in OPENING_QUOTES:
            return edits  # behind other words a quotation is left as it is
        roll = rng.random()
        if roll < _NEIGHBOUR_SHARE and num_tokens <= _MOST_TOKENS_WITH_NEIGHBOUR:
            return self._add_neighbour(spans, edits, rng)
        if _NEIGHBOUR_SHARE <= roll < _NEIGHBOUR_SHARE + _FRAME_SHARE:
            return _moved(edits, frame(spans, rng, keeps_capital=keeps_capital))
        return edits

    def _add_neighbour(
        self, spans: list[Span], edits: tuple[ScriptEdit, ...], rng: random.Random
    ) -> tuple[ScriptEdit, ...]:
        """Put another right sentence before or after: learners send two at once."""
        other = rng.choice(self._sentences).text
        if len(other) > _MOST_NEIGHBOUR_CHARACTERS:
            return edits
        if rng.random() < 0.5:
            mark = "" if spans[-1].wrong.endswith((".", "!", "?", ")", "\u201d", '"')) else "."
            spans.append(Span(f"{mark} {other}", f"{mark} {other}"))
            return edits
        spans.insert(0, Span(other + " ", other + " "))
        return _moved(edits, count_words(other))


def _begins_with_moved_name(edits: Sequence[ScriptEdit], spans: Sequence[Span]) -> bool:
    """As in `Ann at home?`, wanted `Is Ann at home?`: only where a text begins does the edit give "Is" its capital."""
    if not edits or edits[0].word > 0:
        return False
    first_word = next(span.wrong for span in spans if span.is_corrupted).split(" ")[0]
    return first_word in edits[0].replacement.split(" ")[1:]


def _moved(edits: Sequence[ScriptEdit], shift: int) -> tuple[ScriptEdit, ...]:
    return tuple(replace(edit, word=edit.word + shift) for edit in edits)


def _corruption(index: CandidateIndex, rng: random.Random) -> tuple[TaggedSentence, list[Candidate]]:
    """Draw until the sentence has room for as many edits as wanted, but not for long."""
    wanted = wanted_edits(rng)
    for _ in range(4):
        sentence, candidates, first = index.draw(rng)
        chosen = choose(candidates, first, wanted, rng)
        if len(chosen) == wanted:
            break
    return sentence, chosen


def _search(*work: Any) -> None:
    """In a process of the search: what it looks through comes by fork, not in pieces."""
    global _work
    _work = work


def _found(number: int) -> tuple[Candidate, ...]:
    maker, sentences = _work
    return maker.candidates(sentences[number])


def _spans(text: str, chosen: Sequence[Candidate]) -> list[Span]:
    spans, position = [], 0
    for candidate in chosen:
        if candidate.start > position:
            plain = text[position : candidate.start]
            spans.append(Span(plain, plain))
        spans.append(Span(candidate.wrong, text[candidate.start : candidate.end], is_corrupted=True))
        position = candidate.end
    if position < len(text) or not spans:
        spans.append(Span(text[position:], text[position:]))
    return spans
