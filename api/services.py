"""What the site makes once in a process, and hands to the application and to each plug-in around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from api.service.corrector import Corrector
from api.service.exchange import Account
from api.telemetry.recorder import RequestRecorder
from scheduler.settings import Settings
from worker.queue.api_mailbox import ApiMailbox

if TYPE_CHECKING:
    from worker.queue.redis_observer import RedisObserver


@dataclass(frozen=True, slots=True)
class Services:
    """Nothing here knows a plug-in: each is given this, and adds itself to the application."""

    settings: Settings
    corrector: Corrector
    queue: ApiMailbox
    observer: RedisObserver  # or the engines, in the modes without a queue
    recorder: RequestRecorder  # what it records is for the server to write and report
    # Whose an API key is. None where no keys are asked for. Raises Unauthorized. Any thread may ask.
    admit: Callable[[str], Account | None] = lambda _: None
    clock: Callable[[], float] = time.perf_counter  # as that of Exchange
