"""Reading the tagged text: our word numbers, and the sentences never trained on."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ops.training.text.corpus import MEASURED_PER_MILLE, TaggedSentence, TaggedToken, is_held_out, read_corpus

LINE = "made\tNo, we don't.\tNo/DT/0 ,/,/1 we/PRP/2 do/VBP/3 n't/RB/3 ././4\n"


def test_word_numbers_leave_punctuation_out(tmp_path: Path) -> None:
    path = tmp_path / "text.tsv"
    path.write_text(LINE, encoding="utf-8")

    (sentence,) = read_corpus([path])

    assert [token.word_number for token in sentence.tokens] == [0, None, 1, 2, 2, None]
    assert sentence.tokens[3] == TaggedToken("do", "VBP", 2)


def test_a_compressed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    plain, packed = tmp_path / "text.tsv", tmp_path / "text.tsv.gz"
    plain.write_text(LINE, encoding="utf-8")
    packed.write_bytes(gzip.compress(LINE.encode()))

    assert read_corpus([packed]) == read_corpus([plain])


def test_a_sentence_cut_differently_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.tsv"
    path.write_text("made\tWe go.\tWe/PRP/0 goes/VBZ/1 ././2\n" + LINE, encoding="utf-8")

    assert [sentence.text for sentence in read_corpus([path])] == ["No, we don't."]


@pytest.mark.parametrize("line", ["He went home.\n", "made\tWe go.\tWe/PRP go/VBP\n"])
def test_a_line_in_another_form_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "text.tsv"
    path.write_text(LINE + line, encoding="utf-8")

    with pytest.raises(ValueError, match=r"text\.tsv, line 2: .*tabs"):
        read_corpus([path])


def test_of_natural_text_every_twentieth_sentence_is_measured_and_a_tenth_more_is_held_out() -> None:
    natural = [TaggedSentence("wikipedia", f"This is sentence {number}.", ()) for number in range(20_000)]
    held_out = [sentence for sentence in natural if sentence.is_held_out]
    measured = [sentence for sentence in natural if is_held_out(sentence.text, MEASURED_PER_MILLE)]

    assert 2_800 < len(held_out) < 3_200
    assert 900 < len(measured) < 1_100
    assert set(measured) < set(held_out)
    assert not any(TaggedSentence("tanaka", each.text, ()).is_held_out for each in held_out[:3] if each not in measured)


def test_about_two_in_a_hundred_sentences_are_held_out() -> None:
    held_out = sum(is_held_out(f"This is sentence {number}.") for number in range(20_000))

    assert 300 < held_out < 500
