"""The mailbox inside one process: its accounts balance at every look, and requests are found again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.capacity.observed import Observed, WorkerFacts
from scheduler.errors import Cancelled, QueueFull, RequestFailed
from scheduler.messages import Completion, CorrectionRequest, FinishReason, FreeCapacity
from tests.mailbox_house import SubmittingMemoryMailbox, answer, take
from tests.recorded_requests import a_record
from tests.unit.small_model import random_weights
from tests.unit.test_actor import request, running
from worker.actor import Actor
from worker.engine import Engine
from worker.mailbox.following import follow
from worker.mailbox.memory_queue import Ledger, MemoryQueue
from worker.mailbox.protocol import MailboxLimits, ReplyMode, Submission, WorkerReport
from worker.model.forward import MiniGPT

ENDS = ("done", "failed", "cancelled", "expired", "removed")


def a_completion(reason: FinishReason = FinishReason.STOP) -> Completion:
    return Completion("r", reason)


def assert_balanced(seen: Observed) -> None:
    ended = sum(seen.counts.get(name, 0) for name in ENDS)
    assert seen.counts.get("accepted", 0) == ended + seen.num_waiting + seen.num_running
    assert (seen.now.accepted, seen.now.ended) == (seen.counts.get("accepted", 0), ended)


def test_the_area_is_the_number_of_open_requests_over_time() -> None:
    ledger = Ledger()
    ledger.accept(10.0)
    ledger.accept(12.0)  # one was open for 2 s
    ledger.end(a_completion(), accepted_s=10.0, now=13.0)  # two for 1 s

    moment = ledger.moment(17.0, {})  # one for 4 s

    assert (moment.area_s, moment.stay_s, moment.at_s) == (2 + 2 + 4, 3.0, 17.0)


def test_once_all_have_ended_the_area_is_the_sum_of_their_times() -> None:
    ledger = Ledger()
    for accepted_s in (1.0, 1.5, 4.0, 4.0):
        ledger.accept(accepted_s)
    for accepted_s, now in ((1.5, 5.0), (1.0, 6.0), (4.0, 6.5), (4.0, 9.0)):
        ledger.end(a_completion(), accepted_s, now)

    moment = ledger.moment(100.0, {})

    assert moment.area_s == moment.stay_s == 3.5 + 5.0 + 2.5 + 5.0


def test_each_end_is_counted_by_its_kind() -> None:
    ledger = Ledger()
    for reason in FinishReason:
        ledger.accept(0.0)
        ledger.end(a_completion(reason), 0.0, 1.0)

    moment = ledger.moment(1.0, {})

    expected = {"accepted": 5, "done": 2, "done_length": 1, "failed": 1, "cancelled": 1, "expired": 1}
    assert dict(ledger.counts) == expected
    assert (moment.accepted, moment.ended) == (5, 5)


def test_a_moment_holds_the_sums_over_iterations_alone() -> None:
    moment = Ledger().moment(1.0, {"iteration:n": 3, "iteration:t": 0.5, "prompt_tokens": 7})

    assert moment.iterations == {"n": 3, "t": 0.5}


def test_history_holds_a_row_a_second_and_two_minutes_of_them() -> None:
    ledger = Ledger()
    for tick in range(1000):
        moment = ledger.moment(tick / 4, {})
        history = ledger.history(moment)

    times = [row.at_s for row in history]
    assert len(times) == 120
    assert times == [130.0 + second for second in range(120)]
    assert moment not in history


def an_actor(mailbox: SubmittingMemoryMailbox) -> Actor:
    engine = Engine(MiniGPT(random_weights(), 160), ContinuousBatching(BatchLimits(160, 1, 160)), clock=lambda: 0.0)
    return Actor(engine, mailbox.worker_end(), grace_s=1.0, idle_wait_s=0.02)


@pytest.fixture
def mailbox() -> Iterator[SubmittingMemoryMailbox]:
    mailbox = SubmittingMemoryMailbox(MailboxLimits(max_requests=4, max_tokens=400))
    yield mailbox
    mailbox.close()


def test_the_accounts_balance_after_each_kind_of_end(mailbox: SubmittingMemoryMailbox) -> None:
    stranger = CorrectionRequest("s", (2,) * 6, (0,) * 6, 4, "another tokenizer")
    cancelled = mailbox.submit(request("c"))
    mailbox.cancel("c")

    with running(an_actor(mailbox)):
        mailbox.wait(mailbox.submit(request("r")))
        with pytest.raises(RequestFailed):
            mailbox.wait(mailbox.submit(stranger))
        with pytest.raises(Cancelled):
            mailbox.wait(cancelled)
        seen = mailbox.observe()

    assert_balanced(seen)
    assert {name: seen.counts[name] for name in ("done", "failed", "cancelled")} == dict.fromkeys(
        ("done", "failed", "cancelled"), 1
    )
    assert seen.now.area_s == pytest.approx(seen.now.stay_s) != 0
    assert seen.totals["generation_tokens"] == seen.totals["iteration:outputs"] > 0
    assert [worker.max_slots for worker in seen.workers] == [1]
    assert seen.num_api_replicas == 1


def test_a_wait_that_is_over_leaves_no_cycle_to_the_collector(mailbox: SubmittingMemoryMailbox) -> None:
    worker = mailbox.worker_end()
    worker.open(lambda: True)
    gc.collect()

    for number in range(20):
        ticket = mailbox.submit(request(f"r{number}"))
        answer(worker, *take(worker))
        mailbox.wait(ticket, timeout_s=1)
    del ticket

    assert gc.collect() < 20


def test_a_refusal_is_counted_with_its_sentences_and_leaves_nothing(mailbox: SubmittingMemoryMailbox) -> None:
    mailbox.submit_all([request(f"r{number}") for number in range(3)])

    with pytest.raises(QueueFull):
        mailbox.submit_all([request("x1"), request("x2")])

    seen = mailbox.observe()
    assert (seen.counts["refused_full"], seen.counts["refused_sentences"], seen.num_waiting) == (1, 2, 3)
    assert_balanced(seen)


def test_a_recorded_request_is_found_again_with_its_answer(mailbox: SubmittingMemoryMailbox) -> None:
    record = Submission("r", "a document", "test-tokenizer", "digest", manner=ReplyMode.ASYNC)
    accepted = mailbox.submit_recorded(record, [request("r")])
    before = mailbox.find("r")

    with running(an_actor(mailbox)):
        ticket = mailbox.submit(request("r"))  # the same body: attached
        completion = mailbox.wait(ticket)

    found = mailbox.find("r")
    assert accepted.outcomes == {}
    assert before.jobs[0].state.value == "queued"
    assert (found.document, found.jobs[0].state) == ("a document", completion)
    assert mailbox.find("unknown") is None


def test_a_followed_request_shows_what_is_written_before_it_ends(mailbox: SubmittingMemoryMailbox) -> None:
    record = Submission("r", "a document", "test-tokenizer", "digest", manner=ReplyMode.FOLLOW)
    accepted = mailbox.submit_recorded(record, [request("r", max_output=16)])

    with running(an_actor(mailbox)):
        *states, last = follow(mailbox, accepted, timeout_s=10)

    outputs = [state[0] for state in states]
    assert all(last[0].output_ids[: len(output)] == output for output in outputs)


def test_the_first_to_look_sees_the_arrivals_of_before(mailbox: SubmittingMemoryMailbox) -> None:
    worker = mailbox.worker_end()
    worker.open(lambda: True)
    worker.exchange([], FreeCapacity(requests=0, tokens=0))

    mailbox.submit(request("r"))
    seen = mailbox.observe()

    assert (seen.history[0].accepted, seen.now.accepted) == (0, 1)


def test_a_worker_is_seen_with_the_limits_that_it_reports(mailbox: SubmittingMemoryMailbox) -> None:
    gauges = {"kv_reserved_tokens": 48, "max_slots": 1, "max_prefill_rows": 256, "computed_tokens_per_s": 12.5}
    mailbox.worker_end().open(lambda: True, lambda: WorkerReport(gauges=gauges))

    (seen,) = mailbox.observe().workers

    assert seen == WorkerFacts(seen.name, reserved_tokens=48, max_slots=1, max_prefill_rows=256, tokens_per_s=12.5)


def test_totals_of_several_workers_add_up_by_field() -> None:
    queue = MemoryQueue()
    queue.reports["one"] = lambda: WorkerReport({"a": 1, "b": 2.5})
    queue.reports["other"] = lambda: WorkerReport({"b": 0.5, "c": 3})

    _, totals, _, _ = queue.look()

    assert totals == {"a": 1, "b": 3.0, "c": 3}


def test_what_the_process_keeps_is_bounded_in_bytes_and_ages_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("worker.mailbox.memory.time.monotonic", lambda: now_s[0])
    monkeypatch.setattr("worker.mailbox.memory_queue.time.monotonic", lambda: now_s[0])
    mailbox = SubmittingMemoryMailbox(MailboxLimits(max_memory_bytes=2 * 10 * 100_000))  # half is for requests
    worker = mailbox.worker_end()
    worker.open(lambda: True, WorkerReport)

    def submit(name: str, is_async: bool = False) -> None:
        record = a_record(name, is_async=is_async)
        record.document = "x" * 96_000
        mailbox.submit_recorded(record, [request(name)])
        assert take(worker) == [name]
        answer(worker, name)

    for number in range(7):
        submit(f"async-{number}", is_async=True)
    with pytest.raises(QueueFull):  # three quarters
        submit("async-7", is_async=True)
    for number in range(3):
        submit(f"waits-{number}")
    with pytest.raises(QueueFull):
        submit("waits-3")
    now_s[0] += 61.0

    for number in range(3, 6):
        submit(f"waits-{number}")
