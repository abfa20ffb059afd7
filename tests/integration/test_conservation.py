"""accepted = done + failed + cancelled + expired + removed + waiting + running, at every look, whatever happens."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from scheduler.errors import ServingError
from scheduler.messages import NO_CAPACITY, Completion, FinishReason, FreeCapacity
from tests.mailbox_house import AMPLE, RedisHouse, SteppedWorkerMailbox, a_request, eventually
from tests.scripted_queue import assert_balanced
from worker.queue.protocol import MailboxLimits
from worker.queue.redis_observer import SystemReader
from worker.queue.redis_py import connect
from worker.queue.worker_end import WorkerMailbox

LOAD_S = 2.5
LEAST_LOOKS = 30
LIMITS = MailboxLimits(max_requests=12)


class Scenes:
    """Clients and a worker that misbehave in every way, each in a thread, at one queue, until told to end."""

    def __init__(self, house: RedisHouse, seed: int) -> None:
        self.faults: list[BaseException] = []
        self._house = house
        self._is_over = threading.Event()
        plays = (self._ask, self._ask, self._ask, self._work)
        dice = [random.Random(f"{seed}-{number}") for number in range(len(plays))]
        self._threads = [threading.Thread(target=self._play, args=one) for one in zip(plays, dice, strict=True)]

    def __enter__(self) -> Scenes:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _play(self, part: Callable[[random.Random], None], rng: random.Random) -> None:
        try:
            part(rng)
        except Exception as error:
            self.faults.append(error)

    def _ask(self, rng: random.Random) -> None:
        """Waits, leaves, calls off or comes too late."""
        api, number = self._house.api(LIMITS), 0
        while not self._is_over.is_set():
            number += 1
            names = [f"{id(api)}-{number}-{part}" for part in range(rng.choice((1, 1, 3)))]
            with suppress(ServingError):
                tickets = api.submit_all([a_request(name) for name in names], within_s=rng.choice((None, 0.01, 5.0)))
                if rng.random() < 0.2:
                    api.cancel(names[0])
                has_left = rng.random() < 0.2
                api.wait_all(tickets, rng.choice((0.03, 0.3)), has_left)

    def _work(self, rng: random.Random) -> None:
        """Answers, fails, hands back, or dies with what it holds."""
        worker, held = self._house.worker(), []
        while not self._is_over.is_set():
            cut = rng.randrange(len(held) + 1)
            answers = [_some_end(rng, name) for name in held[:cut]]
            room = rng.choice((NO_CAPACITY, FreeCapacity(100), AMPLE))
            inbox = worker.exchange(answers, room, wait_s=0.005)
            held = [name for name in held[cut:] if name not in inbox.cancelled_ids]
            held += [delivery.request.request_id for delivery in inbox.deliveries]
            fate = rng.random()
            if fate < 0.05:
                self._house.kill(worker)
            elif fate < 0.1:
                worker.close()
            if fate < 0.1:
                worker, held = self._house.worker(), []
        worker.close()


def _some_end(rng: random.Random, name: str) -> Completion:
    reason = rng.choice((FinishReason.LENGTH, FinishReason.STOP, FinishReason.STOP, FinishReason.ERROR))
    return Completion(name, reason, (7, 1), error="it broke" if reason is FinishReason.ERROR else None)


def finish_all(house: RedisHouse) -> None:
    """By a worker without faults."""
    worker, client, held = house.worker(), house.connect(), []

    def is_empty() -> bool:
        nonlocal held
        inbox = worker.exchange([Completion(name, FinishReason.STOP, (7, 1)) for name in held], AMPLE)
        held = [delivery.request.request_id for delivery in inbox.deliveries]
        return not held and not client.hlen("miniserve:reservations")

    eventually(is_empty, within_s=20)


@pytest.mark.parametrize("kind", [SteppedWorkerMailbox, WorkerMailbox])
def test_the_counts_balance_at_every_look_while_clients_leave_and_workers_die(
    redis_url: str, kind: type[WorkerMailbox]
) -> None:
    house = RedisHouse(lambda: connect(redis_url), kind)
    observatory = SystemReader(connect(redis_url))
    num_looks, until_s = 0, time.monotonic() + LOAD_S

    with Scenes(house, seed=1) as scenes:
        while time.monotonic() < until_s or num_looks < LEAST_LOOKS:
            assert_balanced(observatory.observe())
            num_looks += 1
    finish_all(house)
    seen = observatory.observe()
    observatory.close()
    house.close()

    assert scenes.faults == []
    assert_balanced(seen)
    assert (seen.num_waiting, seen.num_running, seen.reserved_tokens) == (0, 0, 0)
    ends = {name: seen.counts.get(name, 0) for name in ("done", "done_length", "failed", "cancelled", "expired")}
    assert all(ends.values()), f"not every way to end was tried: {ends}"
    # Everybody has ended: the integral of their number is the sum of their times, Little's law to the microsecond.
    assert seen.now.area_s == pytest.approx(seen.now.stay_s, abs=1e-5 * seen.counts["accepted"])
    assert seen.now.stay_s > 0
