"""More text for the training: packages' descriptions cut into sentences, and sentences tagged as the corpus is."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.training.text import descriptions, tagging
from ops.training.text.corpus import is_held_out, read_corpus

DESCRIPTIONS = """\
Package: teapot
Description-en: spreadsheet for the terminal
 Teapot is a small spreadsheet, e.g. for budgets. It doesn’t need a mouse. It keeps its files in XDR
 format and runs in a terminal.
 .
 Its features:
  * cells that hold formulas. They are fast.
  * colours
 .
 See https://example.org/teapot for more.

Package: teapot-doc
Description-en: documentation
 It keeps its files in XDR format and runs in a terminal.
 This package (of documentation is broken here.
"""


def test_descriptions_give_each_whole_sentence_once():
    found = descriptions.chosen(
        sentence for text in descriptions.paragraphs(DESCRIPTIONS.splitlines(keepends=True))
        for sentence in descriptions.sentences(text)
    )  # fmt: skip

    assert list(found) == [
        "Teapot is a small spreadsheet, e.g. for budgets.",
        "It doesn't need a mouse.",
        "It keeps its files in XDR format and runs in a terminal.",
    ]


def test_no_more_than_so_many_sentences_begin_alike(monkeypatch):
    monkeypatch.setattr(descriptions, "_MOST_ALIKE", 2)
    sentences = [f"This package provides {kind} for a server." for kind in ("tools", "tests", "manuals")]

    assert list(descriptions.chosen([*sentences, "It is small and fast."])) == [*sentences[:2], "It is small and fast."]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't know.", [("I", 0), ("do", 1), ("n't", 1), ("know", 2), (".", 3)]),
        ("She's cannot.", [("She", 0), ("'s", 0), ("can", 1), ("not", 1), (".", 2)]),
    ],
)
def test_contractions_are_cut_as_in_the_corpus(text: str, tokens: list[tuple[str, int]]) -> None:
    assert tagging.tokens_of(text) == tokens


def test_sentences_are_tagged_like_those_it_learns_from(tmp_path: Path) -> None:
    words = {
        "a": "DT",
        "the": "DT",
        "dog": "NN",
        "cat": "NN",
        "bird": "NN",
        "runs": "VBZ",
        "sings": "VBZ",
        "sees": "VBZ",
    }
    lines = []
    for first in ("a", "the"):
        for subject in ("dog", "cat", "bird"):
            for verb in ("runs", "sings", "sees"):
                tokens = [first, subject, verb, "."]
                tags = [*(words[token] for token in tokens[:-1]), "."]
                tagged = " ".join(f"{token}/{tag}/{i}" for i, (token, tag) in enumerate(zip(tokens, tags, strict=True)))
                lines.append(f"made\t{first} {subject} {verb}.\t{tagged}\n")
    corpus, text, out = tmp_path / "corpus.tsv", tmp_path / "text.tsv", tmp_path / "out.tsv.gz"
    corpus.write_text("".join(lines))
    text.write_text("new\tthe pig runs.\nnew\ta dog swims.\n")

    result = CliRunner().invoke(tagging.main, [str(text), "--like", str(corpus), "--out", str(out)])

    assert result.exit_code == 0, result.output
    found = read_corpus([out])
    assert [one.source for one in found] == ["new", "new"]
    assert [[token.tag for token in one.tokens] for one in found] == [["DT", "NN", "VBZ", "."]] * 2
    assert not all(is_held_out(line.split("\t")[1]) for line in lines)


def test_a_file_of_descriptions_becomes_lines_of_source_and_sentence(tmp_path: Path) -> None:
    packed, out = tmp_path / "Translation-en.xz", tmp_path / "text.tsv"
    packed.write_bytes(lzma.compress(DESCRIPTIONS.encode()))

    result = CliRunner().invoke(descriptions.main, [str(packed), "--out", str(out)])

    assert result.exit_code == 0, result.output
    assert out.read_text().splitlines()[0] == "debian\tTeapot is a small spreadsheet, e.g. for budgets."
