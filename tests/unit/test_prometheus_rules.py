"""The rules for Prometheus and the runbook say the same as scheduler/capacity/rules.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.observe.capacity import METRICS
from scheduler.capacity.alerts import DEAD_LETTERS_WINDOW_S, START_S
from scheduler.capacity.measure import AUDIT_S
from scheduler.capacity.rules import (
    ASSUMED_MAX_MEMORY_BYTES,
    Rule,
    rules,
)
from scheduler.capacity.window import MIN_SAMPLES, MOST_UNSTEADY
from scheduler.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ops" / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8")
(GROUP,) = yaml.safe_load(TEXT)["groups"]
ALERTS = {rule["alert"]: rule for rule in GROUP["rules"] if "alert" in rule}
RECORDS = {rule["record"]: rule["expr"] for rule in GROUP["rules"] if "record" in rule}
OURS = rules(Settings())
LEAST_S = 10.0  # two scrapes: one value alone may be a restart
WITH_LIMIT = [rule for rule in OURS if rule.bars.raise_above > 0]
RUNBOOK = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def _seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_prometheus_knows_the_same_alerts_in_the_same_order() -> None:
    assert list(ALERTS) == [rule.name for rule in OURS]


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
def test_an_alert_has_the_same_severity_times_and_runbook_entry(rule: Rule) -> None:
    theirs: dict[str, Any] = ALERTS[rule.name]

    assert theirs["labels"] == {"severity": rule.severity.value}
    assert _seconds(theirs["for"]) == max(LEAST_S, rule.bars.raise_after_s)
    assert _seconds(theirs["keep_firing_for"]) == max(LEAST_S, rule.bars.clear_after_s)
    assert theirs["annotations"]["runbook_url"] == f"{{{{ $externalLabels.runbook_base }}}}{rule.runbook}"


@pytest.mark.parametrize("rule", WITH_LIMIT, ids=lambda rule: rule.name)
def test_an_alert_with_a_limit_has_the_same_two_bars(rule: Rule) -> None:
    expression = ALERTS[rule.name]["expr"]
    upper, lower = (float(number) for number in re.findall(r" > ([\d.]+)", expression))

    assert (upper, lower) == (rule.bars.raise_above, pytest.approx(rule.bars.clear_at))
    assert f'ALERTS{{alertname="{rule.name}", alertstate="firing"}}' in expression


def test_the_numbers_behind_the_limits_are_the_same() -> None:
    judged = RECORDS["miniserve:littles_law_residual:judged"]

    assert f"vector({ASSUMED_MAX_MEMORY_BYTES})" in RECORDS["miniserve:redis_memory:ratio"]
    assert f"[{DEAD_LETTERS_WINDOW_S / 60:g}m]" in RECORDS["miniserve:dead_letters:new10m"]
    assert f"[{START_S:g}s]" in ALERTS["no-live-worker"]["expr"]
    assert f">= {MIN_SAMPLES} " in judged and f"<= {MOST_UNSTEADY:g} *" in judged
    assert set(re.findall(r"\[(\w+)\]", judged)) == {f"{AUDIT_S / 60:g}m"}


def test_the_load_rules_read_the_metrics_that_the_table_of_capacity_shows() -> None:
    names = set(METRICS.values())

    for name in ("predicted-wait-long", "utilization-high", "no-live-worker"):
        assert set(re.findall(r"miniserve_\w+", ALERTS[name]["expr"])) <= names, name


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
def test_every_alert_has_an_entry_in_the_runbook_that_says_what_to_do(rule: Rule) -> None:
    entry = re.search(rf"^### {rule.name}\n(.*?)(?=^#|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)

    assert entry, rule.name
    assert rule.severity.value in entry[1]
    for part in ("**It means**", "**Look**", "**Do**"):
        assert part in entry[1], (rule.name, part)


def test_the_runbook_has_no_entry_for_an_alert_that_is_none() -> None:
    section = RUNBOOK[RUNBOOK.index("\n## Alerts") :]

    assert set(re.findall(r"^### (\S+)$", section, re.MULTILINE)) == {rule.name for rule in OURS}


def test_the_operations_page_stays_short() -> None:
    assert len(RUNBOOK.splitlines()) <= 315
