"""`miniserve key new NAME`: makes an API key. The key itself is stored nowhere."""

from __future__ import annotations

from pathlib import Path

import click

from api.access.keys import KeyFileFault, new_key, parse_keys
from ops.options import option


@click.group()
def key() -> None:
    """Make API keys for --api-keys-file."""


@key.command()
@click.argument("name")
@option("--append", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Append the entry to this key file, which is made if it is missing, and print the key alone.")  # fmt: skip
@option("--requests-per-s", type=float, help="Requests that the keys of this name may send in a second.")
@option("--tokens-per-s", type=float, help="Tokens that they may reserve in a second: prompts, and longest outputs.")
def new(name: str, append: Path | None, **limits: float | None) -> None:
    """Print a new key, and on the next line its entry for the key file.

    The key itself is stored nowhere. Its user sends it as `Authorization: Bearer <key>`. NAME is shown in logs and
    metrics; keys of one name are one account, so that a key can be replaced without a break.
    """
    try:
        api_key, entry = new_key(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    entry += "".join(f" {limit}={value:.9g}" for limit, value in limits.items() if value is not None) + "\n"
    try:
        parse_keys(entry)
        if append:
            _append(append, entry)
    except KeyFileFault as error:
        raise click.UsageError(str(error).removeprefix("line 1: ")) from None
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{append} cannot be written: {getattr(error, 'strerror', 0) or 'no UTF-8'}") from None
    click.echo(api_key)
    if append:
        click.echo(f"This is the key; it is not shown again. {append} has its entry.", err=True)
        return
    click.echo(entry, nl=False)
    click.echo("The first line is the key; it is not shown again. Append the second line to the key file.", err=True)


def _append(path: Path, entry: str) -> None:
    """A file that no server would take stays as it is. Raises KeyFileFault, OSError, UnicodeDecodeError."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if before and not before.endswith("\n"):
        entry = f"\n{entry}"
    try:
        parse_keys(before + entry)
    except KeyFileFault as error:
        raise KeyFileFault(f"{path}: {error}") from None
    with path.open("a", encoding="utf-8") as file:
        file.write(entry)
