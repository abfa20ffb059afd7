"""The four packages are ours, or `miniserve` says so before it imports one: two of their names are others' on PyPI."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import miniserve

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder as pip leaves it, with a command that does nothing but say so."""
    folder = tmp_path / "site"
    for name in miniserve.PACKAGES:
        (folder / name).mkdir(parents=True)
        shutil.copy(ROOT / name / "__init__.py", folder / name)
    (folder / "ops" / "cli.py").write_text("main = lambda prog_name: print(prog_name, 'runs')\n")
    shutil.copy(ROOT / "miniserve.py", folder)
    return folder


def run(site: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path[:0] = sys.argv[1:]; import miniserve; miniserve.main()"
    command = [sys.executable, "-S", "-c", code, *filter(None, [path, str(site)])]
    return subprocess.run(command, cwd=site.parent, capture_output=True, text=True)


def test_the_command_runs_where_all_four_packages_are_ours(site: Path) -> None:
    assert run(site).stdout == "miniserve runs\n"


@pytest.mark.parametrize("name", miniserve.PACKAGES)
@pytest.mark.parametrize("how", ["written over", "taken away by an uninstall", "earlier on the path"])
def test_a_package_that_is_not_ours_is_named_in_one_line_with_the_remedy(site: Path, name: str, how: str) -> None:
    ours, earlier = site / name / "__init__.py", site.parent / "earlier"
    if how == "written over":
        ours.write_text("import websocket\n")
    elif how == "taken away by an uninstall":
        ours.unlink()
    else:
        shutil.copytree(site / name, earlier / name)

    done = run(site, str(earlier))

    assert done.returncode == 1
    assert f"the package `{name}`" in done.stderr and "an environment of its own" in done.stderr
    assert len(done.stderr.splitlines()) == 1
