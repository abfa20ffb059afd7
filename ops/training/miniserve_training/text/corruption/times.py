"""Words of time, and which verb of the sentence they belong to."""

from __future__ import annotations

import re

from miniserve_training.text.lexicon import PRONOUN_NUMBER, STATE_VERBS, words
from miniserve_training.text.view import View

_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_PERIOD = rf"(?:night|week|weekend|month|year|summer|winter|spring|autumn|{_WEEKDAY}|{_MONTH})"
_PART = "(?: (?:morning|afternoon|evening|night))?"
_AMOUNT = (
    r"(?:(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|fifty|hundred|\d+|few|several|many|"
    r"some|long|couple|of|short|half) ){0,3}"
)
_AGO = rf"{_AMOUNT}(?:minutes?|hours?|days?|weeks?|months?|years?|while|time) ago"
PAST_TIME = re.compile(
    rf"\b(?:(?:the day before )?yesterday(?!'){_PART}|(?:on {_WEEKDAY} )?last {_PERIOD}(?!'){_PART}|{_AGO}"
    r"|in (?:1[5-9]\d\d|200\d|201\d)|the other day)\b"
)
FUTURE_TIME = re.compile(
    rf"\b(?:the day after tomorrow|(?<!by )tomorrow(?!'){_PART}|(?<!the )(?<!by )next {_PERIOD}(?!'){_PART})\b"
)
CHILDHOOD = re.compile(
    r"\bwhen (?:i|he|she|we|they|you) (?:was|were) (?:\w+ )?(?:child|children|young|little|boys?|girls?|school|kids?|"
    r"small|five|six|seven|eight|ten|twelve)\b"
)
SINCE = re.compile(
    rf"\bsince (?:then|yesterday|childhood|noon|breakfast|lunch|(?:this )?morning|last {_PERIOD}|{_MONTH}|{_WEEKDAY}"
    r"|(?:\w+ )?(?:1[89]|20)\d\d|(?:i|he|she|we|they|you) (?:was|were|came|left|moved|met|got|began|started))\b"
)
_LONG_TIMES = "(?:weeks|months|years|ages|hours|minutes|days|an hour|a long time|a month|a year|a week)"
FOR_PERIOD = re.compile(rf"\bfor (?:\w+ )?(?:\w+ )?{_LONG_TIMES}\b")
MANY_YEARS = re.compile(r"\bfor (?:\w+ )?(?:\w+ )?(?:years|ages)\b")
# "He claims to have met her last week", "seems to have": the time is not that of the first verb.
_DOES_TO = words("try go come begin start decide refuse forget manage have be")
_QUESTION_WORDS = words("what where when why how who whom which")


def words_of_match(text: str, match: re.Match[str]) -> tuple[int, int]:
    """The first word of the match and the one after its last; `text` has single spaces."""
    first = text.count(" ", 0, match.start())
    return first, first + match.group().count(" ") + 1


def is_timed(view: View, index: int, time: tuple[int, int]) -> bool:
    """The time words are those of the finite verb at `index`, for certain."""
    first, end = time
    if first > index:
        is_last = not any(word.tag in ("VBD", "VBZ", "VBP", "MD") for word in view.words[index + 1 : first])
        ends = end == len(view) or view.num_finite == 1
        return is_last and ends and _is_plain_up_to(view, index, first)
    subject = view.subject(index)
    start = subject.first if subject else _inversion_start(view, index)
    if start is None:
        return False
    return end == start and (first == 0 or view.num_finite == 1)


def _inversion_start(view: View, index: int) -> int | None:
    return None if inverted_number(view, index) is None else index


def _is_plain_up_to(view: View, index: int, first: int) -> bool:
    word = view.words[index]
    verb = view.lexicon.past.get(word.lower) or view.lexicon.base.get(word.lower)
    lemma = "be" if word.lower in ("was", "were", "wasn't", "weren't") else verb.lemma if verb else word.lower
    between = view.words[index + 1 : first]
    has_base = word.lower.startswith(("did", "could", "will", "won't"))
    for position, other in enumerate(between):
        if other.tag == "TO":
            return False if lemma not in _DOES_TO else all(w.tag not in ("VBN", "VBG") for w in between)
        if other.tag in ("VBN", "VBG") and not (lemma == "be" and position <= 1):
            return False
        if other.tag == "VB" and not has_base:
            return False
    if lemma == "be" or lemma in STATE_VERBS or lemma in ("love", "enjoy", "show", "describe", "tell", "regret"):
        return not any(w.lower in ("about", "of", "for", "with", "from", "by") for w in between[:-1])
    return True


def inverted_number(view: View, index: int) -> str | None:
    """The number of a subject standing after its auxiliary: "Did they", "Where was your book"; None if unclear."""
    is_opening = index == 0 or (index == 1 and view.lowers[0] in _QUESTION_WORDS)
    after = view.at(index + 1)
    if not is_opening or not view.words[index].is_joined:
        return None
    if after.lower in PRONOUN_NUMBER:
        return PRONOUN_NUMBER[after.lower]
    if after.tag == "NNP" and not after.lower.endswith("s") and after.is_joined:
        return "sg" if view.at(index + 2).tag in ("VB", "JJ", "VBG", "IN") else None
    noun = view.at(index + 2)
    if after.tag in ("DT", "PRP$") and noun.tag in ("NN", "NNS") and view.at(index + 3).tag in ("VB", "JJ", "IN"):
        return "sg" if noun.tag == "NN" else "pl"
    return None
