"""The answers of an API process, which Redis publishes for it, heard by its event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from worker.queue.api_loop import LoopConnection
from worker.queue.connection import Where, checked, refusal_of
from worker.queue.protocol import MailboxDown

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
        self, where: Where, channel: str, on_message: Callable[[bytes], None], on_poll: Callable[[float], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = LoopConnection(where, self._receive)
        self._channel = channel
        self._on_message = on_message
        self._on_poll = on_poll
        self._subscribed = asyncio.Event()
        self._is_stopped = False
        self._lost_s = time.monotonic()  # when the subscription was last lost
        self._error: BaseException | None = None  # which broke it
        self._loop.call_later(POLL_S, self._poll)
        self._connect()

    async def be_subscribed(self, patience_s: float) -> bool:
        """Wait for the subscription. Return whether it stands."""
        if not self._subscribed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._subscribed.wait(), patience_s)
        return self._subscribed.is_set()

    @property
    def refusal(self) -> str:
        """Why no answer has been heard for some time; '' while the subscription stands, or was just lost."""
        if self._subscribed.is_set() or time.monotonic() - self._lost_s < _LOST_FOR_S:
            return ""
        return refusal_of(self._error) or "The subscription to answers in Redis does not stand; try again shortly."

    def stop(self) -> None:
        self._is_stopped = True
        self._connection.close()

    def _connect(self) -> None:
        if not self._is_stopped:
            self._connection.in_thread(self._connection.send, ("SUBSCRIBE", self._channel)).add_done_callback(
                self._go_on
            )

    def _go_on(self, connecting: asyncio.Future[None]) -> None:
        if error := connecting.exception():
            self._lose(error)

    def _receive(self) -> None:
        """Something has come."""
        try:
            for reply in self._connection.receive_ready():
                self._take(*checked(reply))
        except MailboxDown as error:
            self._lose(error)

    def _take(self, kind: bytes, _: Any, payload: Any) -> None:
        try:
            if kind == b"message":
                self._on_message(payload)
            elif kind == b"subscribe":
                self._subscribed.set()
                self._on_poll(0.0)
        except Exception:  # one answer must not end what all others come through
            logger.exception("an answer could not be handled")
            self._on_poll(0.0)

    def _lose(self, error: BaseException) -> None:
        self._error = error
        self._connection.close()
        if self._subscribed.is_set():  # said once, not at every attempt
            self._lost_s = time.monotonic()
            self._subscribed.clear()
            if not self._is_stopped:
                logger.warning("the subscription to answers broke; subscribing again: %s", error)
        self._loop.call_later(_PAUSE_S, self._connect)

    def _poll(self) -> None:
        if self._is_stopped:
            return
        try:
            self._on_poll(1.0)
        except Exception:
            logger.exception("the answers that are missing could not be looked up")
        self._loop.call_later(POLL_S, self._poll)
