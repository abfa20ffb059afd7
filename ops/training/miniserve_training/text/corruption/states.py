"""The progressive of a verb that has none: "He is owning a car"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corruption.wrong_forms import PAST_BE, PRESENT_BE, WITH_BE
from miniserve_training.text.lexicon import words
from miniserve_training.text.tables import word_set
from miniserve_training.text.view import View

_STATES = lex.STATIVE_VERBS | words("love exist depend resemble agree belong matter")
# "I was wanting to ask" is polite; "was meaning to", "were loving it" are said.
_PAST_STATES = _STATES - words("want love matter agree remember lack exist depend")
_PERFECT_STATES = words("know own belong believe understand possess contain consist like hate deserve")
_SENSES = words("taste smell sound look seem feel")
_POSSESSIONS = word_set("possessions")
_ADVERBS = words("still really also already usually rarely seldom often now")


def add_state_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if (word.lower in lex.HAVE_WORDS or word.lower.endswith("'ve")) and word.is_joined:
            _add_perfect(view, index + 1)
        if word.is_contraction:
            if word.lower in ("doesn't", "don't"):
                _add_negative(view, index)
        elif word.tag in ("VBZ", "VBP"):
            _add_present(view, index)
        elif word.tag == "VBD":
            _add_past(view, index)


def _add_present(view: View, index: int) -> None:
    word = view.words[index]
    forms = view.lexicon.third if word.tag == "VBZ" else view.lexicon.base
    verb = forms.get(word.lower)
    if verb is None or not _is_state(view, index, verb.lemma):
        return
    subject = view.subject(index)
    if subject is None or not subject.number:
        return
    if (subject.number == "sg") != (word.tag == "VBZ"):
        return
    be = PRESENT_BE[subject.number]
    view.add(Reason.STATIVE, verb.lemma, index, f"{be} {verb.ing}")
    pronoun = view.words[index - 1]
    if pronoun.lower in _ADVERBS and subject.first < index - 1:  # "He is still wanting it"
        view.add(Reason.STATIVE, verb.lemma, index - 1, f"{be} {pronoun.lower} {verb.ing}", 2)
    if subject.is_pronoun and subject.first == index - 1 and pronoun.lower in WITH_BE and index == 1:
        view.add(Reason.STATIVE, verb.lemma, index - 1, f"{WITH_BE[pronoun.lower]} {verb.ing}", 2)


def _add_perfect(view: View, index: int) -> None:
    """ "I have been knowing him for years"."""
    verb = view.lexicon.participle.get(view.at(index).lower)
    if view.at(index).tag in ("VBN", "VBD") and verb and verb.lemma in _PERFECT_STATES:
        view.add(Reason.STATIVE, verb.lemma, index, f"been {verb.ing}")


def _is_state(view: View, index: int, lemma: str) -> bool:
    after = view.at(index + 1)
    if after.tag in ("VB", "VBN") or not _is_plain_after(view, index, lemma):
        return False
    if lemma in _STATES:
        return True
    subject = view.subject(index)
    if lemma in _SENSES and lemma not in ("look", "feel"):
        is_person = subject is not None and view.lowers[subject.first] in ("i", "you", "we", "they", "he", "she")
        return after.tag == "JJ" and not is_person
    if lemma in ("cost", "weigh"):
        return after.tag == "CD"
    return lemma == "have" and is_possession(view, index)


def _is_plain_after(view: View, index: int, lemma: str) -> bool:
    """Not "means to", "believes in", "loves every minute": here the progressive may be right."""
    after = view.at(index + 1).lower
    if lemma in ("mean", "remember"):
        return after != "to"
    if lemma in ("love", "like", "hate", "prefer"):
        return after not in ("it", "this", "that", "every", "being")
    return not (lemma in ("depend", "understand", "see") and after in ("more", "better"))


def is_possession(view: View, index: int) -> bool:
    """ "has a car", "have two brothers", "has blue eyes"."""
    for word in view.words[index + 1 : index + 4]:
        if word.lower in _POSSESSIONS:
            return view.at(index + 1).tag in ("DT", "CD", "JJ", "PRP$") and view.at(index + 1).lower != "the"
        if word.tag not in ("DT", "CD", "JJ", "PRP$") or not word.is_joined:
            return False
    return False


def _add_past(view: View, index: int) -> None:
    verb = view.lexicon.past.get(view.words[index].lower)
    if verb is None or verb.lemma not in _PAST_STATES or not _is_plain_after(view, index, verb.lemma):
        return
    subject = view.subject(index)
    if subject is None or not subject.number or view.at(index + 1).tag == "VBN":
        return
    view.add(Reason.STATIVE, verb.lemma, index, f"{PAST_BE[subject.number]} {verb.ing}")


def _add_negative(view: View, index: int) -> None:
    """ "He isn't knowing the answer"."""
    base, subject = view.at(index + 1), view.subject(index)
    verb = view.lexicon.base.get(base.lower) if base.tag == "VB" else None
    if verb is None or verb.lemma not in _STATES or not _is_plain_after(view, index + 1, verb.lemma):
        return
    number = "sg" if view.lowers[index] == "doesn't" else "pl"
    if subject is not None and subject.number == number:
        view.add(Reason.STATIVE, verb.lemma, index, f"{PRESENT_BE[number]}n't {verb.ing}", 2)
