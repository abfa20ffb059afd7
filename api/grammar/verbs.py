"""Holds the verb table: the forms of each verb, and the mistaken forms that learners make of them.

The guard, the explanations and the training data use it. `verb_forms.tsv` comes from lemminflect (MIT; NIH SPECIALIST
lexicon) with small repairs. It holds every verb but `be`, which is added here.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BE_FORMS = ("be", "am", "is", "are", "was", "were", "been", "being")
MODALS = frozenset(["can", "could", "may", "might", "must", "shall", "should", "will", "would", "ought"])
_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class VerbForms:
    """Holds one row of the table. Where several forms are right, the usual one comes first."""

    lemma: str
    third: str
    ing: str
    pasts: tuple[str, ...]
    participles: tuple[str, ...]
    is_irregular: bool
    count: int  # occurrences in the training sentences
    variants: tuple[str, ...] = ()  # rarer spellings of `third` and `ing`: travelling for traveling

    def all_forms(self) -> tuple[str, ...]:
        return (self.lemma, self.third, self.ing, *self.pasts, *self.participles, *self.variants)

    def by_name(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the forms by what grammar calls them."""
        ings = tuple(form for form in self.variants if form.endswith("ing"))
        thirds = tuple(form for form in self.variants if not form.endswith("ing"))
        # Of learn, burn, light one past serves as a participle, so each of them does: learnt, lit.
        are_alike = not set(self.pasts).isdisjoint(self.participles)
        participles = (*self.participles, *self.pasts) if are_alike else self.participles
        return (
            ("base", (self.lemma,)), ("third", (self.third, *thirds)), ("ing", (self.ing, *ings)),
            ("past", self.pasts), ("participle", participles),
        )  # fmt: skip


def regular_ed_spellings(stem: str) -> tuple[str, ...]:
    """Return the -ed forms a learner might write for `stem`: both spellings where doubling is in doubt.

    >>> regular_ed_spellings("swim")
    ('swimmed', 'swimed')
    """
    if stem.endswith("e"):
        return (stem + "d",)
    if stem.endswith("y") and len(stem) > 1 and stem[-2] not in _VOWELS:
        return (stem[:-1] + "ied", stem + "ed")
    if _ends_in_single_vowel_and_consonant(stem):
        return (stem + stem[-1] + "ed", stem + "ed")
    return (stem + "ed",)


def _ends_in_single_vowel_and_consonant(stem: str) -> bool:
    if len(stem) < 3 or stem[-1] in _VOWELS or stem[-1] in "wxy":
        return False
    return stem[-2] in _VOWELS and stem[-3] not in _VOWELS


class VerbTable:
    """Finds the forms of a lemma, and the lemmas of a right or mistaken form. Keys are lower case."""

    def __init__(self, rows: Iterable[VerbForms]) -> None:
        self.verbs = {row.lemma: row for row in rows}
        self._lemmas_of_form: dict[str, set[str]] = defaultdict(set)
        self._lemmas_of_misform: dict[str, set[str]] = defaultdict(set)
        for verb in self.verbs.values():
            for form in verb.all_forms():
                self._lemmas_of_form[form].add(verb.lemma)
            if verb.is_irregular:
                for form in self.over_regularised(verb.lemma):
                    self._lemmas_of_misform[form].add(verb.lemma)
        for form in BE_FORMS:
            self._lemmas_of_form[form].add("be")

    @classmethod
    @cache
    def load(cls) -> VerbTable:
        """Load the table that ships with the package."""
        lines = Path(__file__).with_name("verb_forms.tsv").read_text(encoding="utf-8").splitlines()
        return cls([_parse_row(row) for row in csv.DictReader(lines, delimiter="\t")])

    def over_regularised(self, lemma: str) -> tuple[str, ...]:
        """Return every stem of an irregular verb with a regular ending: `go` -> goed, wented, goned."""
        verb = self.verbs[lemma]
        stems = dict.fromkeys((verb.lemma, *verb.pasts, *verb.participles))
        return tuple(dict.fromkeys(form for stem in stems for form in regular_ed_spellings(stem)))

    def is_form(self, word: str) -> bool:
        """Return whether the word is a right form of a known verb, `be` included."""
        return word.lower() in self._lemmas_of_form

    def lemmas_of(self, word: str) -> frozenset[str]:
        """Return the verbs with this form; those with it as an over-regularised form where no verb has it."""
        key = word.lower()
        return frozenset(self._lemmas_of_form.get(key) or self._lemmas_of_misform.get(key) or ())


def _parse_row(row: dict[str, str]) -> VerbForms:
    thirds, ings = _alternatives(row["3sg"]), _alternatives(row["ing"])
    return VerbForms(
        lemma=row["lemma"], third=thirds[0], ing=ings[0],
        pasts=_alternatives(row["past"]), participles=_alternatives(row["past_participle"]),
        is_irregular=row["irregular"] == "1", count=int(row["count_in_sentences"]), variants=thirds[1:] + ings[1:],
    )  # fmt: skip


def _alternatives(cell: str) -> tuple[str, ...]:
    # The lexicon also lists "over-eats", "under goes" and "o.k.'s": the usual form is a plain word where one is there.
    forms = cell.split("/")
    return tuple(sorted(forms, key=lambda form: not form.isalpha()))
