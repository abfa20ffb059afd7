"""Finds the facts of an edit in the verb table and in the sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.grammar import nouns, word_sets
from api.grammar.explain.edit_facts import EditFacts, WordFacts, with_capitals
from api.grammar.explain.following_subjects import FollowingSubjectFinder
from api.grammar.explain.noun_phrases import Number
from api.grammar.explain.subjects import UNCLEAR, Kind, Subject, SubjectFinder, quoted
from api.grammar.memo import memo
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Prompt
from api.grammar.verb_words import NEGATIONS, VerbWords, parts_of, plain
from api.grammar.verbs import VerbForms

_AGREEMENT = frozenset([Reason.SVA_SG, Reason.SVA_PL, Reason.SVA_BE])
_WITH_EXPRESSION = frozenset([Reason.TO_INF, Reason.ING_VERB])
_OTHER = {Number.SINGULAR: Number.PLURAL, Number.PLURAL: Number.SINGULAR}
# With one of these another word may be the subject: "the dogs next door", "the list of books and films".
_UNSURE = frozenset(["and", "but", "except", "next", "that", "there"])
_RELATIVES = frozenset(["who", "which"])
_OPENERS = word_sets.CLAUSE_STARTS | word_sets.FIRST_WORDS | {"that"}
# Matches all words before the verb, so the match is certainly the subject: "Me and my friend was".
_PAIR_WITH_OBJECT = re.compile(
    r"(?:me|him|her|us|them) and (?:(?:my|his|her|our|their|the) )?\w+"
    r"|(?:(?:my|his|her|our|their|the) )?\w+ and (?:me|him|her|us|them)"
)
_MARK = re.compile(r"[^\w\s]")
_APOSTROPHES = ("'", "\u2019")
_TITLES = frozenset(["mr", "mrs", "ms", "dr", "st", "mt"])
_BE = VerbForms("be", "is", "being", ("was", "were"), ("been",), is_irregular=True, count=0)


class FactFinder:
    """Gathers the facts of an edit from the verb table and the sentence."""

    def __init__(self, words: VerbWords) -> None:
        self._words = words
        self._word_facts = memo(self._facts_of_words)
        self._subjects = SubjectFinder(words)
        self._following = FollowingSubjectFinder(words)

    def find(
        self,
        sentence: str,
        prompt: Prompt,
        written: Sequence[str],
        edit: Proposal,
        new: tuple[str, ...],
    ) -> EditFacts:
        """Find the facts. `written` are the words before, as earlier edits made them, `new` is what this one writes."""
        known = self._word_facts((edit.source, new))
        first, last = edit.word + known.num_same, edit.word + len(edit.source)
        facts = EditFacts(
            known.num_same, known.old, known.new, known.head, known.verb, known.capitals, known.not_old,
            edit.reason, [*written, *prompt.words[edit.word : first]], prompt.words[last:], sentence,
        )  # fmt: skip
        if edit.reason in _WITH_EXPRESSION:
            facts.expression_before = self._expression_at_the_end(list(map(plain, facts.before)))
        elif edit.reason in _AGREEMENT:
            clauses, wanted = _cut_at_marks(sentence, prompt, first, last), _number(facts)
            subject = self._subject(facts, clauses, wanted)
            facts.subject = None if subject is UNCLEAR else subject
            is_dotted = "." in sentence[: prompt.starts[first]].rstrip().rpartition(" ")[2]  # "the tests in run.sh"
            facts.agrees = not is_dotted and self._agrees(facts, clauses, wanted, subject)
        return facts

    def _facts_of_words(self, change: tuple[tuple[str, ...], tuple[str, ...]]) -> WordFacts:
        old, new = (list(map(plain, words)) for words in change)
        num_same = 0
        while len(old) > 1 and len(new) > 1 and old[0] == new[0]:
            old, new, num_same = old[1:], new[1:], num_same + 1
        head, capitals = parts_of(new[-1])[0], _names(*change)
        old_text, new_text = " ".join(old), " ".join(new)
        not_old = f"'{with_capitals(new_text, capitals)}', not '{with_capitals(old_text, capitals)}'"
        return WordFacts(num_same, old_text, new_text, head, self._verb(head, old), capitals, not_old)

    def _subject(self, facts: EditFacts, clauses: tuple[list[list[str]], list[str]], wanted: Number) -> Subject | None:
        """Find the subject of the changed verb, before or after it."""
        before, after = clauses
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

    def _agrees(
        self, facts: EditFacts, clauses: tuple[list[list[str]], list[str]], wanted: Number, subject: Subject | None
    ) -> bool:
        """Return whether the subject asks for the number that the verb has, and so not for the `wanted` one.

        A name in -s asks for none: "Jenkins runs", "Quokkas have". At the start of a sentence a plural looks the same.
        """
        clause = [plain(word) for word in clauses[0][-1]]
        if subject is not None and subject is not UNCLEAR:
            name = subject.text.rsplit(" ", 1)[-1]
            if subject.kind is not Kind.QUANTITY or not name.istitle() or not name.endswith("s"):
                return False
            if wanted is Number.SINGULAR:
                return name.lower() not in nouns.NAMES_IN_S
            return not nouns.is_known_plural(name.lower())
        if subject is None or not clause or not _UNSURE.isdisjoint(clause):
            return False
        if clause[0] in _RELATIVES or clause[0] in word_sets.COUNTS or clause[0].isdigit():
            return False
        other = self._subject(facts, clauses, _OTHER[wanted])
        return other is not None and other is not UNCLEAR

    def _expression_at_the_end(self, words: Sequence[str]) -> str | None:
        """Return the verb at the end with its object ("asked me"), or the word after 'be' ('easy' of "is easy")."""
        if len(words) > 1 and words[-1] in word_sets.OBJECT_PRONOUNS and self._is_verb(words[-2]):
            return " ".join(words[-2:])
        if len(words) > 1 and parts_of(words[-2])[-1] in word_sets.BE_PARTS and words[-1] not in word_sets.CLOSED_CLASS:
            return words[-1]
        return self._verb_at_the_end(words)

    def _verb_at_the_end(self, words: Sequence[str]) -> str | None:
        """Return the verb at the end with its particle, and with 'can't' where the verb needs it: "can't help"."""
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

    def _verb(self, head: str, old: Sequence[str]) -> VerbForms | None:
        parts = [part for word in old for part in parts_of(word)]
        sources = [self._words.lemmas_of(part) | self._words.misspelled_lemmas(part) for part in parts]
        lemmas = self._words.lemmas_of(head) & frozenset().union(*sources)
        table = self._words.verbs.verbs
        verbs = [_BE if lemma == "be" else table[lemma] for lemma in lemmas if lemma == "be" or lemma in table]
        return max(verbs, key=lambda verb: (verb.count, verb.lemma), default=None)


