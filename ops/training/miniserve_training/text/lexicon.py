"""Word lists and form look-ups the corruption rules share. Closed lists only: what is not listed is left alone."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from api.grammar.verbs import VerbForms, VerbTable
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.tables import word_set


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUN_NUMBER = {"i": "i", "you": "pl", "we": "pl", "they": "pl", "he": "sg", "she": "sg", "it": "sg"}
OBJECT_PRONOUNS = words("me him her us them it you")
SINGULAR_WORDS = word_set("singular_words")
PLURAL_WORDS = words("these those")
# Heads whose number is a matter of taste or hidden: never used for agreement.
COLLECTIVES = word_set("collectives")
ADVERBS = word_set("adverbs")
SUBORDINATORS = word_set("subordinators")
PREPOSITIONS = words("of in on with at from between near behind about under for to by")
MODAL_WORDS = word_set("modal_words")
HAVE_WORDS = words("have has had haven't hasn't hadn't")
BE_WORDS = words("am is are was were isn't aren't wasn't weren't")
DO_WORDS = words("do does did don't doesn't didn't")
UNREAL_WORDS = word_set("unreal_words")
SUBJUNCTIVE_WORDS = word_set("subjunctive_words")
STATE_VERBS = word_set("state_verbs")
MENTAL_VERBS = word_set("mental_verbs")
STATIVE_VERBS = word_set("stative_verbs")
INTRANSITIVE_VERBS = word_set("intransitive_verbs")
# Changes and posture verbs go with "every day" in the progressive; the rest of these are too general.
ACTIVITY_VERBS = word_set("activity_verbs")
EXTRA_NOUNS = word_set("extra_nouns")
# Verbs that are adjectives as they stand: "The plan is separate", "It was welcome".
EXTRA_ADJECTIVES = word_set("extra_adjectives")
EXTRA_KNOWN_WORDS = word_set("extra_known_words")
# The table lets these pass as forms; to a teacher they are mistakes.
_MISFORMS_IN_TABLE = {
    "pay": "payed", "fly": "flied", "tear": "teared", "grind": "grinded", "bend": "bended", "cost": "costed",
}  # fmt: skip


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


def _nouns_after_prepositions(sentence: TaggedSentence) -> set[str]:
    tokens = sentence.tokens
    return {
        noun.text.lower()
        for before, noun, after in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False)
        if before.tag == "IN" and noun.tag in ("NN", "NNS") and (after is None or after.tag not in ("NN", "NNS"))
    }
