"""Asks of each edit the rules for its reason.

The guard judges which words an edit puts in the place of which. An edit that it allows may still be a mistake in its
sentence. Word classes, places and closed lists of words show which ones are.
"""

from __future__ import annotations

from collections.abc import Callable

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surroundings import agreement, auxiliaries, commands, fragments, nouns, prepositions, times, tokens
from api.grammar.surroundings.context import Context
from api.grammar.surroundings.groups import is_of_a_group
from api.grammar.surroundings.quotes import is_quoted_for_its_form
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import MODALS

_MODALS_WITH_S = frozenset(f"{modal}s" for modal in MODALS - {"will", "ought"})


def _follows_a_modal(context: Context) -> bool:
    """Return whether the word before is a modal with an -s: "He cans [to swim]"."""
    return not _MODALS_WITH_S.isdisjoint(context.before[-1:])


def _has_an_infinitive(context: Context) -> bool:
    """Return whether a verb before that is not one as *make* takes an object and *to*: "I asked him [to go]"."""
    verb, person = ["", "", *context.before][-2:]
    is_other = verb not in word_sets.BARE_VERBS and bool(context.words.forms_of(verb))
    return is_other and person in word_sets.OBJECT_PRONOUNS and context.edit.source[0].lower() == "to"


def _is_a_visit(context: Context) -> bool:
    """Return whether *been to* means that somebody went there, which *was to* does not: "have [been] to the shop"."""
    return context.edit.source[-1].lower() == "been" and context.after[:1] == ["to"]


def _asks_of_two(context: Context) -> bool:
    """Return whether a subject stands before the question of another one: "He [did it get]?"."""
    do, subject = [*context.edit.replacement, *context.after, "", ""][:2]
    is_question = do.lower() in word_sets.DO_PARTS and subject.lower() in word_sets.SUBJECT_PRONOUNS
    return is_question and not word_sets.CERTAIN_SUBJECTS.isdisjoint(context.before[-1:])


_OF_ONE = (
    agreement.disagrees, agreement.is_of_things_that_do, agreement.is_of_latin_plural, agreement.is_of_many_things,
    agreement.is_of_two_things, agreement.is_before_many_things, agreement.is_of_a_people, is_of_a_group,
)  # fmt: skip
_OF_MANY = (agreement.is_of_one_thing, agreement.is_of_a_quoted_name, tokens.is_of_code)
_OF_NOUNS = (auxiliaries.is_before_a_verb, agreement.is_of_an_object)
_VETOES: dict[Reason, tuple[Callable[[Context], bool], ...]] = {
    Reason.SVA_SG: (
        *_OF_ONE, *_OF_NOUNS, agreement.is_over, auxiliaries.is_modal_need, auxiliaries.is_behind_an_auxiliary,
        auxiliaries.is_before_an_auxiliary, commands.is_a_command, commands.is_of_an_object, nouns.lacks_its_object,
    ),
    Reason.SVA_PL: (
        *_OF_MANY, *_OF_NOUNS, agreement.disagrees, agreement.is_over, commands.has_no_subject, nouns.lacks_its_object,
    ),
    Reason.SVA_BE: (
        *_OF_ONE, *_OF_MANY, agreement.is_of_either_number,
        agreement.is_of_another_subject, agreement.is_of_speaker_and_another,
    ),
    Reason.TENSE_FUT: (times.is_no_future,),
    Reason.TENSE_PAST: (times.is_no_past, times.is_because),
    Reason.PAST_NOT_PERF: (times.is_no_past, _is_a_visit),
    Reason.TENSE_PERF: (times.is_because, fragments.is_so_far, auxiliaries.loses_its_participle),
    Reason.TENSE_SEQ: (nouns.is_of_no_modal, times.is_without_a_past),
    Reason.PAST_PERF: (times.is_without_a_past,),
    Reason.BASE_MODAL: (nouns.is_of_no_modal, auxiliaries.is_of_its_own),
    Reason.BASE_TO: (prepositions.is_behind_a_preposition_to, prepositions.is_used_to_it),
    Reason.ING_PREP: (prepositions.is_noun_behind_a_preposition, prepositions.is_behind_a_mark),
    Reason.ING_VERB: (prepositions.is_noun_behind_a_preposition, prepositions.is_behind_a_mark),
    Reason.ING_TO: (prepositions.is_of_a_purpose,),
    Reason.MISSING_BE: (
        nouns.is_behind_a_command, commands.is_of_an_object, agreement.is_of_speaker_and_another,
        fragments.is_of_a_title, fragments.asks_for_a_reason, auxiliaries.is_behind_where,
    ),
    Reason.PAST_NOT_PART: (nouns.is_behind_a_command, fragments.is_reduced),
    Reason.PERF_PART: (nouns.is_part_of_a_noun, fragments.is_an_adjective, auxiliaries.is_what_one_has),
    Reason.PASSIVE_PART: (fragments.is_an_adjective,),
    Reason.BE_ING: (fragments.is_an_adjective,),
    Reason.BARE_INF: (_has_an_infinitive,),
    Reason.TO_INF: (
        _follows_a_modal, auxiliaries.is_modal_need, nouns.is_part_of_what_one_has, prepositions.has_no_governor,
        prepositions.is_help,
    ),
    Reason.NO_WILL: (fragments.is_of_no_time,),
    Reason.DO_SUPPORT: (nouns.loses_do, fragments.is_without_subject, fragments.asks_for_a_reason, _asks_of_two),
}  # fmt: skip


def speak_against(sentence: str, edit: Proposal, words: VerbWords) -> bool:
    """Return whether the words around the edit show that it would be a mistake."""
    if tokens.is_in_code(sentence, edit) or is_quoted_for_its_form(sentence, edit):
        return True
    context = Context(sentence, edit, words)
    has_auxiliary = tokens.doubles_a_word(context) or auxiliaries.is_behind_a_contraction(context)
    return has_auxiliary or any(veto(context) for veto in _VETOES.get(edit.reason, ()))
