"""The thread that says a worker lives, on a connection of its own.

It beats only while the decode loop is fresh: a loop that hangs loses its lease like a process that died, and its
work goes to others. Each beat also takes back the work of the dead, so every worker is everyone's reaper. And it says
when the loop last turned: /readyz goes by that, not by the beats.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redis import ResponseError

from worker.mailbox.line import Command, Line, LineDown, script
from worker.mailbox.protocol import BEAT_S, WorkerReport
from worker.mailbox.reporter import Reporter
from worker.mailbox.traces import Traces

logger = logging.getLogger(__name__)
_RQ_VERSION = "2.12.0"  # whose formats we write; shown by RQ's tools


class Heartbeat:
    """`num_held`, `tokens_per_s` and `turned_s` are written by the worker's thread and read by this one."""

    def __init__(
        self,
        line: Line,
        name: str,
        lease_s: float,
        on_lease_lost: Callable[[], None],
        traces: Traces | None = None,
    ) -> None:
        self.num_held = 0
        self.tokens_per_s = 0.0
        self.turned_s = time.monotonic()
        self.batch_invariance = ""  # what the worker's self-test found; empty: nothing to say
        self._line = line
        self._name = name
        self._lease_s = lease_s
        self._on_lease_lost = on_lease_lost
        self._is_down = False
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._report: Callable[[], WorkerReport] = WorkerReport
        self._last_report = WorkerReport()
        self._reporter = Reporter(traces)

    def start(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        """The first beat registers the worker, in the caller's thread. Raises LineDown."""
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
                with suppress(LineDown):
                    self._line.ask(*self._reporter.commands(self._report().totals))
        self._line.close()

    def _run(self, is_fresh: Callable[[], bool]) -> None:
        while not self._stopping.wait(BEAT_S):
            if not is_fresh():
                continue
            try:
                self._beat()
                self._is_down = False
            except LineDown as error:
                if not self._is_down:  # one line for each interruption
                    logger.warning("no heartbeat, Redis does not take it: %s", error)
                self._is_down = True
            except Exception:  # a worker whose heart stops by a fault of ours would lose all it holds
                logger.exception("a heartbeat failed")

    def _beat(self, is_first: bool = False) -> None:
        lost_lease, num_taken_back, is_consistent = self._tell()
        if lost_lease and not is_first:
            self._on_lease_lost()
        if num_taken_back:
            logger.warning("requests taken back from workers that died: %d", num_taken_back)
        if not is_consistent:
            num_changed = _checked(self._line.ask(script("reconcile"))[0])
            if num_changed:
                logger.info("put %d requests right that were changed from outside", num_changed)

    def _tell(self) -> Any:
        report = self._last_report = self._reported()
        reply, *told = self._line.ask(self._command(report), *self._reporter.commands(report.totals))
        self._reporter.note_replies(told)
        return _checked(reply)

    def _reported(self) -> WorkerReport:
        """A fault in what it says of itself must not cost a worker its lease: then the last report is told again."""
        try:
            return self._report()
        except Exception:
            logger.exception("the worker's report failed")
            return self._last_report

    def _command(self, report: WorkerReport) -> Command:
        facts = report.gauges | {
            "queues": "correct",
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "ip_address": "",
            "version": _RQ_VERSION,
            "python_version": platform.python_version(),
            "batch_invariance": self.batch_invariance,
        }
        words = [word for fact in facts.items() for word in fact]
        idle_s = f"{time.monotonic() - self.turned_s:.3f}"
        rate = f"{self.tokens_per_s:.1f}"
        return script("beat", self._name, self._lease_s, self.num_held, rate, idle_s, *words)


def _checked(reply: Any) -> Any:
    if isinstance(reply, ResponseError):
        raise LineDown(str(reply)) from reply
    return reply
