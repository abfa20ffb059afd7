"""What `pip install` gives works outside the clone: code, weights, tokenizer, verb table, scripts of Redis."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from miniserve import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ("ops/training/", "ops/deploy/grafana/")  # a distribution of its own; what Compose mounts
SHIPPED = (".css", ".html", ".js", ".json", ".lua", ".py", ".safetensors", ".svg", ".tsv")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's contents, built from a copy so that the clone stays clean."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in ("pyproject.toml", "README.md", "LICENSE", "miniserve.py"):
        shutil.copy(ROOT / name, source)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
    command = [*pip, "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def _run(installed: Path, *command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(command, cwd=installed.parent, env=env, check=True, capture_output=True, text=True).stdout


def test_the_console_script_corrects_a_sentence(installed: Path) -> None:
    script = str(installed / "bin" / "miniserve")

    where = _run(installed, sys.executable, "-c", "import api, worker; print(api.__file__, worker.__file__)")
    said = _run(installed, script, "correct", "He goed to school")

    assert all(path.startswith(str(installed)) for path in where.split())
    assert said.splitlines() == ["He went to school", "The past tense of 'go' is the irregular form 'went'."]


def test_the_wheel_holds_every_file_of_the_packages_nothing_of_the_training_and_asks_for_no_pytorch(
    installed: Path,
) -> None:
    held, wanted = (
        {str(path.relative_to(root)) for package in PACKAGES for path in (root / package).rglob("*")
         if path.suffix in SHIPPED and "__pycache__" not in path.parts}
        for root in (installed, ROOT)
    )  # fmt: skip
    (metadata,) = installed.glob("miniserve-*.dist-info/METADATA")
    needed = [line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist:")]

    assert held == {name for name in wanted if not name.startswith(LEFT_OUT)}
    assert needed and [line for line in needed if "torch" in line] == []
