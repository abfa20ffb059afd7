"""Training sentences written by hand: how a line is read and drawn from. tests/training reads all of them."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from api.grammar.guard import Guard
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from ops.training.text.edits import apply_edits, edits_of, with_mistake
from ops.training.text.maker import ExampleMaker, Mix
from ops.training.text.written.check import HeldOutSentences, faults
from ops.training.text.written.lines import Written, load, parse
from ops.training.text.written.swaps import Swaps
from tests.unit.test_corruption import tagged


def mistakes(line: str) -> list[tuple[str, str, str]]:
    """(wrong sentence, reason, right sentence) of a line that has one way to be drawn."""
    text, places = parse(line).draw(random.Random(0))
    found = [one for options in places for one in options]
    for one in found:
        wrong = with_mistake(text, one)
        assert apply_edits(wrong, edits_of(text, [one])) == text
    return [(with_mistake(text, one), one.reason.value, text) for one in found]


def test_the_first_text_in_braces_is_right_and_every_other_one_a_mistake():
    right = "She has lived here since May."

    assert mistakes("She {has lived|perfect_tense:lives|singular_agreement:have lived} here since May.") == [
        ("She lives here since May.", "perfect_tense", right),
        ("She have lived here since May.", "singular_agreement", right),
    ]


def test_brackets_are_a_free_choice_and_an_empty_one_leaves_no_blank_behind():
    line = parse("[Tom/My aunt] smiled [again/].")

    drawn = {line.draw(random.Random(seed))[0] for seed in range(40)}

    assert drawn == {"Tom smiled again.", "Tom smiled.", "My aunt smiled again.", "My aunt smiled."}


def test_a_line_of_short_frames_is_loaded_many_times_to_train_on_and_once_to_choose_by(tmp_path):
    lines = [f"[He/She] {{sings|singular_agreement:sing}} number {number}.\n" for number in range(200)]
    for name in ("frames_short.txt", "other.txt"):
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")

    num_kept_back = len(load(tmp_path, held_out=True))
    num_to_train_on = len(load(tmp_path))

    assert 0 < num_kept_back < 40
    assert num_to_train_on == (400 - num_kept_back) / 2 * 41


def test_lists_in_one_pair_of_braces_go_together():
    line = parse("He {sang/swam|past_not_participle:sung/swum} well.")

    drawn = {(text, places[0][0].wrong) for text, places in (line.draw(random.Random(seed)) for seed in range(20))}

    assert drawn == {("He sang well.", "sung"), ("He swam well.", "swum")}


@pytest.mark.parametrize(
    ("line", "words", "replacement"),
    [
        ("I {want to go|to_infinitive:want go} home.", "go", "to go"),
        ("It {rains|extra_be:is rains}.", "is rains", "rains"),
        ("He {does not like|do_support:not like} it.", "not like", "does not like"),
        ("I know where {Tom is|question_order:is Tom}.", "is Tom", "Tom is"),
        ("Where {can I|question_order:I can} sit?", "I can", "can I"),
        ("What {does it mean|do_support:does means it}?", "means it", "it mean"),
    ],
)
def test_an_edit_replaces_as_little_as_the_model_can_say(line: str, words: str, replacement: str) -> None:
    text, [[mistake]] = parse(line).draw(random.Random(0))
    wrong = with_mistake(text, mistake)

    [edit] = edits_of(text, [mistake])

    assert " ".join(wrong.rstrip(".?").split(" ")[edit.word : edit.word + edit.num_words]) == words
    assert edit.replacement == replacement
    assert apply_edits(wrong, [edit]) == text


def test_a_mistake_of_three_words_is_mended_at_both_ends():
    text, [[mistake]] = parse("She {usually sings|habit:is usually singing} loudly.").draw(random.Random(0))

    edits = edits_of(text, [mistake])

    assert [(edit.word, edit.num_words, edit.replacement) for edit in edits] == [(1, 2, "usually"), (3, 1, "sings")]
    assert apply_edits("She is usually singing loudly.", edits) == text


def test_a_verb_between_do_and_its_subject_is_mended_at_both_ends():
    text, [[mistake]] = parse("What {does this word mean|do_support:does means this word}?").draw(random.Random(0))

    edits = edits_of(text, [mistake])

    assert [(edit.word, edit.num_words, edit.replacement) for edit in edits] == [(2, 2, "this"), (4, 1, "word mean")]
    assert apply_edits("What does means this word?", edits) == text


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("She {sings loudly.", "do not match"),
        ("She {sings} loudly.", "no wrong version"),
        ("She {sings|sing} loudly.", "lacks its reason"),
        ("She {sings|agreement:sing} loudly.", "agreement"),
        ("She {sings|singular_agreement:sings} loudly.", "no other text"),
        ("She {sings/hums|singular_agreement:sing} loudly.", "1 versions for 2"),
        ("She {had gone|past_perfect:was to be going} home.", "more than 2 words"),
        ("He sings and/or hums.", "belong into brackets"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_its_fault(line: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse(line)


def test_the_checker_refuses_what_the_guard_would_and_what_is_held_out():
    guard = Guard(VerbWords(VerbTable.load()))

    none, one = HeldOutSentences([]), HeldOutSentences(["On Sunday he went home by train again."])

    assert "guard refuses" in next(faults("He {went|past_tense:school} home.", guard, none))
    assert not list(faults("He {went|irregular_past:goed} home.", guard, none))
    assert "inside a word" in next(faults("I'{m|be_agreement:s}.", guard, none))
    assert "inside a word" in next(faults("He {like|singular_agreement:likes}s it.", guard, none))
    assert "held-out" in next(faults("On Monday she {went|irregular_past:goed} home by train again!", guard, one))
    assert "held-out" in next(faults("On Monday he {went|irregular_past:goed} back home by train again.", guard, one))
    assert not list(faults("On Monday she {went|irregular_past:goed} home by bus again!", guard, one))


def test_a_broken_sentence_has_a_mistake_and_keeps_its_name_in_front():
    line = parse("{Has Ann|question_order:Ann has} {eaten|perfect_participle:ate} yet?")
    written = Written([line], frozenset(), Swaps(lambda word: False))

    drawn = [written.wrong(random.Random(seed)) for seed in range(30)]

    assert {len(chosen) for _, chosen in drawn} == {1, 2}
    assert {sentence.tokens[0].tag for sentence, _ in drawn} == {"NNP"}


def test_a_sentence_that_begins_with_a_moved_name_gets_nothing_in_front():
    mix = Mix([parse("{Is Ann|missing_be:Ann} ill?")])
    maker = ExampleMaker(VerbTable.load(), [tagged("It/PRP rains/VBZ")], mix=mix)

    examples = [one for one in itertools.islice(maker.stream(3), 6000) if one.edits and one.source == "written"]

    assert {re.sub(r"^[^a-z]+", "", one.sentence.lower())[:3] for one in examples} == {"ann"}


def test_words_between_two_edits_of_one_mistake_stay_as_they_are_typed():
    lines = [parse("Why {is your brother's phone|question_order:your brother's phone is} [wet/off]?")]
    maker = ExampleMaker(VerbTable.load(), [tagged("Tom/NNP sang/VBD"), tagged("Ann/NNP sings/VBZ")], mix=Mix(lines))

    wrong = [one for one in itertools.islice(maker.stream(4), 600) if one.source == "written" and one.edits]

    assert len(wrong) > 50
    assert all(apply_edits(one.sentence, one.edits) == one.corrected for one in wrong)


def test_the_stream_draws_from_written_lines():
    lines = [
        parse("He {threw|irregular_past:throwed|past_not_participle:thrown} it."),
        parse("Did he {throw|base_after_do:throwed|base_after_do:threw} it?"),
    ]
    corpus = [tagged("Tom/NNP sang/VBD"), tagged("They/PRP saw/VBD it/PRP")]
    maker = ExampleMaker(VerbTable.load(), corpus, mix=Mix(lines))

    examples = [one for one in itertools.islice(maker.stream(3), 400) if one.source == "written"]

    reasons = {edit.reason for one in examples for edit in one.edits}
    assert reasons == {Reason.PAST_IRREG, Reason.PAST_NOT_PART, Reason.BASE_DO}
    assert any(not one.edits for one in examples)
