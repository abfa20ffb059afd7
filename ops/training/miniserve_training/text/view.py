"""A tagged sentence as the corruption rules look at it: whole words, what stands between them, and their subjects.

Rules ask questions (`subject`, `skip_adverbs`, `may_be_noun`), they never parse. Every answer that is not
certain is None, because a wrong label costs more than a missed candidate.
"""

from __future__ import annotations

from typing import NamedTuple

from api.grammar.reasons import Reason
from api.grammar.words import split_pieces
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.lexicon import Lexicon


class Candidate(NamedTuple):
    """One way to break a sentence: the right words `[first, first + num_right)` become `wrong`."""

    reason: Reason
    lemma: str
    first: int
    num_right: int
    wrong: str
    start: int  # code points of the right words in the sentence
    end: int


class Word(NamedTuple):
    text: str
    lower: str
    tag: str  # of its first token: VBP for "don't"
    is_contraction: bool
    start: int
    end: int
    is_joined: bool  # only white space up to the next word


_NO_WORD = Word("", "", "", False, 0, 0, False)
_FINITE_TAGS = frozenset(("VBD", "VBZ", "VBP", "MD"))
_NOUN_PHRASE_TAGS = frozenset(("NN", "NNS", "NNP", "JJ", "CD", "JJS", "JJR"))
_HEAD_TAGS = frozenset(("NN", "NNS", "NNP"))
_DETERMINER_TAGS = frozenset(("DT", "PRP$"))


class Subject(NamedTuple):
    """Who does it: `number` is "i", "sg", "pl", or "" where it is not certain."""

    number: str
    first: int
    is_pronoun: bool
    last: int = -1  # its last word, where it stands behind its verb


