"""The rules for Prometheus, tried by Prometheus' own tool on series that rise and fall."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "ops" / "prometheus"


@pytest.fixture(scope="module")
def promtool(tmp_path_factory: pytest.TempPathFactory) -> str:
    """On the PATH, or from Debian's package."""
    folder = tmp_path_factory.mktemp("promtool")
    command = [str(FOLDER / "find_promtool.sh"), str(folder)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout.strip()


def _run(promtool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([promtool, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=60)


def test_prometheus_can_read_the_rules(promtool: str) -> None:
    done = _run(promtool, "check", "rules", "rules.yml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_raised_and_cleared_as_their_series_rise_and_fall(promtool: str) -> None:
    done = _run(promtool, "test", "rules", "rules_test.yml")

    assert done.returncode == 0, done.stdout + done.stderr
