"""How much the running system can do, how much is asked of it, and how long the next request will wait.

The one place where the capacity figures are computed: /metrics, `miniserve capacity`, `monitor` and `top` all call
`measure`. A pure function of what was observed; the formulas stand in `scheduler.queueing`, their use and limits in
docs/capacity.md. Where nothing is known yet a figure is 0; none is ever negative, infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import ceil, isfinite

from scheduler import queueing
from scheduler.iteration_cost import IterationCost, fit_cost
from scheduler.observed import Moment, Observed, WorkerFacts
from scheduler.window import Window, between, last_seconds, rising

AUDIT_S = 60.0  # of Little's law, and of what requests are like: the longer, the less those count that cross its ends
RECENT_S = 10.0  # of the load: short enough to see it rise, and 100 arrivals at 10/s tell it to a tenth
LEAST_ENDED = 30  # W of fewer is too rough to audit anything with, and so is what a request is like
MOST_DRAIN = 0.05  # where more end than come by this share a backlog drains, and no window shows a steady state
MOST_TRIED = 16  # workers beyond those that the utilization asks for; an SLO below an iteration needs no end of them
_ORIGIN = Moment(at_s=0.0)


@dataclass(frozen=True, slots=True)
class Goals:
    """What the operator aims at."""

    slo_wait_s: float  # longest mean wait before the first iteration
    deadline_s: float  # an answer is of no use after it
    max_utilization: float = 0.8


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity figures of the whole system."""

    window_s: float = 0.0  # over which L, W and the residual are taken
    arrival_rate_per_s: float = 0.0  # accepted requests
    number_in_system: float = 0.0  # L: accepted and unfinished
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
class Shape:
    """What a request is like, on average, and what an iteration costs."""

    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    reserved_tokens: float = 0.0
    output_c2: float = 0.0  # squared coefficient of variation of the output's length
    cost: IterationCost = IterationCost()

    @property
    def computed_tokens(self) -> float:
        return self.prompt_tokens + self.output_tokens

    def iteration_s(self, running: float) -> float:
        """With so many running: in D iterations each reads its prompt once and decodes D - 1 times."""
        turns = running / self.output_tokens
        return self.cost.seconds(turns * self.prompt_tokens, turns * (self.output_tokens - 1))

    def completions_per_s(self, running: float) -> float:
        """mu(n): of n who run one in D ends with each iteration; 0 if nothing is known."""
        if self.output_tokens < 1 or running <= 0 or (iteration_s := self.iteration_s(running)) <= 0:
            return 0.0
        return running / (self.output_tokens * iteration_s)

    def room(self, worker: WorkerFacts) -> int:
        """k: how many such requests run at once."""
        if self.reserved_tokens <= 0:
            return max(1, worker.max_slots)
        return max(1, min(worker.max_slots, int(worker.kv_budget_tokens / self.reserved_tokens)))


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the workers."""

    requests_per_s: float
    arrivals_c2: float


def measure(observed: Observed, goals: Goals) -> Capacity:
    """All figures, from one look at the system."""
    moments = rising(observed.history, observed.now)
    audit, recent = last_seconds(moments, AUDIT_S), last_seconds(moments, RECENT_S)
    shape = shape_of(audit if audit.ended >= LEAST_ENDED else between(_ORIGIN, observed.now))
    rooms = [shape.room(worker) for worker in observed.workers]
    served_per_s = sum(map(shape.completions_per_s, rooms))
    offered_per_s = recent.per_second(recent.accepted + recent.refused)
    load = Load(offered_per_s, arrivals_c2(moments))
    sizes = shape.computed_tokens
    return _sound(
        Capacity(
            window_s=audit.seconds,
            arrival_rate_per_s=recent.per_second(recent.accepted),
            number_in_system=audit.per_second(audit.area_s),
            time_in_system_s=audit.stay_s / audit.ended if audit.ended else 0.0,
            residual=littles_law_residual(audit),
            service_rate_tokens_per_s=served_per_s * sizes,
            offered_tokens_per_s=offered_per_s * sizes,
            utilization=_utilization(offered_per_s, served_per_s, observed),
            predicted_wait_s=_predicted_wait_s(observed, recent, shape, goals),
            workers_needed=workers_needed(load, shape, rooms, goals),
            queue_bound_tokens=int(served_per_s * shape.reserved_tokens * goals.deadline_s),
            queue_bound_requests=int(served_per_s * goals.deadline_s),
        )
    )


def shape_of(window: Window) -> Shape:
    """Of the requests that came to their end in it; nothing is known of a window without any."""
    sums = window.iterations
    requests = sums.get("requests", 0.0)
    if requests < 1:
        return Shape()
    outputs = max(1.0, sums.get("outputs", 0.0) / requests)
    return Shape(
        prompt_tokens=sums.get("prompts", 0.0) / requests,
        output_tokens=outputs,
        reserved_tokens=sums.get("reserved", 0.0) / requests,
        output_c2=queueing.squared_variation(outputs, sums.get("outputs2", 0.0) / requests),
        cost=fit_cost(sums),
    )


def arrivals_c2(moments: Sequence[Moment]) -> float:
    """Ca^2 from counts: variance / mean of the arrivals in equal times, 1 for Poisson (Cox & Lewis, 1966, ch. 4.5).

    The variance is half the mean squared difference of neighbours (von Neumann 1941), so that a rising load is not taken
    for a bursty one. Fewer than ten seconds say nothing: 1.
    """
    pairs = list(zip(moments, moments[1:], strict=False))
    rates = [(end.accepted - begin.accepted) / (end.at_s - begin.at_s) for begin, end in pairs]
    mean = sum(rates) / len(rates) if rates else 0.0
    if len(rates) < 10 or mean <= 0:
        return 1.0
    squares = [(later - earlier) ** 2 for earlier, later in zip(rates, rates[1:], strict=False)]
    length_s = (moments[-1].at_s - moments[0].at_s) / len(rates)
    return sum(squares) / len(squares) / 2 * length_s / mean


def littles_law_residual(window: Window) -> float:
    """How far the books are from Little's law; 0 where they cannot tell.

    Each of the three is counted by itself: the integral of the number, arrivals, and times of those that ended. Few ends
    tell no W, and while a backlog drains (load fell) those that end are not those that came.
    """
    is_draining = window.ended > (1 + MOST_DRAIN) * window.accepted
    if window.ended < LEAST_ENDED or is_draining or window.seconds <= 0:
        return 0.0
    time_s = window.stay_s / window.ended
    return queueing.littles_residual(window.area_s / window.seconds, window.accepted / window.seconds, time_s)


def workers_needed(load: Load, shape: Shape, rooms: Sequence[int], goals: Goals) -> int:
    """The fewest workers like these with a steady wait within the SLO and a utilization within its limit.

    At least one, also where nothing is offered or known. Without a live worker the others' room is unknown, and
    that of a batch of all slots is never asked for: one sequence at a time is taken, the most careful guess.
    """
    room = max(1, round(sum(rooms) / len(rooms))) if rooms else 1
    full_per_s = shape.completions_per_s(room)
    if load.requests_per_s <= 0 or full_per_s <= 0 or goals.max_utilization <= 0:
        return 1
    least = max(1, ceil(load.requests_per_s / (full_per_s * goals.max_utilization)))
    tried = range(least, least + MOST_TRIED)
    enough = (number for number in tried if steady_wait_s(load, shape, room, number) <= goals.slo_wait_s)
    return next(enough, tried[-1])


def steady_wait_s(load: Load, shape: Shape, room: int, num_workers: int) -> float:
    """Mean wait in the long run at this load; infinite where it is more than the workers can serve."""

    def rate(running: int) -> float:
        return num_workers * shape.completions_per_s(running / num_workers)

    steady = queueing.steady_state(load.requests_per_s, rate, num_workers * room)
    wait_for_room_s = queueing.allen_cunneen(steady.wait_s, load.arrivals_c2, shape.output_c2)
    return max(wait_for_room_s, _steady_turn_s(load, shape, steady.mean_in_service / num_workers, num_workers))


def _steady_turn_s(load: Load, shape: Shape, running: float, num_workers: int) -> float:
    iteration_s = shape.iteration_s(running)
    return queueing.wait_for_turn_s(
        num_workers, min(1.0, running), iteration_s, load.requests_per_s * iteration_s / num_workers
    )


def _predicted_wait_s(observed: Observed, recent: Window, shape: Shape, goals: Goals) -> float:
    """The next exchange with the queue, or room, whichever comes later.

    Room is free when as many have ended as stand between the newcomer and the last place: told from the backlog of this
    moment, which needs no steady state. Without a live worker nobody is served before the deadline.
    """
    if not observed.workers:
        return goals.deadline_s
    return max(_turn_s(recent, len(observed.workers)), _room_s(observed, shape))


def _turn_s(recent: Window, num_workers: int) -> float:
    sums = recent.iterations
    t, n = sums.get("t", 0.0), sums.get("n", 0.0)
    if t <= 0 or n < 1 or recent.seconds <= 0:
        return 0.0
    arrivals = recent.per_second(recent.accepted) * t / n / num_workers
    busy = t / (recent.seconds * num_workers)
    return queueing.wait_for_turn_s(num_workers, busy, sums.get("tt", 0.0) / t, arrivals)


def _room_s(observed: Observed, shape: Shape) -> float:
    rooms = [shape.room(worker) for worker in observed.workers]
    served_per_s = sum(map(shape.completions_per_s, rooms))
    ahead = observed.num_running + observed.num_waiting + 1 - sum(rooms)
    if ahead <= 0:
        return 0.0
    # Nothing has ended yet: the next one waits no less than the first of those in line does.
    return ahead / served_per_s if served_per_s > 0 else observed.oldest_waiting_s


def _utilization(offered_per_s: float, served_per_s: float, observed: Observed) -> float:
    """Without a live worker whoever comes meets a full system."""
    if served_per_s > 0:
        return offered_per_s / served_per_s
    return float(not observed.workers and (offered_per_s > 0 or observed.num_waiting > 0))


def _sound(capacity: Capacity) -> Capacity:
    """Numbers that nobody can have measured (a broken report) end here."""
    values = {spec.name: getattr(capacity, spec.name) for spec in fields(Capacity)}
    return Capacity(
        **{name: value if isfinite(value) and value >= 0 else type(value)() for name, value in values.items()}
    )
