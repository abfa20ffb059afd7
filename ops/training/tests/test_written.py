"""The generated lines: how one is read, drawn from and checked, and that every line of the repository is sound."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from tagged_text import ROOT, VERBS, tagged

from api.grammar.guard import Guard
from api.grammar.reasons import Reason
from api.grammar.verb_words import VerbWords
from miniserve_training.command import main
from miniserve_training.text.edits import apply_edits, edits_of, with_mistake
from miniserve_training.text.maker import ExampleMaker, Mix
from miniserve_training.text.written import swaps
from miniserve_training.text.written.check import HeldOutSentences, faults
from miniserve_training.text.written.lines import FOLDER, Written, is_line, load, parse
from miniserve_training.text.written.swaps import Swaps, swapped

GUARD = Guard(VerbWords(VERBS))
SWAPS = Swaps(VERBS.is_form)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_written_line_is_sound(path: Path) -> None:
    held_out = HeldOutSentences.of_folder(ROOT / "tests" / "heldout")
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if is_line(line)]

    assert lines
    assert [(line, fault) for line in lines for fault in faults(line, GUARD, held_out, num_draws=3)] == []


def test_every_reason_has_lines_a_few_of_which_are_kept_from_the_training() -> None:
    trained = {line.places for line in load()}  # frames come several times
    kept = {line.places for line in load(held_out=True)}

    assert 0.03 < len(kept) / (len(kept) + len(trained)) < 0.05
    assert not kept & trained
    assert {reason for places in trained for place in places for one in place.variants for reason, _ in one.wrong} == {
        *Reason
    }


@pytest.mark.parametrize(
    ("line", "edits"),
    [
        ("I {want to go|to_infinitive:want go} home.", [("go", "to go")]),
        ("It {rains|extra_be:is rains}.", [("is rains", "rains")]),
        ("He {does not like|do_support:not like} it.", [("not like", "does not like")]),
        ("I know where {Tom is|question_order:is Tom}.", [("is Tom", "Tom is")]),
        ("Where {can I|question_order:I can} sit?", [("I can", "can I")]),
        ("What {does it mean|do_support:does means it}?", [("means it", "it mean")]),
        ("She {usually sings|habit:is usually singing}.", [("is usually", "usually"), ("singing", "sings")]),
        (
            "What {does this word mean|do_support:does means this word}?",
            [("means this", "this"), ("word", "word mean")],
        ),
    ],
)
def test_an_edit_replaces_as_little_as_the_model_can_say(line: str, edits: list[tuple[str, str]]) -> None:
    text, [[mistake]] = parse(line).draw(random.Random(0))
    wrong, found = with_mistake(text, mistake), edits_of(text, [mistake])

    words = wrong.rstrip(".?").split(" ")
    assert [(" ".join(words[e.word : e.word + e.num_words]), e.replacement) for e in found] == edits
    assert apply_edits(wrong, found) == text


def test_brackets_are_a_free_choice_and_lists_in_one_pair_of_braces_go_together() -> None:
    line = parse("[Tom/My aunt] {sang/swam|past_not_participle:sung/swum} [again/].")

    drawn = {(text, places[0][0].wrong) for text, places in (line.draw(random.Random(seed)) for seed in range(80))}

    assert drawn == {(f"{who} {right}{again}.", wrong) for who in ("Tom", "My aunt") for again in (" again", "")
                     for right, wrong in (("sang", "sung"), ("swam", "swum"))}  # fmt: skip


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
        ("He {went|past_tense:school} home.", "guard refuses"),
        ("I'{m|be_agreement:s}.", "inside a word"),
        ("He {like|singular_agreement:likes}s it.", "inside a word"),
        ("On Monday she {went|irregular_past:goed} home by train again!", "held-out"),
        ("On Monday he {went|irregular_past:goed} back home by train again.", "held-out"),
        ("On Monday she {went|irregular_past:goed} home by bus again!", None),
    ],
)
def test_a_faulty_line_is_refused_with_its_fault(line: str, fault: str | None, tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"sentence": "", "corrected": "On Sunday he went home by train again."}\n')
    (tmp_path / "lines.txt").write_text(f"# heading\n{line}\n")

    outcome = CliRunner().invoke(main, ["check-lines", str(tmp_path / "lines.txt"), "--held-out", str(tmp_path)])

    assert outcome.exit_code == (fault is not None)
    assert fault is None or ("lines.txt:2: " in outcome.output and fault in outcome.output)


def test_a_broken_sentence_has_a_mistake_and_keeps_its_name_in_front() -> None:
    line = parse("{Has Ann|question_order:Ann has} {eaten|perfect_participle:ate} yet?")
    written = Written([line], frozenset(), Swaps(lambda word: False))

    drawn = [written.wrong(random.Random(seed)) for seed in range(30)]

    assert {len(chosen) for _, chosen in drawn} == {1, 2}
    assert {sentence.tokens[0].tag for sentence, _ in drawn} == {"NNP"}


def test_the_stream_draws_lines_right_and_wrong_and_every_edit_still_mends() -> None:
    lines = [parse("Why {is your brother's phone|question_order:your brother's phone is} [wet/off]?"),
             parse("{Is Ann|missing_be:Ann} ill?")]  # fmt: skip
    maker = ExampleMaker(VERBS, [tagged("Tom/NNP sang/VBD"), tagged("Ann/NNP sings/VBZ")], mix=Mix(lines))

    examples = [one for one in islice(maker.stream(4), 2000) if one.source == "written"]

    wrong = [one for one in examples if one.edits]
    assert len(wrong) > 100 and len(examples) - len(wrong) > 100
    assert all(apply_edits(one.sentence, one.edits) == one.corrected for one in wrong)
    assert {edit.reason for one in wrong for edit in one.edits} == {Reason.QUESTION_ORDER, Reason.MISSING_BE}


def test_other_words_stand_in_what_is_right_and_what_is_wrong_and_leave_the_mistake_where_it_is() -> None:
    line = parse("My brother and [Tom/Anna] {have|singular_agreement:has} lived here since [2015/Monday].")
    words = line.words_in(SWAPS)
    for others in filter(None, (SWAPS.draw(words, random.Random(seed)) for seed in range(60))):
        text, [[mistake]] = line.swapped(others).draw(random.Random(0))
        assert (text[mistake.start : mistake.end], mistake.first, mistake.wrong) == ("have", 4, "has")
        assert len({*others.values()} | words) == len(others) + len(words), "no word twice"
    assert line.words_in(SWAPS) == {"brother", "Tom", "Anna", "2015", "Monday"}
    assert swapped("Tom's tomtom and Tomas know Tom.", {"Tom": "Ivan"}) == "Ivan's tomtom and Tomas know Ivan."
    assert not SWAPS.words_in("They train the dog and may nurse it; brown, green, table.")


def test_no_word_stands_in_two_classes_and_none_in_a_class_by_itself() -> None:
    words = [word for words in swaps._CLASSES for word in words]

    assert len(words) == len(set(words))
    assert min(map(len, swaps._CLASSES)) >= 3
