"""The one transport module: requests to workers, answers back, over Redis in RQ's formats or inside a process.

It decides nothing about scheduling and knows no numpy and no Flask. Importing it opens nothing and loads redis only
when a Redis mailbox is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from scheduler.settings import Settings
from worker.mailbox.protocol import (
    ApiMailbox,
    MailboxDown,
    MailboxLimits,
    MailboxStatus,
    Ticket,
    WorkerMailbox,
)

if TYPE_CHECKING:
    from worker.mailbox.api_end import RedisApiMailbox
    from worker.mailbox.system_reader import StatusClient, SystemReader
    from worker.mailbox.worker_end import RedisWorkerMailbox

__all__ = [
    "ApiMailbox",
    "MailboxDown",
    "MailboxLimits",
    "MailboxStatus",
    "Ticket",
    "WorkerMailbox",
    "redis_api_mailbox",
    "redis_system_reader",
    "redis_status_client",
    "redis_worker_mailbox",
]


def redis_worker_mailbox(settings: Settings, batch_invariance: str = "") -> RedisWorkerMailbox:
    """The worker's end at `settings.redis_url`; connects with `open`. /readyz shows what the self-test found."""
    from worker.mailbox.connection import connect
    from worker.mailbox.worker_end import RedisWorkerMailbox

    return RedisWorkerMailbox(connect(settings.redis_url), batch_invariance=batch_invariance)


def redis_api_mailbox(settings: Settings) -> RedisApiMailbox:
    """The API's end at `settings.redis_url`; connects with the first request, in each process by itself."""
    from worker.mailbox.api_end import RedisApiMailbox
    from worker.mailbox.connection import connect

    return RedisApiMailbox(connect(settings.redis_url), MailboxLimits.from_settings(settings))


def redis_system_reader(settings: Settings) -> SystemReader:
    """Watches the whole system at `settings.redis_url`."""
    from worker.mailbox.connection import connect
    from worker.mailbox.system_reader import SystemReader

    return SystemReader(connect(settings.redis_url))


def redis_status_client(
    settings: Settings, timeout_s: float, totals: Callable[[], Mapping[str, float]]
) -> StatusClient:
    """Asks the Redis at `settings.redis_url` for the status, apart from all other traffic, and reports `totals`."""
    from worker.mailbox.connection import connect
    from worker.mailbox.system_reader import StatusClient

    return StatusClient(connect(settings.redis_url, timeout_s), totals)
