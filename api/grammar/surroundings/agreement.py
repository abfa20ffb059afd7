"""Finds subjects whose number the model may mistake, and lines that have none."""

from __future__ import annotations

import re

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.reasons import Reason
from api.grammar.surroundings.context import TOKEN, Context, is_mark, is_plural, without_adverbs
from api.grammar.verb_words import parts_of

_PERSONS = {"i": "first", "he": "singular", "she": "singular", "we": "plural", "they": "plural"}
_NOT_BE = {
    "first": frozenset(["is", "are", "isn't", "aren't"]),
    "singular": frozenset(["am", "are", "aren't"]),
    "plural": frozenset(["am", "is", "was", "isn't", "wasn't"]),
}
NOT_FOR = {Reason.SVA_SG: ("first", "plural"), Reason.SVA_PL: ("singular",)}
_JOINING = frozenset(["and", "or", "nor", "than", "as", "like", "&"])  # "Ann and I are", "people like he"
_BUT_ONE = re.compile(r"(?<![Aa]ll )\bbut [A-Z][a-z]*[a-rt-z] $")  # "but Dubai [is] rich"; "all but Tom are" is right
_THAT_IS = re.compile(r"[,;(] that $")  # "the same borders, that [is], one town"
_PERIOD = "(?:night|week|month|year|summer|winter|spring|autumn)"
_FINISHED = re.compile(rf"\b(?:yesterday|ago|last {_PERIOD}|in (?:1[5-9]\d\d|20[01]\d))\b")
# Behind "and" or a preposition the name may be half of the subject, or none of it: "the users of the OS [have]".
_ONE_NAME = re.compile(
    r"(?:^|[,;:(]\s|\b(?:[Tt]hat|[Ii]f|[Ww]hen|[Bb]ecause|[Bb]ut|[Ss]ince|[Ww]hile)\s)"
    r"(?:(?:[Tt]he|[Aa]n?|[Oo]ur|[Mm]y|[Yy]our|[Tt]heir|[Ii]ts|[Hh]is|[Hh]er|[Tt]his|[Ee]ach)\s)?"
    r"(?:[A-Z]{2,}|\w[\w-]*[.@][\w.@-]*\w)\s$"
)
_NEW_CLAUSE = (
    word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | word_sets.SUBJECT_PRONOUNS | word_sets.INVERTED_PARTS
) - {"than"} | {"to"}  # fmt: skip
_ONE_BE = frozenset(["is", "was", "isn't", "wasn't"])
# Their -ing before a plural is more often what somebody does than what something is like: "Reading books are fun".
_ACTIVITIES = frozenset(
    "read eat play watch learn write buy sell make drink collect tell break take ride cook raise keep solve draw "
    "paint smoke wear carry visit speak study help teach hunt catch pick climb build wash clean use do have give get "
    "throw drive".split()
)
# But with these it names a kind of them: "Reading glasses are", "Eating habits are", "Learning outcomes are".
_KINDS = frozenset(
    "glasses cards machines lessons classes courses habits skills methods times costs prices rooms hours days rules "
    "tests materials problems points tips tools lists exercises fees pens disorders sites blocks instructions "
    "directions numbers concerns demands teams sessions powers partners grounds cities businesses activities "
    "abilities styles strategies groups conditions forces ranges outcomes objectives areas schemes utensils "
    "professors patterns".split()
)
_PLURALS_WITHOUT_S = frozenset("data media criteria phenomena bacteria strata".split())
_SINGULAR_DETERMINERS = frozenset(["this", "that", "a", "an", "each", "every", "much", "one", "little"])
# What lines of documentation begin with: "Shows matches in bold", "Logs calls to the database".
_OF_LINES = frozenset(
    "accept add allow append apply ask assign attach build cache calculate call cancel change check clear close "
    "collect compare compute configure connect contain convert copy count create cut decode define delete deliver "
    "describe detect determine disable display download draw drop edit emit enable encode encrypt ensure escape "
    "evaluate expand explain export extract fetch fill filter find fix flush follow format forward generate get give "
    "group handle hide highlight hold ignore implement import include increase index insert install join keep kill "
    "limit link list load lock log look loop make manage map mark match measure merge modify monitor move name notify "
    "offer open order output parse pass play post prepare prevent print process produce prompt protect provide "
    "publish push put query raise rank read receive record redirect reduce refuse register reject release reload "
    "remove rename render repeat replace report represent request reset resolve restart restore restrict retrieve "
    "return reverse rewrite rotate round run save scan schedule search select send separate set show shuffle skip "
    "sort specify split start stop store strip submit support swap switch take tell test track transform translate "
    "trigger trim turn uninstall unlock unpack update upload use validate verify wait warn watch wrap write "
    "yield".split()
)
_BEHIND_AN_OBJECT = word_sets.PREPOSITIONS | word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | {"to", "or", "per"}
# Behind such a word they are verbs: "Shows [starts] at eight".
_OF_EVENTS = frozenset(
    "begins starts opens closes ends stops leaves arrives comes goes fails works helps happens lives grows sleeps "
    "sings takes makes gives gets becomes seems looks sells costs needs likes wants has does is was keeps stays falls "
    "rises belongs depends matters exists appears breaks dies eats drinks flies runs moves changes cries barks".split()
)


