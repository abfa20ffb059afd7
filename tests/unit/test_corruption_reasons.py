"""What a mistake of each reason looks like, told apart from the rules that make it.

Every example of a stream is looked at: what stands in the sentence must be wrong in the way its reason names, and what
the edit writes instead must be what the reason asks for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import islice

import pytest

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.grammar.words import split_pieces
from ops.training.text.edits import apply_edits
from ops.training.text.maker import Example, ExampleMaker
from tests.unit.test_corruption import CASES, corruptions, tagged

VERBS = VerbTable.load()
FORMS_OF = list(VERBS.verbs.values())
BE = {"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re"}
HAVE = {"has", "have", "hasn't", "haven't"}
# The two words that the table knows as forms of rarer verbs (to plane), and its misforms that teachers mark.
WORDS_AFTER_ALL = {"planed", "planing", "payed", "flied", "teared", "grinded", "bended", "costed"}


def _words(text: str) -> list[str]:
    straight = text.lower().replace("\u2019", "'")
    return re.sub(r"('(?:m|s|re|ll))\b", r" \1", straight).split()


@cache
def _bases() -> set[str]:
    return set(VERBS.verbs) | {"be"}


@cache
def _pasts() -> set[str]:
    return {past for verb in FORMS_OF for past in verb.pasts} | {"was", "were"}


@cache
def _participles() -> set[str]:
    return {participle for verb in FORMS_OF for participle in verb.participles} | {"been"}


@cache
def _ings() -> set[str]:
    return {verb.ing for verb in FORMS_OF} | {"being"}


def _stem(words: list[str]) -> str:
    return words[-1].removesuffix("n't")


def _is_invented(wrong: list[str], right: list[str]) -> bool:
    return not VERBS.is_form(wrong[-1]) or wrong[-1] in WORDS_AFTER_ALL


def _has_be(words: list[str]) -> bool:
    return bool({word.removesuffix("n't") for word in words} & BE)


def _is_progressive(words: list[str]) -> bool:
    return _has_be(words) and words[-1].endswith("ing")


def _asks_for_ing(wrong: list[str], right: list[str]) -> bool:
    return right[-1] in _ings() and wrong[-1] not in _ings()


def _asks_for_base(wrong: list[str], right: list[str]) -> bool:
    return right[-1] in _bases() and (wrong[0] == "to" or wrong[-1] != right[-1])


def _is_past(words: list[str]) -> bool:
    return any(word.removesuffix("n't") in _pasts() | {"could", "would", "did"} for word in words)


Change = Callable[[list[str], list[str]], bool]  # of what is wrong and of what is right, in words
CHANGES: dict[Reason, Change] = {
    Reason.PAST_IRREG: lambda wrong, right: _is_invented(wrong, right) and right[-1] in _pasts(),
    Reason.PART_IRREG: lambda wrong, right: _is_invented(wrong, right) and right[-1] in _participles(),
    Reason.PAST_NOT_PART: lambda wrong, right: wrong[-1] not in _pasts() and right[-1] in _pasts(),
    Reason.REG_SPELL: lambda wrong, right: _is_invented(wrong, right) and right[-1].endswith("ed"),
    Reason.ING_SPELL: lambda wrong, right: _is_invented(wrong, right) and right[-1] in _ings(),
    Reason.S_SPELL: lambda wrong, right: _is_invented(wrong, right) and right[-1].endswith("s"),
    Reason.SVA_SG: lambda wrong, right: _stem(wrong) in _bases() and _stem(right).endswith("s"),
    Reason.SVA_PL: lambda wrong, right: _stem(wrong).endswith("s") and _stem(right) in _bases(),
    Reason.SVA_BE: lambda wrong, right: _has_be(wrong) and _has_be(right) and wrong != right,
    Reason.BASE_DO: _asks_for_base,
    Reason.BASE_MODAL: _asks_for_base,
    Reason.BASE_TO: _asks_for_base,
    Reason.PERF_PART: lambda wrong, right: wrong[-1] not in _participles() and right[-1] in _participles(),
    Reason.PASSIVE_PART: lambda wrong, right: wrong[-1] not in _participles() and right[-1] in _participles(),
    Reason.BE_ING: _asks_for_ing,
    Reason.MISSING_BE: lambda wrong, right: not _has_be(wrong) and _has_be(right),
    Reason.EXTRA_BE: lambda wrong, right: _has_be(wrong) and not _has_be(right),
    Reason.TENSE_PAST: lambda wrong, right: not _is_past(wrong) and _is_past(right),
    Reason.TENSE_FUT: lambda wrong, right: right[0] in ("will", "won't", "'ll") and "will" not in wrong,
    Reason.TENSE_PERF: lambda wrong, right: bool(set(right) & HAVE) and wrong != right,
    Reason.PAST_NOT_PERF: lambda wrong, right: wrong[0] in HAVE and right[-1] in _pasts(),
    Reason.TENSE_SEQ: lambda wrong, right: not _is_past(wrong) and _is_past(right),
    Reason.TO_INF: lambda wrong, right: right[-2] == "to" and right[-1] in _bases() and "to" not in wrong,
    Reason.BARE_INF: _asks_for_base,
    Reason.ING_PREP: _asks_for_ing,
    Reason.ING_VERB: _asks_for_ing,
    Reason.NO_WILL: lambda wrong, right: bool({"will", "'ll"} & set(wrong)) and not {"will", "'ll"} & set(right),
    Reason.MODAL_OF: lambda wrong, right: (wrong, right) == (["of"], ["have"]),
    Reason.STATIVE: lambda wrong, right: _is_progressive(wrong) and not _is_progressive(right),
    Reason.ING_TO: _asks_for_ing,
    Reason.WISH_PAST: lambda wrong, right: wrong != right and (_is_past(right) or right[0] in ("would", "have")),
    Reason.HABIT: lambda wrong, right: not _has_be(right) and (_has_be(wrong) or wrong[-1] in _ings()),
    Reason.PAST_PERF: lambda wrong, right: wrong[0] in HAVE and right[0] in ("had", "hadn't"),
    Reason.DO_SUPPORT: lambda wrong, right: any(word.startswith(("do", "did")) for word in right),
    Reason.QUESTION_ORDER: lambda wrong, right: sorted(wrong) == sorted(right) and wrong != right,
}


@cache
def _examples() -> tuple[Example, ...]:
    maker = ExampleMaker(VERBS, [tagged(text, wrong[-1]) for _, text, wrong, _ in CASES])
    return tuple(islice(maker.stream(seed=12), 6000))


@cache
def _changes() -> dict[Reason, list[tuple[list[str], list[str], str]]]:
    """For every reason: what was wrong, what the edit writes, and the sentence to show when it fails."""
    found = defaultdict(list)
    for example in _examples():
        pieces = [piece.text for piece in split_pieces(example.sentence) if piece.word_number is not None]
        for edit in example.edits:
            wrong = " ".join(pieces[edit.word : edit.word + edit.num_words])
            found[edit.reason].append((_words(wrong), _words(edit.replacement), example.sentence))
    return dict(found)


def test_every_reason_says_what_it_changes() -> None:
    assert list(CHANGES) == list(Reason)


def test_a_stream_makes_mistakes_of_every_reason() -> None:
    assert set(_changes()) == set(Reason)


@pytest.mark.parametrize("reason", Reason, ids=[reason.name for reason in Reason])
def test_what_an_edit_changes_is_what_its_reason_names(reason: Reason) -> None:
    is_change = CHANGES[reason]

    assert [change for change in _changes()[reason] if not is_change(*change[:2])] == []


@pytest.mark.parametrize(("name", "text", "wrong", "edit"), CASES, ids=[case[0] for case in CASES])
def test_the_edit_of_each_typical_mistake_gives_back_the_right_sentence(name, text, wrong, edit) -> None:
    mark = wrong[-1]

    found = corruptions(text, mark)[wrong]

    assert wrong != tagged(text, mark).text
    assert apply_edits(wrong, [found]) == tagged(text, mark).text


@pytest.mark.parametrize("text", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_every_mistake_made_of_a_typical_sentence_is_mended_by_its_edit(text: str) -> None:
    right = tagged(text).text
    for wrong, edit in corruptions(text).items():
        if edit.num_words <= 2:  # longer ones become two edits, which the maker's own tests apply
            assert apply_edits(wrong, [edit]) == right, (wrong, edit)


@pytest.mark.parametrize(
    ("text", "mark", "left_alone"),
    [
        ("I/PRP remember/VBP to/TO lock/VB it/PRP", ".", "I am remembering to lock it."),
        ("Why/WRB are/VBP you/PRP two/CD late/JJ", "?", "Why you are two late?"),
        ("It/PRP has/VBZ grown/VBN since/IN May/NNP and/CC I/PRP have/VBP come/VBN", ".",
         "It grows since May and I have come."),
        ("I/PRP would/MD like/VB to/TO go/VB", ".", "I would like to going."),
    ],
)  # fmt: skip
def test_what_a_rule_passes_over_on_purpose_is_not_made(text: str, mark: str, left_alone: str) -> None:
    assert left_alone not in corruptions(text, mark)
