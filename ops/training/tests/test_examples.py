"""A stream of examples: what is drawn how often, and what surrounds a mistake without touching it."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from tagged_text import VERBS, maker, many_examples, tagged

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.words import count_words
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.edits import apply_edits
from miniserve_training.text.longer import MOST_WORDS, Joiner, tense_of
from miniserve_training.text.maker import ExampleMaker
from miniserve_training.text.noise import _chat, add_slips
from miniserve_training.text.sampling import CandidateIndex
from miniserve_training.text.surface import Span, _add_emoji, frame, shout
from miniserve_training.text.view import Candidate

GOED = ScriptEdit(1, 1, "went", Reason.PAST_IRREG)


def spans() -> list[Span]:
    return [Span("He ", "He "), Span("goed", "went", is_corrupted=True), Span(" home.", " home.")]


def texts(written: list[Span]) -> tuple[str, str]:
    return "".join(span.wrong for span in written), "".join(span.right for span in written)


def test_half_of_the_examples_are_right_and_some_are_long_unmarked_or_curly() -> None:
    examples = many_examples()
    share = Counter()
    for one in examples:
        share.update(right=not one.edits, long=count_words(one.sentence) >= 25, unmarked=one.sentence[-1].isalpha())
        share.update(curly="\u2019" in one.sentence, beside=_has_neighbours(one.edits))

    assert 0.48 < share["right"] / len(examples) < 0.56
    assert 0.03 < share["long"] / len(examples) < 0.14
    assert share["unmarked"] > len(examples) // 6 and share["curly"] and share["beside"]


def _has_neighbours(edits: tuple[ScriptEdit, ...]) -> bool:
    return any(one.word + one.num_words == other.word for one, other in zip(edits, edits[1:], strict=False))


def test_the_same_seed_gives_the_same_examples_also_when_two_processes_search() -> None:
    again = maker.__wrapped__()
    again.find_candidates(2)

    assert list(islice(again.stream(seed=11), 200)) == list(many_examples()[:200])


def test_prose_is_met_for_its_own_sake_right_and_broken() -> None:
    plain = [tagged(f"She/PRP has/VBZ written/VBN number/NN {number}/CD") for number in range(100)]
    natural = replace(tagged("He/PRP saw/VBD her/PRP yesterday/NN"), source="wikipedia")

    examples = list(islice(ExampleMaker(VERBS, [*plain, natural]).stream(seed=3), 3000))

    met = [one for one in examples if "yesterday" in one.corrected.lower()]
    assert len(met) > 0.17 * len(examples)
    assert 0.2 < sum(bool(one.edits) for one in met) / len(met) < 0.45


def drawn(counts: dict[Reason, dict[str, int]], num: int = 20_000) -> Counter[tuple[Reason, str]]:
    index = CandidateIndex(
        (TaggedSentence("test", "", ()), (Candidate(reason, lemma, 0, 1, "wrong", 0, 4),))
        for reason, verbs in counts.items() for lemma, count in verbs.items() for _ in range(count)
    )  # fmt: skip
    rng = random.Random(1)
    return Counter((candidate.reason, candidate.lemma) for _, _, candidate in (index.draw(rng) for _ in range(num)))


def test_the_rarest_reason_gets_its_least_share_whatever_the_others_have() -> None:
    counts = drawn(dict.fromkeys(Reason, {"go": 1}) | dict.fromkeys(list(Reason)[:5], {"go": 4000}))

    assert min(counts.values()) / 20_000 > 0.015  # 0.018 less chance
    assert max(counts.values()) / 20_000 == pytest.approx((1 - 30 * 0.018) / 5, abs=0.01)


@pytest.mark.parametrize(("reason", "power"), [(Reason.SVA_SG, 0.65), (Reason.PAST_IRREG, 0.3)])
def test_frequent_verbs_are_drawn_more_often_but_less_than_text_has_them(reason: Reason, power: float) -> None:
    found = drawn({reason: {"be": 1000, "bite": 10}})

    assert found[reason, "be"] / found[reason, "bite"] == pytest.approx(100**power, rel=0.15)


def test_capitals_frames_and_emoji_leave_a_mistake_that_its_edit_mends() -> None:
    for seed in range(300):
        for surround in (shout, frame, _add_emoji):
            written = spans()
            shift = surround(written, random.Random(seed)) or 0
            wrong, right = texts(written)
            assert apply_edits(wrong, [replace(GOED, word=1 + shift)]) == right
            assert wrong != right and right.lower().count("went") == 1


@pytest.mark.parametrize(("keeps_capital", "after"), [(False, "he went home."), (True, "He went home.")])
def test_what_follows_an_opening_begins_with_a_small_letter_but_for_names(keeps_capital: bool, after: str) -> None:
    found = set()
    for seed in range(2000):
        frame(written := spans(), random.Random(seed), keeps_capital=keeps_capital)
        found.add(texts(written)[1])

    assert {f"But {after}", f"Tom, {after}", f"It is true that {after}"} <= found


@pytest.mark.parametrize(("first", "end"), [("Where he ", "."), ("He ", "?")])
def test_only_a_statement_stands_behind_a_main_clause(first: str, end: str) -> None:
    for seed in range(500):
        written = [Span(first, first), Span("goed", "went", is_corrupted=True), Span(end, end)]
        frame(written, random.Random(seed))
        assert " that " not in texts(written)[0]


def test_a_word_that_shouts_keeps_its_capitals_behind_an_opening() -> None:
    found = set()
    for seed in range(500):
        frame(written := [Span("GOED", "WENT", is_corrupted=True), Span(" he.", " he.")], random.Random(seed))
        found.add(texts(written)[0])

    assert "But GOED he." in found


def test_a_word_of_one_letter_cannot_shout() -> None:
    written = [Span("There ", "There "), Span("a", "is a", is_corrupted=True), Span(" cup.", " cup.")]
    shout(written, random.Random(0))

    assert written[1] == Span("a", "is a", is_corrupted=True)


def test_a_slip_is_the_same_on_both_sides_and_touches_no_word_that_may_be_a_verb() -> None:
    text = "They walked with the old camera to the dark museum of the town, Anna said."
    for seed in range(300):
        written = [Span(text, text)]
        add_slips(written, (), maker().lexicon, random.Random(seed))
        wrong, right = texts(written)
        assert wrong == right
        assert all(verb in wrong.replace("  ", " ") for verb in ("walked", "said", " to "))


def test_chat_spelling_changes_whole_words_alone() -> None:
    said = _chat("You don't know your youth, I'm you'll", maker().lexicon, random.Random(0))

    assert said == "U dont know ur youth, I'm you'll"


def test_a_joined_sentence_keeps_the_mistakes_of_its_part_at_their_words() -> None:
    parts = [tagged(text) for text in ("They/PRP went/VBD home/NN", "It/PRP was/VBD late/JJ", "I/PRP was/VBD tired/JJ")]
    joiner, candidates = Joiner(parts), maker().candidates(parts[0])
    for seed in range(60):
        sentence, moved = joiner.lengthen((parts[0], candidates), random.Random(seed))
        numbers = [token.word_number for token in sentence.tokens if token.word_number is not None]
        assert numbers[-1] + 1 == count_words(sentence.text) <= MOST_WORDS
        assert not re.search(" It | i ", sentence.text)
        for before, after in zip(candidates, moved, strict=True):
            right = parts[0].text[before.start : before.end]
            assert sentence.text[after.start : after.end].lower() == right.lower()


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("She/PRP walked/VBD home/NN", "past"), ("We/PRP live/VBP here/RB", "present"),
        ("I/PRP wish/VBP he/PRP knew/VBD", ""), ("If/IN he/PRP comes/VBZ I/PRP go/VBP", ""),
    ],
)  # fmt: skip
def test_only_plain_statements_of_one_tense_are_joined(text: str, tense: str) -> None:
    assert tense_of(tagged(text)) == tense