def disagrees(context: Context) -> bool:
    """Return whether a pronoun right before the verb asks for another form: "they [walks]"."""
    edit, words = context.edit, without_adverbs(context.before)
    person = _PERSONS.get(words[-1]) if words else None
    if person is None or (len(words) > 1 and words[-2] in _JOINING):
        return False
    if edit.reason is Reason.SVA_BE:
        return edit.replacement[0].lower() in _NOT_BE[person]
    return person in NOT_FOR[edit.reason]


def is_of_another_subject(context: Context) -> bool:
    """Return whether 'be' goes with "but Dubai" or "that is": "I like Fujairah but Dubai [are] rich"."""
    before = context.text_before
    is_are = context.edit.replacement[0] in ("are", "were") and "but " in before
    is_one = is_are and _BUT_ONE.search(before) is not None
    return is_one or (_THAT_IS.search(before) is not None and context.after[:1] == [","])


def is_over(context: Context) -> bool:
    """Return whether the time that follows in the same clause is over: "[remains] high in 1973"."""
    if not context.holds("ago", "in ", "last ", "yesterday"):
        return False
    after = context.text_after.lower()
    time = _FINISHED.search(after)
    if time is None or context.words.may_be_past(parts_of(context.edit.replacement[0])[0]):
        return False
    words = TOKEN.findall(after[: time.start()])
    return words[-1:] not in (["from"], ["of"]) and not any(_may_be_a_verb(word, context) for word in words)


def _may_be_a_verb(word: str, context: Context) -> bool:
    is_verb = word.endswith(("ing", "ed")) or context.words.may_be_past(word)
    return is_verb or not _NEW_CLAUSE.isdisjoint(parts_of(word))


def is_of_things_that_do(context: Context) -> bool:
    """Return whether the subject is a plural with an -ing before it, and no activity: "Rising costs [is] a problem"."""
    if not _makes_singular(context.edit):
        return False
    subject = without_adverbs(context.clause_before)
    if len(subject) < 2 or not context.has_form(subject[0], "ing"):
        return False
    place = 1 if is_plural(subject[1]) else 2  # "Rising energy costs"
    if len(subject) <= place or not is_plural(subject[place]) or subject[1] in word_sets.CLOSED_CLASS:
        return False
    if len(subject) > place + 1 and subject[place + 1] not in word_sets.PREPOSITIONS:
        return False
    is_activity = not context.words.lemmas_of(subject[0]).isdisjoint(_ACTIVITIES)
    return not is_activity or subject[place] in _KINDS


def is_of_latin_plural(context: Context) -> bool:
    """Return whether the subject is a plural that lacks an -s: "Data [was] collected", "The media [has] reported"."""
    if not _makes_singular(context.edit):
        return False
    subject = context.clause_before or context.after[:4]  # "Are the data ready?"
    if _PLURALS_WITHOUT_S.isdisjoint(subject):
        return False
    for at, word in enumerate(subject):
        if word in word_sets.PREPOSITIONS or word in word_sets.CLAUSE_STARTS - {"when", "if", "because"}:
            return False
        if word in _PLURALS_WITHOUT_S:
            following = without_adverbs(subject[at + 1 :])
            is_head = not context.clause_before or not following or following[0] in word_sets.PREPOSITIONS
            return is_head and _SINGULAR_DETERMINERS.isdisjoint(subject[:at])
    return False


def has_no_subject(context: Context) -> bool:
    """Return whether the line begins with its verb, and the edit sees a plural there: "Shows [match] in bold"."""
    words = context.before
    if not words or not context.has_form(words[0], "third") or any(map(is_mark, words[:-1])):
        return False
    is_of_lines = not context.words.lemmas_of(words[0]).isdisjoint(_OF_LINES)
    if len(words) == 1:
        following = context.after[:1]
        is_object = not following or is_mark(following[0]) or following[0] in _BEHIND_AN_OBJECT
        return is_of_lines and is_object and context.edit.source[0].lower() not in _OF_EVENTS
    is_joined = words[-1] in ("and", "or", "then", ",")  # "Parses the input and [return] a tree"
    return is_joined and (is_of_lines or words[1] in word_sets.DETERMINERS)


def is_of_one_name(context: Context) -> bool:
    """Return whether the subject is one name in -s: of a file or a program, "Vue.js [render]", or capitals, "DNS"."""
    before = context.text_before
    name = before.rsplit(maxsplit=1)[-1:]  # to look at it first is faster than the pattern
    may_be_one = any(word.isupper() or "." in word or "@" in word for word in name)
    return may_be_one and _ONE_NAME.search(before) is not None


def _makes_singular(edit: Proposal) -> bool:
    return edit.reason is Reason.SVA_SG or edit.replacement[0].lower() in _ONE_BE
