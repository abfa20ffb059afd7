"""What Prometheus and Grafana are given: only series that exist, and one datasource."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.exposed_metrics import exposed_names

DEPLOY = Path(__file__).resolve().parents[2] / "ops" / "deploy"
BOARDS = sorted((DEPLOY / "grafana" / "boards").glob("*.json"))
RULES = sorted((DEPLOY / "prometheus").glob("rules.yml"))
SCALING = sorted((DEPLOY / "kubernetes" / "components").glob("keda*/*.yaml"))
PROVISIONED = DEPLOY / "grafana" / "provisioning"


def _board(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _expressions(path: Path) -> list[str]:
    if path.suffix == ".json":
        board = _board(path)
        asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
        return asked + [one["expr"] for one in board["annotations"]["list"]]
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("path", [*BOARDS, *RULES, *SCALING], ids=lambda path: path.name)
def test_every_series_that_is_asked_for_is_exposed(path: Path) -> None:
    named = set(re.findall(r"miniserve_\w+", path.read_text(encoding="utf-8")))

    assert named - exposed_names() == set()


def test_every_series_that_an_alert_looks_at_is_on_a_board() -> None:
    def series(paths: list[Path]) -> set[str]:
        return {name for path in paths for text in _expressions(path) for name in re.findall(r"\bminiserve_\w+", text)}

    assert series(RULES) <= series(BOARDS)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.name)
def test_a_number_counts_once_however_many_replicas_are_scraped_and_histograms_are_read_by_rate(path: Path) -> None:
    for expression in _expressions(path):
        series = re.findall(r"miniserve_\w+", expression)
        assert expression.count("max without (instance, pod) (") == len(series), expression
        by_le = r"sum by \(le\) \(max without \(instance, pod\) \((rate|increase)\(miniserve_\w+_bucket\["
        assert "_bucket[" not in expression or re.search(by_le, expression), expression


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.name)
def test_every_panel_asks_the_datasource_that_is_provisioned(path: Path) -> None:
    provisioned = yaml.safe_load((PROVISIONED / "datasources" / "prometheus.yml").read_text(encoding="utf-8"))

    asked = {panel["datasource"]["uid"] for panel in _board(path)["panels"] if panel["type"] != "row"}

    assert asked == {source["uid"] for source in provisioned["datasources"]}
