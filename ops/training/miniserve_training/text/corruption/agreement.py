"""Verbs that do not agree with their subject: -s dropped or added, the wrong form of be."""

from __future__ import annotations

from api.grammar.reasons import Reason
from miniserve_training.text import lexicon as lex
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Subject, View, is_adverb

_WRONG_BE = {
    ("i", "am"): ("is", "are"), ("i", "was"): ("were",),
    ("sg", "is"): ("are", "am"), ("sg", "was"): ("were",),
    ("pl", "are"): ("is", "am"), ("pl", "were"): ("was",),
    ("sg", "isn't"): ("aren't",), ("sg", "wasn't"): ("weren't",),
    ("pl", "aren't"): ("isn't",), ("pl", "weren't"): ("wasn't",), ("i", "wasn't"): ("weren't",),
}  # fmt: skip
_WRONG_AUXILIARY = {
    ("sg", "has"): "have", ("sg", "hasn't"): "haven't", ("sg", "does"): "do", ("sg", "doesn't"): "don't",
    ("pl", "have"): "has", ("pl", "haven't"): "hasn't", ("pl", "do"): "does", ("pl", "don't"): "doesn't",
}  # fmt: skip
_AUXILIARIES = frozenset(form for _, form in _WRONG_AUXILIARY)
_QUESTION_WORDS = words("what where when why how who whom which")
_NEGATED = frozenset(("isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "doesn't", "don't"))


def add_agreement_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if word.is_contraction and word.lower not in _NEGATED:
            continue
        is_auxiliary = word.lower in lex.BE_WORDS or word.lower in _AUXILIARIES
        subject = _subject(view, index)
        if subject is None or not subject.number:
            continue
        if word.lower in lex.BE_WORDS:
            _add_be(view, index, subject)
        elif is_auxiliary or word.tag in ("VBZ", "VBP"):
            _add_verb(view, index, subject)


def _subject(view: View, index: int) -> Subject | None:
    if view.agreeing:  # a made sentence knows all its subjects
        number = view.agreeing.get(index)
        return Subject(number, index, False) if number else None
    return view.subject(index) or _relative(view, index) or inverted_subject(view, index) or _existential(view, index)


def _relative(view: View, index: int) -> Subject | None:
    """ "The element that pushes it", "a man who often sings": the noun before the relative pronoun.

    Of two nouns, as in "a box of books that are old", either may be meant; so may those of "one of the men who".
    """
    pronoun = index - 1
    while is_adverb(view.at(pronoun)) and view.words[pronoun].is_joined:
        pronoun -= 1
    is_pronoun = view.at(pronoun).tag in ("WDT", "WP") and view.at(pronoun).lower in ("who", "which", "that")
    if not is_pronoun or not view.words[pronoun].is_joined or pronoun < 1 or not view.words[pronoun - 1].is_joined:
        return None
    first = view.noun_phrase_start(pronoun - 1)
    if first is None or view.at(first - 1).lower in ("of", "and", "or", "than", "as"):
        return None
    return Subject(view.number_of(first, pronoun - 1), first, False)


def inverted_subject(view: View, aux: int) -> Subject | None:
    """The subject after an auxiliary that opens a question: "Do you", "Where is Tom"."""
    word, after = view.at(aux), view.at(aux + 1)
    is_question = view.text.rstrip("\"'").endswith("?")
    opens = aux == 0 or (aux == 1 and view.at(0).lower in _QUESTION_WORDS and view.at(0).is_joined)
    is_aux = word.lower in lex.BE_WORDS or word.lower in lex.HAVE_WORDS or word.lower in lex.DO_WORDS
    if not (is_question and opens and word.is_joined and (is_aux or word.tag == "MD")):
        return None
    if after.lower in lex.PRONOUN_NUMBER and not after.is_contraction:
        is_joint = view.at(aux + 2).lower in ("and", "or") and after.is_joined
        return None if is_joint else Subject(lex.PRONOUN_NUMBER[after.lower], aux + 1, True, aux + 1)
    return _inverted_noun(view, aux + 1)


def _inverted_noun(view: View, first: int) -> Subject | None:
    """ "your brother" of "Does your brother work?", "Tom" of "Where is Tom?"; behind it stands no noun and no link."""
    last = first
    if view.at(first).tag in ("DT", "PRP$"):
        while view.at(last + 1).tag in ("JJ", "NN", "NNS") and view.words[last].is_joined:
            last += 1
    if view.at(last).tag not in ("NN", "NNS", "NNP") or view.at(last).is_contraction:
        return None
    after = view.at(last + 1)
    is_alone = not view.words[last].is_joined or after.tag in ("VB", "VBN", "VBG", "JJ", "RB", "IN")
    if not is_alone or after.lower in ("of", "and", "or", "'s"):
        return None
    return Subject(view.number_of(first, last), first, False, last)


def _existential(view: View, index: int) -> Subject | None:
    """ "There is a book", "There were two men": the number is that of what follows."""
    before, word, after = view.at(index - 1), view.at(index), view.at(index + 1)
    if not (before.lower == "there" and before.tag == "EX" and before.is_joined and word.is_joined):
        return None
    if index > 1 and not view.starts_clause(index - 1):
        return None
    noun = view.at(index + 2)
    if after.lower in ("a", "an") and noun.lower not in lex.COLLECTIVES and view.at(index + 3).lower != "and":
        # "a few men", "a lot of men", "a great many" hide their number.
        hides_number = {"few", "lot", "number", "great", "good", "large", "couple", "variety", "hundred", "dozen"}
        return None if hides_number & set(view.lowers[index + 2 : index + 5]) else Subject("sg", index - 1, False)
    if after.lower in ("two", "three", "four", "five", "six", "many", "several") and noun.tag == "NNS":
        return Subject("pl", index - 1, False)
    return None


def _add_be(view: View, index: int, subject: Subject) -> None:
    lower = view.words[index].lower
    if lower == "are" and subject.number == "pl" and view.at(index - 1).lower == "there":
        view.add(Reason.SVA_BE, "be", index - 1, "there's", num_right=2)
    is_past = lower.startswith("w")
    if view.is_subjunctive or (is_past and view.is_unreal):
        return
    for wrong in _WRONG_BE.get((subject.number, lower), ()):
        if wrong == "am" and not subject.is_pronoun:
            continue
        if lower == "are" and wrong == "is" and not _is_plain_plural(view, subject, index):
            continue
        view.add(Reason.SVA_BE, "be", index, wrong)


def _is_plain_plural(view: View, subject: Subject, index: int) -> bool:
    """Not "Ten years is a long time": a sum, a distance or a title takes the singular."""
    return subject.is_pronoun or view.words[subject.first].tag != "CD"


def _add_verb(view: View, index: int, subject: Subject) -> None:
    word = view.words[index]
    lower = word.lower
    before = view.at(subject.first - 1) if subject.first - 1 != index else view.at(-1)
    if before.tag == "MD" or before.lower in lex.DO_WORDS or before.lower in ("let", "make", "makes", "made", "help"):
        return  # "Could we have", "Did I do": a bare infinitive, whatever the tagger says
    number = "pl" if subject.number == "i" else subject.number
    reason = Reason.SVA_SG if number == "sg" else Reason.SVA_PL
    if reason is Reason.SVA_SG and view.is_subjunctive:
        return
    if (number, lower) in _WRONG_AUXILIARY:
        lemma = "do" if lower.startswith("d") else "have"
        view.add(reason, lemma, index, _WRONG_AUXILIARY[number, lower])
        return
    if reason is Reason.SVA_SG and (verb := view.lexicon.third.get(lower)) and word.tag == "VBZ":
        # "he put", "he found", "he saw" are right as pasts.
        if not view.lexicon.is_finite_past(verb.lemma):
            view.add(reason, verb.lemma, index, verb.lemma)
    elif reason is Reason.SVA_PL and (verb := view.lexicon.base.get(lower)) and word.tag == "VBP":
        view.add(reason, verb.lemma, index, verb.third)
