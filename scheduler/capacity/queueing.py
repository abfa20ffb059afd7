"""Queueing theory, as far as a batching server needs it: pure formulas, each with its source.

Nothing here knows requests, workers or windows: `measure.py` says what the symbols are. Rates are per second,
times in seconds; a station that cannot keep up waits `inf`. docs/capacity.md says what each is for, and its limits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf

_NOTHING = 1e-15  # of the likeliest state's share


def littles_residual(number: float, arrival_rate: float, time_s: float) -> float:
    """|L - lambda W| / L: 0 for the long-run averages of any stable system (Little, Operations Research 9, 1961)."""
    return abs(number - arrival_rate * time_s) / number if number > 0 else 0.0


def squared_variation(mean: float, mean_square: float) -> float:
    """C^2 = variance / mean^2: 0 for what never varies, 1 for the exponential distribution."""
    return max(0.0, mean_square / mean**2 - 1.0) if mean > 0 else 0.0


def allen_cunneen(markov_wait_s: float, arrivals_c2: float, service_c2: float) -> float:
    """Wait of G/G/m from that of M/M/m: times (Ca^2 + Cs^2) / 2 (Allen, Probability, Statistics and Queueing, 1990)."""
    return markov_wait_s * (arrivals_c2 + service_c2) / 2


@dataclass(frozen=True, slots=True)
class SteadyState:
    """A station in the long run."""

    wait_probability: float = 0.0  # that an arrival finds no room
    wait_s: float = 0.0  # mean of all arrivals
    mean_in_service: float = 0.0


def steady_state(arrival_rate: float, rate: Callable[[int], float], room: int) -> SteadyState:
    """The birth-death chain whose n customers leave at `rate(n)` together; from `room` on the others wait outside.

    p(n) = p(n - 1) lambda / mu(n), and a geometric tail beyond `room` (Kleinrock, Queueing Systems, vol. 1, 3.2).
    M/M/m is rate(n) = n mu. `rate` must not fall: p then has one summit, and is summed from there to both sides, up to
    where nothing is left to add.
    """
    if arrival_rate <= 0:
        return SteadyState()
    full_rate = rate(room)
    if full_rate <= arrival_rate:
        return SteadyState(1.0, inf, float(room))
    summit = bisect_left(range(room), arrival_rate, key=rate)
    total, mass, weight = 1.0, float(summit), 1.0
    for n in range(summit, 0, -1):
        weight *= rate(n) / arrival_rate
        total, mass = total + weight, mass + weight * (n - 1)
        if weight < _NOTHING:
            break
    weight = 1.0
    for n in range(summit + 1, room + 1):
        weight *= arrival_rate / rate(n)
        total, mass = total + weight, mass + weight * n
        if weight < _NOTHING:
            weight = 0.0
            break
    load = arrival_rate / full_rate
    waiting = weight / (1 - load)  # states `room`, `room` + 1, ...
    total, mass = total + waiting - weight, mass + room * (waiting - weight)
    wait_probability = waiting / total
    return SteadyState(wait_probability, wait_probability / (full_rate - arrival_rate), mass / total)


def wait_for_turn_s(num_workers: int, busy: float, interval_s: float, arrivals: float) -> float:
    """Wait for the next exchange of a worker with the queue, where there is room: at once if one of them is idle.

    `busy` is the share of time that a worker computes, `interval_s` E[t^2] / E[t] of its iterations, `arrivals` the
    mean number between two exchanges of whichever workers. These come interval / m apart (m = 1: residual life). Of
    those who wait then a worker takes only its share 1/m, rounded up: in the long run as many are left, and wait on, as
    come in m - 1 such times; nearly none where they come one by one.
    """
    if num_workers < 1:
        return 0.0
    left_behind = 1 - (1 - exp(-2 * arrivals)) / (2 * arrivals) if arrivals > 0 else 0.0
    turns = 1 / (2 * num_workers) + (num_workers - 1) / num_workers * left_behind
    return min(1.0, busy) ** num_workers * interval_s * turns
