"""How usual words are behind each other, by counts of n-grams."""

from __future__ import annotations

from bisect import bisect_left
from math import log

import pytest

from api.grammar.ngrams import BACKOFF, END, SHIPPED, START, NGrams, normal, packed

COUNTS = {
    (): 1000, (START,): 10, ("he",): 100, ("goes",): 20, ("go",): 40, (START, START): 10, (START, "he"): 5,
    ("he", "goes"): 10, (START, START, "he"): 5, (START, "he", "goes"): 4,
}  # fmt: skip


def score(*words: str, last: int = 1) -> float:
    return NGrams(packed(COUNTS)).log_score(words, len(words) - last)


def test_a_word_scores_its_share_of_what_stood_behind_the_two_words_before() -> None:
    assert score(START, "he", "goes") == pytest.approx(log(4 / 5), abs=0.06)
    assert score(START, START, "he", "goes", last=2) == pytest.approx(log(5 / 10) + log(4 / 5), abs=0.1)


def test_where_no_such_words_were_seen_fewer_of_them_count_for_less() -> None:
    assert score("and", "he", "goes") == pytest.approx(log(BACKOFF * 10 / 100), abs=0.06)
    assert score("and", "he", "go") == pytest.approx(log(BACKOFF**2 * 40 / 1000), abs=0.06)
    assert score("and", "he", "qwrt") == pytest.approx(log(BACKOFF**2 * 0.5 / 1000), abs=0.06)


def test_all_numbers_are_one_word() -> None:
    assert {*map(normal, ("1", "1950", "4th"))} == {normal("2")}
    assert normal("two") == "two"


def test_the_file_that_ships_holds_hashes_in_order_and_prefers_what_is_usual() -> None:
    shipped = NGrams.load()
    hashes = shipped._hashes

    assert SHIPPED.stat().st_size == 5 * len(hashes)
    assert all(bisect_left(hashes, hashes[at]) == at for at in range(0, len(hashes), 997))
    for usual, rare in (("goes", "go"), ("went", "goed")):
        better, worse = (shipped.log_score([START, "he", verb, "to", "school", END], 2) for verb in (usual, rare))
        assert better > worse
