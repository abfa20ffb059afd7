"""The house rules a machine can check: who may import whom, no cycles, sizes. The table is this test's only source."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from api import site
from api.http.app import Api, Services
from api.telemetry.recorder import RequestRecorder
from scheduler.settings import Settings
from tests import request_path
from tests.fake_mailbox import FakeMailbox, client_around, corrector_of

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ROOT / "ops" / "training"
OURS = ("api", "ops", "scheduler", "worker")
RULED = {"numpy", "torch", "miniserve_training", "matplotlib", "flask", "rq"}  # others are free outside scheduler/
MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
RAISE = "take lines away, or raise {} by those of your feature and say in the commit what they are for"
MAX_REQUEST_PATH_LINES = 8_463

# (module prefix, what it may import of ours, what it may import of the ruled libraries); the first that fits counts.
MAY_IMPORT = (
    ("scheduler", ("scheduler",), set()),
    ("worker.queue", ("scheduler", "worker.queue"), {"rq"}),
    ("worker.model", ("scheduler", "worker.model"), {"numpy"}),
    ("worker", ("scheduler", "worker"), {"numpy"}),
    ("api.grammar", ("scheduler.errors", "scheduler.messages", "api.grammar"), set()),
    ("api", ("scheduler", "api", "worker.queue"), {"flask"}),
    ("miniserve_training", OURS, {"numpy", "torch", "matplotlib"}),
    ("ops", OURS, {"numpy", "matplotlib", "flask", "rq"}),
)


def _sources() -> list[Path]:
    """Of the product: the training, a distribution of its own, lies in ops/ and is not among them."""
    return sorted(path for package in OURS for path in (ROOT / package).rglob("*.py") if TRAINING not in path.parents)


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    """Full names of all that a file imports, inside functions too. `from a import b` gives both a and a.b."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _rule(module: str) -> tuple[tuple[str, ...], set[str]]:
    return next((ours, libraries) for prefix, ours, libraries in MAY_IMPORT if _is_inside(module, prefix))


def test_a_module_imports_only_what_its_package_may() -> None:
    modules = set(map(_module_name, _sources()))

    faults = sorted(
        f"{_module_name(path)} imports {name}"
        for path in _sources()
        for name in set(_imports(path))
        if not _may_import(_module_name(path), name, modules)
    )

    assert faults == [], "MAY_IMPORT above says who may import whom: move the code, or pass the thing in"


def _may_import(module: str, name: str, modules: set[str]) -> bool:
    ours, libraries = _rule(module)
    top = name.split(".")[0]
    if name in modules and name != "worker":
        return any(_is_inside(name, package) for package in ours)
    return top not in RULED - libraries


# What a package imports of Python's own library or of others, and must not: time, chance, I/O.
MUST_NOT_IMPORT = {
    "scheduler": {"time", "random", "os", "threading", "socket", "asyncio", "datetime"},
    "worker.model": {"time", "redis", "tokenizers", "http", "gevent"},
    "api.grammar": {"flask", "werkzeug", "http", "gunicorn", "redis", "rq", "time", "threading", "os"},
}


def _libraries(package: str) -> set[str]:
    paths = [path for path in _sources() if _is_inside(_module_name(path), package)]
    return {name.split(".")[0] for path in paths for name in _imports(path)}


@pytest.mark.parametrize("package", MUST_NOT_IMPORT)
def test_a_pure_package_knows_no_time_no_chance_and_no_io(package: str) -> None:
    found = _libraries(package) & MUST_NOT_IMPORT[package]
    assert not found, f"{package} is pure: take what {sorted(found)} gives as an argument, from who calls it"


def test_the_scheduler_needs_nothing_but_the_standard_library() -> None:
    foreign = _libraries("scheduler") - sys.stdlib_module_names - {"scheduler", "__future__"}
    assert not foreign, "scheduler/ needs the standard library alone: put this where it is called, in worker/ or ops/"


