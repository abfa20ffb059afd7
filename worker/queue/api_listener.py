"""The answers of an API process, which Redis publishes for it, heard by its event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from hiredis import pack_command

from worker.queue.connection import Where, new_line, refusal_of
from worker.queue.line import ResponseError

logger = logging.getLogger(__name__)
POLL_S = 1.0
_LOST_FOR_S = 1.0  # a subscription may be for a moment; requests wait for it for two seconds
_PAUSE_S = 0.02


class Listener:
    """The one subscription, and the poll that makes up for what a subscription can miss.

    Pub/sub forgets what nobody hears. So the channel is subscribed before the first request is pushed, all waiters are
    looked up whenever it is subscribed again, and once a second those that have waited for longer than that:
    `on_poll(older_than_s)`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        where: Where,
        channel: str,
        on_message: Callable[[bytes], None],
        on_poll: Callable[[float], None],
    ) -> None:
        self._line = new_line(where)
        self._loop = loop
        self._channel = channel
        self._on_message = on_message
        self._on_poll = on_poll
        self._subscribed, self._subscribed_in_loop = threading.Event(), asyncio.Event()
        self._opener = ThreadPoolExecutor(1)  # those of the loop may all wait for what it does
        self._is_stopped = False
        self._descriptor = -1
        self._lost_s = time.monotonic()  # when the subscription was last lost
        self._error: BaseException | None = None  # which broke it
        loop.call_soon_threadsafe(self._begin)

    def wait_until_subscribed(self, patience_s: float) -> bool:
        """Without a wait in the thread of the loop."""
        return self._subscribed.is_set() or self._subscribed.wait(patience_s)

    async def be_subscribed(self, patience_s: float) -> bool:
        """As `wait_until_subscribed`, in the loop: all requests may wait for it, and threads are few."""
        if not self._subscribed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._subscribed_in_loop.wait(), patience_s)
        return self._subscribed.is_set()

    @property
    def refusal(self) -> str:
        """Why no answer has been heard for some time; '' while the subscription stands, or was just lost."""
        if self._subscribed.is_set() or time.monotonic() - self._lost_s < _LOST_FOR_S:
            return ""
        return refusal_of(self._error) or "The subscription to answers in Redis does not stand; try again shortly."

    def stop(self) -> None:
        """Returns at once."""
        self._is_stopped = True
        self._loop.call_soon_threadsafe(self._forget)

    def _begin(self) -> None:
        self._loop.call_later(POLL_S, self._poll)
        self._connect()

    def _connect(self) -> None:
        if not self._is_stopped:
            self._loop.run_in_executor(self._opener, self._open).add_done_callback(self._note_open)

    def _open(self) -> None:
        """In a thread."""
        self._line.connect()
        subscribe: Any = "SUBSCRIBE", self._channel
        self._line.send(pack_command(subscribe))

    def _note_open(self, opening: asyncio.Future[None]) -> None:
        if error := opening.exception():
            self._lose(error)
            return
        self._descriptor = self._line.descriptor
        self._loop.add_reader(self._descriptor, self._receive)

    def _receive(self) -> None:
        """Something has come."""
        try:
            for reply in self._line.read_ready():
                if isinstance(reply, ResponseError):
                    raise reply
                self._take(*reply)
        except (ResponseError, OSError) as error:
            self._lose(error)

    def _take(self, kind: bytes, _: Any, payload: Any) -> None:
        if kind == b"message":
            self._hear(payload)
        elif kind == b"subscribe":
            self._subscribed.set()
            self._subscribed_in_loop.set()
            self._on_poll(0.0)

    def _hear(self, payload: bytes) -> None:
        try:
            self._on_message(payload)
        except Exception:  # one answer must not end what all others come through
            logger.exception("an answer could not be handled")
            self._on_poll(0.0)

    def _lose(self, error: BaseException) -> None:
        self._error = error
        self._forget()
        if self._subscribed.is_set():  # said once, not at every attempt
            self._lost_s = time.monotonic()
            self._subscribed.clear()
            self._subscribed_in_loop.clear()
            if not self._is_stopped:
                logger.warning("the subscription to answers broke; subscribing again: %s", error)
        if not self._is_stopped:
            self._loop.call_later(_PAUSE_S, self._connect)

    def _forget(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            self._descriptor = -1
        self._line.disconnect()

    def _poll(self) -> None:
        if self._is_stopped:
            return
        try:
            self._on_poll(1.0)
        except Exception:
            logger.exception("the answers that are missing could not be looked up")
        self._loop.call_later(POLL_S, self._poll)
