"""Right sentences that the training makes of others, for mistakes that the text has too few chances for."""

from __future__ import annotations

import random
import re

import pytest
from tagged_text import VERBS, corruptions, maker, tagged

from api.grammar.reasons import Reason
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.corruption.adjectives import participle_sentences
from miniserve_training.text.generators.clause_rewrites import joined
from miniserve_training.text.generators.fragments import fragments
from miniserve_training.text.generators.hard_clean import fill, hard_clean_sentence, templates
from miniserve_training.text.generators.plain import plain_of
from miniserve_training.text.generators.rewrites import rewritten
from miniserve_training.text.generators.subjects import QUESTIONS, STATEMENTS, subject_rewrites
from miniserve_training.text.generators.verb_frames import verb_frame_sentences
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.maker import ExampleMaker

PLAIN = [tagged(text) for text in (
    "He/PRP opened/VBD the/DT door/NN", "My/PRP$ brother/NN saw/VBD a/DT dog/NN",
    "The/DT girls/NNS sang/VBD a/DT song/NN",
    "They/PRP are/VBP tired/JJ", "Ann/NNP drives/VBZ a/DT bus/NN", "We/PRP know/VBP the/DT way/NN",
)]  # fmt: skip
PATTERNS = """
The/DT {p}/NN is/VBZ hungry/JJ
A/DT {p}/NN saw/VBD a/DT {t}/NN
The/DT {p}s/NNS wanted/VBD a/DT {t}/NN
The/DT {t}s/NNS were/VBD dirty/JJ
A/DT {t}/NN was/VBD an/DT old/JJ {t}/NN
He/PRP opened/VBD the/DT {t}s/NNS
Tom/NNP worked/VBD here/RB
Mary/NNP works/VBZ with/IN me/PRP
""".strip().split("\n")
NOUNS = zip("boy girl teacher student friend brother sister doctor".split(),
            "key cup door book map pen bag hat".split(), strict=True)  # fmt: skip


@pytest.fixture(scope="module")
def long_subjects() -> list[TaggedSentence]:
    text = [tagged(pattern.format(p=person, t=thing)) for person, thing in NOUNS for pattern in PATTERNS * 3]
    return subject_rewrites(text, ExampleMaker(VERBS, text).lexicon, random.Random(1))


def test_long_subjects_come_out_of_most_templates_and_can_be_broken(long_subjects: list[TaggedSentence]) -> None:
    broken = [one for one in long_subjects if any(c.reason.name.startswith("SVA") for c in maker().candidates(one))]

    assert len(long_subjects) >= 0.9 * len(STATEMENTS + QUESTIONS)
    assert len(broken) > 0.9 * len(long_subjects)
    for sentence in long_subjects:
        tags: dict[int | None, str] = {}
        for token in sentence.tokens:
            tags.setdefault(token.word_number, token.tag)
        assert all(tags[verb] in ("VBZ", "VBP", "VBD") for verb, _ in sentence.agreeing), sentence
        assert " a old " not in sentence.text


def test_two_plain_sentences_become_one_of_two_clauses() -> None:
    plains = [plain_of(sentence, maker().lexicon) for sentence in PLAIN]

    made = {one.text for one in joined(plains, 30, random.Random(1))}

    assert None not in plains
    assert any(text.startswith("If ") and " would have " in text for text in made)
    assert any(text.startswith("When ") and ", " in text for text in made)
    assert "I wish" in " ".join(made)


def test_every_kind_of_made_sentence_can_be_broken() -> None:
    made = rewritten(PLAIN * 20, maker().lexicon, random.Random(2))

    broken = {edit.reason for one in made for edit in corruptions(one).values()}

    assert {
        Reason.TENSE_PAST, Reason.TENSE_FUT, Reason.TENSE_PERF, Reason.TENSE_SEQ, Reason.PAST_PERF, Reason.NO_WILL,
        Reason.WISH_PAST, Reason.HABIT, Reason.PAST_NOT_PERF, Reason.STATIVE,
    } <= broken  # fmt: skip


def test_frames_take_their_verb_phrases_from_the_text_and_agree() -> None:
    phrases = ("write", "letter"), ("sell", "car"), ("paint", "house")
    text = [tagged(f"I/PRP want/VBP to/TO {verb}/VB the/DT {noun}/NN") for verb, noun in phrases]

    made = {one.text for one in verb_frame_sentences(text, maker().lexicon, random.Random(4))}

    assert not {one for one in made if re.search(r"\b(I (is|has|does)|(she|he|Tom) (are|have|want|enjoy))\b", one)}
    assert any(re.search(r"good at (writing|selling|painting) the (letter|car|house)\.", one) for one in made)
    assert any(re.search(r"The (letter|car|house) .*been (written|sold|painted)", one) for one in made)


def test_a_participle_goes_between_the_determiner_and_its_noun() -> None:
    sentence = tagged("My/PRP$ mirror/NN was/VBD cheap/JJ")

    (made, *_) = participle_sentences([sentence], Lexicon.build(VERBS, [sentence]), random.Random(1))

    assert re.fullmatch(r"My \w+ mirror was cheap\.", made.text)
    assert [token.word_number for token in made.tokens] == [0, 1, 2, 3, 4, None]


@pytest.mark.parametrize(
    ("sentence", "fragment"),
    [
        ("He/PRP heard/VBD the/DT loud/JJ sound/NN of/IN the/DT trumpets/NNS", ["The loud sound of the trumpets."]),
        ("A/DT man/NN in/IN a/DT hat/NN from/IN Ohio/NNP sang/VBD", ["A man in a hat."]),
        ("The/DT man/NN sang/VBD", []),
        ("He/PRP sang/VBD of/IN the/DT sea/NN", []),
    ],
)
def test_a_noun_phrase_with_its_phrases_is_cut_out(sentence: str, fragment: list[str]) -> None:
    assert [one.text for one in fragments([tagged(sentence)], random.Random(1))] == fragment


def test_every_template_becomes_a_sentence_without_leftovers_that_keeps_the_capital_of_a_name() -> None:
    rng = random.Random(2)

    assert len(templates()) > 800
    for template in templates():
        assert not re.search(r"[{}|\t\\]|  |^$", fill(template, rng)), template
    for one in (hard_clean_sentence(rng) for _ in range(2000)):
        assert one.tokens[0].tag == "NNP" or not one.text.startswith(("I ", "I'm", "Mehmet ", "Tom "))
