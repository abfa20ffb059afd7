"""Counts the lines that POST /correct loads: `python -m tests.request_path` lists the files.

These are the modules of api, scheduler and worker that its entry points import, at their top, and the Lua scripts
that these modules send. Not counted: the grammar and the capacity figures, which are pure; what a function imports when
it is needed; and what api/site.py adds around the application.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from worker.queue.connection import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = (
    "api.http.app", "api.server.application", "api.server.serving", "api.server.worker", "worker.queue.api_end",
    "worker.queue.status_client", "worker.process",
)  # fmt: skip
_PURE = ("api.grammar", "scheduler.capacity")
_SCRIPT = re.compile(r'script\("(\w+)"')


def files() -> dict[str, int]:
    """Number of lines by path."""
    modules = _modules()
    names = {name for path in modules for name in _SCRIPT.findall(path.read_text())}
    parts = {part for name in names for part in ("core", *re.findall(r"\w+", SCRIPTS[name]), name)}
    paths = [*modules, *(ROOT / "worker" / "queue" / "lua" / f"{part}.lua" for part in parts)]
    return {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sorted(paths)}


def _modules() -> list[Path]:
    found: dict[str, Path] = {}
    names = list(ENTRIES)
    while names:
        name = names.pop()
        path = _path_of(name)
        if path is None or name in found:
            continue
        found[name] = path
        for imported in _imports(ast.parse(path.read_text())):
            parts = imported.split(".")
            names += [".".join(parts[:number]) for number in range(1, len(parts) + 1)]
    return [path for name, path in found.items() if not name.startswith(_PURE)]


def _path_of(module: str) -> Path | None:
    if module.split(".")[0] not in ("api", "scheduler", "worker"):
        return None
    place = ROOT.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _imports(tree: ast.Module) -> Iterator[str]:
    """What is imported when the module is."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    found = files()
    for name, number in found.items():
        print(f"{number:6,} {name}")
    print(f"{sum(found.values()):6,} lines in {len(found)} files")
