"""Costs from measurements: a machine whose costs are known is found again."""

from __future__ import annotations

import numpy as np
import pytest

from ops.load.arrivals import ClosedLoop
from ops.plan import calibrate, fit
from ops.plan.calibrate import Measured
from ops.plan.costs import Calibration
from ops.plan.fit import MeasuredLoad
from ops.plan.mix import Mix
from ops.plan.service import Deployment, Service
from tests.known_costs import COSTS, SENTENCES, TEXTS


def as_measured(costs: Calibration, mix: Mix, clients: int) -> MeasuredLoad:
    """A load on a simulated machine, as a calibration measures one on a real one."""
    outcome = Service(Deployment(cores=costs.cores, has_clients=True), costs, mix).run(ClosedLoop(clients), 2000)
    number, sentences, (prompt, output) = len(outcome.latencies_s), mix.sentences_per_text, mix.mean
    cpu_s = {name: share * outcome.seconds / number for name, share in outcome.busy.items()}
    sums = {"requests": sentences, "prompts": sentences * prompt, "outputs": sentences * output}
    computed_s = costs.worker.seconds(sentences * prompt, sentences * (output - 1)) - costs.worker.iteration_s
    sums["n"] = (cpu_s["worker"] - computed_s) / costs.worker.iteration_s
    p50_s, p95_s = outcome.quantile_s(0.5), outcome.quantile_s(0.95)
    return MeasuredLoad(clients, mix, outcome.throughput_per_s, p50_s, p95_s, cpu_s, sums)


def measured_machine(costs: Calibration) -> Measured:
    loads = [as_measured(costs, SENTENCES, clients) for clients in calibrate.CLIENTS]
    loads.append(as_measured(costs, TEXTS, 16))
    return Measured(loads, costs.cores)


def test_no_cost_is_negative_where_the_noise_would_have_it_so() -> None:
    rows = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])

    found = fit.least_squares(rows, np.array([3.0, 2.0, 1.0]))

    assert found.min() == 0.0
    assert found[0] > 0


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate.calibration_of(measured_machine(COSTS))


def test_a_machine_is_found_again_from_what_a_calibration_measures_of_it(found: Calibration) -> None:
    for measured in measured_machine(COSTS).loads:
        computed = calibrate.simulated(found, measured)
        for name, spent_s in measured.cpu_s.items():
            computed_s = computed.busy[name] * computed.seconds / len(computed.latencies_s)
            assert computed_s == pytest.approx(spent_s, rel=0.12), (name, measured.clients)
    assert found.hop_s == pytest.approx(COSTS.hop_s, abs=10e-6)


def test_a_machine_that_was_found_predicts_loads_that_it_was_not_found_by(found: Calibration) -> None:
    for clients in (3, 12):
        real, computed = as_measured(COSTS, SENTENCES, clients), as_measured(found, SENTENCES, clients)
        assert computed.throughput_per_s == pytest.approx(real.throughput_per_s, rel=0.05)
        assert computed.p95_s == pytest.approx(real.p95_s, rel=0.15)
