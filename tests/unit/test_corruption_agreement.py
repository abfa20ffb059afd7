"""Agreement over a distance: which made sentences know their subject, and what is wrong for each."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from api.grammar.verbs import VerbTable
from ops.training.text.corpus import TaggedSentence
from ops.training.text.generators.subjects import QUESTIONS, STATEMENTS, subject_rewrites
from ops.training.text.maker import ExampleMaker
from tests.unit.test_corruption import corruptions, maker, tagged

TEXT = """
The/DT {p}/NN is/VBZ hungry/JJ
A/DT {p}/NN saw/VBD a/DT {t}/NN
The/DT {p}s/NNS wanted/VBD a/DT {t}/NN
The/DT {t}s/NNS were/VBD dirty/JJ
A/DT {t}/NN was/VBD an/DT old/JJ {t}/NN
He/PRP opened/VBD the/DT {t}s/NNS
Tom/NNP worked/VBD here/RB
Mary/NNP works/VBZ with/IN me/PRP
"""
PEOPLE = ("boy", "girl", "teacher", "student", "friend", "brother", "sister", "doctor")


def made_sentences() -> list[TaggedSentence]:
    """What becomes of a text of a few patterns."""
    text = [
        tagged(line.format(p=person, t=thing))
        for person, thing in zip(PEOPLE, ("key", "cup", "door", "book", "map", "pen", "bag", "hat"), strict=True)
        for line in TEXT.split("\n") * 3
        if line
    ]
    sentences = ExampleMaker(VerbTable.load(), text)
    return subject_rewrites(text, sentences.lexicon, random.Random(1))


def broken(text: str, agreeing: tuple[tuple[int, str], ...]) -> set[str]:
    sentence = replace(tagged(text), agreeing=agreeing)
    return {
        sentence.text[: one.start] + one.wrong + sentence.text[one.end :]
        for one in maker().candidates(sentence)
        if one.reason.name.startswith("SVA")
    }


@pytest.mark.parametrize(
    ("text", "agreeing", "wrong"),
    [
        ("The/DT keys/NNS to/TO the/DT door/NN are/VBP old/JJ", (5, "pl"), "The keys to the door is old."),
        ("One/CD of/IN my/PRP$ friends/NNS lives/VBZ here/RB", (4, "sg"), "One of my friends live here."),
        ("Two/CD of/IN the/DT boys/NNS are/VBP tall/JJ", (4, "pl"), "Two of the boys is tall."),
        ("The/DT police/NNS are/VBP here/RB", (2, "pl"), "The police is here."),
        ("The/DT news/NN is/VBZ bad/JJ", (2, "sg"), "The news are bad."),
        ("There/EX are/VBP two/CD reasons/NNS", (1, "pl"), "There's two reasons."),
        ("The/DT waiters/NNS are/VBP tired/JJ", (2, "pl"), "The waiters is tired."),
        ("The/DT nurse/NN sings/VBZ", (2, "sg"), "The nurse sing."),
        ("He/PRP is/VBZ kind/JJ and/CC helps/VBZ me/PRP", (4, "sg"), "He is kind and help me."),
        ("He/PRP thinks/VBZ the/DT boys/NNS are/VBP ready/JJ", (4, "pl"), "He thinks the boys is ready."),
        ("Reading/VBG books/NNS helps/VBZ me/PRP", (2, "sg"), "Reading books help me."),
    ],
)
def test_a_noted_subject_far_from_its_verb_is_believed(text: str, agreeing: tuple[int, str], wrong: str) -> None:
    assert wrong in broken(text, (agreeing,))


def test_each_verb_with_a_noted_subject_can_be_broken() -> None:
    text = "The/DT man/NN who/WP lives/VBZ near/IN them/PRP works/VBZ hard/RB"

    assert broken(text, ((3, "sg"), (6, "sg"))) == {
        "The man who live near them works hard.",
        "The man who lives near them work hard.",
    }


def test_verbs_without_a_noted_subject_are_left_alone_in_a_made_sentence() -> None:
    assert broken("He/PRP says/VBZ they/PRP work/VBP", ((1, "sg"),)) == {"He say they work."}


def test_most_templates_come_out_and_nearly_all_can_be_broken() -> None:
    made = made_sentences()
    corruptible = [one for one in made if any(c.reason.name.startswith("SVA") for c in maker().candidates(one))]

    assert len(made) >= 0.9 * len(STATEMENTS + QUESTIONS)
    assert len(corruptible) > 0.9 * len(made)


def test_noted_verbs_of_made_sentences_are_finite() -> None:
    for sentence in made_sentences():
        tags: dict[int | None, str] = {}
        for token in sentence.tokens:
            tags.setdefault(token.word_number, token.tag)
        assert all(tags[verb] in ("VBZ", "VBP", "VBD") for verb, _ in sentence.agreeing), sentence


def test_a_is_an_before_a_vowel() -> None:
    assert not any(" a old " in sentence.text for sentence in made_sentences())


def test_a_small_text_makes_nothing() -> None:
    assert subject_rewrites([tagged(TEXT.split("\n")[-2])], maker().lexicon, random.Random(1)) == []


def test_a_noun_inside_a_second_clause_is_no_head() -> None:
    made = corruptions("The/DT man/NN in/IN the/DT car/NN and/CC the/DT woman/NN in/IN the/DT bus/NN are/VBP old/JJ")

    assert not made


def test_a_noun_behind_its_auxiliary_that_goes_on_has_no_certain_number() -> None:
    assert not corruptions("Is/VBZ the/DT bread/NN and/CC butter/NN here/RB", "?")
