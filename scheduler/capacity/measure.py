"""How much the running system can do, how much is asked of it, and how long the next request will wait.

The one place where the capacity figures are computed: /metrics, `miniserve capacity`, `monitor` and `top` all show what
`measure` returns. A pure function of what was observed. docs/capacity.md explains each formula. A figure that cannot be
known yet is 0; none is ever negative, infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil, exp, isfinite
from typing import TypeVar

from scheduler.capacity.fleet import Fleet, shape_of
from scheduler.capacity.observed import Moment, Observed
from scheduler.capacity.window import Window, last_seconds, rising
from scheduler.settings import Settings

Number = TypeVar("Number", int, float)
AUDIT_S = 60.0  # of Little's law, and of what requests are like: the longer, the less those count that cross its ends
AUDIT_PARTS = (1, 2, 4)  # the whole, its last half, its last quarter
RECENT_S = 10.0  # of the load: short enough to see it rise, and 100 arrivals at 10/s give it to a tenth
TURN_S = 5.0  # of the iterations a newcomer waits for: they lengthen with the load, and shorten again when it falls
LEAST_ENDED = 30  # W and the mean lengths of fewer are off by a fifth and more, by chance alone
MOST_DRAIN = 0.05  # where more end than come by this share a backlog drains: no steady state to compare with
MOST_WORKERS = 1000
MAX_UTILIZATION = 0.8  # above it the wait grows fast with the load


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity figures of the whole system."""

    arrival_rate_per_s: float = 0.0  # accepted requests
    number_in_system: float = 0.0  # L: accepted and unfinished, mean
    time_in_system_s: float = 0.0  # W: from acceptance to the end, mean
    residual: float = 0.0  # |L - lambda W| / L
    service_rate_tokens_per_s: float = 0.0  # prompt and output tokens, all live workers with full batches
    utilization: float = 0.0  # offered requests, those refused included, / what full batches serve
    predicted_wait_s: float = 0.0  # of a request that arrives now, until it is first scheduled
    workers_needed: int = 1
    queue_bound_tokens: int = 0  # reserved tokens that are served within the deadline


@dataclass(frozen=True, slots=True)
class Pool:
    """The workers of role prefill, or of role decode."""

    role: str
    num_workers: int
    utilization: float  # offered / rate of this pool
    workers_needed: int


def measure(observed: Observed, settings: Settings) -> Capacity:
    """All figures, from one look at the system."""
    moments = rising(observed.history, observed.now)
    audit, recent, latest = (last_seconds(moments, seconds) for seconds in (AUDIT_S, RECENT_S, TURN_S))
    offered_per_s, fleet = _load_and_fleet(observed, moments)
    capacity = Capacity(
        arrival_rate_per_s=recent.per_second(recent.accepted),
        number_in_system=audit.per_second(audit.area_s),
        time_in_system_s=audit.stay_s / audit.ended if audit.ended else 0.0,
        residual=littles_law_residual(moments),
        service_rate_tokens_per_s=fleet.requests_per_s * fleet.shape.computed_tokens,
        utilization=_utilization(offered_per_s, fleet, observed),
        predicted_wait_s=_predicted_wait_s(observed, latest, fleet, settings.request_timeout_s),
        workers_needed=workers_needed(offered_per_s, fleet),
        queue_bound_tokens=_whole(fleet.requests_per_s * fleet.shape.reserved_tokens * settings.request_timeout_s),
    )
    return replace(capacity, **{spec.name: _sound(getattr(capacity, spec.name)) for spec in fields(Capacity)})


def measure_pools(observed: Observed) -> list[Pool]:
    """Return the figures of each pool that has a live worker; none where each worker does all of a request."""
    return _pools(*_load_and_fleet(observed, rising(observed.history, observed.now)))


def _load_and_fleet(observed: Observed, moments: Sequence[Moment]) -> tuple[float, Fleet]:
    """The offered requests per second, those refused included, and what serves them."""
    audit, recent = (last_seconds(moments, seconds) for seconds in (AUDIT_S, RECENT_S))
    # Where too few ended lately the mean of all time is the better guess.
    known = audit if audit.iterations.get("requests", 0) >= LEAST_ENDED else observed.now
    return recent.per_second(recent.accepted + recent.refused), Fleet(shape_of(known.iterations), observed.workers)


def _pools(offered_per_s: float, fleet: Fleet) -> list[Pool]:
    found, rates = [], fleet.rates()
    whole_per_s = fleet.requests_per_s
    share = 1 - rates.get("all", 0.0) / whole_per_s if whole_per_s > 0 else 1.0  # of both pools
    for role, rate in rates.items():
        if role != "all":
            number = sum(worker.role == role for worker in fleet.workers)
            used = share * offered_per_s / rate if rate > 0 else 0.0
            found.append(Pool(role, number, used, _number_for(number * used)))
    return found


