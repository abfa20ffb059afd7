"""Counts the lines that POST /correct loads: `python -m tests.request_path` lists the files.

These are the modules of api, scheduler and worker that are loaded with its entry points, and the Lua scripts that these
modules send. Not counted: the grammar and the capacity figures, which are pure; what a function imports when it is
needed; and what api/site.py adds around the application.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from worker.queue.connection import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
ENTRIES = (
    "api.http.app", "api.server.application", "api.server.serving", "worker.queue.api_end",
    "worker.queue.status_client", "worker.process",
)  # fmt: skip
_PURE = ("api.grammar", "scheduler.capacity")
_SCRIPT = re.compile(r'script\("(\w+)"')
_LOADED = f"""import sys, {", ".join(ENTRIES)}
for name, module in sys.modules.items():
    if name.split(".")[0] in ("api", "scheduler", "worker") and not name.startswith({_PURE}):
        print(module.__file__)
"""


def files() -> dict[str, int]:
    """Number of lines by path."""
    loaded = subprocess.run([sys.executable, "-c", _LOADED], cwd=ROOT, check=True, capture_output=True, text=True)
    modules = [*map(Path, loaded.stdout.split("\n")[:-1])]
    names = {name for path in modules for name in _SCRIPT.findall(path.read_text())}
    parts = {part for name in names for part in ("core", *re.findall(r"\w+", SCRIPTS[name]), name)}
    paths = [*modules, *(ROOT / "worker" / "queue" / "lua" / f"{part}.lua" for part in parts)]
    return {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sorted(paths)}


if __name__ == "__main__":
    found = files()
    for name, number in found.items():
        print(f"{number:6,} {name}")
    print(f"{sum(found.values()):6,} lines in {len(found)} files")
