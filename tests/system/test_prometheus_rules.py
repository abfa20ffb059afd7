"""The rules for Prometheus, tried by Prometheus' own tool on series that rise and fall."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests import system_tools

FOLDER = Path(__file__).resolve().parents[2] / "ops" / "deploy" / "prometheus"


def _promtool(*arguments: str, folder: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    command = [system_tools.find("promtool"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_prometheus_can_read_the_rules() -> None:
    done = _promtool("check", "rules", "rules.yml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_raised_and_cleared_as_their_series_rise_and_fall() -> None:
    done = _promtool("test", "rules", "rules_test.yml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rule_that_forgot_its_lower_bar_would_be_noticed(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "rules_test.yml", tmp_path)
    rules = (FOLDER / "rules.yml").read_text(encoding="utf-8")
    (tmp_path / "rules.yml").write_text(
        rules.replace("max(miniserve_utilization) > 0.7", "max(miniserve_utilization) > 0.8")
    )

    assert _promtool("test", "rules", "rules_test.yml", folder=tmp_path).returncode != 0
