"""Decides which proposals of the model become edits of the sentence, and makes them.

It asks the guard, and the rules on the words around, which speak against an edit or for it. Two edits that hold only
together it makes whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar.correction import Edit
from api.grammar.drafts import Draft
from api.grammar.edit_script import ScriptEdit
from api.grammar.explain.fact_finder import FactFinder
from api.grammar.explain.templates import explain
from api.grammar.guard import Guard
from api.grammar.ngrams import NGrams
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
from api.grammar.reasons import Reason
from api.grammar.surface import is_in_capitals, match_case
from api.grammar.surroundings.evidence import Evidence, with_log_odds
from api.grammar.surroundings.marks import is_set_apart
from api.grammar.surroundings.vetoes import speak_against
from api.grammar.verb_words import VerbWords


class EditMaker:
    """Makes the edits of a sentence. It keeps no state."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words
        self._guard = Guard(words)
        self._evidence = Evidence(words, NGrams.load())
        self._facts = FactFinder(words)

    def make(
        self, draft: Draft, proposals: Sequence[Proposal], num_wanted: int, is_english: bool
    ) -> tuple[list[Edit], int]:
        """Return the edits as they go into the sentence, and how many of them were refused as they make no sense.

        Two that hold only together are one edit, made whole or not at all. It is left out where one half of it is not
        among the first `num_wanted` proposals.
        """
        moves = self._moves(draft, proposals)
        halves = moves.union([rank + 1 for rank in moves]) if moves else moves
        makes_sense: list[bool] = []
        for rank, proposal in enumerate(proposals):
            is_sure = rank in halves
            makes_sense.append(
                is_english
                and self._makes_sense(draft, proposal, is_sure=is_sure)
                and not self.is_alone(proposals, rank)
            )
            if rank and makes_sense[rank] and contradict(proposals[rank - 1], proposal):
                makes_sense[rank - 1] = False
        written: list[str] = []  # what explanations quote: the words as they are once the edits before are made
        edits: list[Edit] = []
        num_refused = rank = num_read = 0
        while rank < num_wanted:
            is_pair = rank in moves or (
                rank + 1 < len(proposals)
                and halves.isdisjoint((rank, rank + 1))
                and self._hold_together(draft.plain, proposals[rank], proposals[rank + 1])
            )
            parts = proposals[rank : rank + 1 + is_pair]
            is_made = makes_sense[rank] and (not is_pair or makes_sense[rank + 1])
            rank += len(parts)
            if rank > num_wanted:
                break
            written += draft.prompt.words[num_read : parts[0].word]
            num_read = parts[0].word
            edit = None
            if is_made and not lacks_its_auxiliary(parts[0], written):
                news = [self._cased(draft, part) for part in parts]
                edit = self._edit(draft, parts, news, written)
            if edit is None:
                num_refused += 1
                continue
            edits.append(edit)
            if edit.confidence >= draft.least and rank < len(proposals):
                for part, new in zip(parts, news, strict=True):
                    written += (*draft.prompt.words[num_read : part.word], *new)
                    num_read = part.word + len(part.source)
        return edits, num_refused

    def _moves(self, draft: Draft, proposals: Sequence[Proposal]) -> set[int]:
        """Return the numbers of edits that with the next move a word: "[the] new [bank is]" > "[is the] new [bank]"."""
        firsts: set[int] = set()
        for rank in range(len(proposals) - 1):
            pair = proposals[rank], proposals[rank + 1]
            # An edit is half of one move only, as three would lose a word.
            if rank - 1 not in firsts and may_move(draft.plain, *pair) and self._is_move(draft, *pair):
                firsts.add(rank)
        return firsts

    def _hold_together(self, sentence: str, one: Proposal, other: Proposal) -> bool:
        """Return whether two edits that move nothing mend one mistake, so that either alone would leave another."""
        if self._guard.needs_the_verb(one):
            return one.reason is other.reason and not self._guard.needs_the_verb(other)
        return mends_the_verb(sentence, one, other) or brings_do(sentence, one, other)

    def _is_move(self, draft: Draft, one: Proposal, other: Proposal) -> bool:
        """Return whether the edits move a word. Both must be possible: one alone would double the word or lose it."""
        previous = previous_word(draft.plain, draft.prompt, one.word)
        edits = (one.source, one.replacement), (other.source, other.replacement)
        return self._guard.allows_move(*edits, one.reason, previous)

    def is_alone(self, proposals: Sequence[Proposal], rank: int) -> bool:
        """Return whether the edit needs a later one of the same reason, and there is none."""
        edit = proposals[rank]
        return self._guard.needs_the_verb(edit) and all(
            other.reason is not edit.reason for other in proposals[rank + 1 :]
        )

    def _makes_sense(self, draft: Draft, edit: Proposal, *, is_sure: bool) -> bool:
        """Return whether the edit may be made. `is_sure` says that the guard has allowed it as half of a move."""
        if edit.gap is None or (draft.plain != draft.sentence and is_set_apart(draft.sentence, draft.plain, edit)):
            return False
        previous = previous_word(draft.plain, draft.prompt, edit.word)
        if self._guard.is_noun(edit.source[0], previous, edit.reason):
            return False
        if speak_against(draft.plain, edit, self._words):
            return False
        return is_sure or self._guard.allows(edit.source, edit.replacement, edit.reason)

    def _edit(
        self, draft: Draft, parts: Sequence[Proposal], news: Sequence[tuple[str, ...]], written: Sequence[str]
    ) -> Edit | None:
        """Return one proposal, or two as one, as they go into the sentence, or None where nothing changes.

        `news` are the words of each proposal, `written` those before.
        """
        first, last = parts[0], parts[-1]
        about = first if first is last else joined(draft.prompt.words, first, last)
        original = draft.sentence[about.start : about.end]
        text = draft.sentence[first.end : last.start].join(map(_written, parts, news))
        if text == original or draft.plain[about.start : about.end] != original:  # a mark would be lost or moved
            return None
        new = news[0] if about is first else self._cased(draft, about)
        facts = self._facts.find(draft.plain, draft.prompt, written, about, new)
        if facts.agrees:
            return None
        is_move = first is not last and about.reason is Reason.QUESTION_ORDER  # then the last word is any
        verb = "" if is_move else facts.lemma
        added = self._evidence.log_odds(draft.plain, about) if first is last else 0.0
        said = about.confidence, added
        place = about.start, about.end
        return Edit(*place, original, text, about.reason, explain(facts), with_log_odds(*said), verb, *said)

    def _cased(self, draft: Draft, edit: Proposal) -> tuple[str, ...]:
        """Return the replacement with the capitals and apostrophes of the sentence."""
        is_upper = is_in_capitals(draft.plain) and len(draft.prompt.words) > 1
        has_curly = "\u2019" in draft.plain
        return match_case(edit.source, edit.replacement, has_curly, is_start=edit.word == 0, is_upper=is_upper)


def proposals_of(draft: Draft, edits: Sequence[ScriptEdit]) -> list[Proposal]:
    """Find the words of each edit in the sentence."""
    return [proposal_of(draft.plain, draft.prompt, edit) for edit in edits]


def _written(part: Proposal, new: Sequence[str]) -> str:
    return ((part.gap or " ") if len(new) == len(part.source) else " ").join(new)
