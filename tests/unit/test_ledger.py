"""The counts of the modes without a queue: every accepted request ends once, and the books balance at every look."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ops.local_model import InlineModel, ThreadedModel
from scheduler.errors import Cancelled, DeadlineExceeded, QueueFull, RequestFailed
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from scheduler.observed import Observed
from tests.unit.test_actor import request
from tests.unit.test_local_model import GatedModel, engine_of, open_gates
from worker.mailbox.ledger import Ledger
from worker.mailbox.protocol import MailboxLimits
from worker.mailbox.rates import ServiceRate

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


def test_the_books_of_a_model_in_the_process_balance_after_each_kind_of_end() -> None:
    model = GatedModel()
    open_gates([model])
    inline = InlineModel(engine_of(model))
    stranger = CorrectionRequest("s", (2,) * 6, (0,) * 6, 4, "another tokenizer")

    inline.wait(inline.submit(request("r")), timeout_s=10)
    with pytest.raises(RequestFailed):
        inline.wait(inline.submit(stranger), timeout_s=10)

    seen = inline.observe()
    assert_balanced(seen)
    assert (seen.counts["done"], seen.counts["failed"], seen.num_running) == (1, 1, 0)
    assert seen.now.area_s == pytest.approx(seen.now.stay_s) != 0
    assert seen.totals["generation_tokens"] == seen.totals["iteration:outputs"] > 0
    assert [worker.max_slots for worker in seen.workers] == [1]
    assert seen.num_api_replicas == 1


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
def threaded(model: GatedModel) -> Iterator[ThreadedModel]:
    mailbox = ThreadedModel([engine_of(model)], MailboxLimits(max_requests=3, max_tokens=400))
    yield mailbox
    model.gate.set()
    mailbox.close()


def test_who_leaves_is_cancelled_and_whose_time_is_over_has_expired(threaded: ThreadedModel, model: GatedModel) -> None:
    runs = threaded.submit(request("runs"))
    leaves, is_late = threaded.submit(request("leaves")), threaded.submit(request("is late"))

    with pytest.raises(Cancelled):
        threaded.wait(leaves, timeout_s=5.0, has_left=lambda: True)
    with pytest.raises(DeadlineExceeded):
        threaded.wait(is_late, timeout_s=0.05)
    amid = threaded.observe()
    model.gate.set()
    threaded.wait(runs, timeout_s=10)
    after = threaded.observe()

    assert_balanced(amid)
    assert (amid.counts["cancelled"], amid.counts["expired"]) == (1, 1)
    assert amid.num_running + amid.num_waiting == 1
    assert_balanced(after)
    assert after.counts["done"] == 1
    assert after.now.area_s == pytest.approx(after.now.stay_s)


def test_what_is_refused_is_counted_and_was_never_accepted(
    threaded: ThreadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        threaded.submit(request(f"r{number}"))

    with pytest.raises(QueueFull):
        threaded.submit(request("one too many"))
    threaded.cancel("r2")
    monkeypatch.setattr(ServiceRate, "tokens_per_s", 1.0)
    with pytest.raises(DeadlineExceeded):
        threaded.submit(request("too late"), within_s=0.5)

    seen = threaded.observe()
    assert (seen.counts["refused_full"], seen.counts["refused_late"], seen.now.refused) == (1, 1, 2)
    assert seen.counts["accepted"] == 3
    assert_balanced(seen)


def test_the_books_balance_at_every_look_while_requests_come_and_go(threaded: ThreadedModel, model: GatedModel) -> None:
    model.gate.set()
    looks: list[Observed] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            looks.append(threaded.observe())

    looker = threading.Thread(target=look)
    looker.start()
    for number in range(60):
        threaded.wait(threaded.submit(request(f"r{number}", max_output=2)), timeout_s=10)
    is_over.set()
    looker.join()

    assert len(looks) > 10
    for seen in looks:
        assert_balanced(seen)
