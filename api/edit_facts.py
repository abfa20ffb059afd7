"""What an explanation may say about one edit: the verb, its forms, the subject, the word that asks for the form.

Every fact is looked up in the verb table or stands in the sentence; what cannot be told for certain is None, and the
templates then say less. Texts are plain (lower case, straight apostrophes) unless they are words of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from api import word_sets
from api.following_subjects import FollowingSubjectFinder
from api.noun_phrases import Number
from api.reasons import Reason
from api.subjects import UNCLEAR, Kind, Subject, SubjectFinder, quoted
from api.verb_words import NEGATIONS, VerbWords, parts_of, plain
from api.verbs import VerbForms, regular_ed_spellings
from api.words import split_pieces

_AGREEMENT = frozenset([Reason.SVA_SG, Reason.SVA_PL, Reason.SVA_BE])
_OPENERS = word_sets.CLAUSE_STARTS | word_sets.FIRST_WORDS | {"that"}
# Of a whole beginning of a sentence, so that it is the subject for certain: "Me and my friend was".
_PAIR_WITH_OBJECT = re.compile(
    r"(?:me|him|her|us|them) and (?:(?:my|his|her|our|their|the) )?\w+"
    r"|(?:(?:my|his|her|our|their|the) )?\w+ and (?:me|him|her|us|them)"
)
_TITLES = frozenset(["mr", "mrs", "ms", "dr", "st", "mt"])
_BE = VerbForms("be", "is", "being", ("was", "were"), ("been",), is_irregular=True, count=0)


@dataclass(frozen=True, slots=True)
class EditFacts:
    """One applied edit and what surrounds it."""

    reason: Reason
    old: str  # plain text of the replaced words
    new: str  # plain text of the replacement
    head: str  # the part of `new` that carries the verb: 'singing' of 'are singing', 'does' of "doesn't"
    verb: VerbForms | None  # the verb `head` belongs to and `old` was meant for
    before: tuple[str, ...]  # all words before the edit, as the user wrote them
    after: tuple[str, ...]
    sentence: str
    expression_before: str | None  # right before the edit: 'avoid', 'gave up', "can't help", 'asked me', 'worth'
    capitals: Mapping[str, str] = field(default_factory=dict)  # how words are written that are names
    subject: Subject | None = None  # of edits for agreement, where it can be told

    @property
    def not_old(self) -> str:
        """The end of many a template."""
        return f"'{self.shown(self.new)}', not '{self.shown(self.old)}'"

    @property
    def not_old_with_ing(self) -> str:
        """The same with the -ing form after it: 'has been working', not 'is working'."""
        ing = plain(self.after[0]) if self.new.endswith(" been") and self.after else ""
        if not ing.endswith("ing"):
            return self.not_old
        return f"'{self.shown(self.new)} {ing}', not '{self.shown(self.old)} {ing}'"

    def shown(self, text: str) -> str:
        """With the capitals of names and of 'I'."""
        return " ".join(self.capitals.get(word, "I" + word[1:] if parts_of(word)[0] == "i" else word)
                        for word in text.split(" "))  # fmt: skip

    @property
    def previous(self) -> str | None:
        """The word right before the edit, plain."""
        return plain(self.before[-1]) if self.before else None

    @property
    def text_before(self) -> str:
        """All words before the edit, plain."""
        return " ".join(map(plain, self.before))

    def of_verb(self, forms: Collection[str]) -> str:
        """' of sing', with quotes, if the head is one of these forms of it."""
        return f" of '{self.verb.lemma}'" if self.verb and self.head in forms else ""

    @property
    def of_participle(self) -> str:
        """For a past participle."""
        return self.of_verb(self.verb.participles if self.verb else ())

    @property
    def of_ing(self) -> str:
        """For an -ing form."""
        return self.of_verb((self.verb.ing, *self.verb.variants) if self.verb else ())

    @property
    def has_regular_head(self) -> bool:
        """True if the head is what the rule makes of the lemma."""
        return self.verb is not None and self.head in regular_ed_spellings(self.verb.lemma)

    def nearest(self, parts: Collection[str]) -> str | None:
        """The closest earlier word that is one of `parts` or begins or ends in one: "didn't" is found by 'did'."""
        at = self._place_of(parts)
        return None if at is None else _quotable(self.before[at])

    def auxiliary(self, parts: Collection[str]) -> str | None:
        """The same, but only if it is of the verb at hand: "is the man known" has two, unless it asks."""
        at = self._place_of(parts)
        if at is None:
            return None
        between = list(map(plain, self.before[at + 1 :]))
        if at == 0 or plain(self.before[at - 1]) in word_sets.QUESTION_WORDS:
            return None if word_sets.CLAUSE_STARTS.intersection(between) else _quotable(self.before[at])
        between = between[between[:1] != [] and between[0] in word_sets.SUBJECT_PRONOUNS :]  # "Why, have you seen it?"
        return None if word_sets.PHRASE_STARTS.intersection(between) else _quotable(self.before[at])

    def _place_of(self, parts: Collection[str]) -> int | None:
        for at in reversed(range(len(self.before))):
            first, last = parts_of(self.before[at])[0], parts_of(self.before[at])[-1]
            is_possessive = last == "'s" and first not in word_sets.CONTRACTED_IS
            if first in parts or (last in parts and not is_possessive):
                return at
        return None

    def phrase(self, pattern: re.Pattern[str]) -> str | None:
        """The first match in the sentence, as a quotation: no capital from the start of the sentence."""
        match = pattern.search(self.sentence.replace("\u2019", "'"))
        if match is None:
            return None
        text = " ".join(match.group().split())
        return _without_capital(text) if match.start() == 0 or text.isupper() else text


def _quotable(word: str) -> str:
    """Plain, but for the capital of I, I've and the like."""
    text = plain(word)
    return "I" + text[1:] if parts_of(word)[0] == "i" else text


