"""The dashboard during a load. Needs `miniserve[dashboard]`.

Starts a system of its own with a slowed engine, so that there is something to see: requests wait, run, have ended, and
one is a dead letter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ops.drills.drill import NUM_SENTENCES
from ops.drills.system import DRILL_SETTINGS, Shape, System, running
from ops.load import prompts
from ops.load.arrivals import ClosedLoop
from ops.load.traffic import Traffic
from tests.dashboard_process import dashboard_of

PAGES = {"queues": "/0/view/queues", "workers": "/0/view/workers", "waiting": "/0/view/jobs/correct/queued/5/asc/1"}
_SHAPE = Shape(num_workers=2, settings=DRILL_SETTINGS, slowed_to_per_s=60.0)
NUM_CLIENTS = 300  # more than two workers run at once


@contextmanager
def dashboard_under_load() -> Iterator[tuple[str, System]]:
    """The URL of a dashboard, while hundreds of requests wait and run."""
    sentences = [{"sentence": text} for text in prompts.load(None, 0)[:NUM_SENTENCES]]
    with running(_SHAPE) as system, Traffic(system.urls, sentences, ClosedLoop(NUM_CLIENTS)) as traffic:
        try:
            with dashboard_of(system.server.url) as url:
                system.wait_until(lambda: len(traffic.ended) > NUM_CLIENTS, 60.0, "some answers")
                _spoil_one(system)
                yield url, system
        finally:
            traffic.send_no_more()
            while not traffic.is_over:
                time.sleep(0.05)


def _spoil_one(system: System) -> None:
    """The last in line cannot be read any more, and becomes a dead letter."""
    system.wait_until(lambda: system.redis.llen("rq:queue:correct") > 0, 10.0, "a request that waits")
    request_id = (system.redis.lindex("rq:queue:correct", -1) or b"").decode()
    system.redis.hset(f"rq:job:{request_id}", "data", "spoilt for the picture")
    system.wait_until(lambda: system.redis.zcard("rq:failed:correct") > 0, 30.0, "a dead letter")
