"""The two threads of an API process: one sends all of its commands to Redis, one hears what is published for it.

Both become greenlets where gevent has patched the standard library.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from hiredis import pack_command

from worker.mailbox.connection import Command, RedisConnection, Where, checked, new_line, refusal_of, script
from worker.mailbox.formats import encode_submission
from worker.mailbox.line import ResponseError
from worker.mailbox.protocol import FAILURE_TTL_S, MailboxDown, MailboxLimits, OnReply, Submission

logger = logging.getLogger(__name__)
_MAX_COMMANDS = 256  # in one packet; in a larger one the first replies would wait for the last
_MAX_BYTES = 262_144  # a packet ends with the command that reaches it
_PAUSE_S = 0.05
_LAST_CALLS_S = 0.5  # after `stop`
POLL_S = 1.0
_LOST_FOR_S = 1.0  # a subscription may be for a moment; requests wait for it for two seconds
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5


@dataclass(slots=True)
class Call:
    """A command on its way that is no ENQUEUE: of these the submissions themselves are sent."""

    command: Command
    give_up_at_s: float = 0.0
    on_reply: OnReply | None = None


class Sender:
    """Sends what waits as one packet, through one connection. Every command sent here may safely be sent twice.

    Requests that stand next to each other in it are enqueued by one script. At 32 requests in flight a packet costs a
    third of a round trip per request. The connection opens with the first command; answers come on `channel`.
    """

    def __init__(self, connection: RedisConnection, channel: str, limits: MailboxLimits) -> None:
        self._connection = connection
        self._channel = channel
        self._limits = limits
        self._calls: deque[Call | Submission] = deque()
        self._wake = threading.Event()
        self._stop_at_s: float | None = None
        self._thread = threading.Thread(target=self._run, name="mailbox-sender", daemon=True)
        self._thread.start()

    def ask(self, what: Command | Submission, patience_s: float) -> tuple[Any, str]:
        """The reply, and the run id of the Redis that gave it. Raises MailboxDown, also where Redis refused."""
        done, replies = threading.Event(), []

        def on_reply(_: Any, reply: Any, run_id: str) -> None:
            replies.append((reply, run_id))
            done.set()

        self.post(what, patience_s, on_reply)
        # The sender gives up by itself; the margin is for a thread that died with its process (a fork).
        if not done.wait(patience_s + 5.0):
            raise MailboxDown("the sender does not answer")
        ((reply, run_id),) = replies
        return checked(reply), run_id

    def post(self, what: Command | Submission, patience_s: float, on_reply: OnReply | None = None) -> None:
        """Send without waiting for the reply."""
        call = what if isinstance(what, Submission) else Call(what)
        call.give_up_at_s, call.on_reply = time.monotonic() + patience_s, on_reply
        if self._is_over():
            _settle(call, MailboxDown("stopped"), "")
        else:
            self._calls.append(call)
            self._wake.set()

    def stop(self) -> None:
        """What is under way, and what is cancelled because of the stop, still goes out; nothing is waited for."""
        self._stop_at_s = time.monotonic() + _LAST_CALLS_S
        self._wake.set()

    def _is_over(self) -> bool:
        return self._stop_at_s is not None and time.monotonic() >= self._stop_at_s

    def _run(self) -> None:
        while self._calls or not self._is_over():
            self._wake.wait(_LAST_CALLS_S)
            self._wake.clear()
            while self._calls:
                packet = self._next_packet()
                try:
                    self._send(packet)
                except BaseException:  # nothing must end the thread that all requests go through
                    logger.exception("a packet could not be sent")
                    for call, _ in packet:
                        _settle(call, MailboxDown("a packet could not be sent"), "")
        self._connection.close()

    def _next_packet(self) -> list[tuple[Call | Submission, Command]]:
        """What waits and fits into one, each with its words."""
        packet: list[tuple[Call | Submission, Command]] = []
        num_bytes = 0
        while self._calls and len(packet) < _MAX_COMMANDS and num_bytes < _MAX_BYTES:
            call = self._calls.popleft()
            try:
                words = (encode_submission(call, self._limits),) if isinstance(call, Submission) else call.command
            except BaseException as error:  # as above
                logger.exception("a request cannot be written; the others go out")
                _settle(call, [b"fault", repr(error).encode()], "")
            else:
                packet.append((call, words))
                num_bytes += sum([len(word) for word in words if isinstance(word, (str, bytes))])
        return packet

    def _send(self, packet: list[tuple[Call | Submission, Command]]) -> None:
        commands: list[Command] = []
        groups: list[tuple[Any, ...]] = []  # of each command
        for kind, some in groupby(packet, key=lambda one: type(one[0])):
            calls, words = zip(*some, strict=True)
            groups += [calls] if kind is Submission else [(call,) for call in calls]
            if kind is Submission:
                words = (enqueue_command(self._channel, self._limits, [packed for (packed,) in words]),)
            commands += words
        try:
            replies = self._connection.ask(*commands)
        except MailboxDown as error:
            self._try_again([call for call, _ in packet], error)
            return
        for group, reply in zip(groups, replies, strict=True):
            is_shared = isinstance(group[0], Submission) and not isinstance(reply, Exception)
            for call, own in zip(group, reply if is_shared else [reply] * len(group), strict=True):
                _settle(call, own, self._connection.run_id)

    def _try_again(self, calls: list[Call | Submission], error: MailboxDown) -> None:
        now = time.monotonic()
        for call in reversed(calls):
            if self._stop_at_s is not None or now >= call.give_up_at_s:
                _settle(call, error, "")
                continue
            if isinstance(call, Submission):
                call.may_be_known = True
            self._calls.appendleft(call)
        if self._calls:
            time.sleep(_PAUSE_S)


def enqueue_command(channel: str, limits: MailboxLimits, wanted: Sequence[bytes]) -> Command:
    """ENQUEUE for all of these encoded submissions. Its reply has one entry for each."""
    bounds = (channel, FAILURE_TTL_S, limits.timeout_s, limits.max_requests, limits.max_tokens, limits.max_memory_bytes)
    return script("enqueue", *bounds, *wanted)


def _settle(call: Call | Submission, reply: Any, run_id: str) -> None:
    if isinstance(reply, ResponseError):
        logger.error("Redis refused a command: %s", reply)
    if call.on_reply is not None:
        try:
            call.on_reply(call, reply, run_id)
        except Exception:  # one reply must not end the thread that all requests go through
            logger.exception("a reply could not be handled")


class Listener:
    """The one subscription, and the poll that makes up for what a subscription can miss.

    Pub/sub forgets what nobody hears. So the channel is subscribed before the first request is pushed, all waiters are
    looked up whenever it is subscribed again, and once a second those that have waited for longer than that:
    `on_poll(older_than_s)`.
    """

    def __init__(
        self, where: Where, channel: str, on_message: Callable[[bytes], None], on_poll: Callable[[float], None]
    ) -> None:
        # Not redis-py's PubSub, which under gevent polls three times for one message: 150 us.
        self._line = new_line(where)
        self._channel = channel
        self._on_message = on_message
        self._on_poll = on_poll
        self._subscribed = threading.Event()
        self._stopping = threading.Event()
        self._lost_s = time.monotonic()  # when the subscription was last lost
        self._error: BaseException | None = None  # which broke it
        for name, target in (("mailbox-listener", self._run), ("mailbox-poll", self._poll)):
            threading.Thread(target=target, name=name, daemon=True).start()

    def wait_until_subscribed(self, patience_s: float) -> bool:
        return self._subscribed.is_set() or self._subscribed.wait(patience_s)

    @property
    def refusal(self) -> str:
        """Why no answer has been heard for some time; '' while the subscription stands, or was just lost."""
        if self._subscribed.is_set() or time.monotonic() - self._lost_s < _LOST_FOR_S:
            return ""
        return refusal_of(self._error) or "The subscription to answers in Redis does not stand; try again shortly."

    def stop(self) -> None:
        """Returns at once; the threads end soon, and hold no process alive."""
        self._stopping.set()

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            try:
                self._listen()
            except (ResponseError, OSError) as error:
                self._error = error
                is_news = self._subscribed.is_set() and not self._stopping.is_set()  # once, not at every attempt
                level = logging.WARNING if is_news else logging.DEBUG
                logger.log(level, "the subscription to answers broke; subscribing again: %s", error)
            except BaseException:  # nothing must keep the process from hearing the next message
                logger.exception("a message or a look-up broke the subscription; subscribing again")
            self._line.disconnect()
            # A subscription that lasted starts over quickly.
            pause_s = _FIRST_PAUSE_S if self._subscribed.is_set() else min(2 * pause_s, _LONGEST_PAUSE_S)
            if self._subscribed.is_set():
                self._lost_s = time.monotonic()
                self._subscribed.clear()
            self._stopping.wait(pause_s)

    def _listen(self) -> None:
        self._line.connect()
        subscribe: Any = "SUBSCRIBE", self._channel
        self._line.send(pack_command(subscribe))
        self._line.wait_without_bound()  # a bound would cost a timer for each message
        while not self._stopping.is_set():
            if isinstance(reply := self._line.read(), ResponseError):
                raise reply
            kind, _, payload = reply
            if kind == b"message":
                self._on_message(payload)
            elif kind == b"subscribe":
                self._subscribed.set()
                self._on_poll(0.0)

    def _poll(self) -> None:
        while not self._stopping.wait(POLL_S):
            try:
                self._on_poll(1.0)
            except Exception:
                logger.exception("the answers that are missing could not be looked up")
        self._line.disconnect()  # wakes the other thread
