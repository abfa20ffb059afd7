"""All that one API process sends to Redis, through one connection: what waits goes out as one packet.

At 32 requests in flight this costs a third of a round trip per request each. The thread becomes a greenlet where
gevent has patched the standard library. Every command sent here may safely be sent twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis import ResponseError

from worker.mailbox.line import Command, Line, LineDown

logger = logging.getLogger(__name__)
_MAX_COMMANDS = 256  # of one packet; a large one would keep the replies of the first waiting
_PAUSE_S = 0.05
_LAST_CALLS_S = 0.5  # after `stop`


@dataclass(slots=True)
class Call:
    """A command on its way and, once `done` is set, its reply."""

    command: Command
    give_up_at_s: float
    on_reply: Callable[[Any, str], None] | None = None  # called in the sender's thread with the reply and the run id
    reply: Any = None
    run_id: str = ""
    done: threading.Event = field(default_factory=threading.Event)


class Sender:
    """Opens its connection with the first command."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._calls: deque[Call] = deque()
        self._wake = threading.Event()
        self._stop_at_s: float | None = None
        self._thread = threading.Thread(target=self._run, name="mailbox-sender", daemon=True)
        self._thread.start()

    def ask(self, command: Command, patience_s: float) -> tuple[Any, str]:
        """The reply, and the run id of the Redis that gave it. Raises LineDown, also where Redis refused."""
        call = self.post(command, patience_s)
        # The sender gives up by itself; the margin is for a thread that died with its process (a fork).
        if not call.done.wait(patience_s + 5.0):
            raise LineDown("the sender does not answer")
        if isinstance(call.reply, Exception):
            raise LineDown(str(call.reply)) from call.reply
        return call.reply, call.run_id

    def post(self, command: Command, patience_s: float, on_reply: Callable[[Any, str], None] | None = None) -> Call:
        """Send without waiting for the reply."""
        call = Call(command, time.monotonic() + patience_s, on_reply)
        if self._is_over():
            _settle(call, LineDown("stopped"), "")
        else:
            self._calls.append(call)
            self._wake.set()
        return call

    def stop(self) -> None:
        """What is under way, and what those call off who are told so now, still goes out; nothing is waited for."""
        self._stop_at_s = time.monotonic() + _LAST_CALLS_S
        self._wake.set()

    def _is_over(self) -> bool:
        return self._stop_at_s is not None and time.monotonic() >= self._stop_at_s

    def _run(self) -> None:
        while self._calls or not self._is_over():
            self._wake.wait(None if self._stop_at_s is None else max(0.0, self._stop_at_s - time.monotonic()))
            self._wake.clear()
            while self._calls:
                self._send([self._calls.popleft() for _ in range(min(len(self._calls), _MAX_COMMANDS))])
        self._line.close()

    def _send(self, calls: list[Call]) -> None:
        try:
            replies = self._line.ask(*(call.command for call in calls))
        except LineDown as error:
            self._try_again(calls, error)
            return
        for call, reply in zip(calls, replies, strict=True):
            _settle(call, reply, self._line.run_id)

    def _try_again(self, calls: list[Call], error: LineDown) -> None:
        now = time.monotonic()
        for call in reversed(calls):
            if self._stop_at_s is not None or now >= call.give_up_at_s:
                _settle(call, error, "")
            else:
                self._calls.appendleft(call)
        if self._calls:
            time.sleep(_PAUSE_S)


def _settle(call: Call, reply: Any, run_id: str) -> None:
    call.reply, call.run_id = reply, run_id
    call.done.set()
    if isinstance(reply, ResponseError):
        logger.error("Redis refused a command: %s", reply)
    elif call.on_reply is not None and not isinstance(reply, Exception):
        try:
            call.on_reply(reply, run_id)
        except Exception:  # one reply must not end the thread that all requests go through
            logger.exception("a reply could not be handled")
