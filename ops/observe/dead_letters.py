"""`miniserve requeue` and `miniserve drop`: what to do with requests that were given up."""

from __future__ import annotations

from collections.abc import Callable

import click

from ops.options import with_settings
from scheduler.settings import Settings, hide_password
from worker.mailbox.connection import connect
from worker.mailbox.operator_end import DeadLetters, NoDeadLetter
from worker.mailbox.protocol import MailboxDown


@click.command()
@with_settings("redis_url", is_redis_required=True)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def requeue(settings: Settings, ids: tuple[str, ...]) -> None:
    """Put the dead letters ID... back into the queue: they are tried twice more, each by itself.

    A dead letter is a request that was answered with 502, kept for a week under the `request_id` of that answer. RQ's
    tools list it as a failed job, and show the result of the new attempt. Exit status 1 if any ID is none.
    """
    _each(settings, ids, DeadLetters.requeue, "back in the queue")


@click.command()
@with_settings("redis_url", is_redis_required=True)
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
def drop(settings: Settings, ids: tuple[str, ...]) -> None:
    """Forget the dead letters ID...: requests that were answered with 502, which RQ's tools list as failed jobs.

    Exit status 1 if any ID is none.
    """
    _each(settings, ids, DeadLetters.drop, "dropped")


def _each(settings: Settings, ids: tuple[str, ...], move: Callable[[DeadLetters, str], None], done: str) -> None:
    letters, num_failed = DeadLetters(connect(settings.redis_url)), 0
    try:
        for request_id in ids:
            try:
                move(letters, request_id)
                click.echo(f"{request_id}: {done}")
            except NoDeadLetter as error:
                num_failed += 1
                click.echo(f"miniserve: {error}", err=True)
    except MailboxDown as error:
        told = f"{hide_password(settings.redis_url)} does not answer: {error}. Name the Redis with --redis-url"
        raise click.ClickException(told) from None
    finally:
        letters.close()
    raise SystemExit(1 if num_failed else 0)
