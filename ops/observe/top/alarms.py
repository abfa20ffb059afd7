"""Which alerts hold in this reading: the rules of scheduler/capacity/rules.py over what GET /metrics reports.

`miniserve monitor` raises an alert once its condition has held for a while, and clears it later still; a view that may
have been opened a second ago has no such memory, and says what is beyond its bar now.
"""

from __future__ import annotations

from ops.observe.scrape import Scrape
from scheduler.capacity.health import Health
from scheduler.capacity.measure import Capacity
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.capacity.rules import Alert, Situation, holding
from scheduler.settings import Settings


def alerts_of(earlier: Scrape, later: Scrape, seconds: float, settings: Settings) -> tuple[Alert, ...]:
    """The worst first. Growing dead letters are those of the window; the server's word for all else."""
    if later.value("miniserve_workers") is None:  # a server that does not report the numbers that the rules need
        return ()
    situation = Situation(
        observed=_observed(earlier, later, seconds),
        capacity=Capacity(
            residual=_gauge(later, "littles_law_residual"),
            utilization=_gauge(later, "utilization"),
            predicted_wait_s=_gauge(later, "predicted_wait_seconds"),
            workers_needed=int(_gauge(later, "workers_needed")),
        ),
        health=Health(
            failing_share=_gauge(later, "failing_ratio"),
            stuck_s=_gauge(later, "stuck_seconds"),
            queue_time_s=_gauge(later, "queue_time_mean_seconds"),
            leaked_tokens=int(_gauge(later, "leaked_tokens")),
            api_late_s=_gauge(later, "api_late_seconds"),
            redis_evicts=bool(_gauge(later, "redis_evicts")),
            redis_refuses_writes=bool(_gauge(later, "redis_refuses_writes")),
            foreign_workers=int(_gauge(later, "foreign_workers")),
        ),
        new_dead_letters=int(max(0.0, _gauge(later, "dead_letters") - _gauge(earlier, "dead_letters"))),
    )
    return holding(situation, settings)


def _observed(earlier: Scrape, later: Scrape, seconds: float) -> Observed:
    return Observed(
        now=_moment(later, seconds),
        history=(_moment(earlier, 0.0),),
        workers=tuple(WorkerFacts(str(number)) for number in range(int(_gauge(later, "workers")))),
        num_api_replicas=max(1, int(_gauge(later, "api_replicas"))),  # one has answered
        oldest_waiting_s=_gauge(later, "oldest_waiting_seconds"),
        dead_letters=int(_gauge(later, "dead_letters")),
        redis_memory_bytes=int(_gauge(later, "redis_memory_bytes")),
        redis_max_memory_bytes=int(_gauge(later, "redis_max_memory_bytes")),
    )


def _moment(scrape: Scrape, at_s: float) -> Moment:
    """Shows whether the load is steady, which the rule of Little's law asks for."""
    ended = scrape.total("miniserve_request_success_total") + scrape.total("miniserve_request_failure_total")
    return Moment(at_s, accepted=int(scrape.total("miniserve_requests_accepted_total")), ended=int(ended))


def _gauge(scrape: Scrape, name: str) -> float:
    value = scrape.value(f"miniserve_{name}")
    return value if value is not None else 0.0
