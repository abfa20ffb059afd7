"""The drill on faults: each is turned on in a system under load, a real monitor watches, and the fault is mended again.

It shows which alert is raised, how long after the fault began to hurt, what GET /readyz says meanwhile, and that the
alert is cleared once the fault is gone. docs/reliability.md has the figures.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from ops.drills.drill import Load, Part, Stage
from ops.drills.figures import Bar, Figures
from ops.drills.system import DRILL_SETTINGS, Shape, System
from ops.load.traffic import ONCE, Question, Traffic
from ops.run import processes
from ops.run.supervisor import Member, running
from ops.run.up import why_not_ready
from scheduler.settings import variable

_LOOK_EVERY_S = 0.05
_RAISE_PATIENCE_S = 40.0
_CLEAR_PATIENCE_S = 60.0
_CALM_S = 2.0  # of load before the fault, so that the monitor has seen a sound system
_SLOW_PER_S = 100.0  # so that as many clients are too many on every machine
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60, request_timeout_s=20.0)
_LONG = {"sentence": "Yesterday my brother goed to the big market near the station because they wanted it " * 4}


def _nothing(system: System) -> None:
    """The processes are broken, or the load too high, from the start."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and what must follow."""

    name: str
    alert: str  # that must be raised, and cleared when it is mended
    within_s: float
    turn_on: Callable[[System], object]
    mend: Callable[[System], object]
    break_: int = 0  # `--break` of all processes, from their start
    clients: int = 16
    questions: tuple[Question, ...] = ()  # empty: as usual
    slo_ms: float = _SETTINGS.slo_ms
    slowed_to_per_s: float = 0.0
    is_silent: bool = False  # it hurts from the last answer on
    readyz: str = ""  # what the reason of a 503 must hold; empty: it stays 200
    is_quick: bool = False

    def part(self) -> Part:
        questions = (lambda _: self.questions) if self.questions else None
        load = Load(
            name=self.name, clients=self.clients, questions=questions, habits=ONCE, fault=partial(_watched, self),
            is_counted=False,
        )  # fmt: skip
        bars = (
            Bar(f"{self.name}: {self.alert}", f"{self.name}/raised_after_s", "<=", _RAISE_PATIENCE_S),
            Bar(f"{self.name}: raised after s", f"{self.name}/raised_after_s", "<=", self.within_s),
            Bar(f"{self.name}: cleared", f"{self.name}/cleared_after_s", "<=", _CLEAR_PATIENCE_S),
            Bar(f"{self.name}: readyz", f"{self.name}/readyz", "says", self.readyz or "200"),
        )
        return Part(
            shape=Shape(
                settings=replace(_SETTINGS, slo_ms=self.slo_ms, break_=self.break_),
                slowed_to_per_s=self.slowed_to_per_s,
            ),
            steps=(load,),
            bars=bars,
            only="" if self.is_quick else "full",
        )


def _watched(fault: Fault, stage: Stage, traffic: Traffic) -> Figures:
    """A monitor of the system's settings looks on."""
    settings = replace(stage.system.shape.settings, redis_url=stage.system.redis_url, log_level="info")
    env = processes.environment(replace(settings, log_format="json").to_env())
    with running(Member("monitor", processes.miniserve_command("monitor"), env), lambda: None) as monitor:
        return _hold(fault, stage.system, monitor, traffic)


def _logged_s(monitor: Member, event: str, alert: str, since_s: float) -> float | None:
    """When it first logged this of the alert after that time; by `time.monotonic`, as that is."""
    clocks_s = time.time() - time.monotonic()
    whole_lines = monitor.said().rpartition("\n")[0].splitlines()
    lines = [json.loads(line) for line in whole_lines if f'"{event}"' in line]
    times_s = (datetime.fromisoformat(line["timestamp"]).timestamp() for line in lines if line["alert"] == alert)
    return next((at_s - clocks_s for at_s in times_s if at_s - clocks_s >= since_s), None)


