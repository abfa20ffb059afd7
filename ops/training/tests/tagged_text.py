"""Tagged sentences as tests write them, "They/PRP do/VBP+n't/RB go/VB .", and a maker of examples of all cases."""

from __future__ import annotations

import csv
from functools import cache
from itertools import islice
from pathlib import Path

from api.grammar.edit_script import ScriptEdit
from api.grammar.verbs import VerbTable
from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.edits import with_mistake
from miniserve_training.text.maker import Example, ExampleMaker

ROOT = Path(__file__).parents[3]
VERBS = VerbTable.load()


def table(name: str) -> list[tuple[str, ...]]:
    """The cases of a file, without the line that says what the columns hold."""
    with (Path(__file__).parent / "tables" / f"corruption_{name}.tsv").open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]


def tagged(text: str, mark: str = ".") -> TaggedSentence:
    """ "+" joins the tokens of a word; a mark may stand at the end of the text instead."""
    if text[-2:-1] == " ":
        text, mark = text[:-2], text[-1]
    tokens, plain, number = [], "", 0
    for group in text.split():
        parts = [raw.rsplit("/", 1) for raw in group.split("+")]
        is_word = parts[0][1] != ","
        tokens += [TaggedToken(form, tag, number if is_word else None) for form, tag in parts]
        plain += (" " if is_word and plain else "") + "".join(form for form, _ in parts)
        number += is_word
    return TaggedSentence("made", plain + mark, (*tokens, TaggedToken(mark, ".", None)))


@cache
def maker() -> ExampleMaker:
    return ExampleMaker(VERBS, [tagged(case[1]) for case in table("typical")])


@cache
def many_examples() -> tuple[Example, ...]:
    return tuple(islice(maker().stream(seed=11), 5000))


def corruptions(sentence: TaggedSentence, reason: str = "") -> dict[str, ScriptEdit]:
    """Every wrong sentence that a single candidate makes, of one reason or of all, with its edit."""
    found = {}
    for one in maker().candidates(sentence):
        right = sentence.text[one.start : one.end]
        edit = ScriptEdit(one.first, one.wrong.count(" ") + 1, right[0].lower() + right[1:], one.reason)
        if reason in ("", one.reason.name):
            found[with_mistake(sentence.text, one)] = edit
    return found
