"""Right sentences that look wrong: subjunctives, odd plurals, -ing after "to", adjectives like verbs, headlines.

`hard_clean.tsv` holds the templates by class, `hard_clean_slots.tsv` the words for their `{name}`s; `{Name}` written
with a capital that has no words of its own is `{name}` with a capital. `{base}`, `{past}`, `{part}`, `{ing}` and
`{third}` are forms of one of the verb phrases `vp`. None of these sentences is ever corrupted.
"""

from __future__ import annotations

import random
import re
from functools import cache

from api.grammar.verbs import VerbTable
from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.tables import rows

_SLOT = re.compile(r"\{(\w+)\}")
_FIRST_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")


def hard_clean_sentence(rng: random.Random) -> TaggedSentence:
    """A fresh sentence of the kind that a careless corrector spoils."""
    text = fill(rng.choice(templates()), rng)
    opening = _FIRST_WORD.search(text)
    word = opening.group() if opening else text
    keeps_capital = word in _names() or word == "I" or word.startswith("I'") or word.isupper()
    return TaggedSentence("hard", text, (TaggedToken(word, "NNP" if keeps_capital else "", 0),))


def fill(template: str, rng: random.Random) -> str:
    """The template with words for its slots."""
    return _SLOT.sub(lambda match: _word_for(match.group(1), rng), template)


@cache
def templates() -> tuple[str, ...]:
    """All templates, of every class."""
    return tuple(template for _, template in rows("hard_clean"))


def _word_for(name: str, rng: random.Random) -> str:
    slots = _slots()
    if name in slots:
        return rng.choice(slots[name])
    word = rng.choice(slots[name[0].lower() + name[1:]])
    return word[0].upper() + word[1:]


@cache
def _slots() -> dict[str, tuple[str, ...]]:
    slots = {name: tuple(values.split("|")) for name, values in rows("hard_clean_slots")}
    verbs = VerbTable.load().verbs
    forms: dict[str, list[str]] = {"base": [], "past": [], "part": [], "ing": [], "third": []}
    for phrase in slots["vp"]:
        lemma, _, rest = phrase.partition(" ")
        verb = verbs[lemma]
        for name, form in zip(
            forms, (lemma, verb.pasts[0], verb.participles[0], verb.ing, verb.third), strict=True
        ):  # fmt: skip
            forms[name].append(f"{form} {rest}".strip())
    return slots | {name: tuple(values) for name, values in forms.items()}


@cache
def _names() -> frozenset[str]:
    slots = _slots()
    return frozenset(name.split()[0] for name in (*slots["Name"], *slots["Place"]) if name[0].isupper())
