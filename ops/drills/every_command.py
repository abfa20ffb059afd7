"""The drill that kills a process after every single Redis command of a request's life.

A worker's part of it is counted from the BLMOVE it rests in, an API replica's from the first command after the request
has come. At each command the process dies once before the reply gets back to it and once after; heartbeats and
messages of the subscription have points of their own. Killed API replicas: the client sends again to the other one,
with the same `Idempotency-Key`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ops.drills.drill import Findings, Stage, at_least, equal, num_stored_twice, tally
from ops.drills.proxy import MESSAGE, Tripwire
from ops.drills.system import Shape, System
from ops.drills.traffic import ENDLESS, Exchange, Habits, Question, Traffic
from ops.load.arrivals import ClosedLoop, Limits

_WORKER_RESTS_IN = "BLMOVE"
_REACH_S = 10.0
_BEAT = "beat"
_BEAT_CLIENTS = 8  # the worker then holds some of theirs at the moment of a beat
_NEVER = 10**9
_TRIES = 3  # on a busy machine a request may take a command less than the one whose commands were counted


@dataclass(frozen=True, slots=True)
class Point:
    """One place to die at."""

    wire: Tripwire
    is_slow: bool = False  # no worker is there for the first two seconds, so that the API asks what became of it

    @property
    def comes_by_the_clock(self) -> bool:
        """So that requests must come until it does."""
        return self.wire.only == _BEAT

    @property
    def side(self) -> str:
        return "before its reply" if self.wire.before_reply else "after its reply"


def every_command(stage: Stage) -> Findings:
    """SIGKILL a worker, then an API replica, at every command between it and Redis, before and after the reply. Every
    point recovers: the request is answered, once, as in the calm run."""
    question = {"sentence": "Yesterday she goed to school and he don't like it."}
    exchanges: list[Exchange] = []
    points: dict[bool, list[str]] = {True: [], False: []}  # by whether they were reached
    twice = 0
    for shape, points_of in (
        (Shape(proxied="worker 1"), _worker_points),
        (Shape(num_apis=2, proxied="api 1"), _api_points),
    ):
        with stage.system(shape) as system:
            calm = stage.calm(system, [question])
            for label, is_reached, ended in _walk(stage, system, points_of(stage, system, question), question):
                points[is_reached].append(label)
                exchanges += ended
            twice += num_stored_twice(system)
    outcome = tally(exchanges, calm, twice)
    checks = [
        *outcome.checks(),
        at_least("points", len(points[True]), 1),
        equal("points not reached", len(points[False]), 0),
    ]
    return Findings(outcome, checks, {"points": points[True], "not_reached": points[False]})


def _worker_points(stage: Stage, system: System, question: Question) -> list[Point]:
    names = _life(system, question, Tripwire(_NEVER, True, begins_with=_WORKER_RESTS_IN))
    wires = [
        Tripwire(number, before, begins_with=_WORKER_RESTS_IN)
        for number, before in itertools.product(range(1, len(names) + 1), (True, False))
    ]
    wires += [Tripwire(1, before, only=_BEAT) for before in (True, False)]
    points = [Point(wire) for wire in wires]
    return stage.size(points, [points[0], points[-4]])  # taken, and answered: before the reply


def _api_points(stage: Stage, system: System, question: Question) -> list[Point]:
    names = _life(system, question, Tripwire(_NEVER, True))
    wires = [Tripwire(number, before) for number in range(1, len(names) + 1) for before in (True, False)]
    points = [Point(wire) for wire in wires]
    points += [Point(Tripwire(1, before, only=MESSAGE)) for before in (True, False)]
    points += [Point(Tripwire(1, before, only="check"), is_slow=True) for before in (True, False)]
    return stage.size(points, points[:2])  # the request pushed


def _life(system: System, question: Question, wire: Tripwire) -> list[str]:
    """The commands of one request that nothing happens to, the last of the worker's being the one that answers."""
    with _watching(system, Point(wire), lambda: None), _asking(system, question) as traffic:
        system.wait_until(lambda: traffic.is_over, _REACH_S, "the answer")
    names = system.proxy.unwatch()
    is_worker = "finish" in names
    return names[: names.index("finish") + 1] if is_worker else names


def _walk(
    stage: Stage, system: System, points: list[Point], question: Question
) -> Iterator[tuple[str, bool, list[Exchange]]]:
    """Of every point its name, whether it was reached, and what became of the requests."""
    victim = next(member for member in system.members if member.name == system.shape.proxied)
    for number, point in enumerate(points):
        stage.show(number / len(points), f"{victim.name}, point {number + 1} of {len(points)}")
        ended: list[Exchange] = []
        for _ in range(_TRIES):
            system.wait_until(system.is_ready, 30.0, "ready for the next point")
            with _watching(system, point, victim.kill), _asking(system, question, point.comes_by_the_clock) as traffic:
                _until_answered(system, traffic, point)
            names = system.proxy.unwatch()
            ended += traffic.ended
            if system.proxy.has_tripped:
                break
        name = names[-1] if names else point.wire.only or "nothing"
        yield f"{victim.name}: {name} {point.side} (command {len(names)})", system.proxy.has_tripped, ended


def _until_answered(system: System, traffic: Traffic, point: Point) -> None:
    if point.is_slow or point.comes_by_the_clock:
        system.wait_until(lambda: system.proxy.has_tripped, _REACH_S, "the point")
    if point.is_slow:
        system.workers[0].is_kept = True
    if point.comes_by_the_clock:
        traffic.send_no_more()
    while not traffic.is_over:
        system.pause(0.01)


@contextmanager
def _watching(system: System, point: Point, on_trip: Callable[[], None]) -> Iterator[None]:
    if point.is_slow:
        system.take_away(system.workers[0])
    system.proxy.watch(point.wire, on_trip)
    if point.wire.begins_with:
        system.wait_until(lambda: bool(system.proxy.names), _REACH_S, f"a worker that rests in {_WORKER_RESTS_IN}")
    yield


@contextmanager
def _asking(system: System, question: Question, until_told: bool = False) -> Iterator[Traffic]:
    """Once, or again and again."""
    arrivals, limits = (ClosedLoop(_BEAT_CLIENTS), ENDLESS) if until_told else (ClosedLoop(1), Limits(total=1))
    with Traffic(system.urls, [question], arrivals, limits, Habits(is_keyed=True)) as traffic:
        yield traffic
