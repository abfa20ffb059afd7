"""What counts as a word, and where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.words import count_words, split_pieces


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("He goed to school", ["He", "goed", "to", "school"]),
        ("don't well-known O\u2019Neill", ["don't", "well-known", "O\u2019Neill"]),
        ("At 10:30, 3.5 km, the 2nd", ["At", "10:30", "3.5", "km", "the", "2nd"]),
        ("caf\u00e9 cafe\u0301 \u0440\u0443\u0441", ["caf\u00e9", "cafe\u0301", "\u0440\u0443\u0441"]),
        ("'quoted' _under_ \U0001f600!", ["quoted", "under"]),
        ("  \t\n ", []),
    ],
)
def test_words_are_letters_with_inner_apostrophes_and_hyphens_or_numbers(sentence: str, words: list[str]) -> None:
    found = [piece.text for piece in split_pieces(sentence) if piece.word_number is not None]

    assert found == words


def test_punctuation_has_a_place_but_no_number() -> None:
    pieces = split_pieces("Oh, no!")

    assert [(piece.text, piece.word_number) for piece in pieces] == [("Oh", 0), (",", None), ("no", 1), ("!", None)]


@given(st.text())
def test_every_piece_is_a_slice_of_the_sentence_in_order(sentence: str) -> None:
    pieces = split_pieces(sentence)

    assert all(sentence[piece.start : piece.end] == piece.text for piece in pieces)
    assert sorted(pieces, key=lambda piece: piece.start) == list(pieces)
    assert list(range(count_words(sentence))) == [p.word_number for p in pieces if p.word_number is not None]
