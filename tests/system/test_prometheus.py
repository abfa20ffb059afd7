"""What Prometheus' own tool says of its configuration, of the rules, and of every expression on Grafana's boards."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import system_tools

DEPLOY = Path(__file__).resolve().parents[2] / "ops" / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
BOARDS = sorted((DEPLOY / "grafana" / "boards").glob("*.json"))


def _fault(*arguments: str | Path, folder: Path = PROMETHEUS) -> str:
    """What promtool complains of; nothing where all is well."""
    command = [system_tools.find("promtool"), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr if done.returncode else ""


def test_prometheus_can_read_its_configuration_and_its_rules() -> None:
    assert _fault("check", "config", "prometheus.yml") == ""
    assert _fault("check", "rules", "rules.yml") == ""


def test_the_rules_are_raised_and_cleared_as_their_series_rise_and_fall() -> None:
    assert _fault("test", "rules", "rules_test.yml") == ""


def test_a_rule_that_forgot_its_lower_bar_would_be_noticed(tmp_path: Path) -> None:
    shutil.copy(PROMETHEUS / "rules_test.yml", tmp_path)
    rules = (PROMETHEUS / "rules.yml").read_text(encoding="utf-8")
    (tmp_path / "rules.yml").write_text(
        rules.replace("max(miniserve_utilization) > 0.7", "max(miniserve_utilization) > 0.8")
    )

    assert _fault("test", "rules", "rules_test.yml", folder=tmp_path)


def _check_expressions(expressions: list[str], folder: Path) -> str:
    rules = [{"record": f"board:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    (folder / "board.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    return _fault("check", "rules", "board.yml", folder=folder)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_prometheus_can_read_every_expression_of_a_board(path: Path, tmp_path: Path) -> None:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]

    assert len(asked) > 20
    assert _check_expressions([text.replace("$__rate_interval", "1m") for text in asked], tmp_path) == ""


def test_an_expression_that_is_none_would_be_noticed(tmp_path: Path) -> None:
    assert _check_expressions(["sum(rate(miniserve_batch_size_bucket[1m])"], tmp_path)  # a bracket is missing
