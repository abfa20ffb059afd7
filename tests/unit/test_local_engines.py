"""The engines of the modes without a queue: turns in the order of arrival, a bound, and accounts that balance."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeVar
from unittest.mock import patch

import pytest

from scheduler.capacity.observed import Observed
from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    NeedsAQueue,
    QueueFull,
    RateLimited,
    RequestFailed,
    ShuttingDown,
)
from scheduler.messages import Completion, CorrectionRequest, Delivery
from tests.mailbox_house import a_bare_submission, eventually, loop_in_a_thread, waiting
from tests.pace import patient
from tests.unit.small_model import an_engine, request
from worker.engine import Engine
from worker.local import LocalEngines
from worker.queue.protocol import Submission

LONG_S = patient(60)
T = TypeVar("T")


@pytest.fixture
def engine() -> Engine:
    return an_engine(160, 1)


_loops: list[asyncio.AbstractEventLoop] = []


@pytest.fixture(autouse=True)
def _loops_end() -> Iterator[None]:
    yield
    while _loops:
        loop = _loops.pop()
        loop.call_soon_threadsafe(loop.stop)


def begun(local: LocalEngines) -> LocalEngines:
    has_begun, loop = threading.Event(), loop_in_a_thread()
    _loops.append(loop)
    loop.call_soon_threadsafe(lambda: (local.begin(), has_begun.set()))
    assert has_begun.wait(LONG_S)
    return local


@pytest.fixture
def local(engine: Engine) -> LocalEngines:
    return begun(LocalEngines([engine], max_waiting=2))


def call(local: LocalEngines, what: Awaitable[T]) -> T:
    async def run() -> T:
        return await what

    return asyncio.run_coroutine_threadsafe(run(), local._loop).result()


def submit(local: LocalEngines, *requests: CorrectionRequest, **about: object) -> Submission:
    wanted = waiting(a_bare_submission(requests), LONG_S)
    for name, value in about.items():
        setattr(wanted, name, value)
    call(local, local.enqueue(wanted))
    return wanted


def wait(local: LocalEngines, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
    return call(local, local.wait(wanted, job_ids))


def correct(local: LocalEngines, *names: str) -> list[Completion]:
    return wait(local, submit(local, *map(request, names)))


@contextmanager
def held(engine: Engine) -> Iterator[threading.Event]:
    """Whoever has the engine keeps it until the event is set."""
    step, may_go_on = engine.step, threading.Event()

    def wait_and_step() -> list[Completion]:
        assert may_go_on.wait(LONG_S)
        return step()

    with patch.object(engine, "step", wait_and_step):
        try:
            yield may_go_on
        finally:
            may_go_on.set()


@contextmanager
def served_by(engine: Engine) -> Iterator[list[str]]:
    """The ids of the requests that the engine takes, in this order."""
    accept, served = engine.accept, list[str]()

    def note_and_accept(delivery: Delivery) -> Completion | None:
        served.append(delivery.request_id)
        return accept(delivery)

    with patch.object(engine, "accept", note_and_accept):
        yield served


def num_waiting(local: LocalEngines) -> int:
    return call(local, local.observe()).num_waiting


def assert_balanced(seen: Observed, **counts: int) -> None:
    ended = sum(seen.counts.get(name, 0) for name in ("done", "failed", "cancelled", "expired"))
    assert seen.counts["accepted"] == ended + seen.num_waiting + seen.num_running
    assert {name: seen.counts[name] for name in counts} == counts


@pytest.mark.parametrize(("limits", "what"), [("0.005 0", "requests"), ("0 0.05", "tokens")])
def test_a_key_that_has_used_its_limit_is_refused_and_others_are_not(
    local: LocalEngines, limits: str, what: str
) -> None:
    for client in ("1", "2"):
        submit(local, request("a"), client=client, limits=limits)

    with pytest.raises(RateLimited, match=what):
        submit(local, request("a"), client="1", limits=limits)

    submit(local, request("a"), client="3")
    assert call(local, local.observe()).counts["refused_share"] == 1


def test_those_who_wait_are_bounded_and_served_in_the_order_of_arrival(local: LocalEngines, engine: Engine) -> None:
    with ThreadPoolExecutor(3) as pool, served_by(engine) as served, held(engine) as may_go_on:
        threads = [pool.submit(correct, local, "first")]
        eventually(lambda: engine.policy.has_work)
        for number, name in enumerate(("second", "third"), start=1):
            threads.append(pool.submit(correct, local, name))
            eventually(lambda number=number: num_waiting(local) == number)
        with pytest.raises(QueueFull) as refusal:
            submit(local, request("a"), request("b"))
        seen = call(local, local.observe())
        may_go_on.set()
        for thread in threads:
            thread.result(LONG_S)

    assert refusal.value.retry_after_s >= 1
    assert (seen.num_running, seen.num_waiting, seen.reserved_tokens) == (1, 2, 3 * request("x").reserved_tokens)
    assert served == ["first", "second", "third"]
    assert_balanced(call(local, local.observe()), done=3, refused_full=1, refused_sentences=2)


def test_who_watches_is_told_that_there_is_no_batch(local: LocalEngines) -> None:
    with pytest.raises(NeedsAQueue, match="--mode"):
        call(local, local.news(""))


def test_a_text_of_many_sentences_leaves_an_engine_to_others() -> None:
    engines = [an_engine(), an_engine()]
    local = begun(LocalEngines(engines, max_waiting=9))
    with ThreadPoolExecutor(2) as pool, held(engines[0]) as first, held(engines[1]) as second:
        text = pool.submit(correct, local, *"abcde")
        eventually(lambda: any(engine.policy.has_work for engine in engines))
        other = pool.submit(correct, local, "other")
        eventually(lambda: any(engine.policy.holds("other") for engine in engines))
        first.set(), second.set()

        assert [len(each.result(LONG_S)) for each in (text, other)] == [5, 1]

    seen = call(local, local.observe())
    assert (seen.counts["done"], seen.totals["iteration:requests"], local.status().live_workers) == (6, 6, 2)
    assert [worker.max_slots for worker in seen.workers] == [each.policy.limits.max_slots for each in engines]


def test_who_gives_up_in_the_line_leaves_it_and_harms_nobody(local: LocalEngines, engine: Engine) -> None:
    with ThreadPoolExecutor(2) as pool, served_by(engine) as served, held(engine) as may_go_on:
        first = pool.submit(correct, local, "first")
        eventually(lambda: engine.policy.has_work)
        with pytest.raises(Cancelled):
            wait(local, waiting(submit(local, request("left")), LONG_S, has_left=True))
        with pytest.raises(DeadlineExceeded):
            wait(local, waiting(submit(local, request("late")), 0.0))
        may_go_on.set()
        first.result(LONG_S)

    assert len(correct(local, "next")) == 1
    assert "late" not in served and engine.observations.sums.requests == 2
    assert_balanced(call(local, local.observe()), done=2, expired=1, cancelled=1)


def test_a_client_that_leaves_while_its_sentence_runs_frees_the_engine(local: LocalEngines, engine: Engine) -> None:
    step, told = engine.step, []

    def leave_and_step() -> list[Completion]:
        local._loop.call_soon_threadsafe(eventually(lambda: told)[-1])
        eventually(lambda: wanted.has_left)
        return step()

    with patch.object(engine, "step", leave_and_step), pytest.raises(Cancelled):
        wanted = submit(local, request("a", max_output=32), when_left=told.append)
        wait(local, wanted)

    assert eventually(lambda: not engine.policy.has_work) and engine.model.arena.num_free == 160
    assert len(correct(local, "next")) == 1


def test_what_the_model_cannot_run_fails_alone(local: LocalEngines, engine: Engine) -> None:
    stranger = CorrectionRequest("s", (2,) * 6, (0,) * 6, 4, "another tokenizer")
    with pytest.raises(RequestFailed):
        wait(local, submit(local, stranger))
    broken = patch.object(engine.model, "forward", side_effect=FloatingPointError("made up by a test"))
    with broken, pytest.raises(RequestFailed):
        correct(local, "a")

    assert len(correct(local, "next")) == 1
    assert_balanced(call(local, local.observe()), done=1, failed=2)


def test_those_that_end_at_their_deadline_leave_no_error_in_the_event_loop(local: LocalEngines) -> None:
    faults: list[dict[str, object]] = []
    local._loop.call_soon_threadsafe(local._loop.set_exception_handler, lambda _, fault: faults.append(fault))
    for number in range(60):
        with suppress(DeadlineExceeded):
            wait(local, waiting(submit(local, request(f"late-{number}")), 0.0005))

    assert len(correct(local, "next")) == 1
    assert faults == []


async def close(local: LocalEngines) -> None:
    local.close()


def test_a_server_that_stops_tells_those_who_wait_and_those_who_come(local: LocalEngines, engine: Engine) -> None:
    faults: list[dict[str, object]] = []
    local._loop.call_soon_threadsafe(local._loop.set_exception_handler, lambda _, fault: faults.append(fault))
    with ThreadPoolExecutor(2) as pool, held(engine) as may_go_on:
        waiting = [pool.submit(correct, local, "first")]
        eventually(lambda: engine.policy.has_work)
        waiting.append(pool.submit(correct, local, "of", "a", "text"))
        eventually(lambda: num_waiting(local) == 3)
        call(local, close(local))
        may_go_on.set()
        errors: Sequence[BaseException | None] = [each.exception(LONG_S) for each in waiting]

    assert {type(error) for error in errors} <= {ShuttingDown, type(None)} and ShuttingDown in map(type, errors)
    eventually(lambda: not local._reserved_tokens)
    assert_balanced(call(local, local.observe()), accepted=4)
    assert faults == []
    with pytest.raises(ShuttingDown):
        correct(local, "late")
