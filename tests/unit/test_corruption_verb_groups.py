"""Verb groups and complements: which wrong sentences are made of a right one, and which never."""

from __future__ import annotations

from functools import cache

import pytest

from api.reasons import Reason
from api.verbs import VerbTable
from ops.training.corpus import TaggedSentence, TaggedToken
from ops.training.corruption import ExampleMaker


def tagged(text: str, mark: str) -> TaggedSentence:
    tokens, words = [], []
    for number, group in enumerate(text.split()):
        parts = [part.rsplit("/", 1) for part in group.split("+")]
        tokens += [TaggedToken(token, tag, number) for token, tag in parts]
        words.append("".join(token for token, _ in parts))
    return TaggedSentence("test", " ".join(words) + mark, (*tokens, TaggedToken(mark, ".", None)))


@cache
def maker() -> ExampleMaker:
    return ExampleMaker(VerbTable.load(), [])


def broken(text: str, reason: Reason, mark: str = ".") -> set[str]:
    sentence = tagged(text, mark)
    return {
        sentence.text[: one.start] + one.wrong + sentence.text[one.end :]
        for one in maker().candidates(sentence)
        if one.reason is reason
    }


QUESTIONS = [
    ("What/WP do/VBP you/PRP want/VB", "DO_SUPPORT", {"What you want?"}),
    ("Where/WRB does/VBZ he/PRP live/VB", "DO_SUPPORT", {"Where he live?", "Where he lives?"}),
    ("Where/WRB does/VBZ Tom/NNP live/VB", "DO_SUPPORT", {"Where Tom live?"}),
    ("Where/WRB did/VBD you/PRP go/VB", "DO_SUPPORT", {"Where you went?"}),
    ("Where/WRB did/VBD you/PRP go/VB yesterday/NN", "DO_SUPPORT",
     {"Where you go yesterday?", "Where you went yesterday?"}),
    ("How/WRB many/JJ books/NNS do/VBP you/PRP have/VB", "DO_SUPPORT", {"How many books you have?"}),
    ("Why/WRB did/VBD+n't/RB you/PRP come/VB", "QUESTION_ORDER", {"Why you didn't come?"}),
    ("Where/WRB is/VBZ he/PRP going/VBG", "QUESTION_ORDER", {"Where he is going?"}),
    ("When/WRB will/MD they/PRP arrive/VB", "QUESTION_ORDER", {"When they will arrive?"}),
    ("How/WRB long/RB have/VBP you/PRP known/VBN her/PRP", "QUESTION_ORDER", {"How long you have known her?"}),
    ("What/WP+'s/VBZ he/PRP doing/VBG", "QUESTION_ORDER", {"What he's doing?"}),
]  # fmt: skip


@pytest.mark.parametrize(("right", "reason", "wrong"), QUESTIONS, ids=[text for text, _, _ in QUESTIONS])
def test_a_question_loses_its_do_or_its_order(right: str, reason: str, wrong: set[str]) -> None:
    assert broken(right, Reason[reason], "?") == wrong


NEGATIVES = [
    ("He/PRP does/VBZ not/RB like/VB it/PRP", {"He not like it.", "He not likes it."}),
    ("They/PRP did/VBD not/RB go/VB", {"They not went."}),
    ("I/PRP do/VBP+n't/RB know/VB him/PRP", {"I no know him."}),
]


@pytest.mark.parametrize(("right", "wrong"), NEGATIVES, ids=[text for text, _ in NEGATIVES])
def test_a_negative_loses_its_do(right: str, wrong: set[str]) -> None:
    assert broken(right, Reason.DO_SUPPORT) == wrong


UNTOUCHED = [
    ("I/PRP know/VBP where/WRB he/PRP is/VBZ going/VBG", "."),
    ("Do/VBP you/PRP like/VB it/PRP", "?"),
    ("Do/VBP you/PRP know/VB where/WRB she/PRP is/VBZ", "?"),
    ("Who/WP knows/VBZ him/PRP", "?"),
    ("I/PRP suggest/VBP that/IN he/PRP does/VBZ not/RB go/VB", "."),
    ("Is/VBZ he/PRP coming/VBG", "?"),
    ("Where/WRB is/VBZ my/PRP$ old/JJ bag/NN", "?"),
]


@pytest.mark.parametrize(("right", "mark"), UNTOUCHED, ids=[text for text, _ in UNTOUCHED])
def test_a_question_that_could_be_right_either_way_is_left_alone(right: str, mark: str) -> None:
    assert not broken(right, Reason.DO_SUPPORT, mark) | broken(right, Reason.QUESTION_ORDER, mark)