def _names(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """Map plain words to those that keep their capital behind another word: 'Tom' of "is Tom"."""
    moved = [*old[1:], *new[1:]]
    return {plain(word): word for word in moved if word[0].isupper() and not word.isupper()}


def _number(facts: EditFacts) -> Number:
    """Return the number of the new verb. The forms for 'I' and 'you' count as plural."""
    is_singular = facts.head in ("is", "was", "has", "does") or (facts.verb and facts.head == facts.verb.third)
    return Number.SINGULAR if is_singular else Number.PLURAL


def _cut_at_marks(sentence: str, prompt: Prompt, first: int, last: int) -> tuple[list[list[str]], list[str]]:
    """Return the words before `first`, cut at the marks between them, and those from `last` on up to the next mark."""
    words, starts = prompt.words, prompt.starts
    before: list[list[str]] = [[]]
    for number in range(first):
        word = words[number]
        before[-1].append(word)
        gap = sentence[starts[number] + len(word) : starts[number + 1]]
        if gap != " ":
            _cut(before, _MARK.findall(gap))
    after: list[str] = []
    end = starts[last - 1] + len(words[last - 1])
    for word, start in zip(words[last:], starts[last:], strict=True):
        if sentence[end:start] != " " and _MARK.search(sentence, end, start):
            break
        after.append(word)
        end = start + len(word)
    return before, after


def _cut(clauses: list[list[str]], marks: Sequence[str]) -> None:
    """Begin a new clause at the first of the marks that ends one."""
    for mark in marks:
        word = clauses[-1][-1] if clauses[-1] else ""
        if mark in _APOSTROPHES and plain(word).endswith("s"):
            clauses[-1][-1] += mark  # the boys' room
        elif mark == "." and plain(word) in _TITLES:
            clauses[-1][-1] += mark  # Mr. Smith
        elif word:
            clauses.append([])
