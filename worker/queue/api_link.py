"""The one connection of an API process to Redis: commands go out in packets, answers come in, by its event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from hiredis import PushNotification

from worker.queue.connection import Address, Command, checked, refusal_of, script
from worker.queue.formats import encode_submission
from worker.queue.line import ResponseError
from worker.queue.loop_connection import LoopConnection
from worker.queue.protocol import MailboxDown, MailboxLimits, OnReply, Submission

logger = logging.getLogger(__name__)
_MAX_COMMANDS = 256  # in one packet; in a larger one the first replies would wait for the last
_MAX_BYTES = 262_144  # a packet ends with the command that reaches it
_MOST_AT_ONCE = 65_536  # bytes that the kernel takes, even where Redis reads nothing; the loop must not wait for more
_PAUSE_S = 0.02
LAST_CALLS_S = 0.5  # after `stop`
_REPLY_WITHIN_S = 2.0
POLL_S = 1.0
_LOST_FOR_S = 1.0  # a connection may be for a moment; requests wait for it for two seconds


@dataclass(slots=True)
class Call:
    """A command on its way that is no ENQUEUE: of these the submissions themselves are sent."""

    command: Command
    give_up_at_s: float = 0.0
    on_reply: OnReply | None = None


class Link:
    """Sends what waits as one packet, and hears what is published for this process.

    Requests that stand next to each other in a packet are enqueued by one script. One packet is under way at a time, so
    that the more there is to send, the more goes into each. Every command sent here may safely be sent twice.

    Pub/sub forgets what nobody hears. So all who wait are looked up whenever the connection stands again, and once a
    second those that have waited for longer than that: `on_poll(older_than_s)`.
    """

    def __init__(
        self,
        address: Address,
        channel: str,
        limits: MailboxLimits,
        on_message: Callable[[bytes], None],
        on_poll: Callable[[float], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = LoopConnection(address, channel, self._receive)
        self._channel, self._limits = channel, limits
        self._on_message, self._on_poll = on_message, on_poll
        self._calls: deque[Call | Submission] = deque()
        self._groups: list[Sequence[Call | Submission]] | None = None  # of each command that is under way
        self._replies: list[Any] = []  # that have come of it
        self._is_due = self._is_opening = False  # a look at what waits is due, or the connection on its way
        self._timer: asyncio.TimerHandle | None = None
        self._stop_at_s: float | None = None
        # When the connection was, and how.
        self._lost: tuple[float, BaseException | None] | None = time.monotonic(), None
        self._loop.call_later(POLL_S, self._poll)
        self._wake_up()

    @property
    def refusal(self) -> str:
        """Why no answer has been heard for some time; '' while the connection stands, or was just lost."""
        if self._lost is None or time.monotonic() - self._lost[0] < _LOST_FOR_S:
            return ""
        return refusal_of(self._lost[1]) or "Redis cannot be subscribed to; try again shortly."

    async def ask(self, what: Command | Submission, patience_s: float) -> tuple[Any, str]:
        """The reply, and the run id of the Redis that gave it. Raises MailboxDown, also where Redis refused."""
        future: asyncio.Future[tuple[Any, str]] = self._loop.create_future()

        def note(_: Any, reply: Any, run_id: str) -> None:
            if not future.done():
                future.set_result((reply, run_id))

        self.post(what, patience_s, note)
        reply, run_id = await future
        return checked(reply), run_id

    def post(self, what: Command | Submission, patience_s: float, on_reply: OnReply | None = None) -> None:
        """Send without waiting for the reply."""
        call = what if isinstance(what, Submission) else Call(what)
        call.give_up_at_s, call.on_reply = time.monotonic() + patience_s, on_reply
        if self._stop_at_s is not None and time.monotonic() >= self._stop_at_s:
            _settle(call, MailboxDown("stopped"), "")
        else:
            self._calls.append(call)
            self._wake_up()

    @property
    def num_waiting(self) -> int:
        return len(self._calls)

    def stop(self) -> None:
        """What is under way, and what is cancelled because of the stop, still goes out; nothing is waited for."""
        self._stop_at_s = time.monotonic() + LAST_CALLS_S
        self._loop.call_later(LAST_CALLS_S, self._connection.close)

    def _wake_up(self) -> None:
        """At the end of this iteration of the loop: what else it brings goes into the same packet."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        self._is_due = False
        if self._groups is not None or self._is_opening or (self._stop_at_s is not None and not self._calls):
            return
        if self._connection.is_open:
            self._send_next()
        else:
            try:
                opening = self._connection.in_thread(self._connection.open)
            except RuntimeError as error:  # no thread can be started
                calls, self._calls = list(self._calls), deque()
                self._try_again(calls, error)
            else:
                self._is_opening = True
                opening.add_done_callback(self._note_open)

    def _note_open(self, opening: asyncio.Future[None]) -> None:
        self._is_opening = False
        if (error := opening.exception()) is None:
            self._lost = None
            self._look_up(0.0)
            self._send_next()
        else:
            calls, self._calls = list(self._calls), deque()
            self._try_again(calls, error)

    def _poll(self) -> None:
        if self._stop_at_s is None:
            self._look_up(1.0)
            self._loop.call_later(POLL_S, self._poll)

    def _look_up(self, older_than_s: float) -> None:
        try:
            self._on_poll(older_than_s)
        except Exception:
            logger.exception("the answers that are missing could not be looked up")

    def _send_next(self) -> None:
        packet, num_bytes = self._next_packet()
        if not packet:
            return
        commands: list[Command] = []
        groups: list[Sequence[Call | Submission]] = []
        for are_requests, some in groupby(packet, key=lambda one: isinstance(one[0], Submission)):
            calls, words = zip(*some, strict=True)
            groups += [calls] if are_requests else [(call,) for call in calls]
            if are_requests:
                words = (enqueue_command(self._channel, self._limits, [packed for (packed,) in words]),)
            commands += words
        self._groups = groups
        if num_bytes > _MOST_AT_ONCE:
            sending = self._connection.in_thread(self._connection.send, *commands)
            sending.add_done_callback(lambda sent: self._note_sent(sent.exception()))
            return
        error = None
        try:
            self._connection.send(*commands)
        except Exception as raised:
            error = raised
        self._note_sent(error)

    def _note_sent(self, error: BaseException | None) -> None:
        if error is None:
            late = MailboxDown(f"no reply within {_REPLY_WITHIN_S:g} s")
            self._timer = self._loop.call_later(_REPLY_WITHIN_S, self._break_off, late)
        elif isinstance(error, MailboxDown):
            self._break_off(error)
        else:  # nothing must end what all requests go through
            logger.error("a packet could not be sent", exc_info=error)
            for call in chain.from_iterable(self._finish_packet()):
                _settle(call, MailboxDown("a packet could not be sent"), "")
            self._break_off(error)

    def _next_packet(self) -> tuple[list[tuple[Call | Submission, Command]], int]:
        """What waits and fits into one, each with its words; and its bytes."""
        packet: list[tuple[Call | Submission, Command]] = []
        num_bytes = 0
        while self._calls and len(packet) < _MAX_COMMANDS and num_bytes < _MAX_BYTES:
            call = self._calls.popleft()
            try:
                words = (encode_submission(call, self._limits),) if isinstance(call, Submission) else call.command
            except Exception as error:  # as above
                logger.exception("a request cannot be written; the others go out")
                _settle(call, [b"fault", repr(error).encode()], "")
            else:
                packet.append((call, words))
                num_bytes += sum([len(word) for word in words if isinstance(word, (str, bytes))])
        return packet, num_bytes

    def _receive(self) -> None:
        """Something has come."""
        try:
            received = self._connection.receive_ready()
        except MailboxDown as error:
            self._break_off(error)
            return
        self._replies += [each for each in received if not isinstance(each, PushNotification)]
        if len(self._replies) > len(self._groups or ()):
            self._break_off(MailboxDown("Redis sent a reply that nobody has asked for"))
        elif self._replies and len(self._replies) == len(self._groups or ()):
            self._settle_packet()
        for each in received:  # a place that an answer leaves is free after a refusal of the same moment
            if isinstance(each, PushNotification):
                self._hear(each[2])

    def _settle_packet(self) -> None:
        run_id, replies = self._connection.run_id, self._replies
        groups = self._finish_packet()
        if self._calls:
            self._wake_up()
        for group, reply in zip(groups, replies, strict=True):
            is_shared = isinstance(group[0], Submission) and not isinstance(reply, Exception)
            for call, own in zip(group, reply if is_shared else [reply] * len(group), strict=True):
                _settle(call, own, run_id)

    def _hear(self, message: bytes) -> None:
        try:
            self._on_message(message)
        except Exception:  # one answer must not end what all others come through
            logger.exception("an answer could not be handled")
            self._look_up(0.0)

    def _finish_packet(self) -> list[Sequence[Call | Submission]]:
        groups, self._groups, self._replies = self._groups or [], None, []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return groups

    def _break_off(self, error: BaseException) -> None:
        """Whether the packet has run is not known."""
        self._connection.close()
        self._try_again(list(chain.from_iterable(self._finish_packet())), error)

    def _try_again(self, calls: list[Call | Submission], error: BaseException) -> None:
        now = time.monotonic()
        if self._lost is None and self._stop_at_s is None:  # said once, not at every attempt
            logger.warning("the connection to Redis broke; connecting again: %s", error)
        self._lost = now if self._lost is None else self._lost[0], error
        for call in reversed(calls):
            if self._stop_at_s is not None or now >= call.give_up_at_s:
                _settle(call, error, "")
                continue
            if isinstance(call, Submission):
                call.may_be_known = True
            self._calls.appendleft(call)
        self._is_due = True
        self._loop.call_later(_PAUSE_S, self._look)


def enqueue_command(channel: str, limits: MailboxLimits, wanted: Sequence[bytes]) -> Command:
    """ENQUEUE for all of these encoded submissions. Its reply has one entry for each."""
    bounds = (limits.max_requests, limits.max_tokens, limits.max_memory_bytes)
    return script("enqueue", channel, *bounds, *wanted)


def _settle(call: Call | Submission, reply: Any, run_id: str) -> None:
    if isinstance(reply, ResponseError):
        logger.error("Redis refused a command: %s", reply)
    if call.on_reply is not None:
        try:
            call.on_reply(call, reply, run_id)
        except Exception:  # one reply must not end what all requests go through
            logger.exception("a reply could not be handled")
