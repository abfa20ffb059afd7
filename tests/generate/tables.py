"""Tables of the documents, between `<!-- generated: NAME -->` and `<!-- /generated -->`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from prometheus_client.metrics_core import Metric

from ops.cli import SECTIONS, main
from scheduler import errors
from scheduler.settings import Settings, variable
from tests.exposed_metrics import exposed_families

Row = tuple[str, ...]


def files(root: Path) -> dict[str, str]:
    """Every document that has such a table, with the table as it should be."""
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md")}
    return {name: with_tables(text) for name, text in texts.items() if "<!-- generated: " in text}


def with_tables(text: str) -> str:
    return re.sub(
        r"(<!-- generated: (\w+) -->\n).*?(?=<!-- /generated -->)",
        lambda found: f"{found[1]}\n{_markdown(*TABLES[found[2]]())}\n",
        text,
        flags=re.DOTALL,
    )


def _markdown(head: Row, rows: Iterable[Row]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in (head, *rows)]
    return "".join([lines[0], "|---" * len(head) + "|\n", *lines[1:]])


def _settings() -> tuple[Row, Iterable[Row]]:
    def row(spec: object) -> Row:
        default = "" if spec.default in (None, "") else f"`{spec.default}`"
        return f"`{variable(spec.name)}`", default, str(spec.metadata["range"]), spec.metadata["help"]

    return ("variable", "default", "allowed", "meaning"), map(row, fields(Settings))


def _metrics() -> tuple[Row, Iterable[Row]]:
    def row(family: Metric) -> Row:
        name = f"`{family.name}{'_total' if family.type == 'counter' else ''}`"
        labels = dict.fromkeys(label for sample in family.samples for label in sample.labels if label != "le")
        return name, family.type, ", ".join(f"`{label}`" for label in labels), family.documentation

    return ("name", "type", "labels", "meaning"), map(row, exposed_families().values())


def _commands() -> tuple[Row, Iterable[Row]]:
    names = [name for rows in SECTIONS.values() for row in rows for name in row.split(", ")]
    commands = {name: main.get_command(None, name) for name in dict.fromkeys([*names, *main.commands])}
    return ("command", "what it does"), (
        (f"`miniserve {name}`", command.get_short_help_str(200)) for name, command in commands.items()
    )


def _problems() -> tuple[Row, Iterable[Row]]:
    def row(error: type[errors.ServingError]) -> Row:
        return str(error.status), f"`{error.slug}`", error.__doc__ or f"{error.title}."

    found = sorted(concrete(errors.ServingError), key=lambda error: error.status)
    return ("status", "slug", "when"), map(row, found)


def concrete(error: type[errors.ServingError]) -> Iterator[type[errors.ServingError]]:
    if error is not errors.Overloaded:  # a common base without a slug of its own
        yield error
    for narrower in error.__subclasses__():
        yield from concrete(narrower)


TABLES = {"settings": _settings, "metrics": _metrics, "commands": _commands, "problems": _problems}
