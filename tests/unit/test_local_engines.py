"""The engines of the modes without a queue: turns in the order of arrival, a bound, and accounts that balance."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any
from unittest.mock import Mock, patch

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
from scheduler.messages import Completion, CorrectionRequest
from tests.mailbox_house import a_bare_submission, eventually, waiting
from tests.pace import patient
from tests.unit.small_model import an_engine, request
from worker.engine import Engine
from worker.local import LocalEngines
from worker.queue.protocol import Submission

LONG_S = patient(60)


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test in an event loop, as the API runs the engines."""

    @wraps(test)
    def run(**given: object) -> None:
        asyncio.run(test(**given))

    return run


@pytest.fixture
def engine() -> Engine:
    return an_engine(160, 1)


def begun(*engines: Engine, max_waiting: int = 2) -> LocalEngines:
    local = LocalEngines(engines, max_waiting)
    local.begin()
    return local


async def submit(local: LocalEngines, *requests: CorrectionRequest, **about: object) -> Submission:
    wanted = waiting(a_bare_submission(requests), LONG_S)
    for name, value in about.items():
        setattr(wanted, name, value)
    await local.enqueue(wanted)
    return wanted


async def correct(local: LocalEngines, *names: str) -> list[Completion]:
    return await local.wait(await submit(local, *map(request, names)))


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG_S):
        while not what():
            await asyncio.sleep(0.001)


@contextmanager
def held(*engines: Engine) -> Iterator[None]:
    """Whoever has one of these engines keeps it meanwhile."""
    is_over = threading.Event()
    with ExitStack() as stack:
        stack.callback(is_over.set)
        for engine in engines:
            step = engine.step
            stack.enter_context(patch.object(engine, "step", lambda step=step: is_over.wait(LONG_S) and step()))
        yield


def served_by(engine: Engine) -> Any:
    """With it, the calls by which the engine takes a request are noted."""
    return patch.object(engine, "accept", wraps=engine.accept)


def ids(accept: Mock) -> list[str]:
    return [call.args[0].request_id for call in accept.call_args_list]


def assert_balanced(seen: Observed, **counts: int) -> None:
    ended = sum(seen.counts.get(name, 0) for name in ("done", "failed", "cancelled", "expired"))
    assert seen.counts["accepted"] == ended + seen.num_waiting + seen.num_running
    assert {name: seen.counts[name] for name in counts} == counts


@pytest.mark.parametrize(("limits", "what"), [("0.005 0", "requests"), ("0 0.05", "tokens")])
@in_a_loop
async def test_a_key_that_has_used_its_limit_is_refused_and_others_are_not(
    engine: Engine, limits: str, what: str
) -> None:
    local = begun(engine)
    for client in ("1", "2"):
        await submit(local, request("a"), client=client, limits=limits)

    with pytest.raises(RateLimited, match=what):
        await submit(local, request("a"), client="1", limits=limits)

    await submit(local, request("a"), client="3")
    assert (await local.observe()).counts["refused_share"] == 1


@in_a_loop
async def test_those_who_wait_are_bounded_and_served_in_the_order_of_arrival(engine: Engine) -> None:
    local = begun(engine)
    with served_by(engine) as accept:
        line = [await submit(local, request(name)) for name in ("first", "second", "third")]
        with pytest.raises(QueueFull) as refusal:
            await submit(local, request("a"), request("b"))
        seen = await local.observe()
        for each in line:
            await local.wait(each)

    assert refusal.value.retry_after_s >= 1
    assert (seen.num_running, seen.num_waiting, seen.reserved_tokens) == (1, 2, 3 * request("x").reserved_tokens)
    assert ids(accept) == ["first", "second", "third"]
    assert_balanced(await local.observe(), done=3, refused_full=1, refused_sentences=2)


@in_a_loop
async def test_who_watches_is_told_that_there_is_no_batch(engine: Engine) -> None:
    with pytest.raises(NeedsAQueue, match="--mode"):
        await begun(engine).news("")


