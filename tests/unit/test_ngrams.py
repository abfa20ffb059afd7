"""How usual words are behind each other, by counts of n-grams."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from api.grammar.ngrams import BACKOFF, END, NAME, NAME_IN_S, SHIPPED, START, NGrams, counted, packed

COUNTS = {
    (): 1000, (START,): 10, ("he",): 100, ("goes",): 20, ("go",): 40, (START, START): 10, (START, "he"): 5,
    ("he", "goes"): 10, (START, START, "he"): 5, (START, "he", "goes"): 4,
}  # fmt: skip


def counted_of(*tokens: str, is_start: bool = False) -> list[str]:
    return counted(tokens, is_start=is_start, is_known=lambda word: word == "silver")


def score(*words: str, last: int = 1) -> float:
    return NGrams(packed(COUNTS)).log_score(words, len(words) - last)


def test_a_word_scores_its_share_of_what_stood_behind_the_two_words_before() -> None:
    assert score(START, "he", "goes") == pytest.approx(log(4 / 5), abs=0.06)
    assert score(START, START, "he", "goes", last=2) == pytest.approx(log(5 / 10) + log(4 / 5), abs=0.1)


def test_where_no_such_words_were_seen_fewer_of_them_count_for_less() -> None:
    assert score("and", "he", "goes") == pytest.approx(log(BACKOFF * 10 / 100), abs=0.06)
    assert score("and", "he", "go") == pytest.approx(log(BACKOFF**2 * 40 / 1000), abs=0.06)
    assert score("and", "he", "qwrt") == pytest.approx(log(BACKOFF**2 * 0.5 / 1000), abs=0.06)


def test_all_numbers_are_one_word_and_a_contraction_is_two() -> None:
    assert counted_of("1", "1950", "4th") == counted_of("2", "2", "2")
    assert counted_of("he", "isn\u2019t", ",") == ["he", "is", "n't", ","]


def test_a_name_is_any_name_and_one_in_s_may_be_of_many() -> None:
    assert counted_of("and", "Emma") == counted_of("and", "NASA") == ["and", NAME]
    assert counted_of("the", "Beatles") == ["the", NAME_IN_S]
    assert counted_of("and", "He", "Is", "I'm") == ["and", "he", "is", "i", "'m"]


def test_a_known_word_that_begins_a_sentence_or_follows_a_mark_is_no_name() -> None:
    assert counted_of("Silver", is_start=True) == counted_of(",", "Silver")[1:] == ["silver"]
    assert counted_of("Emma", is_start=True) == counted_of("the", "Silver")[1:] == [NAME]


def test_in_the_file_that_ships_right_english_is_more_usual() -> None:
    shipped = NGrams.load()

    def score_of(*words: str) -> float:
        return shipped.log_score([START, *words, END], 2)

    assert score_of("he", "goes", "to", "school") > score_of("he", "go", "to", "school")
    assert score_of("they", "were", "n't", "here") > score_of("they", "was", "n't", "here")


@pytest.mark.parametrize("data", [b"", b"\0" * 9, SHIPPED.read_bytes()[:-1], SHIPPED.read_bytes()[:4_000_004]])
def test_what_is_no_such_file_is_refused_with_the_remedy(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "ngrams.bin").write_bytes(data)

    with pytest.raises(ValueError, match="damaged: install the package again"):
        NGrams.load(tmp_path / "ngrams.bin")
