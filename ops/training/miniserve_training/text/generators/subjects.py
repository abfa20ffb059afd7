"""Made sentences whose subject hides its number: phrases, clauses and lists between the noun and its verb.

The templates of `subjects.tsv` are filled with nouns, names and predicates of the text; every finite verb that must
agree is noted in the sentence, so the agreement rule need not find the subject again. `word/TAG` stands as it is, `!`
and `?` after it say that it agrees with a singular or a plural. Slots: `<Ps>` is a person with a determiner, `<Tp>`
things in the plural, `<Xs>` and `<Xp>` either sort; `<ps>` and `<tp>` have no determiner; `<V:sg>` is a predicate whose
verb agrees with a singular, `<v:sg>` a short one (`W`, `w`: of things), `<i:sg>` a verb alone, `<h:sg>` and `<o:sg>`
be with an adjective (of persons, of things), `<k:sg>` a verb that takes a clause, `<be:sg>` a form of that verb,
`<obj-sg>` a noun and a clause that lacks its object.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.generators.plain import BE, COMMA, DO, HAVE, Group, Plain, assemble, present_of, tagged
from miniserve_training.text.generators.subject_nouns import Nouns, Predicate
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.tables import texts, word_list

STATEMENTS, QUESTIONS = texts("subjects", "statement"), texts("subjects", "question")
Said = list[tuple[Group, str]]  # each word with the number it agrees with, "" for most

_MOST_PER_TEMPLATE = 170
_MOST_WORDS = 22
_MASS = word_list("mass_nouns")
_LONE_VERBS, _KNOWING_VERBS = word_list("lone_verbs"), word_list("knowing_verbs")
_PERSONAL, _PLAIN = word_list("personal_adjectives"), word_list("plain_adjectives")
_MANNERS = word_list("manners")
_WHEN = ("today/NN", "now/RB", "every/DT morning/NN", "this/DT week/NN", "at/IN the/DT moment/NN", "again/RB")
_TRANSITIVE = ("like", "know", "see", "love", "want", "remember", "need", "admire", "visit", "meet", "hate", "trust")
_DETERMINERS = ("the/DT", "the/DT", "the/DT", "my/PRP$", "his/PRP$", "her/PRP$", "our/PRP$", "your/PRP$", "their/PRP$")
_PLAIN_BASES = ("work/VB", "live/VB", "stay/VB", "study/VB", "sleep/VB", "go/VB", "play/VB", "sit/VB")


def subject_rewrites(sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """At most some 50,000 right sentences, as many of each template."""
    nouns = Nouns(sentences, lexicon, rng)
    if not nouns.is_useful:
        return []
    most = min(_MOST_PER_TEMPLATE, len(sentences) // 500 + 1)
    filler = _Filler(nouns, rng)
    made = []
    for templates, mark in ((STATEMENTS, "."), (QUESTIONS, "?")):
        for template in templates:
            for _ in range(most):
                said = filler.fill(template)
                if len(said) <= _MOST_WORDS:
                    made.append(_sentence(said, mark))
    return made


def _sentence(said: Said, mark: str) -> TaggedSentence:
    agreeing, number = [], 0
    if said[-1][0] is COMMA:
        said = said[:-1]
    for group, agrees_with in said:
        if group[0].tag == ",":
            continue
        if agrees_with:
            agreeing.append((number, agrees_with))
        number += 1
    return replace(assemble("made", _with_an([group for group, _ in said]), mark), agreeing=tuple(agreeing))


def _with_an(groups: list[Group]) -> list[Group]:
    """ "a apple" -> "an apple"."""
    for number, (group, after) in enumerate(zip(groups, groups[1:], strict=False)):
        following = after[0].text
        is_vowel = following[0] in "aeiou" and not following.startswith(("uni", "use", "usu", "eu", "one"))
        if group[0].text == "a" and (is_vowel or following.startswith(("hour", "honest", "heir", "honor"))):
            groups[number] = tagged("an/DT")[0]
    return groups


def _plainly(groups: Sequence[Group]) -> Said:
    return [(group, "") for group in groups]


def _verb_first(groups: Sequence[Group], number: str) -> Said:
    return [(groups[0], number), *_plainly(groups[1:])]


class _Filler:
    """Fills the slots of a template at random."""

    def __init__(self, nouns: Nouns, rng: random.Random) -> None:
        self._nouns, self._rng = nouns, rng
        self._short = [one for one in nouns.human if len(one.plain.rest) <= 3 and one.kind == "verb"]
        self._short_other = [one for one in nouns.other if len(one.plain.rest) <= 3]
        self._be_adjectives = [one for one in nouns.other if one.kind == "be" and one.plain.next.tag in ("JJ", "VBN")]
        self._verbs: dict[str, Callable[[str], Said]] = {
            "V": lambda number: self._predicate(nouns.human, number),
            "W": self._of_thing,
            "v": lambda number: self._predicate(self._short or nouns.human, number, is_short=True),
            "w": lambda number: self._predicate(self._short_other or nouns.other, number, is_short=True),
            "be": lambda number: _verb_first(tagged(rng.choice(BE[number])), number),
            "is": lambda number: _verb_first(tagged(BE[number][0]), number),
            "has": lambda number: _verb_first(tagged(HAVE[number]), number),
            "does": lambda number: _verb_first(tagged(DO[number]), number),
            "doesn't": lambda number: _verb_first(tagged(DO[number] + "+n't/RB"), number),
            "not": self._negated,
            "likes": self._likes,
            "i": lambda number: self._one_of(_LONE_VERBS, number),
            "k": lambda number: self._one_of(_KNOWING_VERBS, number),
            "h": lambda number: self._be(_PERSONAL, number),
            "o": lambda number: self._be(_PLAIN, number),
        }

    def fill(self, template: str) -> Said:
        said: Said = []
        for part in template.split():
            if part == ",":
                said.append((COMMA, ""))
            elif part[0] == "<":
                said += self._slot(part[1:-1])
            elif part[-1] in "!?":
                said += _verb_first(tagged(part[:-1]), "sg" if part[-1] == "!" else "pl")
            else:
                said += _plainly(tagged(part))
        return said

    def _slot(self, slot: str) -> Said:
        name, _, number = slot.partition(":")
        if number:
            return self._verbs[name](number)
        if name in ("base", "works"):
            return _plainly(self._base() if name == "base" else tagged(self._rng.choice(_PLAIN_BASES)))
        if name == "done":
            return _plainly(self._rng.choice(self._short).plain.participle())
        if name.startswith("obj"):
            return self._object(name[-2:])
        if name == "name":
            return _plainly([[TaggedToken(self._rng.choice(self._nouns.names), "NNP", None)]])
        if name == "mass":
            return _plainly([[TaggedToken(self._rng.choice(_MASS), "NN", None)]])
        if name == "adj":
            return _plainly([self._adjective()])
        if name in ("how", "when"):
            return _plainly(tagged(self._rng.choice(_MANNERS if name == "how" else _WHEN)))
        return _plainly(self._noun(name[0], name[1]))

    def _adjective(self) -> Group:
        return [TaggedToken(self._rng.choice(self._nouns.adjectives), "JJ", None)]

    def _noun(self, sort: str, number: str) -> list[Group]:
        rng, lower = self._rng, sort.lower()
        pools = {"p": self._nouns.people, "t": self._nouns.things}
        noun = (
            rng.choice(pools[lower]) if lower == "p" or rng.random() < 0.4 and lower == "t" else self._nouns.noun(rng)
        )
        text, tag = (noun.sg, "NN") if number == "s" else (noun.pl, "NNS")
        words = [[TaggedToken(text, tag, None)]]
        if sort.isupper():
            if rng.random() < 0.2:
                words.insert(0, self._adjective())
            words = [*tagged(rng.choice(_DETERMINERS)), *words]
        return words

    def _base(self) -> list[Group]:
        return self._rng.choice(self._short).plain.base()

    def _of_thing(self, number: str) -> Said:
        if self._be_adjectives and self._rng.random() < 0.5:
            return self._predicate(self._be_adjectives, number)
        return self._predicate(self._nouns.other, number)

    def _predicate(self, pool: Sequence[Predicate], number: str, *, is_short: bool = False) -> Said:
        """The same words said of a subject of this number: present, or was and were, at times negated."""
        one, rng = self._rng.choice(pool), self._rng
        roll, rest = rng.random(), one.plain.rest
        if one.kind == "be":
            be = BE[number][roll < 0.35]
            negated = "+n't/RB" if not is_short and rng.random() < 0.1 else ""
            return _verb_first([*tagged(be + negated), *rest], number)
        if one.kind == "have":
            return _verb_first([*tagged(HAVE[number]), *rest], number)
        if roll < 0.1 and not is_short:
            return _verb_first([*tagged(DO[number] + "+n't/RB"), *one.plain.base()], number)
        if roll < 0.2 and not is_short and one.plain.lemma != "have":
            return _verb_first([*tagged(HAVE[number]), *one.plain.participle()], number)
        return _verb_first(_present(one.plain, number), number)

    def _negated(self, number: str) -> Said:
        one = self._rng.choice(self._short)
        if self._rng.random() < 0.3:
            return _verb_first([*tagged(HAVE[number] + "+n't/RB"), *one.plain.participle()], number)
        return _verb_first([*tagged(DO[number] + "+n't/RB"), *one.plain.base()], number)

    def _likes(self, number: str) -> Said:
        verb = self._nouns.lexicon.base[self._rng.choice(_TRANSITIVE)]
        if self._rng.random() < 0.35:
            return _plainly([[TaggedToken(verb.pasts[0], "VBD", None)]])
        return _verb_first(tagged(present_of(verb, number)), number)

    def _one_of(self, verbs: Sequence[str], number: str) -> Said:
        return _verb_first(tagged(present_of(self._nouns.lexicon.base[self._rng.choice(verbs)], number)), number)

    def _be(self, adjectives: Sequence[str], number: str) -> Said:
        be = BE[number][self._rng.random() < 0.3]
        return _verb_first(tagged(f"{be} {self._rng.choice(adjectives)}/JJ"), number)

    def _object(self, number: str) -> Said:
        """ "She broke the vase" -> "vase (that) she broke"."""
        fitting = [plain for plain, its in self._nouns.objects if its == number] or [self._nouns.objects[0][0]]
        plain = self._rng.choice(fitting)
        that = tagged(self._rng.choice(("that/IN", "which/WDT", ""))) if self._rng.random() < 0.8 else []
        return _plainly([*plain.rest[1:], *that, *plain.subject, *plain.past()[:1]])


def _present(plain: Plain, number: str) -> list[Group]:
    assert plain.forms is not None
    return [*tagged(present_of(plain.forms, number)), *plain.rest]
