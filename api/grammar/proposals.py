"""Holds an edit of the model with its place in the sentence, and finds two edits that hold only together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from api.grammar import word_sets
from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Prompt
from api.grammar.verb_words import parts_of

_MARK = re.compile(r"[^\w\s'\u2019-]")
_LONGEST_MOVE = 10  # words
_MOST_BETWEEN = 3  # words between an auxiliary and its verb: "is [always very carefully] behave"
_AUXILIARY_PARTS = word_sets.BE_PARTS | word_sets.HAVE_PARTS | word_sets.DO_PARTS
_PARTICIPLES = frozenset([Reason.PERF_PART, Reason.PASSIVE_PART, Reason.PART_IRREG, Reason.BE_ING])
# What an auxiliary and its verb go through together.
_OF_THE_WHOLE_VERB = frozenset(
    [Reason.EXTRA_BE, Reason.HABIT, Reason.STATIVE, Reason.DO_SUPPORT, Reason.PAST_NOT_PERF, Reason.TENSE_PERF]
)
_LIKE_MODALS = frozenset(["need", "dare", "better", "cant"])  # "needn't", "had better"
_AFTER = {
    Reason.BASE_MODAL: word_sets.MODAL_PARTS | _LIKE_MODALS,
    Reason.BASE_DO: word_sets.DO_PARTS | {"d'you"},
    Reason.PERF_PART: word_sets.HAVE_PARTS,
}


@dataclass(slots=True)
class Proposal:
    """Holds what the model replaces by what, with the code points of the replaced words."""

    word: int
    source: tuple[str, ...]
    replacement: tuple[str, ...]
    reason: Reason
    start: int
    end: int
    gap: str | None  # what stands between two words where it is white space
    confidence: float


def proposal_of(sentence: str, prompt: Prompt, edit: ScriptEdit) -> Proposal:
    """Find the words of the edit in the sentence."""
    first, last = edit.word, edit.word + edit.num_words - 1
    source, new = prompt.words[first : last + 1], tuple(edit.replacement.split())
    start, end = prompt.starts[first], prompt.starts[last] + len(source[-1])
    gap = " " if first == last else _gap(sentence, prompt, last)
    return Proposal(first, source, new, edit.reason, start, end, gap, edit.confidence)


def previous_word(sentence: str, prompt: Prompt, number: int) -> str | None:
    """Return the word right before if only white space separates them: in "A: Does you" it does not."""
    return prompt.words[number - 1] if number and _gap(sentence, prompt, number) is not None else None


def may_move(sentence: str, one: Proposal, other: Proposal) -> bool:
    """Return whether the two may move a word: they have one reason and are near each other."""
    return one.reason is other.reason and _are_near(sentence, one, other)


def _are_near(sentence: str, one: Proposal, other: Proposal) -> bool:
    """Return whether they may be of one clause: no mark parts them."""
    return (
        other.word - one.word <= _LONGEST_MOVE
        and one.gap is not None
        and other.gap is not None
        and _MARK.search(sentence, one.end, other.start) is None
    )


def mends_the_verb(sentence: str, one: Proposal, other: Proposal) -> bool:
    """Return whether the first changes the auxiliary of the verb that the second changes: "[is] always [behave]"."""
    if one.reason not in _OF_THE_WHOLE_VERB:
        return False
    between = sentence[one.end : other.start].lower().split()
    return (
        len(between) <= _MOST_BETWEEN
        and word_sets.CLAUSE_STARTS.isdisjoint(between)
        and _has_auxiliary(one)
        and not _has_auxiliary(other)
        and may_move(sentence, one, other)
    )


def brings_do(sentence: str, one: Proposal, other: Proposal) -> bool:
    """Return whether the first brings the 'do' and the second the base form: "[does your] brother [live]"."""
    return (
        one.reason is Reason.DO_SUPPORT
        and other.reason in (Reason.DO_SUPPORT, Reason.BASE_DO)
        and _has(one.replacement, word_sets.DO_PARTS)
        and not _has(one.source, word_sets.DO_PARTS)
        and len(other.source) == len(other.replacement) == 1
        and not _has_auxiliary(other)
        and word_sets.CLAUSE_STARTS.isdisjoint(sentence[one.end : other.start].lower().split())
        and _are_near(sentence, one, other)
    )


def contradict(one: Proposal, other: Proposal) -> bool:
    """Return whether the first takes away the auxiliary of the participle that the second brings: "[he's] [went]"."""
    is_next = other.word == one.word + len(one.source)
    is_bare = one.reason is Reason.EXTRA_BE and not _has(one.replacement, _AUXILIARY_PARTS)
    return is_next and is_bare and other.reason in _PARTICIPLES


def lacks_its_auxiliary(edit: Proposal, before: Sequence[str]) -> bool:
    """Return whether the auxiliary that the reason names is missing: the edit that would bring it was refused."""
    needed = _AFTER.get(edit.reason)
    return needed is not None and not _has((*before, *edit.replacement[:-1]), needed)


def _has_auxiliary(edit: Proposal) -> bool:
    return _has(edit.source, _AUXILIARY_PARTS)


def _has(words: Sequence[str], parts: frozenset[str]) -> bool:
    return any(part in parts for word in words for part in parts_of(word))


def joined(words: tuple[str, ...], one: Proposal, other: Proposal) -> Proposal:
    """Return both as one, with the words between them."""
    between = words[one.word + len(one.source) : other.word]
    source = one.source + between + other.source
    replacement = one.replacement + between + other.replacement
    confidence = min(one.confidence, other.confidence)
    return Proposal(one.word, source, replacement, one.reason, one.start, other.end, " ", confidence)


def _gap(sentence: str, prompt: Prompt, number: int) -> str | None:
    """Return the white space in front of a word but the first, None where a mark stands there."""
    gap = sentence[prompt.starts[number - 1] + len(prompt.words[number - 1]) : prompt.starts[number]]
    return gap if gap.isspace() else None
