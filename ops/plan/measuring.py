"""Measures this machine for a calibration: a whole system under a few short loads."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ops.bench.system import ROLES, System, cpu_us
from ops.load import prompts
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.measurements import Measurements, measure
from ops.load.traffic import MEASURED, Traffic
from ops.observe.scrape import scrape
from ops.plan.fit import MeasuredLoad
from ops.plan.mix import Mix

_REPORTED_S = 0.6  # until the processes have reported what they counted
_IDLE_S = 2.0
_WARM_UP_S = 1.5
_WARM_UP_CLIENTS = 16


class MeasuredSystem:
    """A `miniserve up` of our own, and what its processes use."""

    def __init__(self, system: System) -> None:
        self._pid, self._url = system.pid, system.url
        self._idle: dict[str, float] = {}  # by process: share of a core

    def warm_up(self, texts: Sequence[str]) -> None:
        """A load that does not count, then the time that the processes use without one."""
        self._put(_WARM_UP_CLIENTS, texts, _WARM_UP_S)
        time.sleep(_REPORTED_S)
        begun_s, before = time.monotonic(), cpu_us(self._pid)
        time.sleep(_IDLE_S)
        after, seconds = cpu_us(self._pid), time.monotonic() - begun_s
        self._idle = {role: (after[role] - before[role]) / 1e6 / seconds for role in ROLES}

    def measure(self, clients: int, texts: Sequence[str], mix: Mix, seconds: float) -> MeasuredLoad:
        """Some clients in a closed loop. Raises RuntimeError where nothing is answered."""
        sums, before, own_s = self._sums(), cpu_us(self._pid), time.process_time()
        measured = self._put(clients, texts, seconds)
        own_s, after = time.process_time() - own_s, cpu_us(self._pid)
        if not (number := measured.statuses[200]):
            raise RuntimeError(f"no request was answered: {dict(measured.problems + measured.failures)}")
        time.sleep(_REPORTED_S)
        spent_s = {
            role: max(0.0, (after[role] - before[role]) / 1e6 - self._idle[role] * measured.elapsed_s) / number
            for role in ROLES
        }
        p50_s, p95_s = np.percentile(measured.latencies_s, (50, 95)).tolist()
        ran = {name: (value - sums[name]) / number for name, value in self._sums().items()}
        return MeasuredLoad(
            clients, mix, number / measured.elapsed_s, p50_s, p95_s, spent_s | {"client": own_s / number}, ran
        )

    def _put(self, clients: int, texts: Sequence[str], seconds: float) -> Measurements:
        limits = Limits(duration_s=seconds)
        return measure(Traffic([self._url], prompts.questions(texts), ClosedLoop(clients), limits, MEASURED))

    def _sums(self) -> dict[str, float]:
        """What the workers have counted: iterations, sentences, their prompt tokens, their output tokens."""
        seen = scrape(self._url)
        names = {"requests": "request_success", "prompts": "prompt_tokens", "outputs": "generation_tokens"}
        found = {name: seen.total(f"miniserve_{metric}_total") for name, metric in names.items()}
        return found | {"n": seen.histogram("miniserve_iteration_tokens").count}
