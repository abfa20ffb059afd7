"""What is noted of a request on its way: text of numbers, bounded, read back as it was."""

from __future__ import annotations

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.trace_parts import RequestPart, SequencePart, Step, TraceError
from scheduler.traces import RecentIterations, request_text
from tests.unit.small_model import random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT
from worker.observer import EngineObserver


def traced_engine() -> tuple[Engine, list[float]]:
    """With a clock that the test turns."""
    now = [100.0]
    engine = Engine(MiniGPT(random_weights(), 2048), ContinuousBatching(BatchLimits(2048, 8, 512)), lambda: now[0])
    engine.observer = EngineObserver(keeps_traces=True)
    return engine, now


def delivery(name: str, max_output: int, waited_s: float = 0.0) -> Delivery:
    return Delivery(CorrectionRequest(name, (5, 6, 7), (0, 0, 0), max_output, "test-tokenizer"), 2, waited_s)


def test_a_sequence_is_traced_from_its_acceptance_to_its_last_token() -> None:
    engine, now = traced_engine()
    engine.accept(delivery("long", 4, waited_s=0.5))
    completions: list[Completion] = engine.step()  # at 100
    now[0] += 0.25
    engine.accept(delivery("short", 1))
    steps = 0
    while engine.policy.has_work:
        now[0] += 0.010
        completions += engine.step()
        steps += 1

    found = {each.request_id: SequencePart.from_text(each.trace) for each in completions}

    one = found["long"]
    assert (one.attempt, one.slot, one.prompt_tokens) == (2, 0, 3)
    assert (one.queue_s, one.prefill_s) == (0.5, 0.0)
    assert one.output_tokens == len(one.steps) == steps + 1
    assert one.steps[1] == Step(pytest.approx(0.260, abs=1e-5), 2)
    assert found["short"].steps == (Step(pytest.approx(0.260, abs=1e-5), 2),)


def test_a_sequence_that_is_cancelled_says_so_in_its_trace() -> None:
    engine, _ = traced_engine()
    engine.accept(delivery("r", 8))
    engine.step()

    cancelled = engine.cancel("r")

    assert SequencePart.from_text(cancelled.trace).finish_reason is FinishReason.CANCELLED


def test_an_engine_whose_traces_are_off_writes_none() -> None:
    engine, _ = traced_engine()
    engine.observer = EngineObserver()
    engine.accept(delivery("r", 1))

    assert [completion.trace for completion in engine.step()] == [""]


def test_only_the_last_iterations_are_remembered() -> None:
    iterations = RecentIterations()

    for number in range(1000):
        iterations.note(0.001, number)

    assert iterations.last(1) == "1000:999"
    assert iterations.last(3).split()[0] == "1000:997"
    assert iterations.last(0) == ""
    assert len(iterations.last(1000).split()) < 300


@pytest.mark.parametrize("job_ids", [("r",), ("r-1", "r-2"), ("r-1", "r-3-1", "r-3-2")])
def test_the_part_of_a_replica_is_read_as_it_was_written(job_ids: tuple[str, ...]) -> None:
    times_s = (10.0, 10.001, 10.002, 10.003, 10.005, 0.0, 10.25)

    found = RequestPart.from_text("r", request_text("r", job_ids, (504, "deadline-exceeded"), 1_700_000_000.5, times_s))

    assert (found.job_ids, found.status, found.slug) == (job_ids, 504, "deadline-exceeded")
    assert found.received_at_s == 1_700_000_000.5
    assert (found.parsed_s, found.accepted_s, found.delivered_s) == pytest.approx((0.001, 0.005, 0.25), abs=2e-6)
    assert found.answered_s == 0.0


@pytest.mark.parametrize("text", ["", ";;", "1,2;3", "1,0,3,4,eos,5,6;7:8", "a,0,3,4,stop,5,6;7:8", "x" * 500])
def test_a_part_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(TraceError):
        SequencePart.from_text(text)
    with pytest.raises(TraceError):
        RequestPart.from_text("r", text)
