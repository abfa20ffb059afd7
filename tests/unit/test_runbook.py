"""docs/operations.md says of every alert what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scheduler.capacity.rules import Rule, rules
from scheduler.settings import Settings

OURS = rules(Settings())
RUNBOOK = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
def test_every_alert_has_an_entry_in_the_runbook_that_says_what_to_do(rule: Rule) -> None:
    entry = re.search(rf"^### {rule.name}\n(.*?)(?=^#|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)

    assert entry, rule.name
    raised, _, cleared = entry[1].splitlines()[1].partition("cleared")
    assert raised.startswith(f"{rule.severity.value}; raised ")
    for said, after_s in ((raised, rule.bars.raise_after_s), (cleared, rule.bars.clear_after_s)):
        assert f" {after_s:g} s" in said if after_s else re.search("at once|with|last", said), rule.name
    for part in ("**It means**", "**Look**", "**Do**"):
        assert part in entry[1], (rule.name, part)


def test_the_runbook_has_no_entry_for_an_alert_that_is_none() -> None:
    section = RUNBOOK[RUNBOOK.index("\n## Alerts") :]

    assert set(re.findall(r"^### (\S+)$", section, re.MULTILINE)) == {rule.name for rule in OURS}
