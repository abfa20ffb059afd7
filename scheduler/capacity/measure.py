"""How much the running system can do, how much is asked of it, and how long the next request will wait.

The one place where the capacity figures are computed: /metrics, `miniserve capacity`, `monitor` and `top` all show what
`measure` returns. A pure function of what was observed. The formulas stand in `queueing.py`, what each is for in
docs/capacity.md. A figure that cannot be known yet is 0; none is ever negative, infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil, isfinite
from typing import TypeVar

from scheduler.capacity import queueing
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
LEAST_COUNTS = 10  # seconds whose arrivals show how bursty they are
MOST_WORKERS = 1000
MOST_TRIED = 16  # sizes above what the utilization asks for: no number of workers meets an SLO below one iteration


@dataclass(frozen=True, slots=True)
class Goals:
    """What the operator aims at."""

    slo_wait_s: float  # longest mean wait until first scheduled
    deadline_s: float  # an answer is of no use after it
    max_utilization: float = 0.8


def goals_of(settings: Settings) -> Goals:
    """The targets that capacity is compared with."""
    return Goals(slo_wait_s=settings.slo_ms / 1e3, deadline_s=settings.request_timeout_s)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity figures of the whole system."""

    window_s: float = 0.0  # over which L, W and the residual are taken
    arrival_rate_per_s: float = 0.0  # accepted requests
    number_in_system: float = 0.0  # L: accepted and unfinished, mean
    time_in_system_s: float = 0.0  # W: from acceptance to the end, mean
    residual: float = 0.0  # |L - lambda W| / L
    service_rate_tokens_per_s: float = 0.0  # prompt and output tokens, all live workers with full batches
    offered_tokens_per_s: float = 0.0  # of all who asked, those refused included
    utilization: float = 0.0  # offered / service rate
    predicted_wait_s: float = 0.0  # of a request that arrives now, until it is first scheduled
    workers_needed: int = 1
    queue_bound_tokens: int = 0  # reserved tokens that are served within the deadline
    queue_bound_requests: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """The workers of role prefill, or of role decode."""

    role: str
    num_workers: int
    utilization: float  # offered / rate of this pool
    workers_needed: int


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the workers."""

    requests_per_s: float
    arrivals_c2: float = 1.0  # Ca^2


def measure(observed: Observed, goals: Goals) -> Capacity:
    """All figures, from one look at the system."""
    moments = rising(observed.history, observed.now)
    audit, recent, latest = (last_seconds(moments, seconds) for seconds in (AUDIT_S, RECENT_S, TURN_S))
    load, fleet = load_and_fleet(observed, moments)
    tokens = fleet.shape.computed_tokens
    capacity = Capacity(
        window_s=audit.seconds,
        arrival_rate_per_s=recent.per_second(recent.accepted),
        number_in_system=audit.per_second(audit.area_s),
        time_in_system_s=audit.stay_s / audit.ended if audit.ended else 0.0,
        residual=littles_law_residual(moments),
        service_rate_tokens_per_s=fleet.requests_per_s * tokens,
        offered_tokens_per_s=load.requests_per_s * tokens,
        utilization=_utilization(load, fleet, observed),
        predicted_wait_s=_predicted_wait_s(observed, latest, fleet, goals),
        workers_needed=workers_needed(load, fleet, goals),
        queue_bound_tokens=_whole(fleet.requests_per_s * fleet.shape.reserved_tokens * goals.deadline_s),
        queue_bound_requests=_whole(fleet.requests_per_s * goals.deadline_s),
    )
    return _sound(capacity)


def measure_pools(observed: Observed, goals: Goals) -> list[Pool]:
    """Return the figures of each pool that has a live worker; none where each worker does all of a request."""
    load, fleet = load_and_fleet(observed, rising(observed.history, observed.now))
    return _pools(load, fleet, goals)


def load_and_fleet(observed: Observed, moments: Sequence[Moment]) -> tuple[Load, Fleet]:
    audit, recent = (last_seconds(moments, seconds) for seconds in (AUDIT_S, RECENT_S))
    # Where too few ended lately the mean of all time is the better guess.
    known = audit if audit.iterations.get("requests", 0) >= LEAST_ENDED else observed.now
    load = Load(recent.per_second(recent.accepted + recent.refused), arrivals_c2(moments))
    return load, Fleet.of(shape_of(known.iterations), observed.workers)


def _pools(load: Load, fleet: Fleet, goals: Goals) -> list[Pool]:
    """So many that each is used to its limit at most: the wait in the long run is not known of two pools in a row."""
    found, rates = [], fleet.rates()
    whole_per_s = fleet.requests_per_s
    share = 1 - rates.get("all", 0.0) / whole_per_s if whole_per_s > 0 else 1.0  # of both pools
    for role, rate in rates.items():
        if role != "all":
            number = fleet.roles.count(role)
            used = share * load.requests_per_s / rate if rate > 0 else 0.0
            needed = ceil(min(MOST_WORKERS, number * used / goals.max_utilization)) if goals.max_utilization > 0 else 1
            found.append(Pool(role, number, used, max(1, needed)))
    return found


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
    return queueing.littles_residual(number, rate, window.stay_s / window.ended)


def arrivals_c2(moments: Sequence[Moment]) -> float:
    """Ca^2 from counts: variance / mean over equal times (Cox & Lewis, Statistical Analysis of Series, 1966, 4.5).

    1 for Poisson, also where too little is known. The variance is half the mean squared difference of neighbours (von
    Neumann 1941), so that a load that rises is not taken for a bursty one.
    """
    pairs = [(begin, end) for begin, end in zip(moments, moments[1:], strict=False) if end.at_s - begin.at_s >= 0.5]
    rates = [(end.accepted - begin.accepted) / (end.at_s - begin.at_s) for begin, end in pairs]
    if len(rates) < LEAST_COUNTS or sum(rates) <= 0:
        return 1.0
    step_s = sum(end.at_s - begin.at_s for begin, end in pairs) / len(pairs)
    squares = [(later - earlier) ** 2 for earlier, later in zip(rates, rates[1:], strict=False)]
    return sum(squares) / len(squares) / 2 * step_s / (sum(rates) / len(rates))


def workers_needed(load: Load, fleet: Fleet, goals: Goals) -> int:
    """The fewest workers like these with a steady wait within the SLO and a utilization within its limit.

    At least one; just one where nothing is offered, or unknown what a worker can do (no live one, nothing ended yet).
    """
    if not fleet.num_workers or load.requests_per_s <= 0 or fleet.requests_per_s <= 0 or goals.max_utilization <= 0:
        return 1
    if pools := _pools(load, fleet, goals):
        return sum(pool.workers_needed for pool in pools)
    within_limit = load.requests_per_s / (fleet.of_size(1).requests_per_s * goals.max_utilization)
    least = max(1, ceil(min(MOST_WORKERS, within_limit)))
    tried = range(least, min(MOST_WORKERS, least + MOST_TRIED) + 1)
    return next((size for size in tried if steady_wait_s(load, fleet.of_size(size)) <= goals.slo_wait_s), tried[-1])


def steady_wait_s(load: Load, fleet: Fleet) -> float:
    """Mean wait in the long run; infinite where more is asked than the workers can do."""
    steady = queueing.steady_state(load.requests_per_s, fleet.completions_per_s, fleet.room)
    room_s = queueing.allen_cunneen(steady.wait_s, load.arrivals_c2, fleet.shape.output_c2)
    running = steady.mean_in_service / fleet.num_workers
    iteration_s = fleet.shape.iteration_s(running)
    arrivals = load.requests_per_s * iteration_s / fleet.num_workers
    return max(room_s, queueing.wait_for_turn_s(fleet.num_workers, min(1.0, running), iteration_s, arrivals))


def _predicted_wait_s(observed: Observed, latest: Window, fleet: Fleet, goals: Goals) -> float:
    """The next exchange with the queue, or room, whichever comes later.

    Without a live worker nobody is served before the deadline.
    """
    return max(_turn_s(latest, fleet.num_workers), _room_s(observed, fleet)) if fleet.can_serve else goals.deadline_s


def _turn_s(latest: Window, num_workers: int) -> float:
    n, t, tt = (latest.iterations.get(name, 0.0) for name in ("n", "t", "tt"))
    if n < 1 or t <= 0:
        return 0.0
    busy = latest.per_second(t) / num_workers
    arrivals = latest.per_second(latest.accepted) * t / n / num_workers
    return queueing.wait_for_turn_s(num_workers, busy, tt / t, arrivals)


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


def _utilization(load: Load, fleet: Fleet, observed: Observed) -> float:
    """Every new request meets a full system if no worker is live."""
    if fleet.requests_per_s > 0:
        return load.requests_per_s / fleet.requests_per_s
    return float(not fleet.can_serve and (load.requests_per_s > 0 or observed.num_waiting > 0))


def _whole(number: float) -> int:
    return int(number) if isfinite(number) else 0


def sound(number: Number) -> Number:
    """What only a broken report can have brought about (no number, or below zero) ends here."""
    return number if isfinite(number) and number >= 0 else type(number)()


def _sound(capacity: Capacity) -> Capacity:
    return replace(capacity, **{spec.name: sound(getattr(capacity, spec.name)) for spec in fields(Capacity)})
