"""Finds edits that the words around bear out: "The new vessel [is]".

It is the reverse of the vetoes: word classes, places and closed lists show that the old text is wrong there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from api.grammar import nouns, word_sets
from api.grammar.lists import LISTS
from api.grammar.reasons import Reason
from api.grammar.surroundings.agreement import CROWDS, JOINING, PEOPLE, is_verbal, makes_singular, subject_of
from api.grammar.surroundings.context import NEAR, Context, is_mark, is_plural
from api.grammar.surroundings.times import DIGITS_OF_A_YEAR
from api.grammar.verb_words import parts_of

_ONE_PRONOUNS = frozenset("he she it this that".split())
_JOINING = JOINING | {"but"}
_LINKING = frozenset(["and", "but", "or", "nor"])
_BEFORE_A_CLAUSE = word_sets.CLAUSE_STARTS | word_sets.RELATIVE_PRONOUNS | frozenset("then how why what where".split())
_OPENS_A_CLAUSE = _BEFORE_A_CLAUSE - {"and", "or", "than", "as"}
# "if he were", "imagine she were", "they demand that he go"
_UNREAL = frozenset(
    "if though wish wishes wished suppose imagine unless would whether lest rather time suggest suggests suggested "
    "recommend recommended insist insisted demand demanded propose proposed require required important essential "
    "vital necessary".split()
)
_OF_ONE_ALONE = frozenset("a an this that every each another".split())
_BEFORE_ANOTHER_NOUN = word_sets.PREPOSITIONS | {"and", "or"}
_OF_ONE = word_sets.DETERMINERS - {"these", "those"}
_CROWDS = (
    CROWDS
    | PEOPLE
    | frozenset(
        "few couple great large small wide whole good huge latter former following offspring dice crowd average record "
        "estimated growing increasing infinite hundred thousand million billion council".split()
    )
)
_NOT_MANY = word_sets.SINGULAR_NOUNS_IN_S | word_sets.COLLECTIVE_NOUNS | LISTS["amounts"]
_ADJECTIVES = LISTS["adjectives"] | frozenset(
    "close open present subject time work host home separate clean clear complete direct dry empty free live mature "
    "slow warm welcome correct perfect secure slack joint suspect root key".split()
)
_DO = word_sets.DO_PARTS | {"done", "doing"}
_OPENS_AN_OBJECT = word_sets.DETERMINERS | word_sets.OBJECT_PRONOUNS
_BEHIND_A_VERB = _OPENS_AN_OBJECT | word_sets.PREPOSITIONS | LISTS["particles"] | {"to"}
_ELLIPTIC = frozenset("who what whatever all everything as that".split())  # "He did what he could [given] the time"
_OBJECTS = frozenset("a an the my your his our their it them him us".split())
_ASKING = frozenset("allow enable ask expect force encourage require permit".split())
_EITHER = frozenset("can will may might".split())  # modals that are nouns and names, too


def bears_out(context: Context) -> bool:
    """Return whether a rule shows that the edit mends a mistake."""
    rule = _RULES.get(context.edit.reason)
    return rule is not None and rule(context)


def _agrees(context: Context) -> bool:
    """Return whether the subject is plain to see, right before the verb, and asks for the new form."""
    if context.before[-1:] == ["there"]:
        return _is_before_one(context)
    words = _before(context)
    is_bare = context.edit.reason is Reason.SVA_SG or parts_of(context.edit.source[0])[0] in ("were", "be")
    if not words or (is_bare and not _UNREAL.isdisjoint(words)):
        return False
    if context.edit.source[0].lower() == "be" and "that" in words:  # "that she be promoted"
        return False
    last, before = words[-1], words[:-1]
    if last in ("who", "which", "that") and before and not _is_closed(before[-1]):
        return _agrees_with_antecedent(context, before)
    if last in word_sets.SUBJECT_PRONOUNS | {"this", "that"}:
        return _agrees_with_pronoun(context, last, before[-1] if before else ".")
    return _agrees_with_noun(context, words)


def _before(context: Context) -> Sequence[str]:
    """Return the words before the edit, without the adverbs at their end and a joining word at their beginning."""
    words = context.before
    if words and words[0] in _LINKING and context.edit.start <= NEAR:  # "But he [goes]" joins no subjects
        words = words[1:]
    end = len(words)
    while end and (words[end - 1] in word_sets.ADVERBS or _is_manner(words[end - 1])):
        end -= 1
    return words[:end]


def _is_manner(word: str) -> bool:
    """Return whether the word is an adverb in -ly."""
    return word.endswith("ly") and word not in word_sets.NOT_ADVERBS


def _agrees_with_pronoun(context: Context, pronoun: str, previous: str) -> bool:
    """Return whether the pronoun is a subject, and of the new form's number: "They [are]", "when it [comes]"."""
    if pronoun in ("this", "that"):
        is_subject = previous == "."
    elif parts_of(previous)[0] in word_sets.INVERTED_PARTS:  # "Where does she [live]?"
        is_subject = False
    elif pronoun in word_sets.CERTAIN_SUBJECTS:
        is_subject = previous not in _JOINING
    else:
        is_subject = is_mark(previous) or previous in _BEFORE_A_CLAUSE
    if pronoun == "i" and context.edit.reason is Reason.SVA_BE:
        return is_subject and context.edit.replacement[0].lower() in ("am", "was", "wasn't")
    return is_subject and makes_singular(context.edit) is (pronoun in _ONE_PRONOUNS)


