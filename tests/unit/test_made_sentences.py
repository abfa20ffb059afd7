"""Sentences that the training makes of others: of two clauses, in other tenses, of frames, of parts of one."""

from __future__ import annotations

import random
import re

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from ops.training.text.corruption.adjectives import participle_sentences
from ops.training.text.generators.clause_rewrites import joined
from ops.training.text.generators.fragments import fragments
from ops.training.text.generators.plain import plain_of
from ops.training.text.generators.rewrites import rewritten
from ops.training.text.generators.verb_frames import verb_frame_sentences
from ops.training.text.lexicon import Lexicon
from tests.unit.test_corruption import VERBS, maker, tagged


# A right sentence, and for one reason all the wrong ones made of it.
def test_a_form_of_three_words_is_mended_by_two_edits() -> None:
    sentence = tagged("He/PRP usually/RB gets/VBZ up/RP at/IN six/CD")

    found = [maker().make(sentence, random.Random(seed)) for seed in range(60)]

    edits = next(one.edits for one in found if one.sentence.startswith("He is usually getting up"))
    assert edits == (ScriptEdit(1, 2, "usually", Reason.HABIT), ScriptEdit(3, 1, "gets", Reason.HABIT))


PLAIN = (
    "He/PRP opened/VBD the/DT door/NN", "My/PRP$ brother/NN saw/VBD a/DT dog/NN",
    "The/DT girls/NNS sang/VBD a/DT song/NN",
    "They/PRP are/VBP tired/JJ", "Ann/NNP drives/VBZ a/DT bus/NN", "We/PRP know/VBP the/DT way/NN",
)  # fmt: skip


def test_two_plain_sentences_become_one_of_two_clauses() -> None:
    plains = [plain_of(tagged(text), maker().lexicon) for text in PLAIN]

    made = {one.text for one in joined([plain for plain in plains if plain], 30, random.Random(1))}

    assert len(plains) == len([plain for plain in plains if plain])
    assert any(text.startswith("If ") and " would have " in text for text in made)
    assert any(text.startswith("When ") and ", " in text for text in made)
    assert "I wish" in " ".join(made)


def test_every_kind_of_made_sentence_can_be_broken() -> None:
    sentences = [tagged(text) for text in PLAIN * 20]

    made = rewritten(sentences, maker().lexicon, random.Random(2))
    broken = {candidate.reason for one in made for candidate in maker().candidates(one)}

    assert {
        Reason.TENSE_PAST, Reason.TENSE_FUT, Reason.TENSE_PERF, Reason.TENSE_SEQ, Reason.PAST_PERF, Reason.NO_WILL,
        Reason.WISH_PAST, Reason.HABIT, Reason.PAST_NOT_PERF, Reason.STATIVE,
    } <= broken  # fmt: skip


def test_frames_take_their_verb_phrases_from_the_text_and_agree() -> None:
    text = [tagged(f"I/PRP want/VBP to/TO {verb}/VB the/DT {noun}/NN", ".") for verb, noun in PHRASES]

    made = {one.text for one in verb_frame_sentences(text, maker().lexicon, random.Random(4))}

    assert not {one for one in made if re.search(r"\b(I (is|has|does)|(she|he|Tom) (are|have|want|enjoy))\b", one)}
    assert any(re.search(r"good at (writing|selling|painting) the (letter|car|house)\.", one) for one in made)
    assert any(re.search(r"The (letter|car|house) .*been (written|sold|painted)", one) for one in made)


PHRASES = [("write", "letter"), ("sell", "car"), ("paint", "house")]


def test_a_participle_goes_between_the_determiner_and_its_noun() -> None:
    sentence = tagged("My/PRP$ mirror/NN was/VBD cheap/JJ")

    made = participle_sentences([sentence], Lexicon.build(VERBS, [sentence]), random.Random(1))

    words = made[0].text.split()
    assert (words[0], words[2:]) == ("My", ["mirror", "was", "cheap."])
    assert [token.word_number for token in made[0].tokens] == [0, 1, 2, 3, 4, None]


@pytest.mark.parametrize(
    ("sentence", "fragment"),
    [
        ("He/PRP heard/VBD the/DT loud/JJ sound/NN of/IN the/DT trumpets/NNS", "The loud sound of the trumpets."),
        ("A/DT man/NN in/IN a/DT hat/NN from/IN Ohio/NNP sang/VBD", "A man in a hat."),
    ],
)
def test_a_noun_phrase_with_its_phrases_is_cut_out(sentence: str, fragment: str) -> None:
    assert [one.text for one in fragments([tagged(sentence)], random.Random(1))] == [fragment]


@pytest.mark.parametrize("sentence", ["The/DT man/NN sang/VBD", "He/PRP sang/VBD of/IN the/DT sea/NN"])
def test_a_bare_noun_phrase_is_left(sentence: str) -> None:
    assert fragments([tagged(sentence)], random.Random(1)) == []
