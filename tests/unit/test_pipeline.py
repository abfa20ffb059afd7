"""From the model's output to the corrected sentence: what changes, what stays, what is dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.correction import Correction
from api.grammar.edit_script import EOS_ID, FIRST_POSITION_ID, NUM_SPECIAL_TOKENS, TAG_IDS, ScriptEdit
from api.grammar.language import NOTHING_FOUND
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.surface import match_case
from api.grammar.tokenizer import Prompt
from api.grammar.verbs import VerbTable
from scheduler.errors import InvalidRequest, SentenceTooLong
from tests.fake_tokenizer import FakeTokenizer

TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())
R = Reason
GRIN, PAIR = "\U0001f600", "\U0001f468\u200d\U0001f469"


def conclude(sentence: str, *edits: ScriptEdit) -> Correction:
    return PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output(edits))


WENT = ScriptEdit(1, 1, "went", R.PAST_IRREG)
WALKS = ScriptEdit(1, 1, "walks", R.SVA_SG)


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected"),
    [
        ("We will discussed it and chose her", [(2, "discuss"), (5, "choose")], "We will discuss it and choose her"),
        ("We\u2019ll discussed it", [(1, "discuss")], "We\u2019ll discuss it"),
        ("We discussed it and chose her", [(4, "choose")], "We discussed it and chose her"),
        ("At next week\u2019s meeting we discussed it and chose her", [(5, "will discuss"), (8, "choose")], None),
    ],
)
def test_an_edit_that_needs_a_modal_falls_with_the_edit_that_would_bring_it(
    sentence: str, edits: list[tuple[int, str]], corrected: str | None
) -> None:
    script = [ScriptEdit(at, 1, new, R.TENSE_FUT if " " in new else R.BASE_MODAL) for at, new in edits]

    assert conclude(sentence, *script).corrected == (corrected or sentence)


@pytest.mark.parametrize(
    ("sentence", "edits", "corrected"),
    [
        ("He goed to school", [WENT], "He went to school"),
        ("he goed to school", [WENT], "he went to school"),
        ("  He\t goed  to\r\nschool . ", [WENT], "  He\t went  to\r\nschool . "),
        (f"{GRIN} He goed {PAIR} home{GRIN}!", [WENT], f"{GRIN} He went {PAIR} home{GRIN}!"),
        ("\u201cHe goed\u201d \u2014 cafe\u0301", [WENT], "\u201cHe went\u201d \u2014 cafe\u0301"),
        ("HE GOED TO SCHOOL", [WENT], "HE WENT TO SCHOOL"),
        ("He Goed To School", [WENT], "He Went To School"),
        ("A: walk he?", [WALKS], "A: walks he?"),
        ("Goed he?", [ScriptEdit(0, 1, "went", R.PAST_IRREG)], "Went he?"),
        ("Ann don\u2019t sing", [ScriptEdit(1, 1, "doesn't", R.SVA_SG)], "Ann doesn\u2019t sing"),
        ("Ann don't \u2018sing\u2019", [ScriptEdit(1, 1, "doesn't", R.SVA_SG)], "Ann doesn't \u2018sing\u2019"),
        ("Ann DON'T sing", [ScriptEdit(1, 1, "doesn't", R.SVA_SG)], "Ann DOESN'T sing"),
        ("He is believes it", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)], "He believes it"),
        ("He is \t believes it", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)], "He believes it"),
        ("Is believes it", [ScriptEdit(0, 2, "believes", R.EXTRA_BE)], "Believes it"),
        ("He IS BELIEVES it", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)], "He BELIEVES it"),
        ("It was  write", [ScriptEdit(1, 2, "was written", R.PASSIVE_PART)], "It was  written"),
        ("I\u2019m agree", [ScriptEdit(0, 2, "i agree", R.EXTRA_BE)], "I agree"),
        ("I don't afraid", [ScriptEdit(1, 1, "'m not", R.MISSING_BE)], "I am not afraid"),
        ("Birds singing outside", [ScriptEdit(1, 1, "are singing", R.MISSING_BE)], "Birds are singing outside"),
        ("Singing outside", [ScriptEdit(0, 1, "are singing", R.MISSING_BE)], "Are singing outside"),
        ("He not like it", [ScriptEdit(1, 2, "doesn't like", R.DO_SUPPORT)], "He does not like it"),
        ("He no like it", [ScriptEdit(1, 2, "doesn't like", R.DO_SUPPORT)], "He doesn't like it"),
        ("NOT GO!", [ScriptEdit(0, 2, "don't go", R.DO_SUPPORT)], "DO NOT GO!"),
        ("Ann walk, sing", [WALKS, ScriptEdit(2, 1, "sings", R.SVA_SG)], "Ann walks, sings"),
    ],
)  # fmt: skip
def test_only_the_replaced_words_change_and_keep_their_looks(
    sentence: str, edits: list[ScriptEdit], corrected: str
) -> None:
    correction = conclude(sentence, *edits)

    assert correction.corrected == corrected
    assert correction.num_dropped == 0
    for edit in correction.edits:
        assert sentence[edit.start : edit.end] == edit.original
        assert edit.replacement in corrected


def test_offsets_are_code_points_of_the_sentence_that_was_sent() -> None:
    (edit,) = conclude("\U0001f600\U0001f600 He goed home", WENT).edits

    assert (edit.start, edit.end, edit.original, edit.replacement) == (6, 10, "goed", "went")


def test_the_answer_for_several_edits_joins_their_explanations_in_order() -> None:
    correction = conclude("He goed and she haves it", WENT, ScriptEdit(4, 1, "has", R.S_SPELL))

    assert correction.explanation == " ".join(edit.explanation for edit in correction.edits)
    assert [edit.replacement for edit in correction.edits] == ["went", "has"]


@pytest.mark.parametrize("sentence", ["He went.", "  \u201cHi\u201d \t x ", "\U0001f600", "...", "e\u0301 _ \u00a0x"])
def test_a_correct_sentence_comes_back_unchanged_and_says_so(sentence: str) -> None:
    assert conclude(sentence) == Correction(sentence, (), NOTHING_FOUND, 0)


@pytest.mark.parametrize(
    ("sentence", "edits"),
    [
        ("He goed", [ScriptEdit(7, 1, "went", R.PAST_IRREG)]),
        ("He goed", [ScriptEdit(1, 2, "went", R.PAST_IRREG)]),
        ("He goed", [ScriptEdit(1, 1, " ", R.PAST_IRREG)]),
        ("He went", [WENT]),
        ("He WENT", [WENT]),
        ("He goed", [ScriptEdit(1, 1, "walked", R.PAST_IRREG)]),
        ("The walk tires him", [WALKS]),
        ("Ask Will now", [ScriptEdit(1, 1, "would", R.TENSE_SEQ)]),
        ("He is, believes", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)]),
        ("He is_believes", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)]),
        ("He is\U0001f600 believes", [ScriptEdit(1, 2, "believes", R.EXTRA_BE)]),
    ],
)
def test_an_edit_that_makes_no_sense_is_dropped_and_counted(sentence: str, edits: list[ScriptEdit]) -> None:
    assert conclude(sentence, *edits) == Correction(sentence, (), NOTHING_FOUND, 1)


def test_overlapping_edits_keep_the_first_and_count_the_other() -> None:
    overlapping = [ScriptEdit(1, 2, "believes", R.EXTRA_BE), ScriptEdit(2, 1, "believe", R.BASE_DO)]

    correction = conclude("He is believes", *overlapping)

    assert (correction.corrected, correction.num_dropped) == ("He believes", 1)


def test_a_bad_edit_does_not_take_a_good_one_with_it() -> None:
    correction = conclude("He goed home", ScriptEdit(0, 1, "she", R.SVA_SG), WENT)

    assert (correction.corrected, correction.num_dropped) == ("He went home", 1)


@given(st.text(max_size=40), st.lists(st.integers(-1, NUM_SPECIAL_TOKENS + 5), max_size=12))
def test_no_output_of_the_model_makes_it_fail(sentence: str, output_ids: list[int]) -> None:
    tokenizer = FakeTokenizer()
    tokenizer.encode("went is has goed to the")
    pipeline = TextPipeline(tokenizer, VerbTable.load())

    correction = pipeline.conclude(pipeline.prepare("He goed is " + sentence), output_ids)

    assert "He goed is " + sentence == correction.corrected or correction.edits


def test_an_output_without_eos_keeps_its_complete_edits() -> None:
    output = TOKENIZER.encode_output([WENT])[:-1] + [FIRST_POSITION_ID + 2]
    correction = PIPELINE.conclude(PIPELINE.prepare("He goed home"), output)

    assert (correction.corrected, correction.num_dropped) == ("He went home", 1)


def test_tokens_after_eos_count_for_nothing() -> None:
    correction = PIPELINE.conclude(PIPELINE.prepare("He goed"), [EOS_ID, TAG_IDS[R.SVA_SG]])

    assert correction.num_dropped == 0


@pytest.mark.parametrize("separator", [" ", "\n", ", "])
def test_ten_thousand_words_are_refused_before_they_are_tokenized(separator: str) -> None:
    with pytest.raises(SentenceTooLong) as refusal:
        PIPELINE.prepare(separator.join(["word"] * 10_000))

    assert refusal.value.num_words == 10_000


@pytest.mark.parametrize("piece", ["a", "\U0001f600", "a'", "1.2"])
def test_a_huge_text_without_a_blank_is_refused_before_it_is_tokenized(piece: str) -> None:
    class NoTokenizer(FakeTokenizer):
        def encode(self, sentence: str) -> Prompt:
            raise AssertionError("tokenized")

    with pytest.raises(SentenceTooLong):
        TextPipeline(NoTokenizer(), VerbTable.load()).prepare(piece * 10_000)


def test_blanks_are_kept_up_to_the_limit_of_characters() -> None:
    sentence = "He" + " " * 5_000 + "goed"

    assert conclude(sentence, WENT).corrected == sentence.replace("goed", "went")
    with pytest.raises(InvalidRequest, match=r"20,006 characters; at most 8,000"):
        PIPELINE.prepare("He" + " " * 20_000 + "goed")


def test_a_sentence_all_in_capitals_is_read_in_small_letters_and_answered_in_capitals() -> None:
    shouted = "HE GOED TO SCHOOL"

    draft = PIPELINE.prepare(shouted)

    assert draft.prompt.token_ids == PIPELINE.prepare(shouted.lower()).prompt.token_ids
    assert list(draft.prompt.words) == shouted.split()
    assert conclude(shouted, WENT).corrected == "HE WENT TO SCHOOL"
    assert PIPELINE.prepare("OK").prompt.token_ids != PIPELINE.prepare("ok").prompt.token_ids, "one word may be a name"


@pytest.mark.parametrize(
    ("shouted", "read_as"),
    [
        ("He GO to school", "He go to school"),
        ("She DON\u2019T like it", "She don\u2019t like it"),
        ("She GOED home", "She goed home"),
        ("In the USA he WATCHES TV", "In the USA he watches TV"),
        ("AIDS is feared", "AIDS is feared"),
        ("The LED is red and SAT and ACTS are tests", "The LED is red and SAT and ACTS are tests"),
    ],
)
def test_a_verb_in_capitals_is_read_in_small_letters_and_an_abbreviation_as_it_is(shouted: str, read_as: str) -> None:
    draft = PIPELINE.prepare(shouted)

    assert draft.prompt.token_ids == PIPELINE.prepare(read_as).prompt.token_ids
    assert list(draft.prompt.words) == shouted.split()


def test_a_verb_in_capitals_is_mended_in_capitals() -> None:
    assert conclude("He GO to school", ScriptEdit(1, 1, "goes", R.SVA_SG)).corrected == "He GOES to school"


@pytest.mark.parametrize(("shouted", "read_as"), [("I GOED", "I goed"), ("I\u2019VE GOED, I", "I\u2019ve goed, I")])
def test_the_pronoun_keeps_its_capital_when_a_sentence_is_read_in_small_letters(shouted: str, read_as: str) -> None:
    assert PIPELINE.prepare(shouted).prompt.token_ids == PIPELINE.prepare(read_as).prompt.token_ids


@pytest.mark.parametrize(
    ("source", "replacement", "has_curly", "matched"),
    [
        (["O\u2019Neill\u2019s", "Goed"], ["o'neill's", "went"], True, ("O\u2019Neill\u2019s", "went")),
        (["I"], ["i", "am"], False, ("I", "am")),
        (["Am", "I'm"], ["am", "i"], False, ("Am", "I")),
        (["has"], ["hasn't"], True, ("hasn\u2019t",)),
        (["has"], ["hasn't"], False, ("hasn't",)),
    ],
)
def test_a_replacement_takes_the_case_of_what_it_replaces(
    source: list[str], replacement: list[str], has_curly: bool, matched: tuple[str, ...]
) -> None:
    assert match_case(source, replacement, has_curly) == matched


@pytest.mark.parametrize(
    ("sentence", "edit", "corrected"),
    [
        ("You want it?", ScriptEdit(0, 1, "do you", R.DO_SUPPORT), "Do you want it?"),
        ("Speak you Dutch?", ScriptEdit(0, 2, "do you speak", R.DO_SUPPORT), "Do you speak Dutch?"),
        ("Likes Tom it?", ScriptEdit(0, 2, "does tom like", R.DO_SUPPORT), "Does Tom like it?"),
        ("Tom going out?", ScriptEdit(0, 1, "is tom", R.MISSING_BE), "Is Tom going out?"),
        ("Birds singing?", ScriptEdit(0, 1, "are birds", R.MISSING_BE), "Are birds singing?"),
        ("She's going where?", ScriptEdit(0, 1, "is she", R.QUESTION_ORDER), "Is she going where?"),
        ("Where Tom is going?", ScriptEdit(1, 2, "is tom", R.QUESTION_ORDER), "Where is Tom going?"),
        ("Where Tom\u2019s going?", ScriptEdit(1, 1, "is tom", R.QUESTION_ORDER), "Where is Tom going?"),
        ("Where I am going?", ScriptEdit(1, 2, "am i", R.QUESTION_ORDER), "Where am I going?"),
        ("Where I'm going?", ScriptEdit(1, 1, "am i", R.QUESTION_ORDER), "Where am I going?"),
        ('He said, "You want it?"', ScriptEdit(2, 1, "do you", R.DO_SUPPORT), 'He said, "Do you want it?"'),
        ("WHERE HE IS GOING?", ScriptEdit(1, 2, "is he", R.QUESTION_ORDER), "WHERE IS HE GOING?"),
        ("When Tom cook?", ScriptEdit(0, 1, "when does", R.DO_SUPPORT), "When does Tom cook?"),
    ],
)
def test_a_word_that_moves_keeps_its_capital_only_if_it_is_a_name(
    sentence: str, edit: ScriptEdit, corrected: str
) -> None:
    assert conclude(sentence, edit).corrected == corrected
