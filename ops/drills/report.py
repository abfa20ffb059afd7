"""`python -m ops.drills.report FILE`: the rows of docs/reliability.md, from a file of `miniserve chaos --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    """Print the measured figures of FILE as the rows of a Markdown table."""
    document = json.loads(file.read_text(encoding="utf-8"))
    click.echo(
        f"{document['date']}, commit {document['commit']}, {document['machine']['cpu']}, {document['form']} form"
    )
    for drill in document["drills"]:
        click.echo(row(drill))


def row(drill: dict[str, Any]) -> str:
    figures = [f"{check['what']} {check['value']}" for check in drill["checks"]]
    words = f"{drill['requests']:,} requests; {'; '.join(figures)}"
    return f"| `{drill['name']}` | {drill['bar']} | {words} | {'yes' if drill['passed'] else 'no'} |"


if __name__ == "__main__":
    main()