@in_a_loop
async def test_a_text_of_many_sentences_leaves_an_engine_to_others() -> None:
    engines = [an_engine(), an_engine()]
    local = begun(*engines, max_waiting=9)
    with held(*engines):
        text = await submit(local, *map(request, "abcde"))
        await until(lambda: any(engine.policy.has_work for engine in engines))
        other = await submit(local, request("other"))
        await until(lambda: any(engine.policy.holds("other") for engine in engines))

    assert [len(await local.wait(each)) for each in (text, other)] == [5, 1]
    seen = await local.observe()
    assert (seen.counts["done"], seen.totals["iteration:requests"], local.status().live_workers) == (6, 6, 2)
    assert [worker.max_slots for worker in seen.workers] == [each.policy.limits.max_slots for each in engines]


@in_a_loop
async def test_who_gives_up_in_the_line_leaves_it_and_harms_nobody(engine: Engine) -> None:
    local = begun(engine)
    with served_by(engine) as accept:
        with held(engine):
            first = await submit(local, request("first"))
            with pytest.raises(Cancelled):
                await local.wait(waiting(await submit(local, request("left")), LONG_S, has_left=True))
            with pytest.raises(DeadlineExceeded):
                await local.wait(waiting(await submit(local, request("late")), 0.0))
            await until(lambda: not local.status().queue_depth)
        await local.wait(first)

    assert len(await correct(local, "next")) == 1
    assert "late" not in ids(accept) and engine.observations.sums.requests == 2
    assert_balanced(await local.observe(), done=2, expired=1, cancelled=1)


@in_a_loop
async def test_a_client_that_leaves_while_its_sentence_runs_frees_the_engine(engine: Engine) -> None:
    local, step, told = begun(engine), engine.step, []

    def leave_and_step() -> list[Completion]:
        local._loop.call_soon_threadsafe(eventually(lambda: told)[-1])
        eventually(lambda: wanted.has_left)
        return step()

    with patch.object(engine, "step", leave_and_step), pytest.raises(Cancelled):
        wanted = await submit(local, request("a", max_output=32), when_left=told.append)
        await local.wait(wanted)

    await until(lambda: not engine.policy.has_work)
    assert engine.model.arena.num_free == 160
    assert len(await correct(local, "next")) == 1


@in_a_loop
async def test_what_the_model_cannot_run_fails_alone(engine: Engine) -> None:
    local, stranger = begun(engine), CorrectionRequest("s", (2,) * 6, (0,) * 6, 4, "another tokenizer")
    with pytest.raises(RequestFailed):
        await local.wait(await submit(local, stranger))
    broken = patch.object(engine.model, "forward", side_effect=FloatingPointError("made up by a test"))
    with broken, pytest.raises(RequestFailed):
        await correct(local, "a")

    assert len(await correct(local, "next")) == 1
    assert_balanced(await local.observe(), done=1, failed=2)


def faults_of_the_loop() -> list[dict[str, object]]:
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    return faults


@in_a_loop
async def test_those_that_end_at_their_deadline_leave_no_error_in_the_event_loop(engine: Engine) -> None:
    local, faults = begun(engine), faults_of_the_loop()
    for number in range(60):
        with suppress(DeadlineExceeded):
            await local.wait(waiting(await submit(local, request(f"late-{number}")), 0.0005))

    assert len(await correct(local, "next")) == 1
    assert faults == []


@in_a_loop
async def test_a_server_that_stops_tells_those_who_wait_and_those_who_come(engine: Engine) -> None:
    local, faults = begun(engine), faults_of_the_loop()
    with held(engine):
        waits = [asyncio.create_task(correct(local, *names)) for names in (["first"], ["of", "a", "text"])]
        await until(lambda: engine.policy.has_work)
        local.close()
    errors = await asyncio.gather(*waits, return_exceptions=True)

    assert {type(error) for error in errors} <= {ShuttingDown, list} and ShuttingDown in map(type, errors)
    await until(lambda: not local._reserved_tokens)
    assert_balanced(await local.observe(), accepted=4)
    assert faults == []
    with pytest.raises(ShuttingDown):
        await correct(local, "late")
