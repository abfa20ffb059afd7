"""Nouns, names and predicates of the text, sorted by what is certain about their number."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from miniserve_training.text import lexicon as lex
from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.generators.plain import Plain, plain_of
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.tables import rows, word_set

PEOPLE = word_set("people")
_NO_NAMES = word_set("no_names")
_NO_ADJECTIVES = word_set("no_adjectives")
_UNFIT_NOUNS = word_set("unfit_nouns")
_HIDDEN_IN_REST = word_set("unfit_in_predicates")
_FEWEST = 3


class Noun(NamedTuple):
    sg: str
    pl: str


class Nouns:
    """What the text offers for new subjects; empty lists where it is too small."""

    def __init__(self, sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        singular, plural, after_a, adjectives, names = _counts(sentences)
        pairs = _pairs(singular, plural, after_a)
        self._nouns = [Noun(*pair) for pair in pairs]
        self._weights = list(accumulate(count**0.4 for count in pairs.values()))
        self.people = [noun for noun in self._nouns if noun.sg in PEOPLE]
        self.things = [noun for noun in self._nouns if noun.sg not in PEOPLE and noun.sg != "person"]
        self.names = sorted(name for name, count in names.items() if _is_name(name, count, singular))
        self.adjectives = sorted(word for word, count in adjectives.items() if count > 2 * _FEWEST)
        self.human, self.other, self.objects = _predicates(sentences, lexicon, rng)

    @property
    def is_useful(self) -> bool:
        return bool(len(self.people) > 5 and self.things and self.names and self.adjectives and self._has_predicates)

    @property
    def _has_predicates(self) -> bool:
        return bool(self.human and self.other and self.objects)

    def noun(self, rng: random.Random) -> Noun:
        return rng.choices(self._nouns, cum_weights=self._weights)[0]


def _is_name(name: str, count: int, singular: Counter[str]) -> bool:
    return count >= _FEWEST and len(name) > 2 and not singular[name.lower()]


def _counts(sentences: Sequence[TaggedSentence]) -> tuple[Counter[str], ...]:
    singular, plural, after_a, adjectives, names = (Counter[str]() for _ in range(5))
    for sentence in sentences:
        before = TaggedToken("", "", None)
        tokens = sentence.tokens
        for position, token in enumerate(tokens):
            text, tag = token.text, token.tag
            after = tokens[position + 1] if position + 1 < len(tokens) else before
            if tag == "NN" and text.islower():
                singular[text] += 1
                after_a[text] += before.text in ("a", "an", "A", "An") and not after.tag.startswith("NN")
            elif tag == "NNS" and text.islower():
                plural[text] += 1
            elif tag == "JJ" and before.tag == "DT" and after.tag == "NN" and text.isalpha():
                adjectives[text.lower()] += text.islower() and text not in _NO_ADJECTIVES
            elif tag == "NNP" and position == 0 and after.tag in ("VBZ", "VBD") and text.isalpha():
                names[text] += text[1:].islower() and text[-1] != "s" and text.lower() not in _NO_NAMES
            before = token
    return singular, plural, after_a, adjectives, names


def _pairs(singular: Counter[str], plural: Counter[str], after_a: Counter[str]) -> dict[tuple[str, str], int]:
    """Countable nouns: seen after "a", and in the plural."""
    irregular = dict(rows("irregular_plurals"))
    pairs = {}
    for noun, count in singular.items():
        form = irregular.get(noun) or _plural(noun)
        is_fit = noun.isalpha() and len(noun) > 2 and noun not in lex.COLLECTIVES and noun not in _UNFIT_NOUNS
        if is_fit and after_a[noun] >= 2 and (plural[form] >= _FEWEST or noun in irregular) and not noun.endswith("ss"):
            pairs[noun, form] = count
    return pairs


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "z")) else "s")


class Predicate(NamedTuple):
    """A verb and what follows it, taken from a plain sentence; made for any number."""

    plain: Plain
    kind: str  # "be", "have", "verb"


def _predicates(
    sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random
) -> tuple[list[Predicate], list[Predicate], list[tuple[Plain, str]]]:
    human: list[Predicate] = []
    other: list[Predicate] = []
    objects: list[tuple[Plain, str]] = []
    for sentence in rng.sample(sentences, min(len(sentences), 60_000)):
        plain = plain_of(sentence, lexicon)
        if plain is None or plain.subject[0][0].text.lower() in ("it", "this", "that", "there", "nothing"):
            continue
        if number := _object_number(plain):
            objects.append((plain, number))
        kind = _kind(plain)
        if kind:
            is_human = len(plain.subject) == 1 or plain.subject[-1][0].text in PEOPLE
            (human if is_human else other).append(Predicate(plain, kind))
    return human, other, objects


def _kind(plain: Plain) -> str:
    rest = plain.rest
    if not rest or len(rest) > 7 or any(group[0].text.lower() in _HIDDEN_IN_REST for group in rest):
        return ""
    tags = [group[0].tag for group in rest]
    if any(tag == "CC" and after[:1] == "V" for tag, after in zip(tags, tags[1:], strict=False)):
        return ""
    if plain.is_be:
        is_noun = tags[0] == "JJ" and any(tag.startswith("NN") for tag in tags[1:3]) and "IN" not in tags[1:2]
        return "be" if tags[0] in ("JJ", "VBG", "IN", "VBN") and not is_noun else ""
    if plain.verb.lower in ("has", "have", "had"):
        return "have" if tags[0] == "VBN" else "verb" if plain.forms else ""
    return "verb" if plain.forms and plain.forms.lemma not in ("become", "say", "be") else ""


def _object_number(plain: Plain) -> str:
    """ "sg" or "pl" if verb and object are all there is: "broke the vase"."""
    rest = plain.rest
    if plain.is_be or plain.forms is None or not 2 <= len(rest) <= 3 or plain.forms.lemma in ("become", "have", "take"):
        return ""
    tags = [group[0].tag for group in rest]
    head = rest[-1][0].text
    if tags[0] not in ("DT", "PRP$") or tags[1:-1] not in ([], ["JJ"]) or not head.islower():
        return ""
    if head in lex.COLLECTIVES or head in _UNFIT_NOUNS or rest[0][0].text.lower() in ("all", "both", "no", "any"):
        return ""
    if tags[-1] == "NN" and not head.endswith("s"):
        return "sg"
    return "pl" if tags[-1] == "NNS" and head.endswith("s") else ""