def _without_capital(text: str) -> str:
    """As it would stand inside a sentence."""
    return text.lower() if text.isupper() else text[0].lower() + text[1:]


class FactFinder:
    """Gathers the facts of an edit from the verb table and the sentence."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words
        self._subjects = SubjectFinder(words)
        self._following = FollowingSubjectFinder(words)

    def find(self, sentence: str, words: Sequence[str], first: int, edit: EditWords) -> EditFacts:
        """`words` are all words of the sentence, `first` is where the edit starts among them."""
        old, new = list(map(plain, edit.old)), list(map(plain, edit.new))
        last = first + len(old)
        while len(old) > 1 and len(new) > 1 and old[0] == new[0]:  # "must leaves" -> "must leave" is about 'leaves'
            old, new, first = old[1:], new[1:], first + 1
        facts = EditFacts(
            edit.reason, " ".join(old), " ".join(new), head=parts_of(new[-1])[0], verb=None,
            before=tuple(words[:first]), after=tuple(words[last:]), sentence=sentence,
            expression_before=self._expression_at_the_end(list(map(plain, words[:first]))), capitals=_names(edit),
        )  # fmt: skip
        facts = replace(facts, verb=self._verb(facts, old))
        if edit.reason not in _AGREEMENT:
            return facts
        subject = self._subject(facts, _cut_at_marks(sentence, first, len(old)))
        return facts if subject is UNCLEAR else replace(facts, subject=subject)

    def _subject(self, facts: EditFacts, clauses: tuple[list[list[str]], list[str]]) -> Subject | None:
        """The subject of the changed verb, wherever it stands."""
        before, after = clauses
        wanted = _number(facts)
        place = [plain(word) for word in before[-1]]
        is_opened = len(place) < 2 or place[-2] in _OPENERS
        if place[-1:] in (["there"], ["here"]) and is_opened:
            return self._following.after_there(after, wanted)
        is_question = not place or place[-1] in word_sets.QUESTION_WORDS
        if is_question and after and plain(after[0]) == "there":
            return self._following.after_there(after[1:], wanted)
        if wanted is Number.PLURAL and len(before) == 1 and _PAIR_WITH_OBJECT.fullmatch(" ".join(place)):
            return Subject(quoted(before[-1]), Kind.PAIR, wanted)
        if place[-1:] and place[-1] in word_sets.CERTAIN_SUBJECTS and place[-2:-1] not in (["and"], ["or"], ["nor"]):
            return Subject("I" if place[-1] == "i" else place[-1], Kind.PRONOUN, wanted)
        if facts.head in word_sets.INVERTED and is_question:
            found = self._following.in_question(after, facts.head, wanted)
            if found is not None or not any(before):
                return found
        return self._subjects.find(before, wanted)

    def _expression_at_the_end(self, words: Sequence[str]) -> str | None:
        """The verb that these words end in, with its object, or the word after 'be': "asked me", "is easy"."""
        if len(words) > 1 and words[-1] in word_sets.OBJECT_PRONOUNS and self._is_verb(words[-2]):
            return " ".join(words[-2:])
        if len(words) > 1 and parts_of(words[-2])[-1] in word_sets.BE_PARTS and words[-1] not in word_sets.CLOSED_CLASS:
            return words[-1]
        return self._verb_at_the_end(words)

    def _verb_at_the_end(self, words: Sequence[str]) -> str | None:
        """A verb with its particle, or with 'can't' where it means nothing without it."""
        start = len(words) - 1
        if start > 0 and words[start] in word_sets.PARTICLES and self._is_verb(words[start - 1]):
            start -= 1
        elif start < 0 or words[start] == "up" or not self._is_verb(words[start]):  # the table knows 'up' as a verb
            return None
        if start > 0 and words[start] in word_sets.NEGATED_TRIGGERS and parts_of(words[start - 1])[-1] in NEGATIONS:
            start -= 2 if words[start - 1] == "not" and start > 1 else 1
        return " ".join(words[start:])

    def _is_verb(self, word: str) -> bool:
        return self._words.is_right_form(parts_of(word)[0])

    def _verb(self, facts: EditFacts, old: Sequence[str]) -> VerbForms | None:
        parts = [part for word in old for part in parts_of(word)]
        sources = [self._words.lemmas_of(part) | self._words.misspelled_lemmas(part) for part in parts]
        lemmas = self._words.lemmas_of(facts.head) & frozenset().union(*sources)
        table = self._words.verbs.verbs
        verbs = [_BE if lemma == "be" else table[lemma] for lemma in lemmas if lemma == "be" or lemma in table]
        return max(verbs, key=lambda verb: (verb.count, verb.lemma), default=None)


