"""The attacks on the door, as loads and bars: how long a good client's answers take meanwhile, compared with calm.

Calm and attack take turns, because a machine is not the same for ten minutes.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from ops.drills.drill import Load, Part, Stage, calm
from ops.drills.figures import Bar, Figures
from ops.drills.rude_clients import ATTACKS
from ops.drills.system import DRILL_SETTINGS, Shape
from ops.load.traffic import ONCE, Traffic
from ops.run.supervisor import Member, running

_RATE_PER_S = 40.0  # of the good client, by the clock: an answer that is late delays no later request
_GOOD = replace(ONCE, addresses=("127.0.0.3",))
_MOST_ADDED_MS = 100.0
_MOST_TIMES = 2.0
_PATIENCE_S = 40.0  # for attackers that wait for an answer
SHAPE = Shape(num_apis=2, settings=replace(DRILL_SETTINGS, log_level="info", api_processes="1"), unread="api 2")


def judged(kind: str) -> str:
    """The name of what is asked of the good client's latencies."""
    return f"{kind}: {'slowest' if ATTACKS[kind].takes_time else 'p99'} ms"


def part(turns: tuple[int, int], seconds: tuple[float, float], only: str) -> Part:
    """So many turns of so many seconds; the second of each is that of an attack that holds connections: what is held
    ends by its age."""
    loads = [
        load
        for kind, attack in ATTACKS.items()
        for _ in range(turns[attack.holds])
        for load in _turn(kind, seconds[attack.holds])
    ]
    bars = (Bar("lost", "lost", "=", 0), Bar("probes not 200", "probes/not_200", "=", 0), *map(_bar, ATTACKS))
    return Part(shape=SHAPE, probed_every_s=0.1, steps=(calm, *loads), bars=bars, only=only)


def _turn(kind: str, seconds: float) -> tuple[Load, Load]:
    """In calm it is always the first replica that is asked, whose log is a file."""
    good = Load(name=f"{kind}, calm", per_s=_RATE_PER_S, seconds=seconds, habits=_GOOD, replica=0)
    attack = partial(_attack, kind, seconds)
    return good, replace(good, name=kind, replica=ATTACKS[kind].replica, fault=attack)


def _attack(kind: str, seconds: float, stage: Stage, traffic: Traffic) -> Figures:
    """How many rounds the attackers did, and how many connections they held at most."""
    port = urlsplit(stage.system.urls[ATTACKS[kind].replica]).port
    command = (sys.executable, "-m", "ops.drills.rude_clients", str(port), kind, str(seconds))
    with running(Member("rude clients", command), lambda: None) as rude:
        stage.follow(traffic, kind)
        rude.process.wait(_PATIENCE_S)
        rounds, most_held = map(int, rude.said().split())
    return {"rounds": rounds, "most_held": most_held}


def _bar(kind: str) -> Bar:
    """What costs time is judged by the slowest answer, what holds places by the p99."""
    if ATTACKS[kind].takes_time:
        return Bar(judged(kind), f"{kind}/max_ms", "<=", 1.0, of=f"{kind}, calm/max_ms", more=_MOST_ADDED_MS)
    return Bar(judged(kind), f"{kind}/p99_ms", "<=", _MOST_TIMES, of=f"{kind}, calm/p99_ms")
