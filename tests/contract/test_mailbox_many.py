"""Several requests as one: accepted all or none, waited for together, given up together."""

from __future__ import annotations

import threading

import pytest

from scheduler.errors import Cancelled, DeadlineExceeded, InvalidRequest, QueueFull, RequestFailed
from scheduler.messages import NO_CAPACITY, Completion, CorrectionRequest, FinishReason
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, an_answer, answer, eventually, take, unblocked
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


def some(*names: str) -> list[CorrectionRequest]:
    return [a_request(name) for name in names]


def reserved(api: SubmittingMailbox) -> tuple[int, int, int]:
    status = api.status()
    return status.reserved_requests, status.reserved_tokens, status.queue_depth


def test_requests_submitted_together_are_delivered_in_order_behind_those_before(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("before"))

    wanted = api.submit_all(some("c", "a", "b"))

    assert list(wanted.outcomes) == ["c", "a", "b"]
    assert reserved(api) == (4, 4 * 42, 4)
    assert take(worker) == ["before", "c", "a", "b"]


def test_the_answers_come_in_the_order_of_the_tickets_whoever_is_first(house: RedisHouse) -> None:
    api, one, two = house.api(), house.worker(), house.worker()
    wanted = api.submit_all(some("a", "b", "c"))
    assert (take(one), take(two)) == (["a", "b"], ["c"])

    two.exchange([an_answer("c", 3)], NO_CAPACITY)
    one.exchange([an_answer("b", 2)], NO_CAPACITY)
    one.exchange([an_answer("a", 1)], NO_CAPACITY)

    assert [completion.output_ids for completion in api.wait_all(wanted)] == [(1,), (2,), (3,)]
    assert reserved(api) == (0, 0, 0)


def test_waiting_ends_with_the_last_answer_and_not_before(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("a", "b"))
    assert take(worker) == ["a", "b"]
    answer(worker, "a")
    late = threading.Timer(0.3, answer, [worker, "b"])
    late.start()

    completions = unblocked(lambda: api.wait_all(wanted, 60))
    late.join()

    assert [completion.request_id for completion in completions] == ["a", "b"]


@pytest.mark.parametrize("limits", [MailboxLimits(max_requests=2), MailboxLimits(max_tokens=100)])
def test_what_not_even_an_empty_queue_takes_is_the_senders_fault(house: RedisHouse, limits: MailboxLimits) -> None:
    api = house.api(limits)

    with pytest.raises(InvalidRequest, match=r"3 sentences that may need 126 tokens; .* Send it in parts"):
        api.submit_all(some("a", "b", "c"))

    assert reserved(api) == (0, 0, 0)


def test_those_refused_are_not_attached_to_what_runs_already(house: RedisHouse) -> None:
    limits = MailboxLimits(max_requests=3)
    one, other = house.api(limits), house.api(limits)
    wanted = one.submit_all(some("a", "b", "c"))

    with pytest.raises(QueueFull):
        other.submit_all(some("a", "new"))
    with pytest.raises(DeadlineExceeded):
        one.wait_all(wanted, 0)

    eventually(lambda: reserved(one) == (0, 0, 0))


def test_one_failure_is_the_answer_and_cancels_the_others_at_once(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("a", "b", "c", "d"))
    assert take(worker, free_tokens=3 * 42) == ["a", "b", "c"]
    answer(worker, "a")
    worker.exchange([Completion("c", FinishReason.ERROR, error="the arena is on fire")], NO_CAPACITY)

    with pytest.raises(RequestFailed, match="the arena is on fire"):  # b, which runs, is not waited for
        unblocked(lambda: api.wait_all(wanted, 60))

    assert _told_to_drop(worker) == {"b"}
    eventually(lambda: reserved(api) == (0, 0, 0))
    assert take(worker) == [], "d was taken out of the queue"


def test_one_deadline_counts_for_all_and_cancels_what_is_left(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("a", "b", "c"))
    assert take(worker, free_tokens=2 * 42) == ["a", "b"]
    answer(worker, "a")

    with pytest.raises(DeadlineExceeded, match="No answer within 0.3 s; the request was cancelled"):
        unblocked(lambda: api.wait_all(wanted, 0.3))

    assert _told_to_drop(worker) == {"b"}
    eventually(lambda: reserved(api) == (0, 0, 0))


def test_a_client_that_leaves_cancels_all_that_is_left(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("a", "b", "c"))
    assert take(worker, free_tokens=2 * 42) == ["a", "b"]
    answer(worker, "b")

    with pytest.raises(Cancelled, match="client left"):
        api.wait_all(wanted, has_left=True)

    assert _told_to_drop(worker) == {"a"}
    eventually(lambda: reserved(api) == (0, 0, 0))


def test_the_cancellation_of_one_ends_all(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("a", "b", "c"))

    api.cancel("b")
    with pytest.raises(Cancelled):
        api.wait_all(wanted)

    eventually(lambda: reserved(api) == (0, 0, 0))
    assert take(worker) == []


def test_what_another_waits_for_is_not_cancelled_with_the_others(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    both, shared = api.submit_all(some("a", "b")), api.submit(a_request("b"))

    with pytest.raises(DeadlineExceeded):
        api.wait_all(both, 0)

    eventually(lambda: reserved(api) == (1, 42, 1))
    assert take(worker) == ["b"]
    answer(worker, "b")
    assert api.wait(shared) == an_answer("b")


def _told_to_drop(worker: WorkerMailbox) -> set[str]:
    told: set[str] = set()
    eventually(lambda: told.update(worker.exchange((), NO_CAPACITY).cancelled_ids) or told)
    worker.exchange((), NO_CAPACITY)  # says that they are dropped
    return told
