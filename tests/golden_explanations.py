"""The table of real sentences with their explanations: `python -m tests.golden_explanations` writes it anew.

A block is a sentence, its edits (word, number of words, replacement, reason) and what the product says of it. A change
of the templates shows as a diff of the file, to be read by eye.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests.fake_tokenizer import FakeTokenizer

PATH = Path(__file__).with_name("tables") / "golden_explanations.txt"
_EDIT, _EXPLANATION = "  > ", "  = "


def read() -> Iterator[tuple[str, list[ScriptEdit]]]:
    """The sentences with their edits."""
    for block in PATH.read_text(encoding="utf-8").split("\n\n"):
        sentence, *lines = block.splitlines()
        edits = [line.removeprefix(_EDIT).split(" ") for line in lines if line.startswith(_EDIT)]
        yield (
            sentence,
            [ScriptEdit(int(word), int(count), " ".join(new), Reason[name]) for word, count, *new, name in edits],
        )


def written() -> str:
    """The file as it should be."""
    tokenizer = FakeTokenizer()
    pipeline = TextPipeline(tokenizer, VerbTable.load())
    blocks = []
    for sentence, edits in read():
        correction = pipeline.conclude(pipeline.prepare(sentence), tokenizer.encode_output(edits))
        lines = [f"{_EDIT}{edit.word} {edit.num_words} {edit.replacement} {edit.reason.name}" for edit in edits]
        lines += [f"{_EXPLANATION}{edit.explanation}" for edit in correction.edits]
        blocks.append("\n".join([sentence, *lines]))
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    PATH.write_text(written(), encoding="utf-8")
