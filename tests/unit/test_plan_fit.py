"""Costs from measurements: a machine whose costs are known is found again."""

from __future__ import annotations

import pytest

from ops.load.arrivals import ClosedLoop
from ops.plan.calibrate import LOADS, Measured, calibration_of, least_squares
from ops.plan.costs import Calibration
from ops.plan.mix import Mix
from ops.plan.service import Deployment, Service
from scheduler.observations import DECODE_WORK
from tests.known_costs import COSTS, SENTENCES, TEXTS


def as_measured(costs: Calibration, mix: Mix, clients: int) -> Measured:
    """A load on a simulated machine, as a calibration measures one on a real one."""
    outcome = Service(Deployment(cores=2), costs, mix).run(ClosedLoop(clients), 2000)
    sentences, (prompt, output) = mix.sentences_per_text, mix.mean
    cpu_s = {name: share / outcome.throughput_per_s for name, share in outcome.busy.items()}
    units = sentences * (prompt + DECODE_WORK * (output - 1))
    iterations = (cpu_s["worker"] - units * costs.worker.unit_s) / costs.worker.iteration_s
    p50_s, p95_s = outcome.quantile_s(0.5), outcome.quantile_s(0.95)
    return Measured(clients, outcome.throughput_per_s, p50_s, p95_s, sentences, cpu_s, iterations, units)


def test_no_cost_is_negative_where_the_noise_would_have_it_so() -> None:
    found = least_squares([(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], [3.0, 2.0, 1.0])

    assert min(found) == 0.0
    assert found[0] > 0


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibration_of([as_measured(COSTS, TEXTS if size > 1 else SENTENCES, clients) for clients, size in LOADS])


def test_a_machine_is_found_again_from_what_a_calibration_measures_of_it(found: Calibration) -> None:
    for name, unit in (("worker", "unit_s"), ("worker", "iteration_s"), ("api", "sentence_s"), ("redis", "request_s")):
        assert getattr(getattr(found, name), unit) == pytest.approx(getattr(getattr(COSTS, name), unit), rel=0.05)
    assert found.hop_s == pytest.approx(COSTS.hop_s, abs=10e-6)


def test_a_machine_that_was_found_predicts_loads_that_it_was_not_found_by(found: Calibration) -> None:
    for clients in (3, 12):
        real, computed = as_measured(COSTS, SENTENCES, clients), as_measured(found, SENTENCES, clients)
        assert computed.per_s == pytest.approx(real.per_s, rel=0.05)
        assert computed.p95_s == pytest.approx(real.p95_s, rel=0.15)