class View:
    def __init__(self, sentence: TaggedSentence, lexicon: Lexicon) -> None:
        self.text = sentence.text
        self.lexicon = lexicon
        self.words = _words_of(sentence)
        self.agreeing = dict(sentence.agreeing)
        self.candidates: list[Candidate] = []
        self.lowers = [word.lower for word in self.words]
        self.lower_set = frozenset(self.lowers)
        self.num_finite = sum(word.tag in _FINITE_TAGS for word in self.words)
        self.is_subjunctive = not self.lower_set.isdisjoint(lex.SUBJUNCTIVE_WORDS)
        self.is_unreal = self.is_subjunctive or not self.lower_set.isdisjoint(lex.UNREAL_WORDS)
        self._subjects: dict[int, Subject | None] = {}

    def __len__(self) -> int:
        return len(self.words)

    def at(self, index: int) -> Word:
        return self.words[index] if 0 <= index < len(self.words) else _NO_WORD

    def add(self, reason: Reason, lemma: str, first: int, wrong: str, num_right: int = 1) -> None:
        """Note a candidate; one that joins words over punctuation, or changes nothing, is dropped."""
        words = self.words[first : first + num_right]
        right = " ".join(word.text for word in words)
        if any(not word.is_joined for word in words[:-1]) or wrong == right.lower():
            return
        if right[first == 0 :] != right[first == 0 :].lower():
            return  # a title or a shout: the edit could not give the capitals back
        if first == 0 and right[:1].isupper():
            wrong = wrong[:1].upper() + wrong[1:]
        self.candidates.append(Candidate(reason, lemma, first, num_right, wrong, words[0].start, words[-1].end))

    def skip_adverbs(self, index: int) -> int:
        """The first index from `index` on that is no adverb and no "not"; -1 if punctuation comes first."""
        while index < len(self.words):
            word = self.words[index]
            if not (word.lower == "not" or is_adverb(word)):
                return index
            if not word.is_joined:
                return -1
            index += 1
        return -1

    def subject(self, verb: int) -> Subject | None:
        """The subject standing before the finite verb at `verb` (adverbs may stand between)."""
        if verb not in self._subjects:
            self._subjects[verb] = self._find_subject(verb)
        return self._subjects[verb]

    def starts_clause(self, index: int, *, is_pronoun: bool = False) -> bool:
        if index == 0:
            return True
        before = self.words[index - 1]
        if not before.is_joined:
            return True
        return before.lower in lex.SUBORDINATORS or (is_pronoun and before.lower in ("and", "or", "think", "know"))

    def object_follows(self, index: int) -> bool:
        """A determiner, possessive or object pronoun comes right after word `index`."""
        word, after = self.at(index), self.at(index + 1)
        return word.is_joined and (after.tag in ("DT", "PRP$", "PRP") or after.lower in lex.OBJECT_PRONOUNS)

    def may_be_noun(self, form: str, index: int) -> bool:
        """Put at `index`, could `form` be read as a noun (or an adjective) and so be right?"""
        return form in self.lexicon.nouns and not self.object_follows(index)

    def _find_subject(self, verb: int) -> Subject | None:
        last = verb - 1
        while last >= 0 and self.words[last].is_joined and is_adverb(self.words[last]):
            last -= 1
        if last < 0 or not self.words[last].is_joined or self.words[last].is_contraction:
            return None
        word = self.words[last]
        if word.lower in lex.PRONOUN_NUMBER:
            return self._pronoun_subject(last)
        if (word.lower in lex.SINGULAR_WORDS or word.lower in lex.PLURAL_WORDS) and word.tag in ("NN", "DT"):
            number = "sg" if word.lower in lex.SINGULAR_WORDS else "pl"
            return Subject(number, last, False) if self.starts_clause(last) else None
        return self._noun_subject(last)

    def _pronoun_subject(self, last: int) -> Subject | None:
        lower, before = self.words[last].lower, self.at(last - 1)
        if lower in ("it", "you") and not self.starts_clause(last):
            return None
        if before.lower in ("and", "or", "nor", "but", "than", "as") and before.is_joined:
            is_joint = self.at(last - 2).tag[:2] in ("NN", "PR") or lower in ("it", "you")
            return Subject("" if is_joint else lex.PRONOUN_NUMBER[lower], last, True)
        if before.tag == "IN" and before.is_joined and before.lower not in lex.SUBORDINATORS:
            return None
        return Subject(lex.PRONOUN_NUMBER[lower], last, True)

    def _noun_subject(self, last: int) -> Subject | None:
        first = self.noun_phrase_start(last)
        if first is None:
            return None
        innermost = first
        while not self.starts_clause(first):
            outer = self._outer_phrase(first)
            if outer is None:
                return None
            link = self.words[first - 1].lower
            if link == "and":
                has_two = all(self.words[i].tag in ("DT", "NNP", "PRP$") for i in (outer, first))
                is_plain = first == innermost and outer == 0
                return Subject("pl" if has_two else "", outer, False) if is_plain else None
            if link not in lex.PREPOSITIONS or self.words[outer].tag not in _DETERMINER_TAGS:
                return None
            first, last = outer, first - 2
        return Subject(self.number_of(first, last), first, False)

    def _outer_phrase(self, first: int) -> int | None:
        """Where the noun phrase before the link at `first - 1` begins: "the box" of "the box of books"."""
        is_linked = first >= 2 and self.words[first - 2].is_joined
        return self.noun_phrase_start(first - 2) if is_linked else None

    def noun_phrase_start(self, last: int) -> int | None:
        """Where the noun phrase ending at `last` begins; None if there is none."""
        if self.words[last].tag not in _HEAD_TAGS or self.words[last].is_contraction:
            return None
        first = last
        while first > 0 and self.words[first - 1].is_joined:
            before = self.words[first - 1]
            if before.tag in _DETERMINER_TAGS and before.lower != "all":
                return first - 1
            if before.tag not in _NOUN_PHRASE_TAGS or before.is_contraction:
                break
            first -= 1
        return first

    def number_of(self, first: int, last: int) -> str:
        """The number of the noun phrase at words [first, last]; "" where it is not certain."""
        head, start = self.words[last], self.words[first]
        if head.lower in lex.COLLECTIVES or any(w.tag in ("CD", "JJS") for w in self.words[first : last + 1]):
            return ""
        if start.lower in ("both", "all", "some", "any", "no", "half", "either", "neither", "another"):
            return ""
        if head.tag == "NNS":
            return "pl" if start.lower not in ("a", "an", "this", "that", "each", "every") else ""
        if head.tag == "NNP":
            return "" if head.lower.endswith("s") or start.tag == "DT" else "sg"
        if head.lower.endswith("s") or start.lower in ("these", "those", "many", "few", "several"):
            return ""
        return "" if start.lower == "all" else "sg"


def is_adverb(word: Word) -> bool:
    return word.lower in lex.ADVERBS or (word.tag == "RB" and word.lower.endswith("ly"))


def _words_of(sentence: TaggedSentence) -> list[Word]:
    tags: dict[int, str] = {}
    contractions = set()
    for token in sentence.tokens:
        if token.word_number is None:
            continue
        if token.word_number in tags:
            contractions.add(token.word_number)
        else:
            tags[token.word_number] = token.tag
    pieces = split_pieces(sentence.text)
    words = []
    for position, piece in enumerate(pieces):
        number = piece.word_number
        if number is None:
            continue
        after = pieces[position + 1] if position + 1 < len(pieces) else None
        is_joined = after is not None and after.word_number is not None and after.start > piece.end
        lower, tag = piece.text.lower(), tags.get(number, "")
        words.append(Word(piece.text, lower, tag, number in contractions, piece.start, piece.end, is_joined))
    return words
