"""Capitals, markup and chat spelling round a mistake: the mistake stays one, and mending it gives the right text."""

from __future__ import annotations

import random
import re

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from ops.training.text.edits import apply_edits
from ops.training.text.lexicon import Lexicon
from ops.training.text.noise import _chat
from ops.training.text.surface import Span, _add_emoji, frame, shout

GOED = [ScriptEdit(1, 1, "went", Reason.PAST_IRREG)]


def spans() -> list[Span]:
    return [Span("He ", "He "), Span("goed", "went", is_corrupted=True), Span(" home.", " home.")]


def test_a_mistake_in_capitals_is_mended_in_capitals() -> None:
    written = spans()
    shout(written, random.Random(0))

    wrong, right = ("".join(getattr(span, name) for span in written) for name in ("wrong", "right"))
    assert (wrong, right) == ("He GOED home.", "He WENT home.")
    assert apply_edits(wrong, GOED) == right


def test_a_word_of_one_letter_cannot_shout() -> None:
    written = [Span("There ", "There "), Span("a", "is a", is_corrupted=True), Span(" cup.", " cup.")]
    shout(written, random.Random(0))

    assert written[1] == Span("a", "is a", is_corrupted=True)


def test_in_a_right_sentence_some_word_is_in_capitals() -> None:
    written = [Span("He went home early.", "He went home early.")]
    shout(written, random.Random(0))

    assert written[0].wrong == written[0].right
    assert written[0].wrong in ("He WENT home early.", "He went HOME early.")


def test_markup_before_a_mistake_moves_its_place_by_the_words_it_holds() -> None:
    for seed in range(300):
        written = spans()
        shift = frame(written, random.Random(seed))
        wrong, right = ("".join(getattr(span, name) for span in written) for name in ("wrong", "right"))
        moved = [ScriptEdit(1 + shift, 1, "went", Reason.PAST_IRREG)]
        assert apply_edits(wrong, moved) == right


def test_emoji_stand_beside_a_mistake_and_move_no_word() -> None:
    seen = set()
    for seed in range(300):
        written = spans()
        _add_emoji(written, random.Random(seed))
        wrong, right = ("".join(getattr(span, name) for span in written) for name in ("wrong", "right"))
        assert apply_edits(wrong, GOED) == right
        seen.add(re.sub(r"[^\w .:)]+", "#", wrong))

    assert {"He goed home. #", "He goed home.#", "# He goed home.", "He # goed home.", "He goed # home."} <= seen


def test_chat_spelling_leaves_the_apostrophe_out() -> None:
    lexicon = Lexicon.build(VerbTable.load(), [])

    assert _chat("You don't know and he didn't", lexicon, random.Random(0)) == "U dont know and he didnt"


def test_chat_spelling_changes_whole_words_alone() -> None:
    lexicon = Lexicon.build(VerbTable.load(), [])

    assert _chat("I know you and your youth, I'm you'll", lexicon, random.Random(0)) == (
        "i know u and ur youth, I'm you'll"
    )
