"""The one connection of an API process to Redis: commands go out in packets, answers come in, by its event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
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
_LOOK_S = 0.1  # between looks at what waits for too long
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
    that the more there is to send, the more goes into each. Every command sent here may safely be sent twice. What has
    no reply when its patience ends fails, also while Redis hangs; a reply that comes later is ignored.

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
        self._groups: list[list[Call | Submission]] = []  # of each command that is under way
        self._replies: list[Any] = []  # that have come of it
        self._news = self._loop.create_future()  # something to send, all replies, or a fault
        self._fault: MailboxDown | None = None  # of the connection that stands
        self._sent_s = self._polled_s = time.monotonic()
        self._stop_at_s = inf
        self._lost: tuple[float, BaseException | None] | None = (self._sent_s, None)  # when the connection was, and how
        self._talking = self._loop.create_task(self._talk())
        self._loop.call_later(_LOOK_S, self._look)

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
        call, now = what if isinstance(what, Submission) else Call(what), time.monotonic()
        call.give_up_at_s, call.on_reply = now + patience_s, on_reply
        if now >= self._stop_at_s:
            _settle(call, MailboxDown("stopped"), "")
            return
        self._calls.append(call)
        if not self._groups:  # at the end of this iteration of the loop: what else it brings goes into the same packet
            self._wake_up()

    @property
    def num_waiting(self) -> int:
        return len(self._calls)

    def stop(self) -> None:
        """What is under way, and what is cancelled because of the stop, still goes out; nothing is waited for."""
        self._stop_at_s = time.monotonic() + LAST_CALLS_S
        self._loop.call_later(LAST_CALLS_S, self._talking.cancel)

    async def _talk(self) -> None:
        try:
            while True:
                try:
                    await self._connection.in_thread(self._connection.open)
                    self._lost = self._fault = None
                    self._look_up(0.0)
                    while True:
                        await self._exchange()
                except Exception as error:  # nothing must end what all requests go through
                    self._break_off(error)
                await asyncio.sleep(_PAUSE_S)
        finally:
            self._connection.close()
            self._give_up(MailboxDown("stopped"), inf)

    async def _exchange(self) -> None:
        """Send the next packet, and wait for its replies. Raises MailboxDown."""
        await self._until(lambda: bool(self._calls))
        commands, num_bytes = self._next_packet()
        self._sent_s = time.monotonic()
        if num_bytes > _MOST_AT_ONCE:
            await self._connection.in_thread(self._connection.send, *commands)
        elif commands:
            self._connection.send(*commands)
        await self._until(lambda: not self._groups)

    async def _until(self, is_there: Callable[[], bool]) -> None:
        while self._fault is None and not is_there():
            self._news = self._loop.create_future()
            await self._news
        if self._fault is not None:
            raise self._fault

    def _wake_up(self) -> None:
        if not self._news.done():
            self._news.set_result(None)

    def _next_packet(self) -> tuple[list[Command], int]:
        """What waits and fits into one, and its bytes; `_groups` are the calls of each of its commands."""
        commands: list[list[Any]] = []
        num_calls = num_bytes = 0
        while self._calls and num_calls < _MAX_COMMANDS and num_bytes < _MAX_BYTES:
            call, num_calls = self._calls.popleft(), num_calls + 1
            if isinstance(call, Submission):
                try:
                    words: Command = (encode_submission(call, self._limits),)
                except Exception as error:
                    logger.exception("a request cannot be written; the others go out")
                    _settle(call, [b"fault", repr(error).encode()], "")
                    continue
                if not (self._groups and isinstance(self._groups[-1][0], Submission)):
                    self._groups.append([])
                    commands.append([*enqueue_command(self._channel, self._limits, ())])
                self._groups[-1].append(call)
                commands[-1] += words
            else:
                words = call.command
                self._groups.append([call])
                commands.append([*words])
            num_bytes += sum([len(word) for word in words if isinstance(word, (str, bytes))])
        return [tuple(command) for command in commands], num_bytes

    def _receive(self) -> None:
        """Something has come."""
        try:
            received = self._connection.receive_ready()
        except MailboxDown as error:
            self._note_fault(error)
            return
        self._replies += [each for each in received if not isinstance(each, PushNotification)]
        if len(self._replies) > len(self._groups):
            self._note_fault(MailboxDown("Redis sent a reply that nobody has asked for"))
        elif self._replies and len(self._replies) == len(self._groups):
            self._settle_packet()
        for each in received:  # a place that an answer leaves is free after a refusal of the same moment
            if isinstance(each, PushNotification):
                self._hear(each[2])

    def _settle_packet(self) -> None:
        run_id, groups, replies = self._connection.run_id, self._groups, self._replies
        self._groups, self._replies = [], []
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

    def _look(self) -> None:
        """Look for calls and answers that have waited for too long."""
        now = time.monotonic()
        if now >= self._stop_at_s - LAST_CALLS_S:
            return
        if self._groups and now >= self._sent_s + _REPLY_WITHIN_S:
            self._note_fault(MailboxDown(f"no reply within {_REPLY_WITHIN_S:g} s"))
        self._give_up((self._lost and self._lost[1]) or MailboxDown("no reply in time"), now)
        if now >= self._polled_s + POLL_S:
            self._polled_s = now
            self._look_up(1.0)
        self._loop.call_later(_LOOK_S, self._look)

    def _look_up(self, older_than_s: float) -> None:
        try:
            self._on_poll(older_than_s)
        except Exception:
            logger.exception("the answers that are missing could not be looked up")

    def _note_fault(self, fault: MailboxDown) -> None:
        self._fault = fault
        self._wake_up()

    def _break_off(self, error: Exception) -> None:
        """Whether the packet has run is not known: it is sent again."""
        self._connection.close()
        is_stopping = self._stop_at_s < inf
        if self._lost is None and not is_stopping:  # said once, not at every attempt
            logger.warning("the connection to Redis broke; connecting again: %s", error)
        self._lost = time.monotonic() if self._lost is None else self._lost[0], error
        sent, self._groups, self._replies = list(chain.from_iterable(self._groups)), [], []
        if sent and not isinstance(error, MailboxDown):
            logger.error("a packet could not be sent", exc_info=error)
            for call in sent:  # they would fail again
                _settle(call, MailboxDown("a packet could not be sent"), "")
            sent = []
        for call in sent:
            if isinstance(call, Submission):
                call.may_be_known = True
        self._calls.extendleft(reversed(sent))
        self._give_up(error, inf if is_stopping else time.monotonic())

    def _give_up(self, error: BaseException, now: float) -> None:
        """Fail what has waited for as long as it may, also what is under way."""
        sent = [call for call in chain.from_iterable(self._groups) if now >= call.give_up_at_s]
        for call in sent:
            if isinstance(call, Submission):
                call.may_be_known = True
        late = [*sent, *(call for call in self._calls if now >= call.give_up_at_s)]
        for call in late:
            _settle(call, error, "")
        if late:
            self._calls = deque(call for call in self._calls if now < call.give_up_at_s)


def enqueue_command(channel: str, limits: MailboxLimits, wanted: Sequence[bytes]) -> Command:
    """ENQUEUE for all of these encoded submissions. Its reply has one entry for each."""
    bounds = (limits.max_requests, limits.max_tokens, limits.max_memory_bytes)
    return script("enqueue", channel, *bounds, *wanted)


def _settle(call: Call | Submission, reply: Any, run_id: str) -> None:
    """Once: what comes later is ignored."""
    on_reply, call.on_reply = call.on_reply, None
    if isinstance(reply, ResponseError):
        logger.error("Redis refused a command: %s", reply)
    if on_reply is not None:
        try:
            on_reply(call, reply, run_id)
        except Exception:  # one reply must not end what all requests go through
            logger.exception("a reply could not be handled")
