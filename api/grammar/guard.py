"""The guard allows an edit only if it rewrites a verb and nothing else.

The model may put any text in the place of any word. An edit is applied only if every word it inserts is a form of a
known verb, an auxiliary or a word it replaces, if the new verb is a form of the replaced one, and if it removes nothing
but 'to', be, have, do and will. So no edit changes a number, and none adds or removes a 'not' or a 'can'. The guard
recognises nouns and names that look like verbs by the word before them and by their capital.

Two reasons allow more: `do_support` may insert a 'do' and put the verb behind its subject, and `question_order` may
move other words, but not change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from api.grammar import word_sets
from api.grammar.memo import memo
from api.grammar.promises import keeps_its_promise
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.verb_words import AUXILIARY_LEMMAS, NEGATIONS, VerbWords, full_forms, parts_of, plain

# Auxiliaries an edit may bring in without replacing one: 'is' singing, 'has' lived, 'will' come.
_INSERTABLE = frozenset(["be", "have", "will"])
_TENSED = frozenset(["be", "have", "do", "will"])
_MODALS = AUXILIARY_LEMMAS - {"be", "have", "do"}
# An auxiliary of another verb that may take the place of one of _TENSED: "Are you knowing" > "Do you know".
_SUCCESSORS: dict[Reason, frozenset[str]] = {
    Reason.STATIVE: frozenset(["do"]),
    Reason.HABIT: frozenset(["do"]),
    Reason.EXTRA_BE: frozenset(["do"]),
    Reason.NO_WILL: frozenset(["do"]),
    Reason.PAST_NOT_PERF: frozenset(["do"]),
    Reason.DO_SUPPORT: frozenset(["do"]),
    Reason.TENSE_PAST: frozenset(["do"]),
    Reason.TENSE_PERF: frozenset(["have"]),
    Reason.PAST_PERF: frozenset(["have"]),
    Reason.WISH_PAST: frozenset(["do", "have"]),
    Reason.TENSE_FUT: frozenset(["will"]),
    Reason.MISSING_BE: frozenset(["be"]),
    Reason.BE_ING: frozenset(["be"]),
}
_NOUN_NEXT = frozenset(["a", "an", "the", "my", "your", "our", "their", "every"])  # not 'its', which may be it's
_NO_SUBJECTS = _NOUN_NEXT | {"to"}  # a verb never goes behind these alone: "Speak the boys"
_NAMES_LIKE_AUXILIARIES = frozenset(["Will", "May"])
# These reasons change the first verb of a clause, which never follows 'the' and has no capital of its own.
_FINITE = frozenset(
    [
        Reason.PAST_IRREG, Reason.PAST_NOT_PART, Reason.S_SPELL, Reason.SVA_SG, Reason.SVA_PL, Reason.SVA_BE,
        Reason.MISSING_BE, Reason.TENSE_PAST, Reason.TENSE_FUT, Reason.TENSE_PERF, Reason.TENSE_SEQ, Reason.PAST_PERF,
        Reason.PAST_NOT_PERF, Reason.WISH_PAST, Reason.HABIT, Reason.STATIVE, Reason.NO_WILL,
    ]
)  # fmt: skip
_SIMPLE_TENSE = frozenset([Reason.STATIVE, Reason.HABIT])
_SPELLING = frozenset([Reason.REG_SPELL, Reason.ING_SPELL, Reason.S_SPELL])

_OldAndNew = tuple[Sequence[str], Sequence[str]]  # the words an edit takes away and those it puts in


@dataclass(slots=True)
class _Change:
    """Holds the parts of words before and after, and the verbs that the old parts may be forms of."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    reason: Reason
    old_lemmas: dict[str, frozenset[str]]

    @property
    def negations(self) -> frozenset[str]:
        """Return the words that may stand for each other; do-support adds 'no': "He no come" > "doesn't come"."""
        return NEGATIONS | {"no"} if self.reason is Reason.DO_SUPPORT else NEGATIONS


