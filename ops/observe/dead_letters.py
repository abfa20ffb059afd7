"""`miniserve dead-letters`: which requests were given up, and what to do with them."""

from __future__ import annotations

import json as json_module
import zlib
from base64 import b64decode
from contextlib import closing
from typing import Any

import click

from ops.observe import words
from ops.options import option, with_settings
from scheduler.settings import Settings
from scheduler.urls import hide_password
from worker.queue.connection import Address, RedisConnection, script
from worker.queue.protocol import MailboxDown

_FAILED = "rq:failed:correct"
_SPOKEN = {"canceled": "cancelled"}  # RQ's spelling, and ours
_SCRIPTS = {"requeue": "revive", "drop": "drop"}
_DONE = {"revived": "back in the queue", "dropped": "dropped"}
_LONGEST_REASON_BYTES = 4_096  # unpacked; what an engine says is a line


@click.command("dead-letters")
@with_settings("redis_url", is_redis_required=True)
@option("--json", is_flag=True)
@click.argument("action", type=click.Choice(["list", *_SCRIPTS]), default="list", metavar="[list|requeue|drop]")
@click.argument("ids", metavar="[ID]...", nargs=-1)
def dead_letters(settings: Settings, json: bool, action: str, ids: tuple[str, ...]) -> None:
    """List the requests that were given up, put them back into the queue, or drop them.

    A dead letter is a request that was answered with 502, kept for a week under the `request_id` of that answer. RQ's
    tools list it as a failed job.

    \b
    list           id, when, why; a line each, the oldest first; no text
    requeue ID...  put them back into the queue: each is tried twice more, by itself
    drop ID...     forget them

    requeue and drop exit with 1 if an ID is no dead letter.
    """
    if (action == "list") == bool(ids):
        problem = "takes no ID; `requeue` and `drop` do" if ids else "needs an ID; `dead-letters list` shows them"
        raise click.UsageError(f"`{action}` {problem}")
    try:
        with closing(RedisConnection(Address(settings.redis_url))) as connection:
            if ids:
                _each(connection, ids, action)
            else:
                _list(_letters(connection), json)
    except MailboxDown as error:
        problem = f"{hide_password(settings.redis_url)} could not be asked: {str(error).rstrip('.')}"
        raise click.ClickException(f"{problem}. Is it the Redis of --redis-url?") from None


def _list(letters: list[dict[str, str]], as_json: bool) -> None:
    for letter in letters:
        click.echo(json_module.dumps(letter) if as_json else "{id}  {ended_at}  {why}".format(**letter))
    if not letters:
        click.echo("no dead letters", err=True)


def _letters(connection: RedisConnection) -> list[dict[str, str]]:
    ids: list[bytes] = connection.ask_one(("ZRANGE", _FAILED, 0, -1))
    ended = connection.ask(*[("HGET", b"rq:job:" + one, "ended_at") for one in ids])
    results = connection.ask(*[("XREVRANGE", b"rq:results:" + one, "+", "-", "COUNT", 1) for one in ids])
    return [_letter(*letter) for letter in zip(ids, ended, results, strict=True)]


def _letter(id_: bytes, ended_at: Any, results: Any) -> dict[str, str]:
    ended_at = ended_at if isinstance(ended_at, bytes) else None  # an error where the job is no hash
    return {"id": _text(id_), "ended_at": _text(ended_at), "why": _why(results)}


def _why(results: Any) -> str:
    """The error as RQ keeps it, or nothing where the field holds something else."""
    try:
        fields = results[0][1]
        packed = b64decode(dict(zip(fields[::2], fields[1::2], strict=True))[b"exc_string"])
        return _text(zlib.decompressobj().decompress(packed, _LONGEST_REASON_BYTES))
    except (TypeError, LookupError, ValueError, zlib.error):
        return "?"


def _text(value: bytes | None) -> str:
    return words.printable((value or b"?").decode(errors="replace"))


def _each(connection: RedisConnection, ids: tuple[str, ...], action: str) -> None:
    num_failed = 0
    for request_id in ids:
        found = connection.ask_one(script(_SCRIPTS[action], request_id)).decode()
        if done := _DONE.get(found):
            click.echo(f"{request_id}: {done}")
            continue
        num_failed += 1
        unknown = f"there is no request {words.printable(request_id)}; dead letters are kept for a week"
        fault = f"request {request_id} is no dead letter, it is {_SPOKEN.get(found, found)}" if found else unknown
        click.echo(f"miniserve: {fault}", err=True)
    raise SystemExit(1 if num_failed else 0)
