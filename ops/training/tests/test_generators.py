"""Right sentences that the training makes of others, for mistakes that the text has too few chances for."""

from __future__ import annotations

import random
import re

import pytest
from tagged_text import VERBS, maker, tagged

from api.grammar.reasons import Reason
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.generators.fragments import fragments
from miniserve_training.text.generators.hard_clean import fill, hard_clean_sentence, templates
from miniserve_training.text.generators.heavy import heavy_subjects
from miniserve_training.text.generators.subjects import QUESTIONS, STATEMENTS, subject_rewrites
from miniserve_training.text.maker import ExampleMaker

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


def test_a_phrase_goes_between_a_subject_and_the_verb_that_agrees_with_it() -> None:
    sentences = [tagged("The/DT key/NN is/VBZ here/RB"), tagged("He/PRP sings/VBZ")]

    (made,) = heavy_subjects(sentences, maker().lexicon, random.Random(1))

    broken = {c.wrong for c in maker().candidates(made) if c.reason is Reason.SVA_BE}
    assert re.fullmatch(r"The key (\w+ ){2,}is here\.", made.text)
    assert broken == {"are"}


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
