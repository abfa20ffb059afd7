"""Texts without edits are told what was checked, and those in other languages that only English is."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from api.grammar.language import NOT_ENGLISH, NOTHING_FOUND, are_foreign, language_of, nothing_found, seems_english

TESTS = Path(__file__).resolve().parents[1]
# Written for this test, after the lists; no part of either.
SAMPLES: dict[str, list[str]] = defaultdict(list)
for line in (TESTS / "unit" / "other_languages.tsv").read_text(encoding="utf-8").splitlines():
    SAMPLES[line.partition("\t")[0]].append(line.partition("\t")[2])


@pytest.mark.parametrize("language", SAMPLES)
def test_19_of_20_sentences_of_another_language_are_recognised(language: str) -> None:
    missed = [sentence for sentence in SAMPLES[language] if seems_english(sentence)]

    assert len(missed) <= 0.05 * len(SAMPLES[language]), missed


@pytest.mark.parametrize("language", SAMPLES)
def test_two_sentences_of_another_language_are_recognised_among_english_ones(language: str) -> None:
    parts = list(pairwise(SAMPLES[language]))

    missed = [part for part in parts if not are_foreign([one for one in part if not seems_english(one)])]

    assert len(missed) <= 0.05 * len(parts), missed


def heldout(name: str) -> list[str]:
    rows = (TESTS / "heldout" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(row)["sentence"] for row in rows]


@pytest.mark.parametrize("name", ["right", "wrong"])
def test_english_sentences_pass_for_english_alone_and_in_a_text(name: str) -> None:
    sentences = heldout(name)
    texts = [sentences[at : at + 64] for at in range(len(sentences) - 63)]

    doubted = [sentence for sentence in sentences if not seems_english(sentence)]
    doubted_texts = [text for text in texts if are_foreign([one for one in text if one in doubted])]

    assert len(sentences) >= 300
    assert len(doubted) <= 0.005 * len(sentences), doubted
    assert len(doubted_texts) <= 0.005 * len(texts)


@pytest.mark.parametrize(
    "text",
    ["", "42", "?!", "Hello", "Obama visits Chicago.", "To the café!", "I have 25 years old.",
     "We met Zoë at the café.", "Signora Rossi said \u201carrivederci\u201d and left.", "for i in range(10): print(i)",
     "Café", "Müller goed home", "La vie en rose is her favourite song.", "Jürgen live in Köln.",
     "Tom live in Los Angeles.", "Anna paint like Leonardo da Vinci."],
)  # fmt: skip
def test_names_borrowed_words_and_short_texts_raise_no_doubt(text: str) -> None:
    assert nothing_found(language_of(text)) == NOTHING_FOUND


@pytest.mark.parametrize(
    ("name", "is_english", "most_wrong"),
    [("english_with_names", True, 0.1), ("other_languages_with_names", False, 0.2)],
)
def test_names_and_borrowed_words_seldom_decide_the_language(name: str, is_english: bool, most_wrong: float) -> None:
    sentences = (TESTS / "unit" / f"{name}.txt").read_text(encoding="utf-8").splitlines()

    wrong = [sentence for sentence in sentences if seems_english(sentence) is not is_english]

    assert len(sentences) > 50
    assert len(wrong) <= most_wrong * len(sentences), wrong


def test_how_many_edits_were_less_certain_than_asked_is_said() -> None:
    assert "2 edits that are less certain" in nothing_found(language_of("He goed home."), num_unsure=2)


def test_a_long_text_is_judged_by_its_beginning_in_bounded_time() -> None:
    assert nothing_found(language_of("Das ist nicht gut. " * 50 + "word " * 100_000)) == NOT_ENGLISH