@dataclass(frozen=True, slots=True)
class EditWords:
    """The words an edit takes away and puts in, and why."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    reason: Reason


def _names(edit: EditWords) -> dict[str, str]:
    """Words that keep a capital where another word stands before them: 'Tom' of "is Tom"."""
    moved = [*edit.old[1:], *edit.new[1:]]
    return {plain(word): word for word in moved if word[0].isupper() and not word.isupper()}


def _number(facts: EditFacts) -> Number:
    """Of the new verb; 'I' and 'you' go with the plural, but for 'am'."""
    is_singular = facts.head in ("is", "was", "has", "does") or (facts.verb and facts.head == facts.verb.third)
    return Number.SINGULAR if is_singular else Number.PLURAL


def _cut_at_marks(sentence: str, first: int, num_words: int) -> tuple[list[list[str]], list[str]]:
    """The words before word `first`, cut at the marks between them, and those after the edit up to the next mark."""
    before: list[list[str]] = [[]]
    after: list[str] = []
    last = -1
    for piece in split_pieces(sentence):
        if piece.word_number is None:
            if last >= first + num_words - 1:
                break
            word = before[-1][-1] if before[-1] else ""
            if plain(piece.text) == "'" and plain(word).endswith("s"):
                before[-1][-1] += piece.text  # the boys' room
            elif word and not (piece.text == "." and plain(word) in _TITLES):
                before.append([])
            continue
        last = piece.word_number
        if last < first:
            before[-1].append(piece.text)
        elif last >= first + num_words:
            after.append(piece.text)
    return before, after
