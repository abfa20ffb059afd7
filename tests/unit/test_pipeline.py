"""From the model's output to the corrected sentence: what is read, what is too long, what is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.correction import Correction
from api.grammar.edit_script import (
    EOS_ID,
    FIRST_POSITION_ID,
    NUM_SPECIAL_TOKENS,
    PAD_ID,
    SEP_ID,
    TAG_IDS,
    X2_ID,
    ScriptEdit,
    parse_script,
)
from api.grammar.language import NOTHING_FOUND
from api.grammar.pipeline import Level, TextPipeline
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from scheduler.errors import SentenceTooLong
from scheduler.messages import ID_BITS
from tests.corrections import PIPELINE, TOKENIZER, conclude

R = Reason
WENT = ScriptEdit(1, 1, "went", R.PAST_IRREG)
HAVE = ScriptEdit(1, 1, "have", R.SVA_PL)


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected"),
    [
        ("  He\t goed  to\r\nschool . ", [WENT], "  He\t went  to\r\nschool . "),
        ("He is \t believes it", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)], "He believes it"),
        ("It was  write", [ScriptEdit(1, 2, "was written", R.PASSIVE_PART)], "It was  written"),
        (
            "Do you know where\tis the  bank?",
            [ScriptEdit(4, 2, "the", R.QUESTION_ORDER), ScriptEdit(6, 1, "bank is", R.QUESTION_ORDER)],
            "Do you know where\tthe  bank is?",
        ),
        ("He" + " " * 5_000 + "goed", [WENT], "He" + " " * 5_000 + "went"),
    ],
)
def test_white_space_stays_as_it_was(sentence: str, edits: list[ScriptEdit], corrected: str) -> None:
    assert conclude(sentence, *edits).corrected == corrected


(ATE,), P1, TAG = TOKENIZER.encode_piece(" ate"), FIRST_POSITION_ID + 1, TAG_IDS[R.PAST_IRREG]


@pytest.mark.parametrize(
    "output_ids",
    [
        [P1, TAG, EOS_ID],  # no replacement
        [TAG, EOS_ID],
        [ATE, TAG, EOS_ID],
        [P1, ATE, X2_ID, TAG, EOS_ID],
        [P1, X2_ID, X2_ID, ATE, TAG, EOS_ID],
        [P1, PAD_ID, ATE, TAG, EOS_ID],
        [P1, ATE, SEP_ID, TAG, EOS_ID],
        [P1 + 2, ATE, TAG, EOS_ID],  # a word beyond the sentence
        [P1 + 1, X2_ID, ATE, TAG, EOS_ID],
        [P1, ATE, EOS_ID],
        [P1, ATE],  # cut off by length
        TOKENIZER.encode_output([ScriptEdit(1, 1, " ", R.PAST_IRREG)]),
    ],
)
def test_a_malformed_edit_is_dropped_and_counted(output_ids: list[int]) -> None:
    correction = PIPELINE.conclude(PIPELINE.prepare("He eated it"), output_ids)

    assert correction == Correction("He eated it", (), NOTHING_FOUND, 1)
    assert correction.num_malformed == 1


SOME_IDS = [*range(-1, NUM_SPECIAL_TOKENS), *TOKENIZER.encode(" went is has goed to the").token_ids]
EDITS = st.tuples(st.integers(P1 - 1, P1 + 2), st.sampled_from([X2_ID, ATE]), st.just(ATE), st.just(TAG))


@given(st.text(max_size=40), st.lists(EDITS | st.lists(st.sampled_from(SOME_IDS), max_size=4), max_size=6))
def test_no_output_of_the_model_makes_it_fail(sentence: str, pieces: list[Sequence[int]]) -> None:
    output_ids = [*chain.from_iterable(pieces)]
    draft = PIPELINE.prepare("He goed is " + sentence)

    correction, edits = PIPELINE.conclude(draft, output_ids), parse_script(TOKENIZER, output_ids, 3).edits

    assert draft.sentence == correction.corrected or correction.edits
    ends = [0, *(edit.word + edit.num_words for edit in edits)]
    assert all(end <= edit.word for end, edit in zip(ends, edits, strict=False)) and ends[-1] <= 3


@pytest.mark.parametrize("piece", ["a", "\U0001f600", "a'", "1.2"])
def test_a_huge_text_without_a_blank_is_refused_before_it_is_tokenized(piece: str) -> None:
    not_asked = patch.object(Tokenizer, "encode", side_effect=AssertionError("tokenized"))

    with not_asked, pytest.raises(SentenceTooLong):
        PIPELINE.prepare(piece * 10_000)


@pytest.mark.parametrize(
    ("shouted", "read_as"),
    [
        ("HE GOED TO SCHOOL", "He goed to school"),
        ("OK", "OK"),  # one word may be a name
        ("He GO to school", "He go to school"),
        ("She DON\u2019T like it", "She don\u2019t like it"),
        ("She GOED home", "She goed home"),
        ("In the USA he WATCHES TV", "In the USA he watches TV"),
        ("AIDS is feared", "AIDS is feared"),
        ("The LED is red and SAT and ACTS are tests", "The LED is red and SAT and ACTS are tests"),
        ("I GOED", "I goed"),
        ("I\u2019VE GOED, I", "I\u2019ve goed, I"),
    ],
)
def test_what_is_in_capitals_is_read_in_small_letters_but_the_pronoun_and_abbreviations(
    shouted: str, read_as: str
) -> None:
    draft = PIPELINE.prepare(shouted)

    assert draft.prompt.token_ids == TOKENIZER.encode(read_as).token_ids
    assert list(draft.prompt.words) == [word.strip(",") for word in shouted.split()]


@pytest.mark.parametrize("label", [
    "- ", "> ", "2) ", "1. ", "1.2.3 ", "iv) ", "- [x] ", "[10:32] ", "[10:32 AM] ", "10:32 ", "@tom, ", "#help ",
    "Q: ", "Mary Ann Smith: ", "mary: ", "Step 2: ", "* Note: ", "<p>", "<h1>1. ", "Dear all, ", "Hi, ", "P.S. ",
    "And ", "But ", "I think ", "1. I know that ", "Also, ", "Thanks, ", "As far as I know, ", "Hello Tom, so ",
])  # fmt: skip
@pytest.mark.parametrize("sentence", ["He goed home", "HE GOED HOME"])
def test_the_model_reads_no_label_in_front_of_a_sentence(label: str, sentence: str) -> None:
    prompt = PIPELINE.prepare(label + sentence).prompt

    assert prompt.token_ids == TOKENIZER.encode("He goed home").token_ids
    assert prompt.words == tuple(sentence.split())
    assert prompt.starts[0] == len(label)


@pytest.mark.parametrize("sentence", [
    "12:30 he goes", "J. Smith goes", "-1 is less", "Tom:", "- ", "e.g. he goes", "@tom goes", "[He] goes", "[1] goes",
    "Yesterday: He goes", "Since May: He goes", "Left: a man reads", "But for him", "So tired", "And nobody goes",
    "I think of him", "I know that man", "Yesterday, he goes", "Dear me", "Hi and hello", "Hey Jude, which goes",
    "And he happy?", "I think it best", "#metoo goes", "<file> goes", "3.5 Million goes", "So that he goes", "So, goes",
])  # fmt: skip
def test_what_is_no_label_is_read(sentence: str) -> None:
    assert PIPELINE.prepare(sentence).prompt.token_ids == TOKENIZER.encode(sentence).token_ids


@pytest.mark.parametrize(
    ("sentence", "read_as"),
    [
        ("He **goed** home", "He goed home"),
        ("**He goed** home!", "He goed home!"),
        ("_He *goed* home._", "He goed home."),
        ("He <b>goed</b><br>home", "He goed home"),
        ("He [goed](https://example.org/a_b) home", "He goed home"),
        ("> He goed\n> home", "He goed home"),
        ("// He goed\n// home", "// He goed home"),
    ],
)
def test_the_model_reads_no_marks_of_emphasis_and_no_target_of_a_link(sentence: str, read_as: str) -> None:
    prompt = PIPELINE.prepare(sentence).prompt

    assert prompt.token_ids == TOKENIZER.encode(read_as).token_ids
    places = zip(prompt.starts, prompt.words, strict=True)
    assert [sentence[start : start + len(word)] for start, word in places] == ["He", "goed", "home"]


@pytest.mark.parametrize("sentence", ["2 * 3 * 4", "a snake_case_name goes", "<file> goes", "* goes", "and **names"])
def test_what_is_no_emphasis_is_read(sentence: str) -> None:
    assert PIPELINE.prepare(sentence).plain == sentence


@pytest.mark.parametrize(
    ("sentence", "edit", "corrected"),
    [
        ("**He goed home.**", WENT, "**He went home.**"),
        ("_He goed home._", WENT, "_He went home._"),
        ("**He goed home**.", WENT, "**He went home**."),
        ('"*He goed home!*"', WENT, '"*He went home!*"'),
        ("- **He goed home**", WENT, "- **He went home**"),
        ("I say **that he goed home**.", replace(WENT, word=4), "I say **that he went home**."),
        ("He **goed** home.", WENT, "He **goed** home."),  # words that are named: "the form **goed**"
        ("I say *that he goed home*.", replace(WENT, word=4), "I say *that he goed home*."),
        ("[He goed home](a.md)", WENT, "[He goed home](a.md)"),  # a title
        ("He **is** goed.", ScriptEdit(1, 2, "went", Reason.PAST_IRREG), "He **is** goed."),  # a mark would be lost
        ("[docs](a.md) has it.", HAVE, "[docs](a.md) has it."),
        ("*Friends* has it.", HAVE, "*Friends* has it."),
        ("<i>Friends</i> has it.", HAVE, "<i>Friends</i> has it."),
        ("<p>1. **Friends** has it.", HAVE, "<p>1. **Friends** has it."),
        ("**They** has it.", HAVE, "**They** have it."),
        ("**My dogs** has it.", replace(HAVE, word=2), "**My dogs** have it."),
        ("Our **dogs** has it.", replace(HAVE, word=2), "Our **dogs** have it."),
    ],
)
def test_an_edit_leaves_marks_of_emphasis_where_they_are(sentence: str, edit: ScriptEdit, corrected: str) -> None:
    assert PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output([edit])).corrected == corrected


def test_a_word_alone_behind_a_label_is_read_in_capitals() -> None:
    assert PIPELINE.prepare("Mary: OK").prompt.token_ids == TOKENIZER.encode("OK").token_ids


@pytest.mark.parametrize(
    ("level", "strictness", "least"), [("quiet", 3, 0.15), ("picky", 3, 0.08), ("quiet", 4, 0.2), ("picky", 4, 0.11)]
)
def test_a_level_begins_at_the_confidence_that_is_documented(level: Level, strictness: float, least: float) -> None:
    (draft,) = TextPipeline.load(strictness=strictness).prepare_text("He goed", level=level).take()

    assert draft.least == pytest.approx(least, rel=0.08)


@pytest.mark.parametrize(("steps", "confidence"), [(0, 1.0), (1, 0.05), (7, 0.5), (15, 0.98)])
def test_the_tag_says_how_often_such_an_edit_is_right(steps: int, confidence: float) -> None:
    *start, tag, end = TOKENIZER.encode_output([WENT])

    (edit,) = PIPELINE.conclude(PIPELINE.prepare("He goed"), [*start, tag | steps << ID_BITS, end]).edits

    assert edit.model_confidence == confidence


def test_two_edits_that_hold_only_together_are_as_sure_as_the_less_certain_of_them() -> None:
    sentence, moved = "Do you know where is the bank?", [(4, 2, "the", 12), (6, 1, "bank is", 4)]
    ids: list[int] = []
    for word, num_words, text, steps in moved:
        start = TOKENIZER.encode_output([ScriptEdit(word, num_words, text, Reason.QUESTION_ORDER)])[:-1]
        ids += [*start[:-1], start[-1] | steps << ID_BITS]

    (edit,) = PIPELINE.conclude(PIPELINE.prepare(sentence), ids).edits
    correction = PIPELINE.conclude(PIPELINE.prepare(sentence, min_confidence=0.95), ids)

    assert edit.model_confidence == 0.18
    assert (correction.corrected, [note.code.value for note in correction.notes]) == (sentence, ["left-out"])
    assert "1 edit that is less certain" in correction.explanation
    assert f"of {edit.confidence:g}, under min_confidence 0.95, was left out" in correction.notes[0].detail
    assert PIPELINE.certain_edits(PIPELINE.prepare(sentence), ids) == ()
