"""The one subscription of an API process, and the poll that makes up for what a subscription can miss.

Pub/sub forgets what nobody hears. So the channel is subscribed before the first request is pushed, all waiters are
looked up whenever it is subscribed again, and once a second those that have waited for longer than that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from redis import Redis
from redis.client import PubSub
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
POLL_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5


class Listener:
    """Calls `on_message` for each message and `on_poll(sweeps_all)` at the moments said above, all in one thread."""

    def __init__(
        self, client: Redis, channel: str, on_message: Callable[[bytes], None], on_poll: Callable[[bool], None]
    ) -> None:
        self._client = client
        self._channel = channel
        self._on_message = on_message
        self._on_poll = on_poll
        self._subscribed = threading.Event()
        self._stopping = threading.Event()
        self._next_poll_s = 0.0
        self.error: Exception | None = None  # which broke the last subscription
        threading.Thread(target=self._run, name="mailbox-listener", daemon=True).start()

    def wait_until_subscribed(self, patience_s: float) -> bool:
        return self._subscribed.is_set() or self._subscribed.wait(patience_s)

    def stop(self) -> None:
        """Returns at once; the thread ends when it next looks up, within a second, and holds no process alive."""
        self._stopping.set()

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            pubsub = self._client.pubsub()
            try:
                self._listen(pubsub)
            except (RedisError, OSError) as error:
                self.error = error
                level = logging.WARNING if self._subscribed.is_set() else logging.DEBUG  # once, not at every attempt
                logger.log(level, "the subscription to answers broke, it is made anew: %s", error)
            except Exception:  # whatever one message does to us, the process must go on hearing the others
                logger.exception("a message or a look-up broke the subscription; it is made anew")
            finally:
                _drop(pubsub)
            # A subscription that lasted starts over quickly.
            pause_s = _FIRST_PAUSE_S if self._subscribed.is_set() else min(2 * pause_s, _LONGEST_PAUSE_S)
            self._subscribed.clear()
            self._stopping.wait(pause_s)

    def _listen(self, pubsub: PubSub) -> None:
        pubsub.subscribe(self._channel)
        while not self._stopping.is_set():
            message = pubsub.get_message(timeout=max(0.01, self._next_poll_s - time.monotonic()))
            if message is not None:
                self._handle(message)
            if time.monotonic() >= self._next_poll_s:
                self._poll(sweeps_all=False)

    def _handle(self, message: dict) -> None:
        if message["type"] == "message":
            self._on_message(message["data"])
        elif message["type"] == "subscribe":  # also when redis-py connected again by itself
            self._subscribed.set()
            self._poll(sweeps_all=True)

    def _poll(self, sweeps_all: bool) -> None:
        self._next_poll_s = time.monotonic() + POLL_S
        self._on_poll(sweeps_all)


def _drop(pubsub: PubSub) -> None:
    try:
        pubsub.close()
    except (RedisError, OSError):
        logger.debug("the broken subscription could not be closed", exc_info=True)
