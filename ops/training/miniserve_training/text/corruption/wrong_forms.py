"""Forms that the tense rules put in a right one's place."""

from __future__ import annotations

from api.grammar.verbs import VerbForms

PRESENT_BE = {"i": "am", "sg": "is", "pl": "are"}
WITH_BE = {"i": "I'm", "he": "he's", "she": "she's", "we": "we're", "they": "they're", "you": "you're", "it": "it's"}
PAST_BE = {"i": "was", "sg": "was", "pl": "were"}


def present_form(verb: VerbForms, number: str) -> str:
    return verb.third if number == "sg" else verb.lemma


def have_form(number: str) -> str:
    return "has" if number == "sg" else "have"
