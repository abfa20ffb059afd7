"""Cuts the descriptions of Debian's packages into sentences: `miniserve-training sentences Translation-en.xz`.

Prose by many hands, with long sentences full of names. `miniserve-training tag` makes corpus text of it.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

SOURCE = "debian"
_BETWEEN = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_ABBREVIATED = re.compile(
    r"\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|ca|approx|[Ii]nc|[Cc]orp|[Dd]r|[MJ]rs?|[Ss]t|[Nn]o|al)\.$"
)
_SENTENCE = re.compile(r"[A-Z](?!.*::?[/:])[A-Za-z0-9 ,;:'’()/.+%-]*[.!?]")
_MOST_WORDS, _LEAST_WORDS = 48, 4
_MOST_ALIKE = 60  # that begin with the same three words, "This package provides"


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """The running text of the descriptions, without headings and lists."""
    parts: list[str] = []
    for line in lines:
        begins, goes_on = line[:1] == " " and line[1:2].isalnum(), line[:1] == " " and line[1:2] not in " .*-+"
        if begins or (parts and goes_on):
            parts.append(line.strip())
            continue
        if parts and not line.startswith("  "):  # what a list follows seldom ends in a whole sentence
            yield " ".join(parts)
        parts = []
    if parts:
        yield " ".join(parts)


def sentences(paragraph: str) -> Iterator[str]:
    """Its sentences in plain characters, from a capital to a full stop."""
    start, paragraph = 0, paragraph.replace("\u2019", "'")  # as the tagger knows it
    for match in _BETWEEN.finditer(paragraph):
        sentence = paragraph[start : match.start()]
        if _ABBREVIATED.search(sentence):
            continue
        yield sentence
        start = match.end()
    yield paragraph[start:]


def chosen(found: Iterable[str]) -> Iterator[str]:
    """Each once, of fitting length, and not too many that begin alike."""
    seen: set[str] = set()
    openings: Counter[str] = Counter()
    for sentence in found:
        words = sentence.split()
        opening = " ".join(words[:3])
        is_whole = _SENTENCE.fullmatch(sentence) and sentence.count("(") == sentence.count(")")
        if not is_whole or not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
            continue
        if sentence in seen or openings[opening] >= _MOST_ALIKE:
            continue
        seen.add(sentence)
        openings[opening] += 1
        yield sentence


@click.command()
@click.argument("descriptions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="A line a sentence.")
def main(descriptions: Path, out: Path) -> None:
    """Write the sentences of DESCRIPTIONS, Debian's file Translation-en.xz, each behind its source and a tab."""
    with lzma.open(descriptions, "rt", encoding="utf-8") as file, out.open("w", encoding="utf-8") as lines:
        for sentence in chosen(each for text in paragraphs(file) for each in sentences(text)):
            lines.write(f"{SOURCE}\t{sentence}\n")
