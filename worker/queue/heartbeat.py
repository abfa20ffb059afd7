"""What a process says of itself: that a worker lives, and what workers and API processes have counted.

The heartbeat is a thread with a connection of its own. It beats only while the decode loop is fresh: a loop that hangs
loses its lease like a process that died, and its work goes to others. Each beat also takes back the work of the dead,
so every worker is everyone's reaper. It says when the loop last iterated, too: /readyz goes by that, not by the beats.
Once a second the worker also registers with RQ's tools, and reports what it has counted.
"""

from __future__ import annotations

import logging
import os
import platform
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from worker.queue.connection import Command, RedisConnection, checked, script
from worker.queue.line import ResponseError
from worker.queue.protocol import BEAT_S, MailboxDown, WorkerReport

logger = logging.getLogger(__name__)
_RQ_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
LIVE = "miniserve:live"  # a stream of what workers do, while somebody watches
WATCH: Command = ("SET", "miniserve:watched", 1, "EX", 3)  # set at each look of a viewer
_LIVE_S = 10
_LIVE_EACH, _MOST_LIVE = 48, 64  # entries of a worker, ten seconds of beats; and workers
_MOST_FIELDS = 2000  # of a report, the others come with the next: Lua's unpack fails near 8,000 words
_REGISTER_S = 0.95  # somewhat less than the second that four beats take
_RQ_VERSION = "2.12.0"  # whose formats we write; shown by RQ's tools


def new_name() -> str:
    """Of this process, never used twice: leases and rq:wip know a worker by it. A colon would end the id in rq:wip."""
    host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())
    return f"{host}-{os.getpid()}-{secrets.token_hex(6)}"


class Reporter:
    """Reports what a process has counted: each count enters the system's sums once, also where a reply is lost.

    A report holds the differences to the last one that Redis took, and a number. One whose reply never came is sent
    again as it was; Redis adds no number twice. Used from one thread.
    """

    def __init__(self, is_api: bool = False) -> None:
        self._is_api = is_api
        self._process = new_name()
        self._number = 1
        self._taken: dict[str, float] = {}
        self._sent: dict[str, float] = {}
        self._command: Command | None = None  # of a report that may have been lost

    def command(self, totals: Mapping[str, float]) -> Command:
        """The report to send now; `note_reply` learns what came of it. `totals` only grow."""
        if self._command is None:
            news = [(name, value) for name, value in totals.items() if value != self._taken.get(name, 0)]
            if len(news) > _MOST_FIELDS:
                news = random.sample(news, _MOST_FIELDS)  # none is left out for ever
            words = [word for name, value in news for word in (name, repr(value - self._taken.get(name, 0)))]
            self._sent = dict(news)
            self._command = script("report", self._process, self._number, "1" if self._is_api else "", *words)
        return self._command

    def note_reply(self, reply: Any) -> None:
        """Take the reply to that command. What Redis refused is sent again."""
        if not isinstance(reply, ResponseError):
            self._taken |= self._sent
            self._command = None
            self._number += 1


class Heartbeat:
    """The numbers and `last_iteration_s` are written by the worker's thread and read by this one."""

    def __init__(
        self,
        connection: RedisConnection,
        name: str,
        lease_s: float,
        on_lease_lost: Callable[[], None],
    ) -> None:
        self.num_held = self.num_successful = self.num_failed = self.num_decoders = 0
        self.last_iteration_s = time.monotonic()
        self.is_suspended = False  # with `rq suspend`: nothing new is taken
        self._connection = connection
        self._name = name
        self._lease_s = lease_s
        self._on_lease_lost = on_lease_lost
        self._is_down = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_watched = False
        self._num_workers = 1
        self._register_at_s = 0.0
        self._report: Callable[[], WorkerReport] = WorkerReport
        self._last_report = WorkerReport()
        self._reporter = Reporter()
        self._birth = datetime.now(UTC).strftime(_RQ_TIME)

    def start(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        """The first beat registers the worker, in the caller's thread. Raises MailboxDown."""
        self._report = report
        self._beat(is_first=True)
        self._thread = threading.Thread(target=self._run, args=(is_fresh,), name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Waits at most for the beat under way; what was counted since then still goes out."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)
            if not self._thread.is_alive() and not self._is_down:
                with suppress(MailboxDown):
                    self._connection.ask(self._reporter.command(self._report().totals))
        self._connection.close()

    def _run(self, is_fresh: Callable[[], bool]) -> None:
        while not self._stopping.wait(BEAT_S):
            if not is_fresh():
                continue
            try:
                self._beat()
                if self._is_down:
                    logger.warning("Redis takes heartbeats again")
                self._is_down = False
            except MailboxDown as error:
                if not self._is_down:  # one line for each interruption
                    logger.warning("no heartbeat, Redis does not take it: %s", error)
                self._is_down = True
            except Exception:  # a worker whose heart stops by a fault of ours would lose all it holds
                logger.exception("a heartbeat failed")

    def _beat(self, is_first: bool = False) -> None:
        report = self._last_report = self._reported()
        is_due = time.monotonic() >= self._register_at_s
        commands = [self._command(report, is_due)]
        if is_due:
            commands.append(self._reporter.command(report.totals))
        if live := report.live(self._is_watched):
            most = _LIVE_EACH * min(self._num_workers, _MOST_LIVE)
            commands += [("XADD", LIVE, "MAXLEN", most, "*", "news", live), ("EXPIRE", LIVE, _LIVE_S)]
        beaten, *others = self._connection.ask(*commands)
        if is_due:
            self._reporter.note_reply(others[0])
        lost_lease, num_taken_back, self._is_watched, is_suspended, self._num_workers, *registered = checked(beaten)
        # A decode worker goes on with what others have begun.
        self._note_suspended(bool(is_suspended) and report.role != "decode")
        if num_taken_back:
            logger.warning("requests taken back from workers that died: %d", num_taken_back)
        if registered:
            self._register_at_s = time.monotonic() + _REGISTER_S
            num_changed, self.num_decoders = registered
            if num_changed:
                logger.info("put %d requests right that were changed from outside", num_changed)
        if lost_lease and not is_first:
            self._register_at_s = 0.0
            self._on_lease_lost()

    def _note_suspended(self, is_suspended: bool) -> None:
        if is_suspended != self.is_suspended:
            self.is_suspended = is_suspended
            words = "suspended: this worker takes no request until `rq resume`" if is_suspended else "resumed"
            logger.warning("RQ's workers are %s", words)

    def _reported(self) -> WorkerReport:
        """A fault in its own report must not cost a worker its lease: then the last report is sent again."""
        try:
            return self._report()
        except Exception:
            logger.exception("the worker's report failed")
            return self._last_report

    def _command(self, report: WorkerReport, registers: bool) -> Command:
        """BEAT; it also registers the worker where that is due."""
        idle_s = f"{time.monotonic() - self.last_iteration_s:.3f}"
        beat = script("beat", self._name, self._lease_s, idle_s)
        if not registers:
            return beat
        facts: dict[str, object] = {"role": report.role, **report.gauges}
        facts |= {
            "birth": self._birth,
            "successful_job_count": self.num_successful,
            "failed_job_count": self.num_failed,
            "queues": "correct,correct-async",
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "ip_address": self._connection.address,
            "total_working_time": report.totals.get("iteration:t", 0.0),
            "version": _RQ_VERSION,
            "python_version": platform.python_version(),
        }
        rate = f"{report.service_rate_tokens_per_s:.1f} {report.role}".removesuffix(" all")
        return (*beat, self.num_held, rate, *chain.from_iterable(facts.items()))
