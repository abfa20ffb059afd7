"""What `make generate` writes is committed as the code has it now."""

from __future__ import annotations

import pytest

from tests.generate import ROOT, generated
from tests.generate.tables import TABLES

FILES = generated()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_generated_is_current(path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run: make generate"


def test_each_table_stands_in_a_document() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES if path.suffix == ".md")

    assert [name for name in TABLES if f"<!-- generated: {name} -->" not in text] == []