def _is_before_one(context: Context) -> bool:
    """Return whether one thing follows: "There [is] a picnic area and a café"."""
    after = context.clause_after
    is_one = len(after) > 1 and after[0] in ("a", "an", "another") and _CROWDS.isdisjoint(after[1:4])
    return is_one and makes_singular(context.edit) and not any(is_plural(w) or w.isdigit() for w in after[1:4])


def _agrees_with_antecedent(context: Context, before: Sequence[str]) -> bool:
    """Return whether what the relative clause is about has the new form's number: "a painter who [lives]"."""
    start = next((at + 1 for at in range(len(before) - 1, -1, -1) if _is_closed(before[at])), 0)
    clause = before[next((at + 1 for at in range(start - 1, -1, -1) if is_mark(before[at])), 0) : start]
    if start == len(before) or not _BEFORE_ANOTHER_NOUN.isdisjoint(clause):  # "the man with glasses who"
        return False
    if makes_singular(context.edit):
        return start > 0 and before[start - 1] in ("a", "an", "this", "another") and _is_one(before[-1])
    return _are_many(context, before[-1])


def _is_closed(word: str) -> bool:
    return is_mark(word) or word in word_sets.CLOSED_CLASS


def _agrees_with_noun(context: Context, words: Sequence[str]) -> bool:
    """Return whether a noun with what belongs to it begins the clause and asks for the form: "The hue of it [is]"."""
    places = range(len(words) - 1, -1, -1)
    start = next((at + 1 for at in places if is_mark(words[at]) or words[at] in _OPENS_A_CLAUSE), 0)
    subject = subject_of(context, words[start:])
    if subject is None or any(word in word_sets.AMOUNTS or is_verbal(context, word) for word in subject.rest):
        return False
    noun = subject.noun[-1]
    if makes_singular(context.edit):
        return subject.determiner in _OF_ONE and _is_one(noun) and noun.title() not in context.text_before
    is_clause = start > 0 and words[start - 1] in word_sets.RELATIVE_PRONOUNS | word_sets.QUESTION_WORDS
    is_clause |= words[start].endswith("ever")
    if is_clause and context.has_form(noun, "third"):  # "What matters [is]"
        return False
    return not subject.rest and subject.determiner not in _OF_ONE_ALONE and _are_many(context, noun)


def _is_one(noun: str) -> bool:
    if noun.endswith(("ae", "i", "ing", "ed")):  # "the larvae are", "the wounded were"
        return False
    return not is_plural(noun) and noun not in _CROWDS and not noun.endswith("men")


def _are_many(context: Context, noun: str) -> bool:
    is_name = noun in nouns.NAMES_IN_S or noun.title() in context.text_before.lstrip()[1:]
    return is_plural(noun) and noun not in _NOT_MANY and not is_name


def _is_of_an_infinitive(context: Context) -> bool:
    """Return whether 'to' stands right before a finite form with what a verb has behind it: "to [compress] the air"."""
    source = context.edit.source
    if context.before[-1:] != ["to"] or len(source) > 1 or context.has_form(source[0].lower(), "ing"):
        return False
    is_noun_too = is_plural(source[0].lower())  # "effects to objects on it", "changes that you make"
    behind = _OPENS_AN_OBJECT - {"that", "this", "you", "it"} if is_noun_too else _BEHIND_A_VERB
    return not behind.isdisjoint(context.after[:1])