def _hold(fault: Fault, system: System, monitor: Member, traffic: Traffic) -> Figures:
    """Until its alert is raised and a probe fails as it should; then mended, until the alert is cleared."""
    url = system.urls[0]
    if fault.turn_on is not _nothing:
        system.pause(_CALM_S)
    turned_on_s, raised_at_s, cleared_at_s, why = time.monotonic(), None, None, ""
    fault.turn_on(system)
    while (raised_at_s is None or fault.readyz and not why) and time.monotonic() < turned_on_s + _RAISE_PATIENCE_S:
        system.pause(_LOOK_EVERY_S)
        why = why_not_ready(url) or (why if fault.readyz else "")
        raised_at_s = raised_at_s or _logged_s(monitor, "alert raised", fault.alert, turned_on_s)
    hurts_from_s = max(turned_on_s, traffic.last_ok_s) if fault.is_silent else turned_on_s
    mended_s = time.monotonic()
    traffic.send_no_more()
    fault.mend(system)
    while raised_at_s is not None and cleared_at_s is None and time.monotonic() < mended_s + _CLEAR_PATIENCE_S:
        system.pause(_LOOK_EVERY_S)
        cleared_at_s = _logged_s(monitor, "alert cleared", fault.alert, raised_at_s)
    return {
        "alert": fault.alert, "raised_after_s": _after(raised_at_s, hurts_from_s),
        "cleared_after_s": _after(cleared_at_s, mended_s), "readyz": why or "200",
    }  # fmt: skip


def _after(at_s: float | None, since_s: float) -> float | None:
    return None if at_s is None else round(at_s - since_s, 1)


def _broken(number: int, name: str, alert: str, within_s: float, **about: Any) -> Fault:
    """One of `--break`; sound processes take the place of the broken ones."""
    return Fault(name, alert, within_s, _nothing, _replace_all, break_=number, **about)


def _replace_all(system: System) -> None:
    for member in system.members:
        system.take_away(member)
        member.env = {name: value for name, value in (member.env or {}).items() if name != variable("break_")}
        member.start()


def _take_away(role: str) -> Callable[[System], object]:
    return lambda system: [*map(system.take_away, getattr(system, role))]


def _bring_back(role: str) -> Callable[[System], object]:
    return lambda system: [member.start() for member in getattr(system, role)]


def _signal_worker(number: signal.Signals) -> Callable[[System], object]:
    return lambda system: system.workers[0].process.send_signal(number)


def _configure(maxmemory: int = 0, policy: str = "noeviction") -> Callable[[System], object]:
    return lambda system: system.redis.config_set("maxmemory", maxmemory, "maxmemory-policy", policy)


def _fill(system: System) -> None:
    """Less than it uses: requests stop at three quarters, and would never fill it."""
    system.redis.config_set("maxmemory", int(system.redis.info("memory")["used_memory"] * 0.95))


FAULTS = (
    _broken(6, "leaked-slot", "no-progress", 5.0, is_silent=True, readyz="no-progress", is_quick=True),
    _broken(2, "blocking-call", "api-late", 15.0, clients=32),
    _broken(1, "bypassed-scheduler", "predicted-wait-long", 20.0, clients=400),
    _broken(4, "unbounded-queue", "predicted-wait-long", 20.0, clients=400, slowed_to_per_s=_SLOW_PER_S),
    _broken(5, "head-count", "waiting-long", 20.0, clients=200, questions=(_LONG,), slowed_to_per_s=_SLOW_PER_S),
    _broken(3, "long-wait", "waiting-long", 20.0, clients=8, slo_ms=100.0),
    Fault("too many clients", "utilization-high", 20.0, _nothing, _nothing, clients=64, slowed_to_per_s=_SLOW_PER_S,
          is_quick=True),
    Fault("killed workers", "no-live-worker", 3.0, _take_away("workers"), _bring_back("workers"), readyz="No worker",
          is_quick=True),
    Fault("stopped worker", "no-live-worker", 3.5, _signal_worker(signal.SIGSTOP), _signal_worker(signal.SIGCONT),
          readyz="No worker"),
    Fault("killed API", "no-live-api", 10.0, _take_away("apis"), _bring_back("apis"), readyz="does not answer"),
    Fault("killed Redis", "redis-unreachable", 4.0, lambda system: system.take_away(system.server),
          lambda system: system.server.serve(), readyz="Redis"),
    Fault("evicting Redis", "redis-evicts", 3.0, _configure(1 << 30, "allkeys-lru"), _configure(), is_quick=True),
    Fault("full Redis", "redis-memory-high", 8.0, _fill, _configure(), readyz="Redis is full"),
)  # fmt: skip
