"""The autoscaler of the simulated day: the steps of Kubernetes', with the numbers of the manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.plan import autoscaling
from ops.plan.autoscaling import Autoscaler, Behaviour, Seen, by_arithmetic, by_queue_length
from scheduler.capacity.measure import Capacity, Goals
from scheduler.capacity.observed import Observed, WorkerFacts
from scheduler.settings import Settings
from tests.kustomize import build

ROOT = Path(__file__).resolve().parents[2]
GOALS = Goals(slo_wait_s=0.5, deadline_s=30.0)


def seen(capacity: Capacity, reserved: int = 0, waiting: int = 0, workers: int = 4) -> Seen:
    facts = tuple(WorkerFacts(str(number)) for number in range(workers))
    observed = Observed(now=None, workers=facts, reserved_tokens=reserved, num_waiting=waiting)
    return Seen(observed, lambda: capacity, GOALS, 4096)


def test_the_numbers_are_those_of_the_manifests() -> None:
    objects = build(ROOT / "ops" / "deploy" / "kubernetes" / "overlays" / "sentinel")
    spec = next(one["spec"] for one in objects if one["kind"] == "ScaledObject" and one["metadata"]["name"] == "worker")
    behaviour = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    up, down = behaviour["scaleUp"], behaviour["scaleDown"]
    policies = {one["type"]: one for one in up["policies"]}
    (removal,) = down["policies"]

    found = Behaviour(
        spec["minReplicaCount"], spec["maxReplicaCount"], policies["Percent"]["value"], policies["Pods"]["value"],
        policies["Pods"]["periodSeconds"], removal["value"], removal["periodSeconds"],
        down["stabilizationWindowSeconds"],
    )  # fmt: skip

    assert found == Behaviour()
    assert (up["stabilizationWindowSeconds"], up["selectPolicy"], removal["type"]) == (0, "Max", "Pods")
    query = next(one["metadata"]["query"] for one in spec["triggers"] if one["name"] == "predicted-wait")
    assert f"> bool {autoscaling.BUSY}" in query
    assert Settings().slo_ms / 1e3 == GOALS.slo_wait_s


@pytest.mark.parametrize(
    ("capacity", "reserved", "wish"),
    [
        (Capacity(workers_needed=7), 0, 7),
        (Capacity(workers_needed=1), 40_960, 10),
        (Capacity(workers_needed=1, predicted_wait_s=0.6, utilization=0.9), 0, 5),
        (Capacity(workers_needed=1, predicted_wait_s=0.6, utilization=0.7), 0, 1),
    ],
    ids=["arithmetic", "tokens", "a long wait of busy workers", "a long wait of idle workers"],
)
def test_the_greatest_trigger_of_the_manifests_counts(capacity: Capacity, reserved: int, wish: float) -> None:
    assert by_arithmetic(seen(capacity, reserved)) == wish


def test_queue_length_alone_sees_only_what_waits() -> None:
    assert by_queue_length(seen(Capacity(workers_needed=9), reserved=99_999, waiting=30)) == 6


def test_more_come_at_once_and_at_most_twice_as_many_within_15_s() -> None:
    scaler, number, numbers = Autoscaler(), 2, []
    for look in range(4):
        number = scaler.next_number(15.0 * look, number, 20.0)
        numbers.append(number)

    assert numbers == [4, 8, 16, 20]


def test_one_goes_a_minute_once_ten_minutes_have_wanted_fewer() -> None:
    scaler, number, history = Autoscaler(), 10, []
    scaler.next_number(0.0, number, 10.0)
    for look in range(1, 70):
        number = scaler.next_number(15.0 * look, number, 2.0)
        history.append((15.0 * look, number))

    assert max(at_s for at_s, n in history if n == 10) == pytest.approx(600.0)
    assert [next(at_s for at_s, n in history if n == wanted) for wanted in (9, 8, 7)] == [615.0, 675.0, 735.0]


def test_differences_of_a_tenth_change_nothing() -> None:
    assert Autoscaler().next_number(0.0, 10, 10.9) == 10
    assert Autoscaler().next_number(0.0, 10, 11.1) == 12


def test_the_number_stays_within_its_bounds() -> None:
    assert Autoscaler().next_number(0.0, 2, 0.0) == 2
    assert Autoscaler().next_number(0.0, 20, 99.0) == 20
