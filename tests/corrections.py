"""Sentences with edits of the model, and what the product makes of them: `python -m tests.corrections` writes it anew.

`{goed>went PAST_IRREG}` in a sentence is an edit: the words, what is put in their place, and the reason. Below stands
the answer (`  > `), unless it is the sentence with all that is put in, and what is said of each edit that was made
(`  = `). Where nothing stands below, no edit was made. A change shows as a diff of the file, to be read by eye.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from api.grammar.correction import Correction
from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from api.grammar.words import count_words

PATH = Path(__file__).with_name("tables") / "corrections.txt"
TOKENIZER = Tokenizer.load()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())
MARK = re.compile(r"\{([^{}>]+)>([^{}]+) ([A-Z_]+)\}")


def conclude(sentence: str, *edits: ScriptEdit) -> Correction:
    return PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output(edits))


def conclude_text(text: str, outputs: Sequence[Sequence[int]]) -> Correction:
    """The answer for a text of several sentences, each with an output."""
    draft = PIPELINE.prepare_text(text)
    PIPELINE.add_answers(draft, zip(draft.take(), outputs, strict=True))
    return PIPELINE.conclude_text(draft)


def parse(marked: str) -> tuple[str, list[ScriptEdit]]:
    """The sentence, and the edits that are marked in it."""
    sentence, edits, shorter = MARK.sub(r"\1", marked), [], 0
    starts = PIPELINE.prepare(sentence).prompt.starts
    for mark in MARK.finditer(marked):
        old, new, reason = mark.groups()
        edits.append(ScriptEdit(starts.index(mark.start() - shorter), count_words(old), new, Reason[reason]))
        shorter += len(mark[0]) - len(old)
    return sentence, edits


def blocks() -> Iterator[list[str]]:
    """Of each sentence its line and those below; a comment is one, too."""
    block: list[str] = []
    for line in PATH.read_text(encoding="utf-8").splitlines():
        if block and not line.startswith("  "):
            yield block
            block = []
        block.append(line)
    yield block


def written(marked: str) -> list[str]:
    """The block of a sentence as it should be."""
    sentence, edits = parse(marked)
    correction = conclude(sentence, *edits)
    is_as_marked = correction.corrected == MARK.sub(r"\2", marked)
    answer = [] if is_as_marked or not correction.edits else [f"  > {correction.corrected}"]
    return [marked, *answer, *(f"  = {edit.explanation}" for edit in correction.edits)]


if __name__ == "__main__":
    found = [block if block[0].startswith("#") else written(block[0]) for block in blocks()]
    PATH.write_text("".join(f"{line}\n" for block in found for line in block), encoding="utf-8")
