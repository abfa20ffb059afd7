"""The wrong tense for the time word, the clause or the kind of verb."""

from __future__ import annotations

import re

from api.reasons import Reason
from api.verbs import VerbForms
from ops.training.corruption import lexicon as lex
from ops.training.corruption.view import Subject, View

_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_PERIOD = rf"(?:night|week|month|year|summer|winter|spring|autumn|{_WEEKDAY})"
_AGO = r"(?:minutes?|hours?|days?|weeks?|months?|years?|while|time) ago"
_PAST_TIME = re.compile(rf"\b(?:yesterday(?!')|last {_PERIOD}(?!')|{_AGO}|in (?:18|19)\d\d)\b")
_FUTURE_TIME = re.compile(rf"\b(?:tomorrow(?!')|next {_PERIOD}(?!'))\b")
_SINCE = re.compile(
    rf"\bsince (?:then|yesterday|childhood|noon|breakfast|lunch|(?:this )?morning|last {_PERIOD}|{_MONTH}|{_WEEKDAY}"
    r"|(?:\w+ )?(?:1[89]|20)\d\d|(?:i|he|she|we|they|you) (?:was|were|came|left|moved|met|got|began|started))\b"
)
_LONG_TIMES = "(?:weeks|months|years|ages|hours|days|a long time|a month|a year|a week)"
_FOR_PERIOD = re.compile(rf"\bfor (?:\w+ )?(?:\w+ )?{_LONG_TIMES}\b")
_FOR_STATES = frozenset(("know", "live", "own"))
# "He is working every evening" is right for a while; with these words the progressive never is.
_HABIT_TIME = re.compile(r"\b(?:usually|rarely|seldom|normally|generally)\b")
_UNREAL_MODALS = {"could": "can", "would": "will"}
_UNREAL_MAIN = frozenset(("would", "i'd", "wouldn't"))
_PRESENT_BE = {"i": "am", "sg": "is", "pl": "are"}
_TIME_CONJUNCTIONS = frozenset(("when", "if", "until", "till", "before", "after", "unless"))
_ANTERIOR = re.compile(r"\b(?:when|before|by the time|after) (?:i|you|he|she|it|we|they|the|my|tom|mary)\b")


def add_tense_errors(view: View) -> None:
    text = " ".join(view.lowers)
    is_past = _PAST_TIME.search(text) is not None and not view.is_unreal
    is_future = _FUTURE_TIME.search(text) is not None
    is_since = _SINCE.search(text) is not None
    is_for = _FOR_PERIOD.search(text) is not None
    is_habit = _HABIT_TIME.search(text) is not None
    for index, word in enumerate(view.words):
        if word.tag == "VBD" and is_past and (view.num_finite == 1 or _stands_by_time(view, index)):
            _add_past_time(view, index)
        elif word.tag == "MD" and word.lower == "will":
            if is_future and view.num_finite == 1:
                _add_future_time(view, index)
        elif word.lower in ("has", "have") and (is_since or is_for):
            _add_perfect(view, index, is_since=is_since)
        elif word.tag in ("VBZ", "VBP") and not word.is_contraction:
            _add_present(view, index, is_habit=is_habit)
        if word.tag == "VBD":
            _add_sequence(view, index)
            _add_unreal(view, index)
            _add_past_stative(view, index)
            if word.lower == "had":
                _add_past_perfect(view, index, text)
        elif word.lower in ("could", "would"):
            _add_unreal(view, index)


def _present(verb: VerbForms, subject: Subject) -> str:
    return verb.third if subject.number == "sg" else verb.lemma


def _stands_by_time(view: View, index: int) -> bool:
    """The time phrase opens the sentence and this verb's subject follows it at once."""
    subject = view.subject(index)
    if subject is None or subject.first == 0 or subject.first > 4:
        return False
    return _PAST_TIME.fullmatch(" ".join(view.lowers[: subject.first])) is not None


def _add_past_time(view: View, index: int) -> None:
    word, subject = view.words[index], view.subject(index)
    if subject is None or not subject.number:
        return
    if word.lower in ("was", "were", "wasn't", "weren't"):
        _add_past_be(view, index, subject)
        return
    if word.lower == "didn't":
        view.add(Reason.TENSE_PAST, "do", index, "doesn't" if subject.number == "sg" else "don't")
        return
    verb = view.lexicon.past.get(word.lower)
    if verb is None or word.is_contraction or word.lower in ("had", "did"):
        return
    for wrong in dict.fromkeys((_present(verb, subject), verb.lemma)):
        if wrong not in verb.pasts:
            view.add(Reason.TENSE_PAST, verb.lemma, index, wrong)
    view.add(Reason.TENSE_PAST, verb.lemma, index, f"will {verb.lemma}")
    have = "has" if subject.number == "sg" else "have"
    view.add(Reason.PAST_NOT_PERF, verb.lemma, index, f"{have} {verb.participles[0]}")