class Guard:
    """Judges single edits, and pairs of edits that move a word. It keeps no state."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words
        self._allows = memo(self._judge)

    def is_noun(self, word: str, previous: str | None, reason: Reason) -> bool:
        """Return whether a noun or a name stands where the edit sees a verb: "the walk", "met Rose".

        `previous` is the word before as the user wrote it. A name has one capital and is spelt right; 'Goed' of "He
        Goed Home" is none.
        """
        if previous is None or reason not in _FINITE:
            return False
        if plain(previous) in _NOUN_NEXT:
            return True
        if reason is Reason.MISSING_BE or not word.istitle() or not self._words.is_right_form(plain(word)):
            return False
        is_auxiliary = not self._words.lemmas_of(parts_of(word)[0]).isdisjoint(AUXILIARY_LEMMAS)
        return not is_auxiliary or word in _NAMES_LIKE_AUXILIARIES

    def allows(self, source: Sequence[str], replacement: Sequence[str], reason: Reason) -> bool:
        """Return whether `replacement` may stand for the words of `source`. Case and apostrophes do not count."""
        return self._allows((tuple(source), tuple(replacement), reason))

    def _judge(self, edit: tuple[tuple[str, ...], tuple[str, ...], Reason]) -> bool:
        source, replacement, reason = edit
        old = tuple(part for word in source for part in parts_of(word))
        new = tuple(part for word in replacement for part in parts_of(word))
        if reason is Reason.QUESTION_ORDER:
            return self._only_reorders(old, new)
        change = _Change(old, new, reason, {part: self._lemmas_of_source(part, reason) for part in old})
        return (
            all(self._may_come(change, place) for place in range(len(new)))
            and all(self._may_go(change, place) for place in range(len(old)))
            and self._keeps_the_other_words(change)
            and self._stays_the_same_verb(change)
            and keeps_its_promise(reason, old, new, self._words)
        )

    def allows_move(self, one: _OldAndNew, other: _OldAndNew, reason: Reason, previous: str | None) -> bool:
        """Return whether two edits that are wrong alone together move a word. `previous` stands before the first."""
        if reason is Reason.DO_SUPPORT:
            return self._moves_verb(one, other, previous)
        return reason is Reason.QUESTION_ORDER and self._moves_auxiliary(one, other)

    def needs_the_verb(self, edit: Proposal) -> bool:
        """Return whether 'do' replaces 'be', as in "[Are] you eating". That is right only with an edit of the verb."""
        if edit.reason not in _SIMPLE_TENSE or len(edit.replacement) != 1:
            return False
        old = [part for word in edit.source for part in parts_of(word)]
        is_do = parts_of(edit.replacement[0])[0] in word_sets.DO_PARTS
        return is_do and old[0] in word_sets.BE_PARTS and NEGATIONS.issuperset(old[1:])

    def _moves_auxiliary(self, one: _OldAndNew, other: _OldAndNew) -> bool:
        """Return whether two edits together move an auxiliary: "[is the] new [bank]" > "[the] new [bank is]".

        The auxiliary is first in one edit and last in the other. The explanations rely on that.
        """
        (one_old, one_new), (other_old, other_new) = one, other
        goes_back = one_old[0], one_old, one_new, other_new, other_old
        is_do = plain(one_old[0]) in word_sets.DO_PARTS and self._is_modal(other_old[-1])  # "[Do] you [can]"
        comes_front = other_old[-1], one_new, one_old[1:] if is_do else one_old, other_old, other_new
        return any(
            _are_same(led, [moved, *front]) and _are_same(ended, [*end, moved]) and self._is_auxiliary(moved, end[-1])
            for moved, led, front, ended, end in (goes_back, comes_front)
        )

    def _moves_verb(self, one: _OldAndNew, other: _OldAndNew, previous: str | None) -> bool:
        """Return whether two edits put a verb behind its subject: "[means] a [word]" > "[does] a [word mean]".

        A 'do' before them may be there already: "does [means a] [word]" > "does [a] [word mean]".
        """
        (one_old, one_new), (other_old, other_new) = (
            [list(map(plain, words)) for words in edit] for edit in (one, other)
        )
        has_do = previous is not None and parts_of(previous)[0] in word_sets.DO_PARTS
        brings_do = one_new[0] in word_sets.DO_PARTS
        leaves = (has_do and one_old[1:] == one_new) or (brings_do and one_old[1:] == one_new[1:])
        if not leaves or other_new[:-1] != other_old:
            return False
        verbs = self._words.lemmas_of(one_old[0]) & self._words.lemmas_of(other_new[-1])
        return other_new[-1] in verbs and verbs.isdisjoint(AUXILIARY_LEMMAS)

    def _is_modal(self, word: str) -> bool:
        return not self._words.lemmas_of(parts_of(word)[0]).isdisjoint(_MODALS)

    def _is_auxiliary(self, word: str, previous: str) -> bool:
        """Return whether the word, as written, is an auxiliary. "in May", "Will Smith" and "a can" have none."""
        is_one = bool(self._words.lemmas_of(parts_of(word)[0]) & AUXILIARY_LEMMAS)
        return is_one and word not in _NAMES_LIKE_AUXILIARIES and plain(previous) not in _NOUN_NEXT

    def _only_reorders(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Return whether the words, one an auxiliary, only change their order. "he's" may be read as "he is"."""
        readings = {tuple(sorted(words)) for words in product(*map(full_forms, new))}
        is_same = any(tuple(sorted(words)) in readings for words in product(*map(full_forms, old)))
        has_auxiliary = any(self._words.lemmas_of(part) & AUXILIARY_LEMMAS for part in new)
        is_moved = set(product(*map(full_forms, old))).isdisjoint(product(*map(full_forms, new)))
        return is_same and has_auxiliary and is_moved

    def _lemmas_of_source(self, part: str, reason: Reason) -> frozenset[str]:
        lemmas = self._words.lemmas_of(part)
        if reason in _SPELLING:
            return lemmas | self._words.misspelled_lemmas(part)
        if reason is Reason.MODAL_OF and part == "of":
            return frozenset(["have"])
        return lemmas

    def _may_come(self, change: _Change, place: int) -> bool:
        part = change.new[place]
        if part in change.old_lemmas or part in NEGATIONS:
            return True  # _keeps_the_other_words counts negations
        if part == "to":
            return self._has_a_verb_next(change.new, place)
        if not self._words.is_right_form(part):
            return False
        is_insertable = not self._words.lemmas_of(part).isdisjoint(_INSERTABLE)
        return (
            is_insertable
            or self._is_new_do(part, change)
            or self._shares_lemma(part, change)
            or self._succeeds(part, change)
        )

    def _is_new_do(self, part: str, change: _Change) -> bool:
        return change.reason is Reason.DO_SUPPORT and part in word_sets.DO_PARTS

    def _may_move(self, part: str, change: _Change) -> bool:
        """Return whether the verb may go behind its subject, as 'do' comes in: "Speak you" > "Do you speak"."""
        comes_do = change.reason is Reason.DO_SUPPORT and not word_sets.DO_PARTS.isdisjoint(change.new)
        has_subject = _NO_SUBJECTS.isdisjoint(change.new)
        is_verb = self._is_verbal(part, change) and self._words.lemmas_of(part).isdisjoint(_MODALS)
        return comes_do and has_subject and is_verb

    def _may_go(self, change: _Change, place: int) -> bool:
        part = change.old[place]
        lemmas = change.old_lemmas[part]
        if part in change.new or part in change.negations or lemmas & _TENSED:
            return True
        if part == "to":
            return self._has_a_verb_next(change.old, place)
        return any(lemmas & self._words.lemmas_of(other) for other in change.new)

    def _has_a_verb_next(self, parts: Sequence[str], place: int) -> bool:
        """Return whether a verb follows, so that this looks like the 'to' of an infinitive."""
        following = [part for part in parts[place + 1 :] if part not in NEGATIONS]
        return bool(following) and bool(self._words.lemmas_of(following[0]))

    def _keeps_the_other_words(self, change: _Change) -> bool:
        """Return whether all words but verbs are kept, negations included, and the kept words stay in order."""
        old, new = (
            ["not" if part in change.negations else part for part in parts if not self._is_verbal(part, change)]
            for parts in (change.old, change.new)
        )
        stay = [part for part in change.old if part in change.new and not self._may_move(part, change)]
        return old == new and list(dict.fromkeys(stay)) == _distinct_in(change.new, stay)

    def _is_verbal(self, part: str, change: _Change) -> bool:
        return part == "to" or bool(change.old_lemmas.get(part) or self._words.lemmas_of(part))

    def _stays_the_same_verb(self, change: _Change) -> bool:
        """Return whether a new word comes from an old one: 'to' or 'is' alone never stands for another word."""
        return any(
            part in change.old_lemmas or self._shares_lemma(part, change) or self._succeeds(part, change)
            for part in change.new
            if part not in NEGATIONS
        )

    def _shares_lemma(self, part: str, change: _Change) -> bool:
        lemmas = self._words.lemmas_of(part)
        return any(lemmas & old for old in change.old_lemmas.values())

    def _succeeds(self, part: str, change: _Change) -> bool:
        is_successor = not self._words.lemmas_of(part).isdisjoint(_SUCCESSORS.get(change.reason, ()))
        return is_successor and any(lemmas & _TENSED for lemmas in change.old_lemmas.values())


def _are_same(words: Sequence[str], others: Sequence[str]) -> bool:
    return list(map(plain, words)) == list(map(plain, others))


def _distinct_in(parts: Sequence[str], wanted: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(part for part in parts if part in wanted))
