"""The drill on faults: each is turned on in a system under load, a real monitor watches, and the fault is mended again.

It shows which alert is raised, how long after the fault began to hurt, what GET /readyz says meanwhile, and that the
alert is cleared once the fault is gone. docs/reliability.md has the figures.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ops.drills.drill import ONCE, Check, Findings, Stage, Tally, at_most
from ops.drills.inbox import Inbox, monitored
from ops.drills.system import DRILL_SETTINGS, Member, Shape, System
from ops.drills.traffic import ENDLESS, Question, Traffic
from ops.drills.workers import calibrate
from ops.load.arrivals import ClosedLoop
from ops.run.up import why_not_ready
from ops.tables import table
from scheduler.settings import variable

_LOOK_EVERY_S = 0.05
_RAISE_PATIENCE_S = 40.0
_CLEAR_PATIENCE_S = 60.0
_CALM_S = 2.0  # of load before the fault, so that the monitor has seen a sound system
_SLOW_PER_S = 100.0  # so that as many clients are too many on every machine
_SETTINGS = replace(DRILL_SETTINGS, result_ttl_s=60, request_timeout_s=20.0)
_LONG = {"sentence": "Yesterday my brother goed to the big market near the station because they wanted it " * 4}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and what must follow."""

    name: str
    alert: str  # that must be raised, and cleared when it is mended
    within_s: float
    turn_on: Callable[[System], object]
    mend: Callable[[System], object]
    break_: str = ""  # `--break` of all processes, from their start
    clients: int = 16
    question: Question | None = None
    slo_ms: float = _SETTINGS.slo_ms
    is_slowed: bool = False  # the engine does `_SLOW_PER_S`
    is_silent: bool = False  # it hurts from the last answer on
    readyz: str = ""  # what the reason of a 503 must hold; empty: it stays 200
    is_quick: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    raised_s: float | None
    cleared_s: float | None
    why_unready: str
    others: tuple[str, ...]


def faults(stage: Stage) -> Findings:
    """Every fault that `--break` knows, and every kill: its alert is raised in time and cleared, and /readyz tells of
    those that stop all answers."""
    chosen = [fault for fault in FAULTS if fault.is_quick or not stage.is_quick]
    checks: list[Check] = []
    details: dict[str, Any] = {}
    for number, fault in enumerate(chosen):
        stage.show(number / len(chosen), fault.name)
        seen = _hold(stage, fault)
        checks += checks_of(fault, seen)
        details[fault.name] = {
            "alert": fault.alert, "raised_after_s": seen.raised_s, "cleared_after_s": seen.cleared_s,
            "readyz": seen.why_unready or "200", "other_alerts": list(seen.others),
        }  # fmt: skip
    rows = [[name, *list(one.values())[:4]] for name, one in details.items()]
    return Findings(Tally(), checks, details, table(("fault", "alert", ">raised s", ">cleared s", "/readyz"), rows))


def checks_of(fault: Fault, seen: Seen) -> list[Check]:
    told, wanted = seen.why_unready or "200", fault.readyz or "200"
    return [
        Check(f"{fault.name}: {fault.alert}", "raised" if seen.raised_s is not None else "not raised", "raised",
              seen.raised_s is not None),
        at_most(f"{fault.name}: raised after s", seen.raised_s, fault.within_s),
        Check(f"{fault.name}: cleared", "no" if seen.cleared_s is None else "yes", "yes", seen.cleared_s is not None),
        Check(f"{fault.name}: readyz", told, wanted, wanted in told),
    ]  # fmt: skip


def _hold(stage: Stage, fault: Fault) -> Seen:
    questions = [fault.question] if fault.question else stage.questions()
    settings = replace(_SETTINGS, slo_ms=fault.slo_ms)
    slowed = calibrate(_SLOW_PER_S, settings).command if fault.is_slowed else ()
    shape = Shape(settings=replace(settings, break_=fault.break_), worker_command=slowed)
    with (
        stage.system(shape) as system,
        monitored(system, settings) as inbox,
        Traffic(system.urls, questions, ClosedLoop(fault.clients), ENDLESS, ONCE) as traffic,
    ):
        if not fault.break_:
            system.pause(_CALM_S)
        return _watch(fault, system, inbox, traffic)


