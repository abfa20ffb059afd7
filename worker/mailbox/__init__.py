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
    from worker.mailbox.observatory import Observatory
    from worker.mailbox.traces import Traces
    from worker.mailbox.watch import StatusWatch
    from worker.mailbox.worker_end import RedisWorkerMailbox

__all__ = [
    "ApiMailbox",
    "MailboxDown",
    "MailboxLimits",
    "MailboxStatus",
    "Ticket",
    "WorkerMailbox",
    "redis_api_mailbox",
    "redis_observatory",
    "redis_status_watch",
    "redis_worker_mailbox",
]


def redis_worker_mailbox(
    settings: Settings, batch_invariance: str = "", traces: Traces | None = None
) -> RedisWorkerMailbox:
    """The worker's end at `settings.redis_url`; connects with `open`. /readyz shows what the self-test found.

    Its beats take along what they find in `traces`.
    """
    from worker.mailbox.line import connect
    from worker.mailbox.worker_end import RedisWorkerMailbox

    return RedisWorkerMailbox(connect(settings.redis_url), batch_invariance=batch_invariance, traces=traces)


def redis_api_mailbox(settings: Settings) -> RedisApiMailbox:
    """The API's end at `settings.redis_url`; connects with the first request, in each process by itself."""
    from worker.mailbox.api_end import RedisApiMailbox
    from worker.mailbox.line import connect

    return RedisApiMailbox(connect(settings.redis_url), MailboxLimits.from_settings(settings))


def redis_observatory(settings: Settings) -> Observatory:
    """Watches the whole system at `settings.redis_url`."""
    from worker.mailbox.line import connect
    from worker.mailbox.observatory import Observatory

    return Observatory(connect(settings.redis_url))


def redis_status_watch(
    settings: Settings, timeout_s: float, totals: Callable[[], Mapping[str, float]], traces: Traces | None = None
) -> StatusWatch:
    """Asks the Redis at `settings.redis_url` for the status, apart from all other traffic.

    Reports `totals`, and takes along what is in `traces`.
    """
    from worker.mailbox.line import connect
    from worker.mailbox.watch import StatusWatch

    return StatusWatch(connect(settings.redis_url, timeout_s), totals, traces)
