"""The wrong form after do, a modal, "to", have or be; be missing or too many; "must of"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corruption.agreement import inverted_subject
from miniserve_training.text.lexicon import words
from miniserve_training.text.tables import word_set
from miniserve_training.text.view import Subject, View, is_adverb

_WANTING_FORMS = word_set("before_to")
# "We are agree" wants "agree"; "we are go" wants "going". The two errors look alike, so each has its verbs.
_EXTRA_BE_VERBS = lex.STATE_VERBS | lex.MENTAL_VERBS
_WEATHER = frozenset(("rain", "snow"))
_TWO_OBJECTS = words("give show tell teach send offer pay ask allow make hand lend feed serve grant promise call name")
_OBJECT_TAGS = frozenset(("NN", "NNS", "NNP", "JJ", "CD", "TO"))
_GOING_ON = lex.INTRANSITIVE_VERBS | lex.ACTIVITY_VERBS | word_set("going_on")
_NO_PASSIVE = words("go come become do finish get tire marry interest excite bear be have use suppose")
# "He was broke", "It was a bit" and the like are right.
_MAY_FOLLOW_BE = words("broke bit bore got did went felt wove")
_PASSIVE_FOLLOWERS = words("by in on at to from into for with as and")


def add_base_form_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        lower = word.lower
        if lower in lex.DO_WORDS:
            _add_after_do(view, index)
        elif lower in lex.MODAL_WORDS and word.tag == "MD":
            _add_after_modal(view, index)
        elif lower == "to" and word.tag == "TO" and word.is_joined:
            _add_after_to(view, index)
        elif lower in lex.HAVE_WORDS or lower.endswith("'ve"):
            _add_after_have(view, index)
        elif lower in lex.BE_WORDS or lower in ("be", "been", "being"):
            _add_after_be(view, index)
        if word.tag in ("VBZ", "VBP", "VBD"):
            _add_extra_be(view, index)


def _verb_after(view: View, auxiliary: int, inverted: Subject | None) -> int:
    """The word the auxiliary governs: the next that is no adverb, past the subject in a question; -1 if none."""
    if not view.words[auxiliary].is_joined:
        return -1
    if inverted is None:
        return view.skip_adverbs(auxiliary + 1)
    return view.skip_adverbs(inverted.last + 1) if view.words[inverted.last].is_joined else -1


def _base_at(view: View, index: int) -> VerbForms | None:
    word = view.at(index)
    is_base = word.tag in ("VB", "VBP") and not word.is_contraction and word.lower not in ("worse", "further")
    return view.lexicon.base.get(word.lower) if is_base else None


def _add_after_do(view: View, index: int) -> None:
    word = view.words[index]
    inverted = inverted_subject(view, index)
    is_negated = word.is_contraction or view.at(index + 1).lower == "not"
    verb_index = _verb_after(view, index, inverted) if inverted or is_negated else -1
    verb = _base_at(view, verb_index)
    if verb is None:
        return
    for wrong in (verb.pasts[0], verb.third):
        if wrong != verb.lemma:
            view.add(Reason.BASE_DO, verb.lemma, verb_index, wrong)


def _add_after_modal(view: View, index: int) -> None:
    word = view.words[index]
    verb_index = _verb_after(view, index, inverted_subject(view, index))
    if verb_index < 0 or view.words[verb_index].tag not in ("VB", "VBP"):
        return
    lower = view.words[verb_index].lower
    is_adjacent = verb_index == index + 1
    if lower == "be":
        for wrong in ("is", "are") if is_adjacent else ("is",):
            view.add(Reason.BASE_MODAL, "be", verb_index, wrong)
    verb = _base_at(view, verb_index)
    if lower == "have" and view.at(verb_index + 1).tag == "VBN" and view.words[verb_index].is_joined:
        if word.lower != "will":
            view.add(Reason.MODAL_OF, "have", verb_index, "of")
        view.add(Reason.BASE_MODAL, "have", verb_index, "has")
    elif verb is not None:
        for wrong in dict.fromkeys((verb.pasts[0], verb.third, verb.ing)):
            if wrong != verb.lemma:
                view.add(Reason.BASE_MODAL, verb.lemma, verb_index, wrong)
    if verb is not None or lower == "be":
        view.add(Reason.BASE_MODAL, lower, verb_index, f"to {lower}")
    second = _base_at(view, verb_index + 2)  # "He can dance and sings"
    if view.at(verb_index + 1).lower == "and" and view.at(verb_index + 2).tag == "VB" and second is not None:
        view.add(Reason.BASE_MODAL, second.lemma, verb_index + 2, second.third)


def _add_after_to(view: View, index: int) -> None:
    verb = _base_at(view, index + 1)
    before = view.at(index - 1)
    if verb is None or not (before.is_joined or index == 0):
        return
    wants = before.lower in _WANTING_FORMS or (before.lower == "used" and view.subject(index - 1) is not None)
    if verb.pasts[0] != verb.lemma and verb.pasts[0] not in view.lexicon.nouns:
        view.add(Reason.BASE_TO, verb.lemma, index + 1, verb.pasts[0])
    if wants or not view.may_be_noun(verb.third, index + 1):
        view.add(Reason.BASE_TO, verb.lemma, index + 1, verb.third)
    if wants and before.lower != "like":
        view.add(Reason.BASE_TO, verb.lemma, index + 1, verb.ing)


def _add_after_have(view: View, index: int) -> None:
    word = view.words[index]
    inverted = inverted_subject(view, index)
    if not (inverted or word.is_contraction or view.subject(index) or _follows_modal(view, index)):
        return
    verb_index = _verb_after(view, index, inverted)
    at = view.at(verb_index)
    verb = view.lexicon.participle.get(at.lower)
    if verb is None or at.tag not in ("VBN", "VBD") or at.lower in ("got", "been"):
        return
    past = verb.pasts[0]
    if _differs(verb) and past != verb.lemma and not view.may_be_noun(past, verb_index):
        view.add(Reason.PERF_PART, verb.lemma, verb_index, past)
    if verb.lemma not in verb.participles and not view.may_be_noun(verb.lemma, verb_index):
        view.add(Reason.PERF_PART, verb.lemma, verb_index, verb.lemma)


def _follows_modal(view: View, have: int) -> bool:
    """ "should have", "could never have", "can't have"."""
    before = have - 1
    while (
        before >= 0
        and view.words[before].is_joined
        and (view.words[before].lower == "not" or is_adverb(view.words[before]))
    ):
        before -= 1
    return view.at(before).is_joined and view.at(before).lower in lex.MODAL_WORDS


def _add_after_be(view: View, index: int) -> None:
    be = view.words[index]
    inverted = inverted_subject(view, index)
    verb_index = _verb_after(view, index, inverted)
    at = view.at(verb_index)
    if at.tag == "VBN":
        _add_passive(view, verb_index)
    verb = view.lexicon.ing.get(at.lower)
    subject = view.subject(index) or inverted
    if at.tag != "VBG" or verb is None or subject is None or be.lower in ("be", "been", "being"):
        return
    is_weather = verb.lemma in _WEATHER
    # "he is work hard" is broken, "the reason is work" is not: only persons, and verbs that are no adjective.
    is_person = subject.is_pronoun and view.lowers[subject.first] != "it"
    if not subject.is_pronoun and view.words[verb_index - 1].lower == be.lower:
        # "Tom is sleep", "The boys are play football"; "The plan is go home" lacks "to".
        is_person = view.at(index - 1).tag in ("NNP", "NNS") and not view.may_be_noun(verb.lemma, verb_index)
    if (is_person and _is_no_predicate(view, verb) and not _may_be_passive(view, verb, verb_index)) or is_weather:
        view.add(Reason.BE_ING, verb.lemma, verb_index, verb.lemma)
    if verb_index == index + 1 and not inverted and not be.is_contraction:
        _add_missing_be(view, index, verb)


def _may_be_passive(view: View, verb: VerbForms, index: int) -> bool:
    """ "They are give it" may lack "given", "He was hit by a car" lacks nothing."""
    if verb.lemma == "do":
        return False  # "What are you do?"
    if verb.lemma in _TWO_OBJECTS:
        return True
    word, after = view.words[index], view.at(index + 1)
    has_object = word.is_joined and (after.tag in _OBJECT_TAGS or view.object_follows(index))
    return not has_object and verb.lemma not in _GOING_ON


def _is_no_predicate(view: View, verb: VerbForms) -> bool:
    """Put after be, the base form is wrong: "he is work" (never "he is near", "he is open")."""
    return verb.lemma not in _EXTRA_BE_VERBS and verb.lemma not in view.lexicon.known_adjectives


def _add_missing_be(view: View, be: int, verb: VerbForms) -> None:
    subject = view.subject(be)
    if subject is None or not view.starts_clause(subject.first, is_pronoun=subject.is_pronoun):
        return
    if subject.first and view.at(subject.first - 1).lower in ("than", "as"):
        return
    # "The man standing there" is fine as a subject: no second verb may follow a noun.
    if not subject.is_pronoun and (view.num_finite > 1 or subject.first > 0):
        return
    # Without be the tense is lost: a past form only where another past verb shows it.
    is_past = view.lowers[be].startswith("w")
    if is_past and not any(word.tag == "VBD" for i, word in enumerate(view.words) if i != be):
        return
    if be == subject.first + 1 or not subject.is_pronoun:
        view.add(Reason.MISSING_BE, verb.lemma, be, view.words[be + 1].lower, 2)


def _differs(verb: VerbForms) -> bool:
    """The past is no participle; "has showed" and "was sheared" do occur, so regular pasts do not count."""
    return verb.pasts[0] not in verb.participles and not verb.pasts[0].endswith("ed")


def _add_passive(view: View, index: int) -> None:
    word, after = view.words[index], view.at(index + 1)
    verb = view.lexicon.participle.get(word.lower)
    if verb is None or verb.lemma in _NO_PASSIVE:
        return
    past = verb.pasts[0]
    if _differs(verb) and (past not in _MAY_FOLLOW_BE or after.lower == "by"):
        view.add(Reason.PASSIVE_PART, verb.lemma, index, past)
    ends = not word.is_joined or after.lower in _PASSIVE_FOLLOWERS
    is_base_wrong = verb.lemma not in verb.participles and verb.lemma not in view.lexicon.nouns
    if ends and is_base_wrong and verb.lemma not in view.lexicon.known_adjectives:
        view.add(Reason.PASSIVE_PART, verb.lemma, index, verb.lemma)


def _add_extra_be(view: View, index: int) -> None:
    word = view.words[index]
    subject = view.subject(index)
    if word.is_contraction or subject is None or not subject.number or word.lower in lex.BE_WORDS:
        return
    present = {"i": "am", "pl": "are", "sg": "is"}[subject.number]
    if word.tag == "VBD":
        verb = view.lexicon.past.get(word.lower)
        # "was came late" has a be too many; "was wrote in 1900", "was ate by the dog" lack the participle instead.
        if verb and verb.lemma in lex.INTRANSITIVE_VERBS - {"agree"}:  # "We were agreed" is right
            view.add(Reason.EXTRA_BE, verb.lemma, index, f"{'were' if present == 'are' else 'was'} {word.lower}")
        return
    verb = (view.lexicon.third if subject.number == "sg" else view.lexicon.base).get(word.lower)
    if verb is None or verb.lemma in ("have", "do", "be") or view.at(index + 1).tag == "VB":
        return
    if subject.number == "sg":
        if verb.third not in view.lexicon.nouns or subject.is_pronoun and view.object_follows(index):
            view.add(Reason.EXTRA_BE, verb.lemma, index, f"is {verb.third}")
    elif verb.lemma in _EXTRA_BE_VERBS and verb.lemma not in ("live", "like", "own", "mean", "fit"):
        view.add(Reason.EXTRA_BE, verb.lemma, index, f"{present} {verb.lemma}")
    if verb.lemma in lex.STATE_VERBS and subject.number == "sg" and verb.lemma not in ("like", "mean", "need", "own"):
        view.add(Reason.EXTRA_BE, verb.lemma, index, f"is {verb.lemma}")
