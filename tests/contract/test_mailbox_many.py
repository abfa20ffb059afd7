"""Several requests as one: accepted all or none, waited for together, given up together."""

from __future__ import annotations

import pytest

from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidRequest,
    RemovedByOperator,
    RequestFailed,
    ServingError,
)
from scheduler.messages import NO_CAPACITY, Completion, CorrectionRequest, FinishReason
from tests.mailbox_house import RedisHouse, SubmittingMailbox, a_request, an_answer, answer, eventually, take, unblocked
from tests.recorded_requests import a_record
from worker.queue.protocol import MailboxLimits
from worker.queue.worker_end import WorkerMailbox


def some(*names: str) -> list[CorrectionRequest]:
    return [a_request(name) for name in names]


def reserved(api: SubmittingMailbox) -> tuple[int, int, int]:
    status = api.status()
    return status.reserved_requests, api.observe().reserved_tokens, status.queue_depth


def test_the_answers_come_in_the_order_of_the_tickets_whoever_is_first(house: RedisHouse) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("c", "a", "b"))
    assert take(worker) == ["c", "a", "b"]

    worker.exchange([an_answer("b", 3), an_answer("a", 2)], NO_CAPACITY)
    worker.exchange([an_answer("c", 1)], NO_CAPACITY)
    completions = unblocked(lambda: api.wait_all(wanted))

    assert [completion.output_ids for completion in completions] == [(1,), (2,), (3,)]
    assert reserved(api) == (0, 0, 0)


@pytest.mark.parametrize("limits", [MailboxLimits(max_requests=2), MailboxLimits(max_tokens=100)])
def test_what_not_even_an_empty_queue_takes_is_the_senders_fault(house: RedisHouse, limits: MailboxLimits) -> None:
    api = house.api(limits)

    with pytest.raises(InvalidRequest, match=r"3 sentences that may need 126 tokens; .* Send it in parts"):
        api.submit_all(some("a", "b", "c"))

    assert reserved(api) == (0, 0, 0)


def test_what_asynchronous_requests_leave_to_others_is_no_room_for_one(house: RedisHouse) -> None:
    api, asked = house.api(MailboxLimits(max_requests=3)), a_record("r", is_async=True)

    with pytest.raises(InvalidRequest, match="queues at most 2 sentences"):
        api.submit_recorded(asked, some("a", "b", "c"))

    assert api.submit_recorded(asked, some("a", "b")) and reserved(api)[0] == 2


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ("failed", RequestFailed, "the arena is on fire"),
        ("late", DeadlineExceeded, "No answer within 0.3 s; the request was cancelled"),
        ("left", Cancelled, "client left"),
        ("called off", Cancelled, "cancelled"),
        ("deleted", RemovedByOperator, "deleted from the queue by hand"),
    ],
)
def test_what_ends_one_without_an_answer_ends_all_and_cancels_what_is_left(
    house: RedisHouse, how: str, error: type[ServingError], told: str
) -> None:
    api, worker = house.api(), house.worker()
    wanted = api.submit_all(some("done", "ends", "runs", "waits"))
    assert take(worker, free_tokens=3 * 42) == ["done", "ends", "runs"]
    answer(worker, "done")
    if how == "failed":
        worker.exchange([Completion("ends", FinishReason.ERROR, error="the arena is on fire")], NO_CAPACITY)
    elif how == "called off":
        api.cancel("ends")
        dropped(worker, "ends")
    elif how == "deleted":
        house.connect().delete("rq:job:ends")
        answer(worker, "ends")  # it did not know

    with pytest.raises(error, match=told):  # what runs is not waited for
        unblocked(lambda: api.wait_all(wanted, 0.3 if how == "late" else 60, has_left=how == "left"))

    dropped(worker, "runs", *(["ends"] if how in ("late", "left") else []))
    eventually(lambda: reserved(api) == (0, 0, 0))
    assert take(worker) == []


def dropped(worker: WorkerMailbox, *names: str) -> None:
    """The worker is told to drop these, and says that it has."""
    told: set[str] = set()
    eventually(lambda: told.update(worker.exchange((), NO_CAPACITY).cancelled_ids) or told == set(names))
    worker.exchange((), NO_CAPACITY)