def workers_needed(offered_per_s: float, fleet: Fleet) -> int:
    """The fewest workers like these with a utilization within its limit, in two pools of each.

    At least one; just one where nothing is offered, or unknown what a worker can do (no live one, nothing ended yet).
    """
    if pools := _pools(offered_per_s, fleet):
        return sum(pool.workers_needed for pool in pools) if fleet.requests_per_s > 0 and offered_per_s > 0 else 1
    return _number_for(len(fleet.workers) * offered_per_s / fleet.requests_per_s) if fleet.requests_per_s else 1


def _number_for(busy: float) -> int:
    """`busy`: how many workers would be fully used."""
    return max(1, ceil(min(MOST_WORKERS, busy / MAX_UTILIZATION)))


def littles_residual(number: float, arrival_rate: float, time_s: float) -> float:
    """|L - lambda W| / L: 0 for the long-run averages of any stable system (Little, Operations Research 9, 1961)."""
    return abs(number - arrival_rate * time_s) / number if number > 0 else 0.0


def littles_law_residual(moments: Sequence[Moment]) -> float:
    """Return how far the counts are from Little's law; 0 if there are too few.

    Integral of the number, arrivals, and times of those that ended are each counted by themselves. A few ends tell no
    W. While a backlog drains, as the load fell, those that end are not those that came; and a window that begins just
    before its end counts long times with few who had them. A shorter window is then past it: what is lost or broken
    shows in all of them, so the least counts.
    """
    windows = [last_seconds(moments, AUDIT_S / part) for part in AUDIT_PARTS]
    if _is_draining(windows[0]):
        return 0.0
    judged = [window for window in windows if window.ended >= LEAST_ENDED and not _is_draining(window)]
    return min((_residual(window) for window in judged), default=0.0)


def _is_draining(window: Window) -> bool:
    return window.ended > (1 + MOST_DRAIN) * window.accepted


def _residual(window: Window) -> float:
    number, rate = window.per_second(window.area_s), window.per_second(window.accepted)
    return littles_residual(number, rate, window.stay_s / window.ended)


def _predicted_wait_s(observed: Observed, latest: Window, fleet: Fleet, deadline_s: float) -> float:
    """The next exchange with the queue, or room, whichever comes later.

    Without a live worker nobody is served before the deadline.
    """
    return max(_turn_s(latest, len(fleet.workers)), _room_s(observed, fleet)) if fleet.can_serve else deadline_s


def _turn_s(latest: Window, num_workers: int) -> float:
    """Wait for the next exchange of a worker with the queue, where there is room: none if one of them is idle.

    The exchanges come an interval, E[t^2] / E[t] of an iteration, over m apart (m = 1: residual life). Of those who
    wait then a worker takes only its share 1/m, rounded up: in the long run as many are left, and wait on, as come in
    m - 1 such times; nearly none where they come one by one.
    """
    n, t, tt = (latest.iterations.get(name, 0.0) for name in ("n", "t", "tt"))
    if n < 1 or t <= 0:
        return 0.0
    busy = min(1.0, latest.per_second(t) / num_workers)
    arrivals = latest.per_second(latest.accepted) * t / n / num_workers  # between two exchanges of whichever workers
    left_behind = 1 - (1 - exp(-2 * arrivals)) / (2 * arrivals) if arrivals > 0 else 0.0
    turns = 1 / (2 * num_workers) + (num_workers - 1) / num_workers * left_behind
    return busy**num_workers * tt / t * turns


def _room_s(observed: Observed, fleet: Fleet) -> float:
    """Return the time until as many have ended as stand between a new request and the last place.

    It uses the backlog of this moment: that needs no steady state, and errors of the rates do not add up. Requests that
    end with the iteration in progress are among them, so its rest must not be added.
    """
    ahead = observed.num_running + observed.num_waiting + 1 - fleet.room
    if ahead <= 0:
        return 0.0
    # Where nothing has ended yet: the first in line has waited so long.
    return ahead / fleet.requests_per_s if fleet.requests_per_s > 0 else observed.oldest_waiting_s


def _utilization(offered_per_s: float, fleet: Fleet, observed: Observed) -> float:
    """Every new request meets a full system if no worker is live."""
    if fleet.requests_per_s > 0:
        return offered_per_s / fleet.requests_per_s
    return float(not fleet.can_serve and (offered_per_s > 0 or observed.num_waiting > 0))


def _whole(number: float) -> int:
    return int(number) if isfinite(number) else 0


def _sound(number: Number) -> Number:
    """What only a broken report can have brought about (no number, or below zero) ends here."""
    return number if isfinite(number) and number >= 0 else type(number)()
