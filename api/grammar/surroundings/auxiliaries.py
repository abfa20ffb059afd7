"""Finds words that an auxiliary near them explains: 'need' as a modal, questions, subjects, what one has."""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar import word_sets
from api.grammar.lists import LISTS
from api.grammar.surroundings.agreement import NEW_CLAUSE
from api.grammar.surroundings.context import Context, is_mark
from api.grammar.verb_words import parts_of

_NO_PERSONS = LISTS["no_persons"]
_BEHIND_NEED = LISTS["behind_need"]
_BEHIND_MUST_NEEDS = frozenset("be have go come do say".split())  # "It must [needs] be so"
_MAKING = frozenset(["make", "made", "let", "help"])
_VERBS = LISTS["finite"] | {"had", "did", "does", "do"}
_OPEN_A_QUESTION = word_sets.QUESTION_WORDS | word_sets.MODAL_PARTS
_OFTEN = frozenset(["been", "once", "twice"])
_BEFORE_A_VERB = _OFTEN | {"and", "or"}


def is_modal_need(context: Context) -> bool:
    """Return whether 'need' is a modal, which has no -s and no 'to': "He [needs] only ask", "Nobody need [knows]"."""
    source, before, after = context.edit.source[0].lower(), context.before, context.after
    if source == "need":
        is_with_no = not _NO_PERSONS.isdisjoint(before) and after[:1] != [] and context.has_form(after[0], "base")
        return is_with_no or not _BEHIND_NEED.isdisjoint(after[:1])
    is_behind = before[-1:] == ["need"] or (before[-2:-1] == ["need"] and before[-1] in _BEHIND_NEED)
    return is_behind and (before[-1] in _BEHIND_NEED or not _NO_PERSONS.isdisjoint(before))


def is_behind_a_contraction(context: Context) -> bool:
    """Return whether the verb has an auxiliary that lacks its apostrophe: "Its [been] years", "Hes [seen] it"."""
    before, source = context.before[-1:], context.edit.source[0].lower()
    if LISTS["contractions"].isdisjoint(before):
        return False
    has_been = not before[0].endswith(("im", "re"))
    return context.has_form(source, "ing") or (has_been and context.has_form(source, "participle"))


def is_behind_where(context: Context) -> bool:
    """Return whether 'where' stands for 'were': "They where [able] to go"."""
    return context.before[-1:] == ["where"] and not word_sets.SUBJECT_PRONOUNS.isdisjoint(context.before[-2:-1])


def is_behind_an_auxiliary(context: Context) -> bool:
    """Return whether a question or a command asks for the base form: "Can she [swims]?", "Make it [works]"."""
    words = context.clause_before
    if words[-1:] in (["doth"], ["dost"], ["didst"]):
        return True
    if len(words) < 2 or not NEW_CLAUSE.isdisjoint(parts_of(words[-2])) and words[-2] not in word_sets.INVERTED_PARTS:
        return False
    is_question = parts_of(words[0])[0] in word_sets.MODAL_PARTS | word_sets.DO_PARTS
    return (is_question or words[0] in _MAKING) and NEW_CLAUSE.isdisjoint(words[2:])


def is_before_a_verb(context: Context) -> bool:
    """Return whether a modal follows, so that this is its subject: "if you [fool] can win"."""
    after = context.after[:1]
    is_of_you = context.before[-1:] == ["you"] and (
        context.before[-2:-1] == [] or context.before[-2] in LISTS["opening"]
    )
    return is_of_you and after != [] and after[0] in word_sets.MODAL_PARTS


def is_before_an_auxiliary(context: Context) -> bool:
    """Return whether the verb of the clause follows, so that this is its subject: "each [block] has one"."""
    after = _without_adverbs_in_front(context.after)
    is_verb = not _VERBS.isdisjoint(after[:1])
    is_verb = is_verb and parts_of(context.edit.source[0])[0] not in word_sets.INVERTED_PARTS
    is_clause = not (word_sets.RELATIVE_PRONOUNS | word_sets.QUESTION_WORDS).isdisjoint(context.clause_before)
    return is_verb and not is_clause and word_sets.SUBJECT_PRONOUNS.isdisjoint(context.before[-1:])


def _without_adverbs_in_front(words: Sequence[str]) -> Sequence[str]:
    """Return the words without the adverbs before them."""
    return words[next((at for at, word in enumerate(words) if word not in word_sets.ADVERBS), len(words)) :]


def is_of_its_own(context: Context) -> bool:
    """Return whether an -ing or a 'to' begins something else behind a modal: "should, [depending] on it, help".

    "Would [dividing] it help?", "They did all they could [to help]".
    """
    source, before = context.edit.source[0].lower(), context.before
    if source == "needs":
        return before[-1:] == ["must"] and not _BEHIND_MUST_NEEDS.isdisjoint(context.after[:1])
    if source == "to":
        return before[-3:-2] in (["all"], ["everything"]) and before[-2] in word_sets.SUBJECT_PRONOUNS
    if not context.has_form(source, "ing") or not before:
        return False
    is_question = len(before) == 1 or ("?" in context.sentence[context.edit.end :] and before[0] in _OPEN_A_QUESTION)
    return is_mark(before[-1]) or (is_question and parts_of(before[-1])[0] in word_sets.MODAL_PARTS)


def loses_its_participle(context: Context) -> bool:
    """Return whether nothing but 'have' would stand for a participle: "I [have] there twice", written "been"."""
    source, replacement = context.edit.source[-1].lower(), context.edit.replacement
    is_alone = len(replacement) == 1 and replacement[0].lower() in word_sets.HAVE_PARTS
    return is_alone and context.has_form(source, "participle")


def is_what_one_has(context: Context) -> bool:
    """Return whether something stands between 'have' and the word, which is no verb then: "had brotherly [love]"."""
    words = context.before
    places = (at for at in range(len(words) - 1, -1, -1) if not word_sets.HAVE_PARTS.isdisjoint(parts_of(words[at])))
    at = next(places, len(words))
    between = words[at + 1 :]
    if not between or len(context.edit.source) > 1 or between[0] in word_sets.SUBJECT_PRONOUNS:
        return False
    asks = at == 0 or is_mark(words[at - 1]) or "?" in context.sentence[context.edit.end :]
    return not asks and between[-1] not in _BEFORE_A_VERB and any(not _is_adverb(word) for word in between)


def _is_adverb(word: str) -> bool:
    return word in word_sets.ADVERBS | word_sets.NEGATIVE_PARTS | _OFTEN or word.endswith("ly")
