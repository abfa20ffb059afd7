"""The documents say what the code does: reasons, routes, modes, commands, links."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from api.grammar.reasons import Reason
from ops.cli import main
from ops.run.faults import FAULTS
from scheduler.settings import MODES
from tests.fake_mailbox import site_of

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
EXERCISES = sorted((ROOT / "docs" / "exercises").glob("[0-9]-*.md"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
PAGES_WITH_COMMANDS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "tour.md", *EXERCISES]


def _table(header: str, text: str = REFERENCE) -> list[list[str]]:
    """The cells of the table that begins with this header row."""
    rows = list(takewhile(lambda line: line.startswith("|"), text[text.index(header) :].splitlines()))[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def _shell_lines(text: str = README) -> Iterator[str]:
    for language, block in re.findall(r"^```(sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if language == "sh" or line.startswith("$ "):
                yield line.removeprefix("$ ")


def test_every_key_that_holds_something_of_a_learner_is_in_the_page_on_privacy() -> None:
    told = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    keys = re.findall(r"^--   (miniserve:\S+)", (ROOT / "worker/queue/lua/learners.lua").read_text(), re.MULTILINE)

    assert len(keys) == 4 and [key for key in keys if f"`{key}`" not in told] == []


def test_no_command_leaves_a_key_in_the_history_of_a_shell() -> None:
    lines = [(path.name, line) for path in DOCUMENTS for line in _shell_lines(path.read_text(encoding="utf-8"))]

    assert [named for named in lines if re.search(r"\b(echo|printf)\b.*\bms_", named[1])] == []


def test_the_reasons_table_equals_the_reasons() -> None:
    rows = _table("| reason | tag |")

    assert [(reason, tag) for reason, tag, _ in rows] == [(f"`{reason.value}`", reason.name) for reason in Reason]
    assert all(re.search(r"\*.+\* -> \*.+\*", example) for *_, example in rows)


def test_the_table_of_routes_equals_the_routes() -> None:
    rules = site_of().url_map.iter_rules()
    paths = [(re.sub(r"<\w+:", "<", rule.rule), rule.methods - {"HEAD", "OPTIONS"}) for rule in rules]
    routes = {f"`{method} {path}`" for path, methods in paths for method in methods}

    assert {row[0] for row in _table("| route | meaning |")} == routes, "a row for each in docs/reference.md#routes"


def test_the_table_of_modes_equals_the_modes() -> None:
    assert [row[0] for row in _table("| `--mode` | how |")] == [f"`{mode}`" for mode in MODES]


@pytest.mark.parametrize("path", PAGES_WITH_COMMANDS, ids=lambda path: path.stem)
def test_the_commands_of_a_page_parse(path: Path) -> None:
    """With `/tmp/long.txt`, which one of them makes, standing in for any file, and 8 for any variable."""
    text = path.read_text(encoding="utf-8").replace("/tmp/long.txt", str(ROOT / "ops/load/prompts.txt"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for line in _shell_lines(text):
        for command in re.findall(r"\bminiserve [^;|>&]+", line):
            _, name, *arguments = shlex.split(re.sub(r"\$\w+", "8", command), comments=True)
            main.get_command(None, name).make_context(name, arguments)  # raises on an unknown option or a bad value
        for target in re.findall(r"^make ([a-z][a-z-]*)", line):
            assert re.search(rf"^[a-z0-9 -]*\b{target}\b[a-z0-9 -]*:", makefile, re.MULTILINE), target


def _prose(path: Path) -> str:
    """Without blocks of code, whose comments look like headings."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def _anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ +(.+?) *$", _prose(path), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(path)):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), target
        assert not anchor or anchor in _anchors(file), target


def test_the_site_has_every_document() -> None:
    """Those of docs/ in a section of `mkdocs.yml`, those of other folders by its hook: `make docs` checks the rest."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    hook = (ROOT / "docs" / "hooks.py").read_text(encoding="utf-8")
    names = [str(path.relative_to(ROOT)) for path in DOCUMENTS]

    missing = [name for name in names if f"- {name.removeprefix('docs/')}\n" not in nav and f'"{name}"' not in hook]

    assert missing == []


def test_every_file_named_in_the_architecture_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    for name in re.findall(r"`((?:api|worker|scheduler|ops|tests)/[\w./]+)`", text):
        assert (ROOT / name).exists(), name


def test_every_name_that_the_tour_shows_stands_in_the_file_of_its_section() -> None:
    sections = re.findall(r"^## \d\. .*?`([\w/.]+)`\n(.*?)(?=^## )", _prose(ROOT / "docs" / "tour.md"), re.M | re.S)

    missing = {
        file: [name for name in re.findall(r"`(\w*_\w+)`", text) if not re.search(rf"\b_?{name}\b", _source(file))]
        for file, text in sections
    }

    assert missing == dict.fromkeys(missing, []) and len(missing) == 5


def _source(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def test_the_notebook_runs_from_its_first_cell_to_its_last(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads((ROOT / "docs" / "continuous_batching.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]

    exec(compile("\n".join(cells), "continuous_batching.ipynb", "exec"), {})

    assert "idle: 17% continuous, 48% static" in capsys.readouterr().out
    assert not any(cell.get("outputs") for cell in notebook["cells"])


def test_every_fault_has_its_exercise_whose_answer_is_hidden_until_it_is_opened() -> None:
    turned_on = set()
    for path in EXERCISES:
        text = path.read_text(encoding="utf-8")
        turned_on |= set(re.findall(r"miniserve up .*--break (\d)", text))
        assert text.count("<details><summary>") == text.count("</details>") >= 2, path.stem
        assert "<summary>Answer</summary>" in text and "@@" not in text, path.stem

    assert turned_on == {*map(str, FAULTS)}


def test_the_readme_stays_readable() -> None:
    assert len(README.splitlines()) <= 120


def _tests() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    return {name for source in sources for name in re.findall(r"^(?:async )?def (test_\w+)", source, re.MULTILINE)}


def test_every_attack_in_the_table_has_tests_that_exist() -> None:
    """Their names stand in tests/tables/attacks.tsv, a row for each attack, in the order of the page."""
    rows = _table("| attack | what happens |", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    _, *lines = (ROOT / "tests" / "tables" / "attacks.tsv").read_text(encoding="utf-8").splitlines()
    named = {attack: set(names.split()) for attack, names in (line.split("\t") for line in lines)}

    assert [row[0] for row in rows] == list(named) and len(rows) >= 30
    assert all(named.values()) and set().union(*named.values()) - _tests() == set()
