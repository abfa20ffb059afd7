"""How many small faults the tests see: `make mutants`, or `python -m tests.mutants [NUM [PART ...]]`.

mutmut writes changes of a comparison, a number or a name into a copy of the code, and MUTANT_UNDER_TEST says which one
is in force. The Lua of the queue, which mutmut does not know, is changed likewise. Of each part a sample is tried, the
same each time: a change is seen if a test of the part fails. It prints those that are not, and the share that is. Tests
named after the changed module run first.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mutmut import __main__ as mutmut

from tests.pace import patient

SEED = 1
COPY = Path("mutants")
LUA = Path("worker", "queue", "lua")
_OF_QUEUE = (
    "whole_scripts broken_values mailbox_workers mailbox_hostile mailbox_claims async_queue costs_of_scripts pools "
    "foreign_workers rq_compatibility mailbox_redis_faults"
)
_UNIT = {
    "scheduler": "addresses alerts capacity capacity_simulated continuous_batching engine health "
    "http line monitor observations pools pools_observed readiness settings static_batching wire_forms runbook "
    "generated",
    "guard": "guard corrections pipeline",
    "queue": "known_refusals wire_forms reporter",
    "lua": "",
}
TESTS = {part: [f"tests/unit/test_{name}.py" for name in names.split()] for part, names in _UNIT.items()}
for part in ("queue", "lua"):
    TESTS[part] += ["tests/contract/test_queue_machine.py", "tests/contract"]
    TESTS[part] += [f"tests/integration/test_{name}.py" for name in _OF_QUEUE.split()]
FILES = {"scheduler": "scheduler/", "queue": "worker/queue/", "guard": "api/grammar/guard.py"}
SWAPS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " ~= ", " ~= ": " == ", " and ": " or ",
    " or ": " and ", " + ": " - ", " - ": " + ", " * ": " / ", "not ": "", "true": "false", "false": "true",
    "max(": "min(", "min(": "max(",
}  # fmt: skip
_SWAPPED = re.compile("|".join([*map(re.escape, SWAPS), r"\b\d+\b"]))


def python_changes(part: str) -> dict[str, Path]:
    """Names, and the modules that they change."""
    files = mutmut.collect_source_file_mutation_data(mutant_names=())[1]
    paths = {name: path for path in files if path.startswith(FILES[part]) for name in files[path].exit_code_by_key}
    return {name: Path(paths[name]) for name in sorted(paths)}


def try_python(part: str, name: str, path: Path) -> str:
    """The change, if no test sees it."""
    return mutmut.get_diff_for_mutant(name, path=path) if _holds(part, path.stem, name) else ""


def lua_changes(_: str) -> dict[str, Path]:
    """The same of the scripts: each name tells where the change is, and what."""
    texts = {path: re.sub("--.*", _blank, path.read_text()) for path in sorted(LUA.glob("*.lua"))}
    places = [(path, place) for path, text in texts.items() for place in _SWAPPED.finditer(text)]
    return {f"{path.stem} {place.start()} {place.end()}": path for path, place in places}


def try_lua(part: str, name: str, path: Path) -> str:
    text, (start, end) = path.read_text(), map(int, name.split()[1:])
    was, number = text[start:end], text.count("\n", 0, start)
    becomes = SWAPS[was] if was in SWAPS else str(int(was) + 1)
    (COPY / path).write_text(text[:start] + becomes + text[end:])
    holds = _holds(part)
    (COPY / path).write_text(text)
    line = text.splitlines()[number].strip()
    return f"{path}:{number + 1}: {was!r} > {becomes!r} in {line}" if holds else ""


def _blank(comment: re.Match[str]) -> str:
    return " " * len(comment[0])


def _holds(part: str, module: str = "", mutant: str = "") -> bool:
    """Whether all tests pass. One that waits for what never comes has seen the change."""
    files = sorted(TESTS[part], key=lambda name: not module or module not in name)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--hypothesis-seed=0", *files]
    command += ["-o", f"faulthandler_timeout={patient(30)}"]
    env = os.environ | {"MUTANT_UNDER_TEST": mutant}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, cwd=COPY, env=env, **quiet).returncode == 0


def main(num: str = "100", *parts: str) -> None:
    shutil.rmtree(COPY, ignore_errors=True)
    mutmut.set_mutant_under_test("mutant_generation")
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.create_mutants(max_children=1)
    for part in parts or TESTS:
        assert _holds(part), f"the tests of {part} fail without a change"
        find, attempt = (lua_changes, try_lua) if part == "lua" else (python_changes, try_python)
        changes, num_seen = find(part), 0
        names = random.Random(SEED).sample(list(changes), min(int(num), len(changes)))
        for num_tried, name in enumerate(names, start=1):
            unseen = attempt(part, name, changes[name])
            num_seen += not unseen
            print(unseen or f"{part}: {num_seen} of {num_tried} seen, {len(changes)} in all", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
