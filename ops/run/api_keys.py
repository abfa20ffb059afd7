"""`miniserve key new NAME`: makes an API key. Only its line for the file can be shown again."""

from __future__ import annotations

import click

from api.access.keys import KeyFileFault, new_key, parse_keys
from ops.options import option


@click.group()
def key() -> None:
    """Make API keys for --api-keys-file."""


@key.command()
@click.argument("name")
@option("--requests-per-s", type=float, help="Requests that the keys of this name may send in a second.")
@option("--tokens-per-s", type=float, help="Tokens that they may reserve in a second: prompts, and longest outputs.")
def new(name: str, **limits: float | None) -> None:
    """Print a new key, and on the next line its entry for the key file.

    The key itself is stored nowhere. Its user sends it as `Authorization: Bearer <key>`. NAME is shown in logs and
    metrics; keys of one name are one account, so that a key can be replaced without a break.
    """
    try:
        api_key, line = new_key(name)
        line += "".join(f" {limit}={value:.9g}" for limit, value in limits.items() if value is not None)
        parse_keys(line)
    except KeyFileFault as error:
        raise click.UsageError(str(error).removeprefix("line 1: ")) from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    click.echo(api_key)
    click.echo(line)
    click.echo("The first line is the key; it is not shown again. Append the second line to the key file.", err=True)
