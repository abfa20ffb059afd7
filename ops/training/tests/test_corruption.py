"""The labels of the training: each reason breaks a sentence as learners do, and its edits mend it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tagged_text import corruptions, many_examples, table, tagged

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from api.grammar.words import count_words
from miniserve_training.text.edits import apply_edits
from scheduler.messages import MAX_WORDS

TYPICAL = table("typical")


@pytest.mark.parametrize(("reason", "right", "wrong", "word", "num_words", "text"), TYPICAL)
def test_each_reason_that_rules_know_makes_its_typical_mistake(
    reason: str, right: str, wrong: str, word: str, num_words: str, text: str
) -> None:
    assert corruptions(tagged(right))[wrong] == ScriptEdit(int(word), int(num_words), text, Reason[reason])


@pytest.mark.parametrize(("reason", "right", "wrong"), table("exact"))
def test_a_right_sentence_is_broken_in_just_these_ways(reason: str, right: str, wrong: str) -> None:
    assert corruptions(tagged(right), reason).keys() == set(wrong.split("|"))


@pytest.mark.parametrize(("reason", "right", "wrong"), table("made"))
def test_a_right_sentence_is_broken_as_learners_break_it(reason: str, right: str, wrong: str) -> None:
    assert wrong in corruptions(tagged(right), reason)


@pytest.mark.parametrize(("right", "still_right"), table("never"))
def test_what_might_be_right_is_never_called_wrong(right: str, still_right: str) -> None:
    assert still_right not in corruptions(tagged(right))


@pytest.mark.parametrize(("reason", "right"), table("silent"))
def test_where_a_reason_is_not_certain_it_makes_nothing(reason: str, right: str) -> None:
    assert not corruptions(tagged(right), reason)


@pytest.mark.parametrize(
    ("text", "agreeing", "wrong"),
    [
        ("The/DT keys/NNS to/TO the/DT door/NN are/VBP old/JJ", ((5, "pl"),), {"The keys to the door is old."}),
        ("One/CD of/IN my/PRP$ friends/NNS lives/VBZ here/RB", ((4, "sg"),), {"One of my friends live here."}),
        ("There/EX are/VBP two/CD reasons/NNS", ((1, "pl"),), {"There is two reasons.", "There's two reasons."}),
        ("He/PRP is/VBZ kind/JJ and/CC helps/VBZ me/PRP", ((4, "sg"),), {"He is kind and help me."}),
        ("Reading/VBG books/NNS helps/VBZ me/PRP", ((2, "sg"),), {"Reading books help me."}),
        ("He/PRP says/VBZ they/PRP work/VBP", ((1, "sg"),), {"He say they work."}),
        ("The/DT man/NN who/WP lives/VBZ near/IN them/PRP works/VBZ hard/RB", ((3, "sg"), (6, "sg")),
         {"The man who live near them works hard.", "The man who lives near them work hard."}),
    ],
)  # fmt: skip
def test_a_noted_subject_is_believed_and_no_other(text: str, agreeing: tuple[tuple[int, str]], wrong: set[str]) -> None:
    found = corruptions(replace(tagged(text), agreeing=agreeing))

    assert {sentence for sentence, edit in found.items() if edit.reason.name.startswith("SVA")} == wrong


def test_every_example_is_mended_by_its_edits_which_stand_in_order_inside_it() -> None:
    for one in many_examples():
        places = [(edit.word, edit.word + edit.num_words) for edit in one.edits]
        assert apply_edits(one.sentence, one.edits) == one.corrected
        assert bool(one.edits) == (one.sentence != one.corrected)
        assert [at for place in places for at in place] == sorted(at for place in places for at in place)
        assert all(edit.num_words in (1, 2) and edit.replacement.islower() for edit in one.edits)
        assert not places or places[-1][1] <= count_words(one.sentence)


def test_the_service_makes_of_every_example_what_the_training_asks_for() -> None:
    """An edit that the guard refused, or put elsewhere, would be learned in vain."""
    pipeline, tokenizer = TextPipeline.load(), Tokenizer.load()
    fitting = [one for one in many_examples() if count_words(one.sentence) <= MAX_WORDS]

    for one in fitting:
        draft, starts = pipeline.prepare(one.sentence), tokenizer.encode(one.sentence).starts
        # Without "Sorry, ", which is not read, the words have other numbers.
        read = [replace(edit, word=draft.prompt.starts.index(starts[edit.word])) for edit in one.edits]
        served = pipeline.conclude(draft, tokenizer.encode_output(read)).corrected
        assert served.replace("\u2019", "'") == one.corrected.replace("\u2019", "'")
    assert {edit.reason.name for one in fitting for edit in one.edits} == {case[0] for case in TYPICAL}
