"""Finds the subject of a verb among the words before it, or reports that it is unclear.

The words from the beginning of a clause to the verb must fit one of a few plain shapes: a phrase, a phrase with
prepositional phrases or a relative clause after it, two phrases joined by 'and', an activity. The number of the phrase
must also fit the number of the new verb; otherwise no subject is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from api.grammar import word_sets
from api.grammar.explain.noun_phrases import Number, Phrase, PhraseReader, is_adverb, is_participle, preposition_at
from api.grammar.verb_words import VerbWords, plain

_LONGEST_ACTIVITY = 4  # words: "swimming in the sea"


class Kind(Enum):
    """Says which wording of the explanation fits a subject."""

    PRONOUN = "pronoun"
    NOUN = "noun"
    PAIR = "pair"  # Tom and Mary
    ONE_OF = "one of"  # each of the boys
    QUANTITY = "quantity"  # a lot of people, or a noun whose number does not show
    ACTIVITY = "activity"  # swimming in the sea
    RELATIVE = "relative"  # the girls who
    IN_S = "in s"  # the news
    NEARER = "nearer"  # Mary of "neither Tom nor Mary"


@dataclass(frozen=True, slots=True)
class Subject:
    """Holds a subject as it is quoted. `rival` is a noun of the other number that stands nearer to the verb."""

    text: str
    kind: Kind
    number: Number
    rival: str | None = None
    pronoun: str | None = None  # the one that stands for it in a relative clause; 'nor' before the nearer of two


UNCLEAR = Subject("", Kind.NOUN, Number.UNKNOWN)  # a subject was read, but it is not certain


class SubjectFinder:
    """Reads the words before a verb. It keeps no state."""

    def __init__(self, words: VerbWords) -> None:
        self._verbs = words
        self._reader = PhraseReader(words)

    def find(self, segments: Sequence[Sequence[str]], wanted: Number) -> Subject | None:
        """Find the subject. `segments` are the words before the verb, cut at the marks."""
        clause = segments[-1]
        if not clause and len(segments) > 2 and plain(segments[-2][0]) in word_sets.ASIDES:
            clause = segments[-3]  # "Tom, with his friends, is"
        elif clause and len(segments) > 1 and plain(clause[0]) in ("who", "which"):
            clause = [*segments[-2], *clause]
        for start in _starts(clause):
            subject = self._read(clause[start:], wanted)
            if subject is not None:
                return self._with_list(segments, subject) if subject.kind is Kind.PAIR else subject
        return self._before_a_relative(clause, wanted)

    def _with_list(self, segments: Sequence[Sequence[str]], pair: Subject) -> Subject:
        """Add the phrase before the comma to a pair: "my mother, father and sister"."""
        words = segments[-2] if len(segments) > 1 else ()
        first = self._reader.read(words, 0)
        if first is None or first.end < len(words) or not pair.text.endswith(segments[-1][-1]):
            return pair
        return replace(pair, text=f"{quoted(first.words)}, {pair.text}")

    def _before_a_relative(self, words: Sequence[str], wanted: Number) -> Subject | None:
        """Read the phrase before a relative pronoun at the end of the words: 'the boys' of "I like the boys who"."""
        while words and is_adverb(words[-1]):
            words = words[:-1]
        if len(words) < 2 or plain(words[-1]) not in ("who", "which"):
            return None
        for start in range(max(0, len(words) - 5), len(words) - 2):
            phrase = self._reader.read(words, start)
            if phrase and phrase.end == len(words) - 1 and plain(words[start]) in word_sets.DETERMINERS:
                subject = judge(phrase, wanted)
                is_clear = subject is not UNCLEAR
                return replace(subject, kind=Kind.RELATIVE, pronoun=plain(words[-1])) if is_clear else UNCLEAR
        return None

    def _read(self, words: Sequence[str], wanted: Number) -> Subject | None:
        while words and is_adverb(words[-1]):
            words = words[:-1]
        if words and plain(words[0]) in ("either", "neither"):
            return self._nearer(words, wanted)
        head = self._reader.read(words, 0)
        if head is None:
            return None
        if wanted is Number.SINGULAR and self._is_activity(words):
            return Subject(quoted(words), Kind.ACTIVITY, wanted)
        if head.end == len(words):
            return judge(head, wanted)
        following = plain(words[head.end])
        if following == "and":
            return self._pair(head, words, wanted)
        start = " ".join(head.plain)
        if following == "of" and (start in word_sets.SINGLE_PARTS or start in word_sets.QUANTITIES):
            return self._part(head, words, wanted)
        return self._at_a_distance(head, words, wanted)

    def _is_activity(self, words: Sequence[str]) -> bool:
        first = plain(words[0])
        is_ing = first.endswith("ing") and first not in word_sets.INDEFINITE_PRONOUNS and self._is_verb(first)
        return is_ing and len(words) <= _LONGEST_ACTIVITY and _is_one_clause(words)

    def _pair(self, head: Phrase, words: Sequence[str], wanted: Number) -> Subject | None:
        other = self._reader.read(words, head.end + 1)
        if other is None or other.end != len(words):
            return None
        if plain(words[0]) in ("every", "each"):
            return Subject(quoted(words), Kind.NOUN, wanted) if wanted is Number.SINGULAR else UNCLEAR
        return Subject(quoted(words), Kind.PAIR, wanted) if wanted is Number.PLURAL else UNCLEAR

    def _nearer(self, words: Sequence[str], wanted: Number) -> Subject | None:
        """Read the nearer of two subjects: 'Mary' of "Neither Tom nor Mary". "Neither of them" is a part."""
        link = {"either": "or", "neither": "nor"}[plain(words[0])]
        at = next((at for at, word in enumerate(words) if plain(word) == link), None)
        if at is None:
            is_part = [plain(word) for word in words[1:2]] == ["of"]
            return self._part(Phrase((words[0],), 1, Number.SINGULAR), words, wanted) if is_part else None
        other = self._reader.read(words, at + 1)
        if other is None or other.end != len(words) or judge(other, wanted) is UNCLEAR:
            return UNCLEAR
        return Subject(quoted(other.words), Kind.NEARER, wanted, pronoun=link)

    def _part(self, head: Phrase, words: Sequence[str], wanted: Number) -> Subject | None:
        """Read a part and its whole. The verb agrees with 'each' of "each of us", but 'people' of "a lot of people"."""
        whole = self._reader.read(words, head.end + 1)
        if words[head.end + 1 :] and plain(words[head.end + 1]) in ("them", "us", "you"):
            whole = Phrase((words[head.end + 1],), head.end + 2, Number.PLURAL)
        if whole is None or whole.end != len(words):
            return UNCLEAR
        if " ".join(head.plain) in word_sets.SINGLE_PARTS:
            return Subject(quoted(words), Kind.ONE_OF, wanted) if wanted is Number.SINGULAR else UNCLEAR
        is_fitting = whole.number in (wanted, Number.UNKNOWN)
        return Subject(quoted(words), Kind.QUANTITY, wanted) if is_fitting else UNCLEAR

    def _at_a_distance(self, head: Phrase, words: Sequence[str], wanted: Number) -> Subject | None:
        """Read a phrase that prepositional phrases, a participle or a relative clause separate from the verb."""
        at, nearest = head.end, head
        while at < len(words) and (length := preposition_at(words, at)):
            inner = self._reader.read(words, at + length)
            if inner is None:
                return None
            at, nearest = inner.end, inner
        if at == len(words):
            return judge(head, wanted, nearest)
        word = plain(words[at])
        if word in word_sets.RELATIVE_PRONOUNS:
            return self._relative((head, nearest), words[at:], wanted)
        is_modified = at == head.end and is_participle(self._verbs, words[at]) and not head.is_pronoun
        return judge(head, wanted) if is_modified and _is_one_clause(words[at:]) else None

    def _relative(self, phrases: tuple[Phrase, Phrase], words: Sequence[str], wanted: Number) -> Subject | None:
        """Find the subject of the verb in a relative clause, or of the main verb after the clause."""
        head, antecedent = phrases
        pronoun, rest = plain(words[0]), words[1:]
        while rest and is_adverb(rest[0]):
            rest = rest[1:]
        if not rest:
            found = judge(antecedent, wanted)
            is_clear = found is not UNCLEAR and pronoun != "whom"
            return Subject(found.text, Kind.RELATIVE, wanted, pronoun=pronoun) if is_clear else UNCLEAR
        inner = None if self._is_verb(rest[0]) else self._reader.read(rest, 0)
        if inner is not None and inner.end == len(rest):
            may_hold_a_verb = len(inner.words) > 2 and self._is_verb(inner.words[-1])  # "who the man wants"
            return UNCLEAR if may_hold_a_verb else judge(inner, wanted)
        at = inner.end if inner is not None else 0
        has_verb = at < len(rest) and self._is_verb(rest[at])
        return judge(head, wanted) if has_verb and _is_one_clause(rest) else None

    def _is_verb(self, word: str) -> bool:
        return bool(self._verbs.lemmas_of(plain(word).removesuffix("n't")))


def _starts(clause: Sequence[str]) -> Iterator[int]:
    """Yield the places where a clause may begin: at the front, after 'because', after 'I think'."""
    words = list(map(plain, clause))
    start = 0
    while start < len(words) and words[start] in word_sets.FIRST_WORDS:
        start += 1
    if (
        start + 2 < len(words)
        and words[start] in ("every", "each", "this", "last")
        and words[start + 1] in word_sets.TIME_NOUNS
    ):
        start += 2
    yield start
    for at in range(start, len(words)):
        if words[at] == "that" and at > start and _is_pronoun(words[at + 1 : at + 2]):
            yield at + 1
        if words[at] in word_sets.CLAUSE_STARTS or (words[at] in word_sets.REPORTING_VERBS and at > start):
            yield at + 1 + (words[at + 1 : at + 2] == ["that"] and at + 2 < len(words))


def _is_pronoun(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] in word_sets.SUBJECT_PRONOUNS or words[0] in word_sets.INDEFINITE_PRONOUNS)


def judge(head: Phrase, wanted: Number, nearest: Phrase | None = None) -> Subject:
    """Return the phrase as a subject, or UNCLEAR if its number differs from the wanted one."""
    if head.number not in (wanted, Number.UNKNOWN):
        return UNCLEAR
    kind = Kind.NOUN
    if head.is_pronoun and head.plain[0] not in word_sets.INDEFINITE_PRONOUNS:
        kind = Kind.PRONOUN
    elif head.plain[-1] in word_sets.SINGULAR_NOUNS_IN_S:
        kind = Kind.IN_S
    elif head.number is Number.UNKNOWN:
        kind = Kind.QUANTITY
    rival = None
    if nearest is not None and Number.UNKNOWN is not nearest.number is not head.number is wanted:
        rival = nearest.words[-1]
    return Subject(quoted(head.words), kind, wanted, rival)


def _is_one_clause(words: Sequence[str]) -> bool:
    return not any(
        plain(word) in word_sets.CLAUSE_STARTS or plain(word) in word_sets.RELATIVE_PRONOUNS for word in words
    )


def quoted(words: Sequence[str]) -> str:
    """Return the words as they stand inside a sentence. A capital stays where it may be that of a name: "Birds"."""
    text = " ".join(words)
    first = plain(words[0])
    is_common = first in word_sets.CLOSED_CLASS or first in word_sets.PLURAL_NOUNS or first.endswith("ing")
    if text.isupper() and len(text) > 1:
        return text.lower()
    if first == "i":
        return "I" + text[1:]
    return text[0].lower() + text[1:] if is_common else text
