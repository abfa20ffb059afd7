"""The step that kills a process after every single Redis command of a request's life.

A worker's part of it is counted from the BLMOVE it rests in, an API replica's from the first command after the request
has come. At each command the process dies once before the reply gets back to it and once after; heartbeats and
messages of the subscription have points of their own. Killed API replicas: the client sends again to the other one,
with the same `Idempotency-Key`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ops.drills.drill import Load, Stage, calm
from ops.drills.figures import Figures
from ops.drills.proxy import MESSAGE, Tripwire
from ops.load.traffic import Habits, Traffic

_QUESTION = {"sentence": "Yesterday she goed to school and he don't like it."}
_WORKER_RESTS_IN = "BLMOVE"
_REACH_S = 10.0
_BEAT = "beat"
_NEVER = 10**9
_TRIES = 3  # on a busy machine a request may take a command less than the one whose commands were counted
_ONE = Load(clients=1, requests=1, habits=Habits(is_keyed=True))
_MANY = Load(clients=8, habits=Habits(is_keyed=True))  # the worker then holds some of theirs at the moment of a beat


def die_at_every_command(stage: Stage) -> Figures:
    """SIGKILL the process that the proxy watches at every command, before and after the reply; the points by name."""
    stage.questions = [_QUESTION]
    calm(stage)
    system, reached, missed = stage.system, stage.figures.setdefault("points", []), list[str]()
    victim = next(member for member in system.members if member.name == system.shape.proxied)
    points = _worker_points(stage) if victim in system.workers else _api_points(stage)
    for number, wire in enumerate(points):
        stage.show(number / len(points), f"{victim.name}, point {number + 1} of {len(points)}")
        for _ in range(_TRIES):
            system.wait_until(system.is_ready, 30.0, "ready for the next point")
            names = _ask(stage, wire, victim.kill)
            if system.proxy.has_tripped:
                break
        side = "before its reply" if wire.before_reply else "after its reply"
        words = f"{victim.name}: {names[-1] if names else wire.only or 'nothing'} {side} (command {len(names)})"
        (reached if system.proxy.has_tripped else missed).append(words)
    return {"num_points": len(reached), "not_reached": [*stage.figures.get("not_reached", ()), *missed]}


def _worker_points(stage: Stage) -> list[Tripwire]:
    names = _ask(stage, Tripwire(_NEVER, True, begins_with=_WORKER_RESTS_IN))
    last = names.index("finish") + 1  # the one that answers
    points = [Tripwire(number, before, _WORKER_RESTS_IN) for number in range(1, last + 1) for before in (True, False)]
    points += [Tripwire(1, before, only=_BEAT) for before in (True, False)]
    return stage.size((points, [points[0], points[-4]]))  # taken, and answered: before the reply


def _api_points(stage: Stage) -> list[Tripwire]:
    names = _ask(stage, Tripwire(_NEVER, True))
    points = [Tripwire(number, before) for number in range(1, len(names) + 1) for before in (True, False)]
    points += [Tripwire(1, before, only=MESSAGE) for before in (True, False)]
    points += [Tripwire(1, before, only="check", is_slow=True) for before in (True, False)]
    return stage.size((points, points[:2]))  # the request pushed


def _ask(stage: Stage, wire: Tripwire, on_trip: Callable[[], None] = lambda: None) -> list[str]:
    """Send until the point is reached and all is answered; returns the names of the commands that were counted."""
    system = stage.system
    if wire.is_slow:
        system.take_away(system.workers[0])
    system.proxy.watch(wire, on_trip)
    if wire.begins_with:
        system.wait_until(lambda: bool(system.proxy.names), _REACH_S, f"a worker that rests in {_WORKER_RESTS_IN}")
    load = _MANY if wire.only == _BEAT else _ONE
    stage.figures |= replace(load, fault=partial(_reach, wire))(stage)
    return system.proxy.unwatch()


def _reach(wire: Tripwire, stage: Stage, traffic: Traffic) -> Figures:
    if wire.is_slow or wire.only == _BEAT:
        stage.system.wait_until(lambda: stage.system.proxy.has_tripped, _REACH_S, "the point")
    if wire.is_slow:
        stage.system.workers[0].start()
    if wire.only != _BEAT:
        stage.follow(traffic, "one request")  # `send_no_more` could come before it is sent
    return {}
