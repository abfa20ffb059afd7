"""Plain sentences taken apart (subject, one finite verb, the rest), and put together again with new words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.tables import word_set
from miniserve_training.text.view import View, Word, is_adverb

Group = list[TaggedToken]  # the tokens of one word

_MOST_TOKENS = 11
# A sentence with one of these has its time already, or more than one clause.
_TIME_WORDS = word_set("time_or_clause_words")
# By the number of the subject; of be, present and past.
BE = {"i": ("am/VBP", "was/VBD"), "sg": ("is/VBZ", "was/VBD"), "pl": ("are/VBP", "were/VBD")}
HAVE = {"i": "have/VBP", "sg": "has/VBZ", "pl": "have/VBP"}
DO = {"i": "do/VBP", "sg": "does/VBZ", "pl": "do/VBP"}
COMMA = [TaggedToken(",", ",", None)]


def present_of(verb: VerbForms, number: str) -> str:
    return f"{verb.third}/VBZ" if number == "sg" else f"{verb.lemma}/VBP"


class Plain:
    """A short declarative sentence: subject words, one finite verb, the rest; token groups alongside."""

    def __init__(self, view: View, groups: list[Group], verb: int, number: str) -> None:
        self.lexicon = view.lexicon
        self.verb: Word = view.words[verb]
        self.next: Word = view.at(verb + 1)
        self.subject = uncapital(groups[:verb])
        self.rest = groups[verb + 1 :]
        self.number = number
        self.is_be = self.verb.lower in lex.BE_WORDS
        self.forms = self._forms()

    @property
    def lemma(self) -> str:
        return "be" if self.is_be else self.forms.lemma if self.forms else ""

    def _forms(self) -> VerbForms | None:
        table = {"VBD": self.lexicon.past, "VBZ": self.lexicon.third, "VBP": self.lexicon.base}.get(self.verb.tag)
        if table is None or self.is_be or self.next.tag in ("VB", "VBN"):
            return None
        verb = table.get(self.verb.lower)
        if verb is None or verb.lemma in ("do", "let") or (verb.lemma == "use" and self.next.lower == "to"):
            return None
        # "They put it": present or past? Only the third person tells.
        is_clear = self.verb.tag == "VBZ" or verb.pasts[0] != verb.lemma
        return verb if is_clear and (verb.lemma != "have" or self.next.tag not in ("VBD", "TO")) else None

    def past(self) -> list[Group]:
        past = BE[self.number][1] if self.forms is None else f"{self.forms.pasts[0]}/VBD"
        return [*tagged(past), *self.rest]

    def base(self) -> list[Group]:
        return [*tagged(f"{self.lemma}/VB"), *self.rest]

    def participle(self) -> list[Group]:
        return [*tagged(f"{self.forms.participles[0] if self.forms else 'been'}/VBN"), *self.rest]


def plain_of(sentence: TaggedSentence, lexicon: Lexicon) -> Plain | None:
    tokens = sentence.tokens
    if not 3 <= len(tokens) <= _MOST_TOKENS or tokens[-1].text != ".":
        return None
    if sum(token.word_number is None for token in tokens) != 1:
        return None
    if sum(token.tag in ("VBD", "VBZ", "VBP", "MD") for token in tokens) != 1:
        return None
    view = View(sentence, lexicon)
    finite = [i for i, word in enumerate(view.words) if word.tag in ("VBD", "VBZ", "VBP", "MD")]
    if len(finite) != 1 or not view.lower_set.isdisjoint(_TIME_WORDS):
        return None
    verb = finite[0]
    subject = view.subject(verb)
    if subject is None or subject.first != 0 or not subject.number or _has_odd_word(view, verb):
        return None
    opening = tokens[0].text.lower()
    if tokens[0].tag.startswith("NNP") and (opening in lexicon.nouns or opening in lexicon.base):
        return None  # "Children", "Please": no names, and no capitals inside a sentence
    groups: list[Group] = [[] for _ in view.words]
    for token in tokens[:-1]:
        groups[token.word_number].append(token)  # type: ignore[index]
    return Plain(view, groups, verb, subject.number)


def _has_odd_word(view: View, verb: int) -> bool:
    return any(word.is_contraction or is_adverb(word) for word in view.words[: verb + 1])


@cache
def _tokens(text: str) -> tuple[TaggedToken, ...]:
    return tuple(TaggedToken(*raw.rsplit("/", 1), None) for raw in text.split())


def tagged(text: str) -> list[Group]:
    """ "will/MD go/VB" -> a group for each word; "did/VBD+n't/RB" is one word."""
    return [list(_tokens(group.replace("+", " "))) for group in text.split()]


def uncapital(groups: list[Group]) -> list[Group]:
    first = groups[0][0]
    if first.tag.startswith("NNP") or first.text == "I":
        return groups
    lowered = TaggedToken(first.text[:1].lower() + first.text[1:], first.tag, first.word_number)
    return [[lowered, *groups[0][1:]], *groups[1:]]


def assemble(source: str, groups: Iterable[Group], mark: str = ".") -> TaggedSentence:
    tokens = list(_numbered(groups))
    tokens[0] = TaggedToken(tokens[0].text[:1].upper() + tokens[0].text[1:], tokens[0].tag, 0)
    text = ""
    previous = None
    for token in tokens:
        is_glued = token.word_number is None or token.word_number == previous
        text += token.text if is_glued or not text else " " + token.text
        previous = token.word_number
    return TaggedSentence(source, text + mark, (*tokens, TaggedToken(mark, ".", None)))


def _numbered(groups: Iterable[Group]) -> Iterator[TaggedToken]:
    number = 0
    for group in groups:
        if group[0].tag == ",":
            yield group[0]
            continue
        for token in group:
            yield TaggedToken(token.text, token.tag, number)
        number += 1
