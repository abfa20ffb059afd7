"""Verb groups whose auxiliary is contracted or missing: "I'm work", "He's already ate", "He'll goes", "She happy"."""

from __future__ import annotations

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import View, Word, is_adverb

_BE_CONTRACTIONS = words("i'm you're we're they're he's she's")
_HAS_CONTRACTIONS = words("he's she's it's")
_HAD_CONTRACTIONS = words("i'd you'd he'd she'd we'd they'd")
_WILL_CONTRACTIONS = words("i'll you'll he'll she'll we'll they'll it'll")
_PERFECT_ADVERBS = words("already never just ever")
_PERSONS = words("i you he she we they")
# After "I'm" these can only be verbs; "I'm like", "I'm mean" are right.
_STATE_AFTER_BE = words("agree know want believe understand think hope disagree need remember hate prefer")
_BE = {"i": "'m", "sg": "'s", "pl": "'re"}
_GOING_ON = words("now still always moment currently")
_PLACES = words("in at on from")
_DEGREES = words("very so too really quite")


def add_contraction_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if word.is_contraction and word.is_joined:
            if word.lower in _BE_CONTRACTIONS:
                _add_base_for_ing(view, index)
            if word.lower in _HAS_CONTRACTIONS or word.lower in _HAD_CONTRACTIONS:
                _add_past_for_participle(view, index)
            if word.lower in _WILL_CONTRACTIONS:
                _add_inflected(view, index)
        elif word.lower in ("am", "is", "are"):
            _add_missing_be(view, index)
        elif index == 1 and word.tag in ("VBP", "VBZ"):
            _add_contracted_be(view, word)


def _add_base_for_ing(view: View, index: int) -> None:
    """ "I'm work", "They're not listen"."""
    verb_index = view.skip_adverbs(index + 1)
    at = view.at(verb_index)
    verb = view.lexicon.ing.get(at.lower) if at.tag == "VBG" else None
    if verb is None or at.is_contraction or verb.lemma in lex.STATE_VERBS | lex.MENTAL_VERBS | {"do", "get", "have"}:
        return
    # "She's take it" may as well lack "taken".
    is_open = view.lowers[index].endswith("'s") and not _is_surely_going_on(view, verb, verb_index)
    if verb.lemma not in view.lexicon.known_adjectives and not is_open:
        view.add(Reason.BE_ING, verb.lemma, verb_index, verb.lemma)


def _is_surely_going_on(view: View, verb: VerbForms, index: int) -> bool:
    says_so = not view.lower_set.isdisjoint(_GOING_ON)
    return says_so or (verb.lemma in lex.ACTIVITY_VERBS | {"sleep"} and not view.object_follows(index))


def _add_past_for_participle(view: View, index: int) -> None:
    """ "She's already went", "He's wrote a book", "I'd never saw it"."""
    verb_index = view.skip_adverbs(index + 1)
    at = view.at(verb_index)
    verb = view.lexicon.participle.get(at.lower) if at.tag in ("VBN", "VBD") else None
    if verb is None or at.lower in ("got", "been", "gotten"):
        return
    says_perfect = any(lower in _PERFECT_ADVERBS for lower in view.lowers[index + 1 : verb_index])
    is_had = view.lowers[index] in _HAD_CONTRACTIONS
    if not (says_perfect or (not is_had and view.object_follows(verb_index))):
        return
    past = verb.pasts[0]
    if past not in verb.participles and not past.endswith("ed") and past != verb.lemma:
        view.add(Reason.PERF_PART, verb.lemma, verb_index, past)
    for wrong in view.lexicon.over_regularised(verb):
        view.add(Reason.PART_IRREG, verb.lemma, verb_index, wrong)


def _add_inflected(view: View, index: int) -> None:
    """ "He'll goes", "She'll came", "We'll to go"."""
    verb_index = view.skip_adverbs(index + 1)
    at = view.at(verb_index)
    verb = view.lexicon.base.get(at.lower)
    if at.tag != "VB" or verb is None or at.is_contraction or verb.lemma in ("be", "have"):
        return
    for wrong in dict.fromkeys((verb.pasts[0], verb.third, verb.ing, f"to {verb.lemma}")):
        if wrong != verb.lemma:
            view.add(Reason.BASE_MODAL, verb.lemma, verb_index, wrong)


def _add_missing_be(view: View, be: int) -> None:
    """ "He always complaining", "She tired", "He a doctor", "They from Spain"."""
    word, after, last = view.words[be], view.at(be + 1), view.at(be + 2)
    is_first = be == 1 and view.lowers[0] in _PERSONS and view.words[0].is_joined
    if not is_first or not word.is_joined or word.is_contraction or after.is_contraction:
        return
    if is_adverb(after) and after.is_joined:
        verb = view.lexicon.ing.get(last.lower)
        if last.tag == "VBG" and verb and after.lower not in ("not", "even"):
            view.add(Reason.MISSING_BE, verb.lemma, be, after.lower, 2)
        return
    if _is_predicate(view, after, last):
        view.add(Reason.MISSING_BE, "be", be, after.lower, 2)


def _is_predicate(view: View, after: Word, last: Word) -> bool:
    if after.lower in _DEGREES:
        return after.is_joined and last.tag == "JJ"
    if after.tag == "JJ":
        return after.lower not in view.lexicon.base and (not after.is_joined or last.tag in ("IN", "TO", "RB", "CC"))
    if after.lower in ("a", "an") or after.tag == "PRP$":
        return last.tag in ("NN", "JJ") and view.num_finite == 1
    return after.tag == "IN" and after.lower in _PLACES and after.is_joined and view.num_finite == 1


def _add_contracted_be(view: View, word: Word) -> None:
    """ "I'm agree", "She's knows him"."""
    verb: VerbForms | None = (view.lexicon.third if word.tag == "VBZ" else view.lexicon.base).get(word.lower)
    pronoun = view.at(0)
    if verb is None or verb.lemma not in _STATE_AFTER_BE or not pronoun.is_joined or word.is_contraction:
        return
    if pronoun.lower in _PERSONS and not pronoun.is_contraction:
        ending = _BE[lex.PRONOUN_NUMBER[pronoun.lower]]
        view.add(Reason.EXTRA_BE, verb.lemma, 0, f"{pronoun.lower}{ending}")
