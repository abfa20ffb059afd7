"""Learners who are answered while replicas are killed, and the comparison of what they got with what was counted."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock, Thread

from tests.running_system import RunningSystem, descendants, send, wait_until

SENTENCE = "He goed home"


@dataclass
class LearnerTraffic:
    """`rate_per_s` requests for `num_learners` learners from some clients, each of which waits for its answer."""

    system: RunningSystem
    num_learners: int
    rate_per_s: float
    num_clients: int = 8
    delivered: Counter[str] = field(default_factory=Counter)
    uncertain: Counter[str] = field(default_factory=Counter)  # the connection broke before the answer
    delivered_s: list[float] = field(default_factory=list)
    killed_s: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def run(self, duration_s: float, kill_every_s: float) -> None:
        """Kill a process of the API at intervals, while the clients go on."""
        until_s = time.monotonic() + duration_s
        clients = [Thread(target=self._ask_until, args=(until_s, seed)) for seed in range(self.num_clients)]
        for client in clients:
            client.start()
        due_s = time.monotonic() + kill_every_s
        while due_s < until_s:
            wait_until(lambda due_s=due_s: time.monotonic() >= due_s, 2 * kill_every_s, "time to kill")
            self._kill(len(self.killed_s))
            due_s += kill_every_s
        for client in clients:
            client.join()

    def _kill(self, number: int) -> None:
        (master,) = self.system.pids("api")
        processes = sorted(descendants(master, recursive=False))
        if processes:
            self.killed_s.append(time.monotonic())
            os.kill(processes[number % len(processes)], signal.SIGKILL)

    def _ask_until(self, until_s: float, seed: int) -> None:
        rng, due_s = random.Random(seed), time.monotonic()
        while (now := time.monotonic()) < until_s:
            if now < due_s:
                time.sleep(due_s - now)
            due_s = max(due_s + self.num_clients / self.rate_per_s, time.monotonic() - 1.0)
            self.ask(f"learner-{rng.randrange(self.num_learners)}")

    def ask(self, learner: str) -> None:
        body = json.dumps({"sentence": SENTENCE, "learner_id": learner}).encode()
        try:
            reply = send(self.system.url, "POST", "/correct", body, {"Content-Type": "application/json"})
        except (OSError, HTTPException, ValueError):
            with self._lock:
                self.uncertain[learner] += 1
            return
        if reply.status == 200:
            with self._lock:
                self.delivered[learner] += 1
                self.delivered_s.append(time.monotonic())

    def compare(self) -> tuple[list[str], int]:
        """Learners with more counts than answers they may have been given; and how many counts are missing."""
        counted = self.counted([*{*self.delivered, *self.uncertain}])
        more = {learner: number - self.delivered[learner] for learner, number in counted.items()}
        wrong = [learner for learner, number in more.items() if number > self.uncertain[learner]]
        return wrong, -sum(number for number in more.values() if number < 0)

    def counted(self, learners: Sequence[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        for learner in learners:
            reply = send(self.system.url, "GET", f"/learners/{learner}")
            found[learner] = reply.body["corrections"] if reply.status == 200 else 0
        return found

    def num_under_way(self, within_s: float) -> int:
        """Answers of the last moment before a kill, whose counts may not have been sent."""
        return sum(any(0 <= killed - at < within_s for killed in self.killed_s) for at in self.delivered_s)