def _add_past_be(view: View, index: int, subject: Subject) -> None:
    word = view.words[index]
    present = _PRESENT_BE[subject.number]
    is_plain = not word.is_contraction
    if is_plain or present != "am":
        view.add(Reason.TENSE_PAST, "be", index, present if is_plain else present + "n't")
    if is_plain:
        view.add(Reason.PAST_NOT_PERF, "be", index, f"{'has' if subject.number == 'sg' else 'have'} been")


def _add_future_time(view: View, index: int) -> None:
    base, subject = view.at(index + 1), view.subject(index)
    if base.tag != "VB" or subject is None or not subject.number:
        return
    if base.lower == "be" and view.at(index + 2).tag != "VBG":
        view.add(Reason.TENSE_FUT, "be", index, "were" if subject.number == "pl" else "was", 2)
    verb = view.lexicon.base.get(base.lower)
    if verb is None:
        return
    for wrong in dict.fromkeys(verb.pasts[:1]):
        if wrong != verb.lemma or subject.number == "sg":
            view.add(Reason.TENSE_FUT, verb.lemma, index, wrong, 2)


def _add_perfect(view: View, index: int, *, is_since: bool) -> None:
    subject, participle = view.subject(index), view.at(index + 1)
    if subject is None or not subject.number or participle.tag not in ("VBN", "VBD"):
        return
    is_progressive = participle.lower == "been" and view.at(index + 2).tag == "VBG" and view.words[index + 1].is_joined
    if participle.lower == "been":
        if view.lowers[subject.first] == "it" and not is_progressive:
            return  # "It is ten years since he left", "It was": right as well
        if not (is_since or is_progressive):
            return  # "I am here for two weeks" is right
        view.add(Reason.TENSE_PERF, "be", index, _PRESENT_BE[subject.number], 2)
        if is_since and not is_progressive:
            view.add(Reason.TENSE_PERF, "be", index, "were" if subject.number == "pl" else "was", 2)
        return
    verb = view.lexicon.participle.get(participle.lower)
    if verb is None or not (is_since or verb.lemma in _FOR_STATES):
        return
    view.add(Reason.TENSE_PERF, verb.lemma, index, _present(verb, subject), 2)
    if is_since and verb.pasts[0] != verb.lemma:
        view.add(Reason.TENSE_PERF, verb.lemma, index, verb.pasts[0], 2)


def _add_present(view: View, index: int, *, is_habit: bool) -> None:
    word, subject = view.words[index], view.subject(index)
    if subject is None or not subject.number:
        return
    forms = view.lexicon.third if word.tag == "VBZ" else view.lexicon.base
    verb = forms.get(word.lower)
    if verb is None or verb.lemma in ("have", "do") or view.at(index + 1).tag == "VB":
        return
    progressive = f"{_PRESENT_BE[subject.number]} {verb.ing}"
    if verb.lemma in lex.STATIVE_VERBS:
        view.add(Reason.STATIVE, verb.lemma, index, progressive)
    elif is_habit and verb.lemma in lex.ACTIVITY_VERBS and view.num_finite == 1:
        view.add(Reason.HABIT, verb.lemma, index, progressive)
    _add_will_in_clause(view, index, subject, verb)


def _add_past_stative(view: View, index: int) -> None:
    word, subject = view.words[index], view.subject(index)
    verb = view.lexicon.past.get(word.lower)
    if verb is None or subject is None or not subject.number:
        return
    if verb.lemma not in lex.STATIVE_VERBS or verb.lemma in ("want", "like", "hate"):
        return
    view.add(Reason.STATIVE, verb.lemma, index, f"{'were' if subject.number == 'pl' else 'was'} {verb.ing}")


