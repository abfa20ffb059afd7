"""Word lists and form look-ups the corruption rules share. Closed lists only: what is not listed is left alone."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from api.grammar.verbs import VerbForms, VerbTable
from ops.training.text.corpus import TaggedSentence


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUN_NUMBER = {"i": "i", "you": "pl", "we": "pl", "they": "pl", "he": "sg", "she": "sg", "it": "sg"}
OBJECT_PRONOUNS = words("me him her us them it you")
SINGULAR_WORDS = words(
    "everyone everybody someone somebody nobody everything something nothing anything each this that"
)
PLURAL_WORDS = words("these those")
# Heads whose number is a matter of taste or hidden: never used for agreement.
COLLECTIVES = words(
    "police people family team government staff crew class group committee couple pair number lot "
    "majority half rest audience army public data media series species sheep fish deer aircraft means "
    "none all some any most more half percent kind sort type variety news mathematics physics politics "
    "economics band company party crowd cattle plenty minority dozen hundred thousand million one ones "
    "part parts pants glasses scissors trousers headquarters united states nations what who which there "
    "youth enemy club firm bunch range offspring gymnastics athletics board press jury council parliament "
    "management congress cabinet orchestra choir faculty gang herd flock fleet generation opposition department"
)
ADVERBS = words(
    "never always often usually sometimes also still just already really hardly rarely seldom soon "
    "probably finally suddenly only ever even now then again almost certainly quickly slowly simply "
    "nearly once recently generally frequently normally occasionally actually currently"
)
SUBORDINATORS = words(
    "that if when because while although though until till before after as whether where why how so but than unless"
)
PREPOSITIONS = words("of in on with at from between near behind about under for to by")
MODAL_WORDS = words(
    "can could may might must shall should will would can't couldn't mustn't won't shouldn't wouldn't cannot"
)
HAVE_WORDS = words("have has had haven't hasn't hadn't")
BE_WORDS = words("am is are was were isn't aren't wasn't weren't")
DO_WORDS = words("do does did don't doesn't didn't")
UNREAL_WORDS = words("if wish wishes wished unless though suppose supposing imagine rather lest whether time")
SUBJUNCTIVE_WORDS = words(
    "suggest suggests suggested suggesting recommend recommends recommended insist insists insisted "
    "demand demands demanded propose proposes proposed require requires required request requested "
    "requests ask asks asked asking order orders ordered advise advised advises lest essential important "
    "necessary vital imperative urgent god heaven bless live desire desirable prefer preferred wish "
    "suggestion recommendation advisable crucial better move moved"
)
STATE_VERBS = words(
    "know need believe own belong understand contain seem prefer consist matter resemble possess deserve "
    "mean hate like want doubt exist agree recognize recognise remember cost weigh fit lack depend"
)
MENTAL_VERBS = words("think guess suppose hope feel disagree love wish enjoy remember agree know")
STATIVE_VERBS = words(
    "know need believe own belong understand contain seem prefer consist matter resemble possess deserve "
    "know want like hate"
)
INTRANSITIVE_VERBS = words(
    "arrive happen die appear disappear seem exist sleep belong agree occur laugh rain snow last "
    "come go fall rise become"
)
# Changes and posture verbs go with "every day" in the progressive; the rest of these are too general.
ACTIVITY_VERBS = words(
    "work play study read write drink eat walk run swim drive cook clean wash visit teach speak watch "
    "listen practice practise sing dance call help take drink sell buy use ride jog swim exercise feed "
    "water pray paint train travel"
)


@dataclass(slots=True)
class Lexicon:
    """The verb table turned around for one purpose each: which lemma does this form belong to, as what."""

    table: VerbTable
    past: dict[str, VerbForms] = field(default_factory=dict)
    participle: dict[str, VerbForms] = field(default_factory=dict)
    third: dict[str, VerbForms] = field(default_factory=dict)
    ing: dict[str, VerbForms] = field(default_factory=dict)
    nouns: set[str] = field(default_factory=set)  # words seen as a noun: "has work" may be right
    known_adjectives: set[str] = field(default_factory=set)  # "is open", "are clean" are right
    bare_nouns: set[str] = field(default_factory=set)  # seen after a preposition alone: "before work" is right
    known_words: set[str] = field(default_factory=set)  # never invented as a misspelling

    @property
    def base(self) -> dict[str, VerbForms]:
        return self.table.verbs

    @classmethod
    def build(cls, table: VerbTable, sentences: Iterable[TaggedSentence]) -> Lexicon:
        lexicon = cls(table)
        for verb in sorted(table.verbs.values(), key=lambda verb: verb.count):  # the commonest verb wins a shared form
            lexicon.third[verb.third] = lexicon.ing[verb.ing] = verb
            lexicon.past.update(dict.fromkeys(verb.pasts, verb))
            lexicon.participle.update(dict.fromkeys(verb.participles, verb))
        words: Counter[str] = Counter()
        nouns: Counter[str] = Counter()
        adjectives: Counter[str] = Counter()
        bare: Counter[str] = Counter()
        for sentence in sentences:
            bare.update(_nouns_after_prepositions(sentence))
            for token in sentence.tokens:
                words[token.text] += 1
                if token.tag in ("NN", "NNS"):
                    nouns[token.text] += 1
                elif token.tag in ("JJ", "JJR", "RB", "RBR", "IN"):
                    adjectives[token.text] += 1
        lexicon.nouns = {word.lower() for word, count in nouns.items() if count > 1} | EXTRA_NOUNS
        lexicon.known_adjectives = {word.lower() for word, count in adjectives.items() if count > 1} | EXTRA_ADJECTIVES
        # The text has slips of its own, and its tagger others: "before eat" is there twice.
        lexicon.bare_nouns = {word for word, count in bare.items() if count > 4}
        lexicon.known_words = {word.lower() for word, count in words.items() if count > 2} | EXTRA_KNOWN_WORDS
        return lexicon

    def is_real(self, word: str) -> bool:
        """Could `word` be right somewhere? Misspellings must not be."""
        return word in self.known_words or self.table.is_form(word)

    def is_finite_past(self, word: str) -> bool:
        return word in self.past

    def ing_of(self, lemma: str) -> str:
        return "being" if lemma == "be" else self.base[lemma].ing

    def over_regularised(self, verb: VerbForms) -> list[str]:
        if not verb.is_irregular:
            return [_MISFORMS_IN_TABLE[verb.lemma]] if verb.lemma in _MISFORMS_IN_TABLE else []
        forms = self.table.over_regularised(verb.lemma)
        return [sys.intern(form) for form in forms if form.isalpha() and not self.is_real(form)]


# The table lets these pass as forms; to a teacher they are mistakes.
_MISFORMS_IN_TABLE = {
    "pay": "payed", "fly": "flied", "tear": "teared", "grind": "grinded", "bend": "bended", "cost": "costed",
}  # fmt: skip
EXTRA_NOUNS = words("work need change dream cost plan help use call call love hope fear visit drink sleep start end")


def _nouns_after_prepositions(sentence: TaggedSentence) -> set[str]:
    tokens = sentence.tokens
    return {
        noun.text.lower()
        for before, noun, after in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False)
        if before.tag == "IN" and noun.tag in ("NN", "NNS") and (after is None or after.tag not in ("NN", "NNS"))
    }


# Verbs that are adjectives as they stand: "The plan is separate", "It was welcome".
EXTRA_ADJECTIVES = words(
    "articulate separate complete alternate subordinate moderate appropriate elaborate duplicate degenerate deliberate "
    "intimate delegate welcome direct correct clear open dry perfect present content"
)
EXTRA_KNOWN_WORDS = words(
    "knitted awaked thrusted treaded ringed putted spitted slewed slayed digged raped striped striping griping "
    "lied hanged bed costed lighted shined weaved sewed leaved bidded shoed heaved borned seed"
)
