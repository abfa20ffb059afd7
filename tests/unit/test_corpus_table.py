"""The page that tells what the generator makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from ops.training.text.maker import Example

pytest.importorskip("tqdm")

from ops.training.text.corpus_table import corpus_page, tally

PAGE = Path(__file__).parents[2] / "docs" / "training" / "corpus.md"
GOED = Example("He goed home.", "He went home.", (ScriptEdit(1, 1, "went", Reason.PAST_IRREG),), "commonvoice")
OTHER = Example("He goed there.", "He went there.", (ScriptEdit(1, 1, "went", Reason.PAST_IRREG),), "tanaka")
CLEAN = Example("We all like the sea.", "We all like the sea.", (), "tanaka")


def page(*examples: Example) -> str:
    return "\n".join(corpus_page(tally(examples), {Reason.PAST_IRREG: 1200}))


def test_every_reason_has_a_row_with_its_count_its_share_and_an_example():
    text = page(GOED, CLEAN)

    assert "| `irregular_past` | 1,200 | 100.0% | He goed home. -> He went home. |" in text
    assert all(f"| `{reason.value}` | " in text for reason in Reason)


def test_only_text_that_is_free_is_shown():
    assert "goed" not in page(OTHER)


def test_the_text_is_attributed_with_its_licence():
    text = page(GOED)

    for said in ("tatoeba.org, CC BY 2.0 FR", "marmooo, CC BY-SA 4.0", "CC0 1.0", "American National Corpus", "public"):
        assert said in text


def test_the_page_in_the_repository_tells_all_that_the_generator_makes_and_quotes_nothing_long():
    text = PAGE.read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if " -> " in line]

    assert [row[0] for row in rows] == [f"`{reason.value}`" for reason in Reason]
    assert all(int(row[1].replace(",", "")) >= 1000 and float(row[2].rstrip("%")) >= 1.0 for row in rows)
    assert all(len(row[3]) < 150 for row in rows)
    assert page(GOED)[page(GOED).index("| Source |") :] in text


def test_shares_are_told_of_mistakes_sources_and_lengths():
    text = page(GOED, OTHER, CLEAN, CLEAN)

    assert "| 0 | 50.0% |" in text
    assert "| tanaka | 100.0% |" in text
    assert "| 1 to 4 | 50.0% |" in text and "| 5 to 8 | 50.0% |" in text
