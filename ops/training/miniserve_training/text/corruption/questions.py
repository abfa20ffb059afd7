"""Questions and negatives without do, and questions whose auxiliary stays behind the subject.

Only a sentence that opens with its question word and ends in "?" is broken: "I know where he is." keeps its order, and
"You like it?" is right in speech. A dropped "did" must be told from the past form or a past time, or it stays.
"""

from __future__ import annotations

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import View

_ASKING = words("what where when why how who whom which whose")
_ASKING_PHRASES = words("what how which whose")
_ASKING_CONTRACTIONS = words("what's where's how's when's why's")
_PHRASE_TAGS = frozenset(("NN", "NNS", "JJ", "RB", "IN"))
_MOST_PHRASE_WORDS = 4
_PRONOUNS = words("you he she it we they")
_LONE_SUBJECTS = words("this that these those everyone everybody someone somebody")
_PAST_WORDS = words("yesterday ago last")
_NEGATED_DO = words("don't doesn't didn't")
_DO = words("do does did")
_MOVED = lex.BE_WORDS | lex.HAVE_WORDS | lex.MODAL_WORDS | _NEGATED_DO
_OTHER_NUMBER = {
    "sg": {"is": "are", "was": "were", "does": "do", "has": "have"},
    "pl": {"are": "is", "were": "was", "do": "does", "have": "has"},
}
_AGREEING = {
    "does": (Reason.SVA_SG, "do"), "has": (Reason.SVA_SG, "have"), "do": (Reason.SVA_PL, "do"),
    "have": (Reason.SVA_PL, "have"),
}  # fmt: skip
_NO_CLAUSE = words("better rather why please")


def add_question_errors(view: View) -> None:
    if view.text.rstrip("\"'\u201d\u2019)").endswith("?"):
        auxiliary = _asked_auxiliary(view)
        if auxiliary > 0:
            _add_late_auxiliary(view, auxiliary)
            _add_question_without_do(view, auxiliary)
        elif view.at(0).lower in _ASKING_CONTRACTIONS:
            _add_late_contraction(view)
        _add_tag_error(view)
    _add_reply_error(view)
    if not view.is_subjunctive:
        for index, word in enumerate(view.words):
            if word.lower in _DO or word.lower in _NEGATED_DO:
                _add_negative_without_do(view, index)


def _add_reply_error(view: View) -> None:
    """ "So does I", "Neither do he"."""
    auxiliary, subject = view.at(1), view.at(2)
    if view.at(0).lower in ("so", "neither", "nor") and view.at(0).is_joined and len(view) == 3 and auxiliary.is_joined:
        _add_wrong_number(view, 1, subject.lower)


def _add_tag_error(view: View) -> None:
    """ "You know her, doesn't you?"."""
    last = len(view) - 1
    auxiliary = view.at(last - 1)
    if last > 2 and auxiliary.is_joined and not view.at(last - 2).is_joined:
        _add_wrong_number(view, last - 1, view.at(last).lower)


def _add_wrong_number(view: View, index: int, subject: str) -> None:
    number = lex.PRONOUN_NUMBER.get(subject, "")
    if number in ("sg", "pl"):
        right = view.words[index].lower
        stem = right.removesuffix("n't")
        wrong = _OTHER_NUMBER[number].get(stem)
        reason, lemma = _AGREEING.get(stem, (Reason.SVA_BE, "be"))
        if wrong:
            view.add(reason, lemma, index, wrong + right[len(stem) :])


def _asked_auxiliary(view: View) -> int:
    """Where the auxiliary of the question stands, right after "where" or "how many books"; -1 if there is none."""
    if view.at(0).lower not in _ASKING or not view.at(0).is_joined:
        return -1
    most = _MOST_PHRASE_WORDS if view.at(0).lower in _ASKING_PHRASES else 1
    for index in range(1, most + 1):
        word = view.at(index)
        if word.lower in _MOVED or word.lower in _DO:
            return index if word.is_joined else -1
        if word.tag not in _PHRASE_TAGS or not word.is_joined or word.is_contraction:
            return -1
    return -1


