"""Little's law for each stage of a request: where the time goes, and which pool of processes is the first to be full.

L = lambda W holds for each part of a system as for the whole (Little, Operations Research 9, 1961). The utilization is
lambda times the time that a request takes of a server; the pool with the highest is the bottleneck (Denning & Buzen,
Computing Surveys 10, 1978). Pure functions of what was observed. docs/capacity.md says where each time comes from. A
request counts once for each of its sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler.capacity.fleet import Fleet
from scheduler.capacity.health import health_of
from scheduler.capacity.measure import RECENT_S, Capacity, Pool, load_and_fleet, sound
from scheduler.capacity.observed import Observed
from scheduler.capacity.window import Window, last_seconds, rising

TOKENIZE, QUEUE, PREFILL, HANDOFF, DECODE, DELIVER = "tokenize", "queue", "prefill", "hand-off", "decode", "deliver"
API, REDIS, WORKER = "api", "redis", "worker"  # pools; in place of the last one also those of the roles
POOLS = {TOKENIZE: API, QUEUE: REDIS, PREFILL: WORKER, HANDOFF: REDIS, DECODE: WORKER, DELIVER: API}  # in their order


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of all requests, over the last seconds."""

    name: str
    pool: str  # the processes that serve it
    rate_per_s: float = 0.0  # lambda
    number: float = 0.0  # L
    time_s: float = 0.0  # W
    utilization: float = 0.0  # of its pool, by this stage alone: those of a pool add up
    predicted_wait_s: float = 0.0  # of a request that comes to it now


@dataclass(frozen=True, slots=True)
class Stages:
    """All of them, in the order of a request's way, and how long it takes by the API's own clock."""

    each: tuple[Stage, ...]
    whole_s: float = 0.0
    residual: float = 0.0  # |sum of W - whole| / whole: more than a few percent means lost requests or a wrong count


NO_STAGES = Stages(())


def stages_of(observed: Observed, capacity: Capacity, pools: Sequence[Pool] = ()) -> Stages:
    """`capacity` and `pools`: what was measured of the same look at the system."""
    moments = rising(observed.history, observed.now)
    recent = last_seconds(moments, RECENT_S)
    _, fleet = load_and_fleet(observed, moments)
    times_s, numbers = _times_s(recent), _numbers(recent)
    share = fleet.shape.prefill_share(fleet.room / max(1, fleet.num_workers))
    used = {PREFILL: capacity.utilization * share, DECODE: capacity.utilization * (1 - share)}
    used |= _used_of_others(observed, recent) | {pool.role: pool.utilization for pool in pools}
    late_s = health_of(observed).api_late_s
    waits_s = {TOKENIZE: late_s, QUEUE: capacity.predicted_wait_s, DELIVER: late_s}
    waits_s[HANDOFF] = _handoff_wait_s(observed, fleet) if pools else 0.0
    served_by = POOLS | {pool.role: pool.role for pool in pools}  # a role has the name of its stage
    each = []
    for name, pool in served_by.items():
        rate_per_s, number = recent.per_second(numbers[name]), recent.per_second(times_s[name])
        time_s = times_s[name] / numbers[name] if numbers[name] >= 1 else 0.0
        figures = rate_per_s, number, time_s, used.get(name, 0.0), waits_s.get(name, 0.0)
        each.append(Stage(name, pool, *map(sound, figures)))
    answered = recent.stages.get("answered", 0.0)
    whole_s = recent.stages.get("whole", 0.0) / answered if answered >= 1 else 0.0
    residual = abs(sum(stage.time_s for stage in each) - whole_s) / whole_s if whole_s > 0 else 0.0
    return Stages(tuple(each), whole_s, residual)


def busiest(stages: Iterable[Stage]) -> tuple[Stage, float] | None:
    """The stage that fills the pool which is the first to be full, and how full that pool is; None of idle ones."""
    used: dict[str, float] = {}
    for stage in (stages := tuple(stages)):
        used[stage.pool] = used.get(stage.pool, 0.0) + stage.utilization
    pool = max(used, key=lambda name: used[name], default="")
    if not used.get(pool):
        return None
    return max((stage for stage in stages if stage.pool == pool), key=lambda stage: stage.utilization), used[pool]


def _times_s(window: Window) -> dict[str, float]:
    """What all that ended in the window spent in each stage, summed."""
    api, worker = window.stages, window.iterations
    return {
        TOKENIZE: api.get("tokenize", 0.0),
        QUEUE: worker.get("queue_s", 0.0),
        PREFILL: worker.get("prefill_s", 0.0),
        HANDOFF: worker.get("handoff_s", 0.0),
        DECODE: worker.get("decode_s", 0.0) - worker.get("handoff_s", 0.0),
        DELIVER: api.get("deliver", 0.0),
    }


def _numbers(window: Window) -> dict[str, float]:
    """How many that was."""
    answered, computed = window.stages.get("answered", 0.0), window.iterations.get("requests", 0.0)
    return {name: answered if pool == API else computed for name, pool in POOLS.items()}


def _used_of_others(observed: Observed, recent: Window) -> dict[str, float]:
    """Utilization of API and Redis. Who tokenizes holds its process, the rest of whose CPU time is for delivery."""
    replicas = max(1, observed.num_api_replicas)
    tokenize, api, redis = (recent.stages.get(name, 0.0) for name in ("tokenize", "api_cpu", "redis_cpu"))
    used = recent.per_second(tokenize) / replicas
    return {
        TOKENIZE: used,
        DELIVER: max(0.0, recent.per_second(api) / replicas - used),
        QUEUE: recent.per_second(redis),
    }


def _handoff_wait_s(observed: Observed, fleet: Fleet) -> float:
    """The rest of a decode worker's iteration, or room there: whichever comes later.

    What runs on a prefill worker has been read, and waits.
    """
    decoders = [worker for worker in observed.workers if worker.role == DECODE]
    rate = fleet.rates().get(DECODE, 0.0)
    if rate <= 0:
        return 0.0
    running, held = (sum(getattr(worker, what) for worker in decoders) for what in ("num_running", "num_waiting"))
    offered = sum(worker.num_running for worker in observed.workers if worker.role == PREFILL)
    ahead = offered + held + running + 1 - sum(map(fleet.shape.room, decoders))
    turn_s = fleet.shape.cost.seconds(0, running / len(decoders)) / 2 if running else 0.0
    return max(turn_s, ahead / rate)
