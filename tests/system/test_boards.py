"""What Prometheus' own tool says of its configuration and of every expression on Grafana's boards."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests import system_tools

DEPLOY = Path(__file__).resolve().parents[2] / "ops" / "deploy"
BOARDS = sorted((DEPLOY / "grafana" / "boards").glob("*.json"))


def _promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [system_tools.find("promtool"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_prometheus_can_read_its_configuration_and_finds_its_rules() -> None:
    done = _promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml")

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_prometheus_can_read_every_expression_of_a_board(path: Path, tmp_path: Path) -> None:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    asked = [
        target["expr"].replace("$__rate_interval", "1m") for panel in panels for target in panel.get("targets", [])
    ]
    rules = [{"record": f"board:{number}", "expr": expression} for number, expression in enumerate(asked)]
    written = tmp_path / "rules.yml"
    written.write_text(yaml.safe_dump({"groups": [{"name": path.stem, "rules": rules}]}))

    done = _promtool("check", "rules", written)

    assert len(rules) > 20
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_expression_that_is_none_would_be_noticed(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "prometheus" / "prometheus.yml", tmp_path)
    rule = {"record": "board:0", "expr": "sum(rate(miniserve_batch_size_bucket[1m])"}  # a bracket is missing
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [rule]}]}))

    assert _promtool("check", "config", tmp_path / "prometheus.yml").returncode != 0
