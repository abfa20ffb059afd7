"""Tagged text: how it is read and made, and which sentences no training sees."""

from __future__ import annotations

import gzip
from hashlib import blake2b
from math import log
from pathlib import Path

import pytest
from click.testing import CliRunner
from tagged_text import VERBS, tagged

from api.grammar.ngrams import NGrams
from api.grammar.verbs import VerbTable
from miniserve_training import natural
from miniserve_training.text import ngrams, tables
from miniserve_training.text.corpus import TaggedSentence, TaggedToken, read_corpus
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.ngrams import count_ngrams
from ops.evaluation.items import read_items

LINE = "made\tNo, we don't.\tNo/DT/0 ,/,/1 we/PRP/2 do/VBP/3 n't/RB/3 ././4\n"


def test_word_numbers_leave_punctuation_out_and_a_sentence_cut_differently_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.tsv.gz"
    path.write_bytes(gzip.compress(f"made\tWe go.\tWe/PRP/0 goes/VBZ/1 ././2\n{LINE}".encode()))

    (sentence,) = read_corpus([path])

    assert [token.word_number for token in sentence.tokens] == [0, None, 1, 2, 2, None]
    assert sentence.tokens[3] == TaggedToken("do", "VBP", 2)


@pytest.mark.parametrize("line", ["He went home.\n", "made\tWe go.\tWe/PRP go/VBP\n"])
def test_a_line_in_another_form_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "text.tsv").write_text(LINE + line, encoding="utf-8")

    with pytest.raises(ValueError, match=r"text\.tsv, line 2: .*tabs"):
        read_corpus([tmp_path / "text.tsv"])


@pytest.mark.parametrize(("source", "held_out", "for_test"), [("tanaka", 0.02, 0.75), ("wikipedia", 0.15, 1 / 3)])
def test_a_share_of_the_sentences_is_held_out_a_part_of_it_for_the_figures(
    source: str, held_out: float, for_test: float
) -> None:
    sentences = [TaggedSentence(source, f"This is sentence {number}.", ()) for number in range(20_000)]
    kept = [sentence for sentence in sentences if sentence.is_held_out]

    assert len(kept) / len(sentences) == pytest.approx(held_out, rel=0.1)
    assert sum(sentence.is_for_test for sentence in kept) / len(kept) == pytest.approx(for_test, rel=0.15)


def test_the_figures_and_the_calibration_rest_on_different_sentences_that_no_training_sees(tmp_path: Path) -> None:
    corpus = tmp_path / "text.tsv"
    corpus.write_text("".join(
        f"{source}\tHe works in town {n}.\tHe/PRP/0 works/VBZ/1 in/IN/2 town/NN/3 {n}/CD/4 ././5\n"
        for source, first in (("wikipedia", 0), ("debian-doc", 400)) for n in range(first, first + 400)
    ))  # fmt: skip

    outcome = CliRunner().invoke(natural.main, [str(tmp_path / "out"), str(corpus)])

    assert outcome.exit_code == 0, outcome.output
    items = {path.stem: read_items(path) for path in (tmp_path / "out").glob("*.jsonl")}
    right = {name: {item.corrected for item in found} for name, found in items.items()}
    assert right["natural-wrong"] == right["natural"] and right["calibration-wrong"] == right["calibration"]
    assert right["natural"].isdisjoint(right["calibration"])
    held_out = [one for one in read_corpus([corpus]) if one.is_held_out]
    assert right["natural"] == {one.text for one in held_out if one.is_for_test}
    assert right["calibration"] == {one.text for one in held_out if not one.is_for_test and one.source == "wikipedia"}
    assert not any(item.is_clean for item in items["natural-wrong"])


def test_a_real_mistake_that_was_read_is_mended_in_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = tagged("She/PRP work/VBP here/RB ,/, we/PRP thought/VBD")
    rows = ((blake2b(sentence.text.encode(), digest_size=8).hexdigest(), "4 8 works"),)
    monkeypatch.setattr(tables, "rows", lambda _: rows)

    (broken,) = natural.with_one_mistake([sentence], Lexicon.build(VERBS, [sentence]))

    assert broken.sentence not in (sentence.text, broken.corrected)
    assert broken.corrected == natural.as_meant(sentence.text) == "She works here, we thought."
    assert natural.as_meant("She worked here.") == "She worked here."


def test_ngrams_of_verbs_are_kept_with_what_they_begin_with_where_they_are_frequent() -> None:
    counts = count_ngrams(["The red car goes 9 times."] * 3 + ["The red car goes there."] * 2, VerbTable.load())

    assert counts[()] == 3 * 7 + 2 * 6
    assert (counts["goes",], counts["car", "goes"], counts["red", "car", "goes"]) == (5, 5, 5)
    assert counts["goes", "0"] == 3
    assert ("car", "goes", "0") not in counts  # seen three times only
    assert counts["red", "car"] == 5 and ("the", "red", "car") not in counts
    assert ("there",) not in counts


def test_the_ngrams_of_sentences_held_out_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = tmp_path / "text.tsv.gz", tmp_path / "ngrams.bin"
    texts = [TaggedSentence("wikipedia", f"He goes {number}.", ()) for number in range(200)]
    num_kept = sum(not sentence.is_held_out for sentence in texts)
    path.write_bytes(gzip.compress("".join(f"wikipedia\t{sentence.text}\n" for sentence in texts).encode()))
    monkeypatch.setattr(ngrams, "SHIPPED", out)

    CliRunner().invoke(ngrams.main, [str(path)], catch_exceptions=False)

    assert num_kept < len(texts)
    assert NGrams(out.read_bytes()).log_count(("he", "goes")) == pytest.approx(log(num_kept), abs=0.05)