def _watch(fault: Fault, system: System, inbox: Inbox, traffic: Traffic) -> Seen:
    turned_on_s = time.monotonic()
    fault.turn_on(system)
    raised_at_s, why = _until_raised(fault, system, inbox, turned_on_s)
    hurts_from_s = max(turned_on_s, traffic.last_ok_s) if fault.is_silent else turned_on_s
    others = tuple(sorted(inbox.standing() - {fault.alert}))
    mended_s = time.monotonic()
    traffic.send_no_more()
    fault.mend(system)
    cleared_at_s = None
    while cleared_at_s is None and raised_at_s is not None and time.monotonic() - mended_s < _CLEAR_PATIENCE_S:
        system.pause(_LOOK_EVERY_S)
        cleared_at_s = inbox.first(fault.alert, False, raised_at_s)
    return Seen(_after(raised_at_s, hurts_from_s), _after(cleared_at_s, mended_s), why, others)


def _until_raised(fault: Fault, system: System, inbox: Inbox, since_s: float) -> tuple[float | None, str]:
    """When the alert was raised, and why a probe failed by then."""
    raised_at_s, why, url = None, "", system.urls[0]
    is_seen = lambda: raised_at_s is not None and bool(why or not fault.readyz)  # noqa: E731
    while not is_seen() and time.monotonic() - since_s < _RAISE_PATIENCE_S:
        system.pause(_LOOK_EVERY_S)
        why = why_not_ready(url) or why if fault.readyz else why_not_ready(url) or ""
        raised_at_s = raised_at_s or inbox.first(fault.alert, True, since_s)
    return raised_at_s, why


def _after(at_s: float | None, since_s: float) -> float | None:
    return None if at_s is None else round(at_s - since_s, 1)


def _broken(name: str, alert: str, within_s: float, **about: Any) -> Fault:
    """One of `--break`; sound processes take the place of the broken ones."""
    return Fault(name, alert, within_s, lambda system: None, _replace_all, break_=name, **about)


def _replace_all(system: System) -> None:
    for member in system.members:
        system.take_away(member)
        del member.env[variable("break_")]
        member.bring_back()


def _take_away(role: str) -> Callable[[System], object]:
    return lambda system: [*map(system.take_away, getattr(system, role))]


def _bring_back(role: str) -> Callable[[System], object]:
    return lambda system: [*map(Member.bring_back, getattr(system, role))]


def _signal_workers(number: signal.Signals) -> Callable[[System], object]:
    def send(system: System) -> None:
        for worker in system.workers:
            worker.process.send_signal(number)

    return send


def _configure(maxmemory: int = 0, policy: str = "noeviction") -> Callable[[System], object]:
    return lambda system: system.redis.config_set("maxmemory", maxmemory, "maxmemory-policy", policy)


def _fill(system: System) -> None:
    """Less than it uses: requests stop at three quarters, and would never fill it."""
    system.redis.config_set("maxmemory", int(system.redis.info("memory")["used_memory"] * 0.95))


FAULTS = (
    _broken("leaked-slot", "no-progress", 5.0, is_silent=True, readyz="no-progress", is_quick=True),
    _broken("blocking-call", "api-late", 15.0, clients=32),
    _broken("bypassed-scheduler", "predicted-wait-long", 20.0, clients=400),
    _broken("unbounded-queue", "predicted-wait-long", 20.0, clients=400, is_slowed=True),
    _broken("head-count", "waiting-long", 20.0, clients=200, question=_LONG, is_slowed=True),
    _broken("long-wait", "waiting-long", 20.0, clients=8, slo_ms=100.0),
    Fault("killed workers", "no-live-worker", 3.0, _take_away("workers"), _bring_back("workers"), readyz="No worker",
          is_quick=True),
    Fault("stopped worker", "no-live-worker", 3.5, _signal_workers(signal.SIGSTOP), _signal_workers(signal.SIGCONT),
          readyz="No worker"),
    Fault("killed API", "no-live-api", 10.0, _take_away("apis"), _bring_back("apis"), readyz="does not answer"),
    Fault("killed Redis", "redis-unreachable", 4.0, System.kill_redis, System.start_redis, readyz="Redis"),
    Fault("evicting Redis", "redis-evicts", 3.0, _configure(1 << 30, "allkeys-lru"), _configure(), is_quick=True),
    Fault("full Redis", "redis-memory-high", 8.0, _fill, _configure(), readyz="Redis is full"),
)  # fmt: skip
