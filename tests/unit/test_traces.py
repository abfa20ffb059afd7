"""What is noted of a request on its way, and how it is kept: text of numbers, bounded, read back as it was."""

from __future__ import annotations

import pytest

from scheduler.batching import BatchLimits
from scheduler.continuous import ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery, FinishReason
from scheduler.traces import Iterations, Marks, RequestPart, SequencePart, Step, TraceError, request_text
from tests.unit.small_model import random_weights
from worker.engine import Engine
from worker.mailbox import traces as kept
from worker.mailbox.traces import Traces
from worker.model import MiniGPT
from worker.tracing import Tracer


def traced_engine() -> tuple[Engine, Traces, list[float]]:
    """With a clock that the test turns."""
    now = [100.0]
    engine = Engine(MiniGPT(random_weights(), 2048), ContinuousBatching(BatchLimits(2048, 8, 512)), lambda: now[0])
    traces = Traces(ttl_s=60)
    engine.tracer = Tracer(engine.policy, traces)
    return engine, traces, now


def delivery(name: str, max_output: int, waited_s: float = 0.0) -> Delivery:
    return Delivery(CorrectionRequest(name, (5, 6, 7), (0, 0, 0), max_output, "test-tokenizer"), 2, waited_s)


def lines(traces: Traces) -> dict[str, str]:
    return dict(line.split(" ", 1) for text in traces.to_send().values() for line in text.split("\n") if line)


def test_a_sequence_is_traced_from_its_acceptance_to_its_publishing() -> None:
    engine, traces, now = traced_engine()
    engine.accept(delivery("long", 4, waited_s=0.5))
    engine.step()  # at 100
    now[0] += 0.25
    engine.accept(delivery("short", 1))
    steps = 0
    while engine.has_work:
        now[0] += 0.010
        engine.step()
        steps += 1
    engine.tracer.note_published(now[0] + 0.002)

    found = {name: SequencePart.from_text(text) for name, text in lines(traces).items()}

    one = found["long"]
    assert (one.attempt, one.slot, one.prompt_tokens) == (2, 0, 3)
    assert (one.queue_s, one.prefill_s) == (0.5, 0.0)
    assert one.output_tokens == len(one.steps) == steps + 1
    assert one.steps[1] == Step(pytest.approx(0.260, abs=1e-5), 2)
    assert one.publish_s == pytest.approx(0.002, abs=1e-5)
    assert found["short"].steps == (Step(pytest.approx(0.260, abs=1e-5), 2),)


def test_a_sequence_that_is_called_off_says_so_in_its_trace() -> None:
    engine, traces, _ = traced_engine()
    engine.accept(delivery("r", 8))
    engine.step()

    engine.cancel("r")
    engine.tracer.note_published(101.0)
    engine.tracer.note_published(102.0)

    assert len(traces._lines) == 1
    assert SequencePart.from_text(lines(traces)["r"]).finish_reason is FinishReason.CANCELLED


def test_an_answer_that_is_not_out_has_no_trace_yet() -> None:
    engine, traces, _ = traced_engine()
    engine.accept(delivery("r", 1))

    engine.step()

    assert not traces.has_parts


def test_only_the_last_iterations_are_remembered() -> None:
    iterations = Iterations()

    for number in range(1000):
        iterations.note(0.001, number)

    assert iterations.text_since(1000) == "1000:999"
    assert iterations.text_since(998).split()[0] == "1000:997"
    assert 0 < len(iterations.text_since(1).split()) < 200


@pytest.mark.parametrize("job_ids", [("r",), ("r-1", "r-2"), ("r-1", "r-3-1", "r-3-2")])
def test_the_part_of_a_replica_is_read_as_it_was_written(job_ids: tuple[str, ...]) -> None:
    marks = Marks(10.0, 10.001, 10.002, 10.003, 10.005, 0.0, 10.25, job_ids)

    found = RequestPart.from_text("r", request_text("r", marks, 504, "deadline-exceeded", 1_700_000_000.5))

    assert (found.job_ids, found.status, found.slug) == (job_ids, 504, "deadline-exceeded")
    assert found.received_at_s == 1_700_000_000.5
    assert (found.parsed_s, found.accepted_s, found.delivered_s) == pytest.approx((0.001, 0.005, 0.25), abs=2e-6)
    assert found.answered_s == 0.0


@pytest.mark.parametrize("text", ["", ";;", "1,2;3", "1,0,3,4,eos,5,6;7:8;9", "a,0,3,4,stop,5,6;7:8;9", "x" * 500])
def test_a_part_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(TraceError):
        SequencePart.from_text(text)
    with pytest.raises(TraceError):
        RequestPart.from_text("r", text)


def test_parts_that_may_be_lost_are_sent_again_until_they_are_taken() -> None:
    traces = Traces(ttl_s=60)
    traces.add("a1", "one")
    traces.add("b1", "two")

    first = traces.to_send()
    traces.add("a2", "three")
    again = traces.to_send()
    traces.note_taken()

    assert first == again == {"a1": "\na1 one", "b1": "\nb1 two"}
    assert traces.to_send() == {"a2": "\na2 three"}


def test_while_nobody_takes_them_the_oldest_parts_go_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_KEPT", 10)
    traces = Traces(ttl_s=60)

    for number in range(25):
        traces.add(f"r{number}", "part")

    assert traces.num_dropped == 15
    assert list(lines(traces)) == [f"r{number}" for number in range(15, 25)]
