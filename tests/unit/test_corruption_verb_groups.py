"""Verb groups and complements: which wrong sentences are made of a right one, and which never."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from ops.training.text.corpus import TaggedSentence, TaggedToken
from ops.training.text.generators.verb_frames import verb_frame_sentences
from ops.training.text.maker import ExampleMaker
from tests.unit.test_corruption import corruptions


def tagged(text: str, mark: str) -> TaggedSentence:
    """ "+" joins the tokens of a word."""
    tokens: list[TaggedToken] = []
    plain, number = "", 0
    for group in text.split():
        parts = [part.rsplit("/", 1) for part in group.split("+")]
        is_word = parts[0][1] != ","
        tokens += [TaggedToken(token, tag, number if is_word else None) for token, tag in parts]
        plain += (" " if is_word and plain else "") + "".join(token for token, _ in parts)
        number += is_word
    return TaggedSentence("test", plain + mark, (*tokens, TaggedToken(mark, ".", None)))


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
    ("I/PRP do/VBP+n't/RB know/VB him/PRP", {"I no know him.", "I am not know him.", "I'm not know him."}),
]


@pytest.mark.parametrize(("right", "wrong"), NEGATIVES, ids=[text for text, _ in NEGATIVES])
def test_a_negative_loses_its_do(right: str, wrong: set[str]) -> None:
    assert broken(right, Reason.DO_SUPPORT) == wrong


GROUPS = [
    ("I/PRP+'m/VBP working/VBG", "BE_ING", "I'm work."),
    ("She/PRP+'s/VBZ not/RB listening/VBG", "BE_ING", "She's not listen."),
    ("He/PRP+'s/VBZ already/RB eaten/VBN", "PERF_PART", "He's already ate."),
    ("He/PRP+'s/VBZ written/VBN a/DT book/NN", "PERF_PART", "He's wrote a book."),
    ("He/PRP+'ll/MD go/VB", "BASE_MODAL", "He'll goes."),
    ("He/PRP should/MD have/VB gone/VBN", "PERF_PART", "He should have went."),
    ("They/PRP could/MD not/RB have/VB known/VBN it/PRP", "PERF_PART", "They could not have knew it."),
    ("He/PRP is/VBZ always/RB complaining/VBG", "MISSING_BE", "He always complaining."),
    ("He/PRP is/VBZ a/DT doctor/NN", "MISSING_BE", "He a doctor."),
    ("She/PRP is/VBZ very/RB tired/JJ", "MISSING_BE", "She very tired."),
    ("I/PRP agree/VBP with/IN you/PRP", "EXTRA_BE", "I'm agree with you."),
    ("It/PRP is/VBZ being/VBG written/VBN by/IN Ann/NNP", "PASSIVE_PART", "It is being wrote by Ann."),
    ("He/PRP used/VBD to/TO smoke/VB", "BASE_TO", "He used to smoking."),
    ("He/PRP did/VBD+n't/RB use/VB to/TO smoke/VB", "BASE_DO", "He didn't used to smoke."),
    ("I/PRP would/MD rather/RB stay/VB", "BARE_INF", "I would rather to stay."),
    ("So/RB does/VBZ she/PRP", "SVA_SG", "So do she."),
    ("Neither/CC are/VBP they/PRP", "SVA_BE", "Neither is they."),
    ("She/PRP is/VBZ sleeping/VBG", "BE_ING", "She is sleep."),
    ("Tom/NNP is/VBZ reading/VBG a/DT book/NN", "BE_ING", "Tom is read a book."),
    ("It/PRP is/VBZ worth/JJ reading/VBG", "ING_VERB", "It is worth to read."),
    ("She/PRP came/VBD in/RP and/CC sat/VBD down/RB", "PAST_IRREG", "She came in and sitted down."),
]


@pytest.mark.parametrize(("right", "reason", "wrong"), GROUPS, ids=[wrong for _, _, wrong in GROUPS])
def test_a_verb_group_is_broken_as_learners_break_it(right: str, reason: str, wrong: str) -> None:
    assert wrong in broken(right, Reason[reason])


OPEN_QUESTIONS = [
    ("What/WP are/VBP you/PRP doing/VBG", "MISSING_BE", "What you doing?"),
    ("Have/VBP you/PRP ever/RB ridden/VBN it/PRP", "PART_IRREG", "Have you ever rided it?"),
    ("Why/WRB not/RB go/VB", "BARE_INF", "Why not to go?"),
    ("You/PRP know/VBP him/PRP ,/, do/VBP+n't/RB you/PRP", "SVA_PL", "You know him, doesn't you?"),
    ("They/PRP are/VBP late/JJ ,/, are/VBP+n't/RB they/PRP", "SVA_BE", "They are late, isn't they?"),
]


@pytest.mark.parametrize(("right", "reason", "wrong"), OPEN_QUESTIONS, ids=[wrong for _, _, wrong in OPEN_QUESTIONS])
def test_a_verb_group_of_a_question_is_broken_too(right: str, reason: str, wrong: str) -> None:
    assert wrong in broken(right, Reason[reason], "?")


PERHAPS_RIGHT = [
    ("He/PRP+'s/VBZ gone/VBN", "PERF_PART"),
    ("I/PRP+'d/MD gone/VBN", "PERF_PART"),
    ("I/PRP mean/VBP it/PRP", "EXTRA_BE"),
    ("She/PRP is/VBZ open/JJ", "MISSING_BE"),
    ("They/PRP are/VBP giving/VBG me/PRP a/DT book/NN", "BE_ING"),
    ("She/PRP+'s/VBZ taking/VBG it/PRP", "BE_ING"),
    ("He/PRP has/VBZ come/VBN and/CC sat/VBN down/RB", "PAST_IRREG"),
]


@pytest.mark.parametrize(("right", "reason"), PERHAPS_RIGHT, ids=[text for text, _ in PERHAPS_RIGHT])
def test_what_may_be_right_or_may_lack_something_else_is_not_made(right: str, reason: str) -> None:
    assert not broken(right, Reason[reason])


def test_frames_take_their_verb_phrases_from_the_text_and_agree() -> None:
    text = [tagged(f"I/PRP want/VBP to/TO {verb}/VB the/DT {noun}/NN", ".") for verb, noun in PHRASES]

    made = {one.text for one in verb_frame_sentences(text, maker().lexicon, random.Random(4))}

    assert not {one for one in made if re.search(r"\b(I (is|has|does)|(she|he|Tom) (are|have|want|enjoy))\b", one)}
    assert any(re.search(r"good at (writing|selling|painting) the (letter|car|house)\.", one) for one in made)
    assert any(re.search(r"The (letter|car|house) .*been (written|sold|painted)", one) for one in made)


PHRASES = [("write", "letter"), ("sell", "car"), ("paint", "house")]


UNTOUCHED = [
    ("I/PRP know/VBP where/WRB he/PRP is/VBZ going/VBG", "."),
    ("Do/VBP you/PRP play/VB it/PRP", "?"),
    ("Do/VBP you/PRP ask/VB where/WRB she/PRP is/VBZ", "?"),
    ("Who/WP knows/VBZ him/PRP", "?"),
    ("I/PRP suggest/VBP that/IN he/PRP does/VBZ not/RB go/VB", "."),
    ("Is/VBZ he/PRP coming/VBG", "?"),
    ("Where/WRB is/VBZ my/PRP$ old/JJ bag/NN", "?"),
]


@pytest.mark.parametrize(("right", "mark"), UNTOUCHED, ids=[text for text, _ in UNTOUCHED])
def test_a_question_that_could_be_right_either_way_is_left_alone(right: str, mark: str) -> None:
    assert not broken(right, Reason.DO_SUPPORT, mark) | broken(right, Reason.QUESTION_ORDER, mark)


@pytest.mark.parametrize(
    ("right", "mark", "wrong"),
    [
        ("English/NNP is/VBZ spoken/VBN here/RB", ".", "English is spoke here."),
        ("He/PRP was/VBD broken/VBN by/IN it/PRP", ".", "He was broke by it."),
        ("What/WP are/VBP you/PRP doing/VBG", "?", "What are you do?"),
        ("Would/MD you/PRP like/VB to/TO drink/VB tea/NN", "?", "Would you like drinking tea?"),
        ("I/PRP have/VBP known/VBN him/PRP", ".", "I have been knowing him."),
    ],
)
def test_voices_progressives_and_questions_of_be_and_do_are_confused(right: str, mark: str, wrong: str) -> None:
    assert wrong in corruptions(right, mark)


def test_a_past_that_may_follow_be_is_left_alone() -> None:
    assert "He was broke." not in corruptions("He/PRP was/VBD broken/VBN")


@pytest.mark.parametrize(
    ("right", "mark", "wrong"),
    [
        ("Do/VBP you/PRP agree/VB", "?", "Are you agree?"),
        ("He/PRP does/VBZ+n't/RB like/VB it/PRP", ".", "He isn't like it."),
        ("She/PRP can/MD dance/VB and/CC sing/VB", ".", "She can dance and sings."),
        ("He/PRP is/VBZ good/JJ at/IN swimming/VBG", ".", "He is good at swim."),
        ("He/PRP left/VBD without/IN closing/VBG the/DT door/NN", ".", "He left without close the door."),
    ],
)
def test_base_forms_and_be_stand_where_ing_and_do_belong(right: str, mark: str, wrong: str) -> None:
    assert wrong in corruptions(right, mark)
