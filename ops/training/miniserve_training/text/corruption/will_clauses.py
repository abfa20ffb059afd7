"""Will in a clause of time or condition: "When she will call, we will go"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Subject, View

_CONJUNCTIONS = words("when if until till before after unless once")
_ASKING = words(
    "know knows wonder ask tell see sure doubt say care wonders matter decide remember guess understand depends idea "
    "question whether find imagine think said knew asked asks tells told show"
)
_FUTURE_MODALS = words("can must should may might")
_CALLS = words("call wait come write phone visit stop stay lock leave wake ring meet start turn go text")
_GAPS = {"he": "he'll", "she": "she'll", "they": "they'll", "we": "we'll", "it": "it'll"}
_BE = words("am is are")


def add_will_clause_errors(view: View) -> None:
    if not _has_opener(view):
        return
    for index, word in enumerate(view.words):
        if word.tag in ("VBZ", "VBP") and not (word.is_contraction and word.lower != "doesn't"):
            _add_will(view, index)


def _has_opener(view: View) -> bool:
    return not view.lower_set.isdisjoint(_CONJUNCTIONS) or "soon" in view.lower_set or "time" in view.lower_set


def _add_will(view: View, index: int) -> None:
    subject = view.subject(index)
    if subject is None or not subject.number:
        return
    conjunction, first = _conjunction(view, subject)
    if not conjunction or (conjunction == "if" and view.lowers[subject.first] == "you"):
        return  # "if you will" is a courtesy
    if not _is_future(view, conjunction, first, index):
        return
    _add_wrong(view, index, subject, conjunction)


def _conjunction(view: View, subject: Subject) -> tuple[str, int]:
    """The conjunction before this subject and its first word; "" if it is none of time or condition."""
    opener = subject.first - 1
    if opener < 0 or not view.words[opener].is_joined:
        return "", -1
    if view.lowers[opener - 2 : opener + 1] == ["as", "soon", "as"]:
        return "as soon as", opener - 2
    if view.lowers[opener - 2 : opener + 1] == ["by", "the", "time"]:
        return "by the time", opener - 2
    if view.lowers[opener] in _CONJUNCTIONS:
        return view.lowers[opener], opener
    return "", -1


def _is_future(view: View, conjunction: str, first: int, index: int) -> bool:
    """The main clause speaks of the future, so that this one does too, and it is no question in disguise."""
    if not _ASKING.isdisjoint(view.lowers[:first]):
        return False
    if conjunction in ("when", "if") and first > 0 and view.words[first - 1].tag[:1] == "V":
        return False
    others = view.lowers[:first] + view.lowers[index + 1 :]
    if any(word in ("will", "won't") or word.endswith("'ll") for word in others):
        return True
    if conjunction in ("when", "once"):
        return first > 0 and view.lowers[0] in _CALLS and view.words[0].tag == "VB"
    if first == 0 and conjunction == "if":
        return not _FUTURE_MODALS.isdisjoint(others)
    is_order = first > 0 and view.words[0].tag == "VB"
    return conjunction != "if" and (is_order or not _FUTURE_MODALS.isdisjoint(others))


def _add_wrong(view: View, index: int, subject: Subject, conjunction: str) -> None:
    word, after = view.words[index], view.at(index + 1)
    if word.lower == "doesn't":
        if after.lower in ("rain", "snow") or conjunction in ("until", "before", "as soon as"):
            view.add(Reason.NO_WILL, "do", index, "won't")
        return
    if word.lower in _BE:
        if after.tag != "TO" and after.lower not in ("going", "not"):
            view.add(Reason.NO_WILL, "be", index, "will be")
        return
    forms = view.lexicon.third if word.tag == "VBZ" else view.lexicon.base
    verb = forms.get(word.lower)
    if verb is None or verb.lemma == "do" or after.tag == "VB":
        return
    view.add(Reason.NO_WILL, verb.lemma, index, f"will {verb.lemma}")
    pronoun = view.lowers[subject.first]
    if subject.is_pronoun and subject.first == index - 1 and pronoun in _GAPS and conjunction != "if":
        view.add(Reason.NO_WILL, verb.lemma, index - 1, f"{_GAPS[pronoun]} {verb.lemma}", 2)