def _add_will_in_clause(view: View, index: int, subject: Subject, verb: VerbForms) -> None:
    """ "When she will call, we will go": the clause opens the sentence, or the main clause came first."""
    opener = subject.first - 1
    if opener < 0 or view.lowers[opener] not in (*_TIME_CONJUNCTIONS, "as", "soon"):
        return
    is_as_soon_as = view.lowers[opener - 2 : opener + 1] == ["as", "soon", "as"]
    conjunction = "as soon as" if is_as_soon_as else view.lowers[opener]
    first = opener - 2 if is_as_soon_as else opener
    if conjunction in ("as", "soon") or (conjunction == "if" and subject.number == "pl"):
        return
    others = view.lowers[:first] + view.lowers[index + 1 :]
    has_will = any(word in ("will", "won't") or word.endswith("'ll") for word in others)
    asks = not {"know", "knows", "wonder", "ask", "tell", "see", "sure", "doubt", "say"}.isdisjoint(view.lowers[:first])
    if has_will and not asks and (first == 0 or conjunction != "when" or not view.words[first - 1].tag.startswith("V")):
        view.add(Reason.NO_WILL, verb.lemma, index, f"will {verb.lemma}")


def _add_sequence(view: View, index: int) -> None:
    """ "He sat down and opens": two acts of one subject, one after the other."""
    verb = view.lexicon.past.get(view.words[index].lower)
    if verb is None or verb.lemma in lex.STATE_VERBS or verb.lemma in ("have", "do", "live", "work", "keep", "teach"):
        return
    if view.at(index - 1).lower != "and" or not view.at(index - 1).is_joined or index < 3:
        return
    pasts = [i for i in range(index - 1) if view.words[i].tag == "VBD"]
    if len(pasts) != 1 or view.num_finite != 2:
        return
    first = view.lexicon.past.get(view.words[pasts[0]].lower)
    subject = view.subject(pasts[0])
    if first is None or first.lemma in lex.STATE_VERBS or first.lemma == "have":
        return
    if subject is None or not subject.number:
        return
    wrong = _present(verb, subject)
    if wrong not in verb.pasts and not (subject.number != "sg" and wrong in view.lexicon.nouns):
        view.add(Reason.TENSE_SEQ, verb.lemma, index, wrong)


def _add_unreal(view: View, index: int) -> None:
    """ "I wish I know", "If I am you, I would go"."""
    word, subject = view.words[index], view.subject(index)
    if subject is None or not subject.number or not view.at(subject.first - 1).is_joined:
        return
    before = view.lowers[subject.first - 1]
    wishes = before in ("wish", "wishes") or (before == "that" and "wish" in view.lowers[: subject.first])
    main = view.lowers[index + 1 :]
    is_condition = before == "if" and subject.first == 1 and word.lower not in _UNREAL_MODALS
    is_condition = is_condition and not _UNREAL_MAIN.isdisjoint(main)
    if not (wishes or is_condition) or (word.lower == "had" and view.at(index + 1).tag in ("VBN", "VBD", "RB")):
        return
    if word.lower in ("was", "were"):
        view.add(Reason.WISH_PAST, "be", index, _PRESENT_BE[subject.number])
        return
    if word.lower in ("could", "would"):
        view.add(Reason.WISH_PAST, word.lower, index, _UNREAL_MODALS[word.lower])
        return
    verb = view.lexicon.past.get(word.lower)
    if verb is None or word.is_contraction or _present(verb, subject) in verb.pasts:
        return
    view.add(Reason.WISH_PAST, verb.lemma, index, _present(verb, subject))
    # "If you would wait" asks politely.
    if is_condition and view.lowers[subject.first] not in ("you", "we"):
        view.add(Reason.WISH_PAST, verb.lemma, index, f"would {verb.lemma}")


def _add_past_perfect(view: View, index: int, text: str) -> None:
    """ "The train has left when we arrived", "If I have known, I would have gone"."""
    subject = view.subject(index)
    participle = view.skip_adverbs(index + 1) if view.words[index].is_joined else -1
    if subject is None or not subject.number or participle < 0 or view.words[participle].tag not in ("VBN", "VBD"):
        return
    others = [i for i, word in enumerate(view.words) if word.tag == "VBD" and i not in (index, participle)]
    is_before_past = len(others) == 1 and view.num_finite <= 3 and _ANTERIOR.search(text) is not None
    is_unreal = view.lowers[0] == "if" and subject.first == 1 and "have" in view.lowers[participle:]
    if is_before_past or is_unreal:
        view.add(Reason.PAST_PERF, "have", index, "has" if subject.number == "sg" else "have")
