"""Makes training examples from tagged sentences: endless, fresh in every pass, and the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from api.edit_script import ScriptEdit
from api.verbs import VerbTable
from api.words import split_pieces
from ops.training.corpus import TaggedSentence
from ops.training.corruption.agreement import add_agreement_errors
from ops.training.corruption.base_forms import add_base_form_errors
from ops.training.corruption.complements import add_complement_errors
from ops.training.corruption.forms import add_form_errors
from ops.training.corruption.lexicon import Lexicon
from ops.training.corruption.sampling import CandidateIndex
from ops.training.corruption.surface import Span, vary
from ops.training.corruption.tense import add_tense_errors
from ops.training.corruption.view import Candidate, View

CLEAN_SHARE = 0.52
_MAX_EDIT_SHARES = ((0.76, 1), (0.94, 2), (1.0, 3))
_RULES = (add_form_errors, add_agreement_errors, add_base_form_errors, add_complement_errors, add_tense_errors)


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence as a learner may send it; applying `edits` to it gives `corrected`. No edits: it is right."""

    sentence: str
    corrected: str
    edits: tuple[ScriptEdit, ...]
    source: str


def apply_edits(sentence: str, edits: Sequence[ScriptEdit]) -> str:
    """The sentence with the edits made; a replaced word's first capital is kept."""
    words = [piece for piece in split_pieces(sentence) if piece.word_number is not None]
    for edit in reversed(edits):
        first, last = words[edit.word], words[edit.word + edit.num_words - 1]
        text = edit.replacement
        if first.text[0].isupper():
            text = text[0].upper() + text[1:]
        sentence = sentence[: first.start] + text + sentence[last.end :]
    return sentence


class ExampleMaker:
    """Knows every corruption of its sentences; finds them once and keeps them."""

    def __init__(self, verbs: VerbTable, sentences: Sequence[TaggedSentence]) -> None:
        self._sentences = sentences
        self._lexicon = Lexicon.build(verbs, sentences)
        self._index: CandidateIndex | None = None

    def candidates(self, sentence: TaggedSentence) -> tuple[Candidate, ...]:
        """Every certain corruption of the sentence, in order of position."""
        view = View(sentence, self._lexicon)
        for add_errors in _RULES:
            add_errors(view)
        return tuple(sorted(view.candidates, key=lambda candidate: candidate.first))

    def make(self, sentence: TaggedSentence, rng: random.Random) -> Example:
        """One example of this sentence, clean about half of the time."""
        candidates = () if rng.random() < CLEAN_SHARE else self.candidates(sentence)
        first = rng.choice(candidates) if candidates else None
        return self._example(sentence, candidates, first, rng)

    def stream(self, seed: int) -> Iterator[Example]:
        """Examples for ever: rare reasons and rare verbs as often as the recipe wants them."""
        rng = random.Random(seed)
        index = self._candidate_index()
        while True:
            if rng.random() < CLEAN_SHARE:
                yield self._example(self._clean_sentence(rng, index), (), None, rng)
                continue
            sentence, candidates, first = index.draw(rng)
            yield self._example(sentence, candidates, first, rng)

    def _candidate_index(self) -> CandidateIndex:
        if self._index is None:
            self._index = CandidateIndex((sentence, self.candidates(sentence)) for sentence in self._sentences)
        return self._index

    def _clean_sentence(self, rng: random.Random, index: CandidateIndex) -> TaggedSentence:
        # A third of the clean ones have the same words that call for corruption elsewhere: time words, clauses.
        if rng.random() < 0.35 and index.is_useful:
            return index.draw(rng)[0]
        return rng.choice(self._sentences)

    def _example(
        self, sentence: TaggedSentence, candidates: Sequence[Candidate], first: Candidate | None, rng: random.Random
    ) -> Example:
        chosen = _choose(candidates, first, rng) if first else []
        spans = _spans(sentence.text, chosen)
        opening = sentence.tokens[0]
        vary(spans, rng, keeps_capital=opening.text == "I" or opening.tag.startswith("NNP"))
        wrong = "".join(span.wrong for span in spans)
        right = "".join(span.right for span in spans)
        edits = _edits(sentence.text, chosen)
        assert not edits or apply_edits(wrong, edits) == right, (wrong, right, edits)
        return Example(wrong, right, edits, sentence.source)


def _choose(candidates: Sequence[Candidate], first: Candidate, rng: random.Random) -> list[Candidate]:
    """`first` and perhaps one or two more that stand apart from it by a word at least."""
    roll = rng.random()
    wanted = next(count for share, count in _MAX_EDIT_SHARES if roll < share)
    chosen = [first]
    for _ in range(6 if wanted > 1 else 0):
        other = rng.choice(candidates)
        if len(chosen) < wanted and all(_stand_apart(other, one) for one in chosen):
            chosen.append(other)
    return sorted(chosen, key=lambda candidate: candidate.first)


def _stand_apart(one: Candidate, other: Candidate) -> bool:
    return one.first > other.first + other.num_right or other.first > one.first + one.num_right


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


def _edits(text: str, chosen: Sequence[Candidate]) -> tuple[ScriptEdit, ...]:
    edits, shift = [], 0
    for candidate in chosen:
        num_wrong = candidate.wrong.count(" ") + 1
        right = text[candidate.start : candidate.end]
        replacement = right[:1].lower() + right[1:]
        edits.append(ScriptEdit(candidate.first + shift, num_wrong, replacement, candidate.reason))
        shift += num_wrong - candidate.num_right
    return tuple(edits)
