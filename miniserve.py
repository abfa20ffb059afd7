"""The command `miniserve`, and a look at what it stands on before any of its packages is imported.

`ops` and `scheduler` are names of other distributions on PyPI, too. pip lets them write over each other without a word,
and uninstalling one takes files of the other. So this module, whose name nobody shares, looks first.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("api", "ops", "scheduler", "worker")
REMEDY = "install miniserve into an environment of its own: python3 -m venv ENV, then ENV/bin/pip install it there"


def foreign_package() -> str | None:
    """Say which of the packages is not ours; None if all of them are. Nothing is imported."""
    here = Path(__file__).resolve().parent
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:  # a folder without __init__.py is what uninstalling the other leaves
            return f"the package `{name}` has no __init__.py in {here}"
        path = Path(spec.origin).resolve()
        words = path.read_bytes() or b"miniserve"  # ours name it, or are empty
        if path != here / name / "__init__.py" or b"miniserve" not in words:
            return f"the package `{name}` in {path.parent} is another distribution's"
    return None


def main() -> None:
    if fault := foreign_package():
        raise SystemExit(f"miniserve: {fault}: {REMEDY}")
    from ops.cli import main as command

    sys.exit(command(prog_name="miniserve"))


if __name__ == "__main__":
    main()