def _add_late_auxiliary(view: View, index: int) -> None:
    """ "Where he is going?", "Why you didn't come?"."""
    word, subject = view.words[index], view.at(index + 1)
    if word.lower in _DO or subject.is_contraction or not _is_whole_subject(view, index + 1):
        return
    doing = view.at(index + 2)
    if word.lower in ("is", "are") and doing.tag == "VBG" and doing.lower in view.lexicon.ing:
        view.add(Reason.MISSING_BE, view.lexicon.ing[doing.lower].lemma, index, subject.lower, 2)
    view.add(Reason.QUESTION_ORDER, word.lower, index, f"{subject.lower} {word.lower}", 2)


def _is_whole_subject(view: View, index: int) -> bool:
    word, after = view.at(index), view.at(index + 1)
    if word.lower in _PRONOUNS:
        return not (word.is_joined and after.lower in ("and", "or", "all", "both", "two", "guys", "people"))
    ends = not word.is_joined or after.tag in ("VBG", "VB", "VBN")
    return word.lower in _LONE_SUBJECTS and ends


def _add_late_contraction(view: View) -> None:
    """ "What's he doing?" -> "What he's doing?"."""
    word, subject = view.at(0), view.at(1)
    if word.is_joined and subject.lower in ("he", "she", "it") and subject.is_joined and not subject.is_contraction:
        ending = word.lower[-2:]
        view.add(Reason.QUESTION_ORDER, "be", 0, f"{word.lower[:-2]} {subject.lower}{ending}", 2)


def _add_question_without_do(view: View, index: int) -> None:
    """ "What you want?", "Where he lives?", "Where you went?"."""
    word, subject, base = view.words[index], view.at(index + 1), view.at(index + 2)
    verb = view.lexicon.base.get(base.lower)
    if word.lower not in _DO or base.tag not in ("VB", "VBP") or verb is None or base.is_contraction:
        return
    if not subject.is_joined or subject.is_contraction:
        return
    keeps_base = word.lower != "did" or not view.lower_set.isdisjoint(_PAST_WORDS)
    if subject.lower in _PRONOUNS:
        if keeps_base:
            view.add(Reason.DO_SUPPORT, verb.lemma, index, subject.lower, 2)
        form = _form(word.lower, verb)
        if form != verb.lemma:
            view.add(Reason.DO_SUPPORT, verb.lemma, index, f"{subject.lower} {form}", 3)
    elif (subject.lower == "i" or subject.tag == "NNP") and keeps_base and index == 1:
        # The subject's capital would be lost in its own edit: the question word takes the auxiliary along.
        view.add(Reason.DO_SUPPORT, verb.lemma, 0, view.at(0).lower, 2)


def _form(do: str, verb: VerbForms) -> str:
    return {"did": verb.pasts[0], "does": verb.third, "do": verb.lemma}[do]


def _add_negative_without_do(view: View, index: int) -> None:
    """ "He not like it", "They not went", "I no know"."""
    word = view.words[index]
    subject = view.subject(index)
    if subject is None or not word.is_joined or view.at(subject.first - 1).lower in _NO_CLAUSE:
        return
    is_contracted = word.lower in _NEGATED_DO
    if not is_contracted and view.at(index + 1).lower != "not":
        return
    base_index = index + (1 if is_contracted else 2)
    base = view.at(base_index)
    verb = view.lexicon.base.get(base.lower)
    if base.tag not in ("VB", "VBP") or verb is None or base.is_contraction:
        return
    do = word.lower.removesuffix("n't")
    num_right = base_index - index + 1
    keeps_base = do != "did" or not view.lower_set.isdisjoint(_PAST_WORDS)
    if is_contracted:  # "not know" is mended by "do not know", "no know" by "don't know"
        if keeps_base and subject.is_pronoun and base.lower not in view.lexicon.nouns:
            view.add(Reason.DO_SUPPORT, verb.lemma, index, f"no {verb.lemma}", num_right)
        return
    if keeps_base:
        view.add(Reason.DO_SUPPORT, verb.lemma, index, f"not {verb.lemma}", num_right)
    if _form(do, verb) != verb.lemma:
        view.add(Reason.DO_SUPPORT, verb.lemma, index, f"not {_form(do, verb)}", num_right)