def test_every_library_that_is_imported_is_declared() -> None:
    """One that other packages bring along may stand in the environment of who develops, and nowhere else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = project["dependencies"], *project["optional-dependencies"].values()
    declared = {name for words in lists for word in words for name in re.findall(r"^[\w-]+|(?<=\[)[\w-]+(?=\])", word)}
    brought = {"jinja2", "markupsafe", "werkzeug", "pydantic-core"}  # by Flask and pydantic, always
    known, libraries = packages_distributions(), {name.split(".")[0] for path in _sources() for name in _imports(path)}

    foreign = libraries - sys.stdlib_module_names - {*OURS, "miniserve", "_typeshed"}
    named = {name: {each.lower().replace("_", "-") for each in known.get(name, [name])} for name in foreign}

    missing = {name for name, names in named.items() if not names & (declared | brought)}
    assert not missing, "declare it in pyproject.toml, then: make lock"


def test_the_worker_package_itself_stays_empty() -> None:
    text = (ROOT / "worker" / "__init__.py").read_text()
    assert text == "", "api imports worker.queue, and must not load NumPy with it: put the code into a module"


@pytest.mark.parametrize(("packages", "depth"), [(OURS, 9), (("api",), 2)], ids=["modules", "folders of the api"])
def test_imports_form_no_cycle(packages: tuple[str, ...], depth: int) -> None:
    modules = set(map(_module_name, _sources()))
    graph = defaultdict[str, set[str]](set)
    for path in _sources():
        own = _cut(_module_name(path), depth)
        if own.split(".")[0] in packages:
            graph[own] |= {_cut(name, depth) for name in _imports(path) if name in modules}
            graph[own] -= {own, own.rpartition(".")[0]}  # a package's __init__ is imported before its modules anyway

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"{' -> '.join(error.args[1])}: move what both need into a module below them")


def _cut(name: str, depth: int) -> str:
    return ".".join(name.split(".")[:depth])


def test_no_file_is_longer_than_the_ceiling() -> None:
    files = [*_sources(), *(ROOT / "tests").rglob("*.py")]
    long = {
        str(path.relative_to(ROOT)): n for path in files if (n := len(path.read_text().splitlines())) > MAX_FILE_LINES
    }

    assert not long, f"a file has {MAX_FILE_LINES} lines at most: split it by reason to change"


def test_no_function_is_longer_than_the_ceiling_and_nine_in_ten_fit_twenty_lines() -> None:
    lengths = {
        (_module_name(path), node.name, node.lineno): node.end_lineno - node.lineno + 1
        for path in _sources()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef)
    }

    long = [where for where, length in lengths.items() if length > MAX_FUNCTION_LINES]
    assert not long, f"a function has {MAX_FUNCTION_LINES} lines at most: name its parts"
    share = sum(length <= 20 for length in lengths.values()) / len(lengths)
    assert share >= 0.9, f"{share:.1%} of all functions have 20 lines at most; 90% should: split the longest of yours"


PLUGINS = {
    "api.tracing": 160, "api.live": 76, "api.learners": 98, "api.languagetool": 498, "api.kept": 180,
    "api.streams": 133, "api.observe": 229, "api.openapi": 124, "worker.pools": 274,
}  # fmt: skip


def test_every_plugin_of_the_site_has_a_ceiling() -> None:
    packages = {plugin.__name__.rpartition(".")[0] for plugin in site.PLUGINS}

    assert packages - PLUGINS.keys() == {"api.access", "api.pages"}, "name it in PLUGINS above, with its lines"


@pytest.mark.parametrize(("plugin", "most_lines"), PLUGINS.items())
def test_a_plugin_keeps_its_ceiling_and_only_the_site_imports_it(plugin: str, most_lines: int) -> None:
    own = [path for path in _sources() if _is_inside(_module_name(path), plugin)]
    served = [path for path in _sources() if path not in own and _module_name(path).split(".")[0] != "ops"]
    users = {_module_name(path) for path in served if any(_is_inside(name, plugin) for name in _imports(path))}

    assert users <= {"api.site"}, f"the core does not know {plugin}: it adds itself, by its add(app, services)"
    num_lines = sum(len(path.read_text().splitlines()) for path in own)
    assert num_lines, f"{plugin} is gone: take it out of PLUGINS"
    assert num_lines <= most_lines, f"{plugin} has {num_lines} lines: {RAISE.format('PLUGINS')}"


def test_the_api_corrects_without_any_plugin() -> None:
    """None of its modules imports one: only the site does, and no cycle leads back to the site."""
    mailbox, settings = FakeMailbox(), Settings()
    app = Api(Services(settings, corrector_of(mailbox), mailbox, mailbox, RequestRecorder(settings)))

    answer = client_around(app).post("/correct", json={"sentence": "He goed home"})

    assert answer.get_json()["corrected"] == "He went home", answer.data


def test_what_a_request_loads_does_not_grow() -> None:
    num_lines = sum(request_path.files().values())
    assert num_lines <= MAX_REQUEST_PATH_LINES, (
        f"they have {num_lines:,} lines: {RAISE.format('MAX_REQUEST_PATH_LINES')}"
    )
