"""Threads for work that would hold up the event loop of a process: long texts, and what is made for people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from scheduler.errors import QueueFull

SHORT = 600  # characters: read, and answered, within a millisecond
_RETRY_S = 1.0
PAGES = ThreadPoolExecutor(4, "pages")  # metrics are needed most when long texts take all other threads
T = TypeVar("T")


async def in_turn(num_characters: int, call: Callable[..., T], *arguments: Any) -> T:
    """Work on a text of this length: a short one at once, a long one in a thread. Raises as `in_thread`."""
    return call(*arguments) if num_characters <= SHORT else await in_thread(call, *arguments)


async def in_thread(call: Callable[..., T], *arguments: Any, pool: Executor | None = None) -> T:
    """Raises QueueFull where no thread can be started. One of those that run may call it even then."""
    try:
        future = asyncio.get_running_loop().run_in_executor(pool, call, *arguments)
    except RuntimeError as error:
        raise QueueFull("This replica cannot start another thread; try again.", _RETRY_S) from error
    return await future