def _is_passive(context: Context) -> bool:
    """Return whether a form of be stands before a base form: "is widely [used]". Not "all he did was [ask]"."""
    words = _before(context)
    source = context.edit.source[0].lower()
    is_base = context.has_form(source, "base") and not context.words.may_be_past(source) and source not in _ADJECTIVES
    following = context.after[:1]
    is_base = is_base and (not following or is_mark(following[0]) or following[0] in _BEHIND_A_VERB)  # "is [log] files"
    is_behind = bool(words) and parts_of(words[-1])[0] in word_sets.BE_PARTS
    return is_base and is_behind and _DO.isdisjoint(words)


def _is_no_word(context: Context) -> bool:
    """Return whether the old word is the form of no verb but a misspelling of one: "begining"."""
    source = context.edit.source
    return len(source) == 1 and source[0].islower() and not context.words.is_right_form(source[0])


def _is_of_a_pronoun(context: Context) -> bool:
    """Return whether a pronoun has a participle for its verb: "he [gave]", written "he given"."""
    *_, previous, pronoun = ["", "", *_before(context)]
    return pronoun in word_sets.CERTAIN_SUBJECTS and parts_of(previous)[0] not in word_sets.INVERTED_PARTS


def _has_an_object(context: Context) -> bool:
    """Return whether a preposition has a base form with an object: "after [witnessing] the crime"."""
    before = context.before[1:]  # "After work the men left"
    is_behind = not (word_sets.PREPOSITIONS - {"than", "like", "with"}).isdisjoint(before[-1:])
    source, after = context.edit.source, context.after[:2]
    is_noun_too = source[0].lower() in LISTS["bare_nouns"] | _ADJECTIVES or not word_sets.TIME_NOUNS.isdisjoint(
        after[1:]
    )
    return is_behind and len(source) == 1 and not is_noun_too and not _OPENS_AN_OBJECT.isdisjoint(after[:1])


def _is_of_a_modal(context: Context) -> bool:
    """Return whether a modal stands right before: "can't [talk]", "would never [marry]"."""
    modal = _before(context)[-1:]
    return (
        modal != []
        and _ELLIPTIC.isdisjoint(context.clause_before)
        and modal[0] not in _EITHER
        and parts_of(modal[0])[0] in word_sets.MODAL_PARTS
    )


def _is_past_for_participle(context: Context) -> bool:
    """Return whether a form that is past alone stands behind 'have': "have [seen]", written "have saw"."""
    forms = context.words.forms_of(context.edit.source[-1].lower())
    is_behind = not word_sets.HAVE_PARTS.isdisjoint(_before(context)[-1:])
    return is_behind and "past" in forms and "participle" not in forms


def _lacks_to(context: Context) -> bool:
    """Return whether what stands before a base form asks for 'to': "able [to see] it", "allows you [to see]"."""
    source, (verb, previous), after = context.edit.source[0].lower(), ["", "", *context.before][-2:], context.after
    is_base = len(context.edit.source) == 1 and context.has_form(source, "base") and source not in LISTS["bare_nouns"]
    if not is_base or (source in _ADJECTIVES and _OBJECTS.isdisjoint(after[:1])):
        return False
    if previous in word_sets.OBJECT_PRONOUNS - {"her"}:
        is_clause = verb == "expect" and previous in ("you", "it")  # "I expect you know"
        return not is_clause and not context.words.lemmas_of(verb).isdisjoint(_ASKING)
    if previous in ("able", "unable"):
        return verb not in word_sets.DETERMINERS
    is_verb = previous in ("need", "want") and verb not in _OF_ONE | {"he", "she", "it"}
    return is_verb and not _OBJECTS.isdisjoint(after[:1]) and after[1:2] not in (["lot"], ["bit"], ["while"], ["most"])


def _is_since_a_time(context: Context) -> bool:
    """Return whether a time begins the sentence: "Since 1949, it [has been] there"."""
    since, time = [*context.before, "", ""][:2]
    return since == "since" and (time == "then" or (time.isdigit() and len(time) == DIGITS_OF_A_YEAR))


_RULES: dict[Reason, Callable[[Context], bool]] = {
    Reason.SVA_SG: _agrees,
    Reason.SVA_PL: _agrees,
    Reason.SVA_BE: _agrees,
    Reason.BASE_TO: _is_of_an_infinitive,
    Reason.BASE_MODAL: _is_of_a_modal,
    Reason.PASSIVE_PART: _is_passive,
    Reason.PERF_PART: _is_past_for_participle,
    Reason.TENSE_PERF: _is_since_a_time,
    Reason.REG_SPELL: _is_no_word,
    Reason.ING_SPELL: _is_no_word,
    Reason.PAST_NOT_PART: _is_of_a_pronoun,
    Reason.ING_PREP: _has_an_object,
    Reason.TO_INF: _lacks_to,
}
