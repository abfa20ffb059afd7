"""Reads the words and templates of `tables/`: tab-separated files of two columns, a name and a text.

A name may stand in several lines, whose texts belong together in their order. The words of `words.tsv` are parted by
`|`. Like the written sentences, the tables are part of the repository and not of the wheel.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("tables")


@cache
def rows(table: str) -> tuple[tuple[str, str], ...]:
    """The lines of a table."""
    with (FOLDER / f"{table}.tsv").open(encoding="utf-8", newline="") as file:
        return tuple((name, text) for name, text in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def texts(table: str, name: str) -> tuple[str, ...]:
    """The texts of one name."""
    return tuple(text for each, text in rows(table) if each == name)


def word_list(name: str) -> tuple[str, ...]:
    """One line of `words.tsv`, in order and with its repetitions."""
    (words,) = texts("words", name)
    return tuple(words.split("|"))


def word_set(name: str) -> frozenset[str]:
    """The same where the order is of no account."""
    return frozenset(word_list(name))
