"""What commands draw of known numbers: a file that is read by eye, and a change as a diff of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner
from rich.console import Console

from api.observe.metrics import metrics_text
from api.tracing.waterfall import Waterfall
from ops.cli import main
from ops.observe import capacity
from ops.observe.picture import Frame, picture
from ops.observe.scrape import parse
from ops.observe.snapshot import Snapshot, snapshot
from ops.run.offline import trace_picture
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.messages import Completion, FinishReason, Timings
from scheduler.settings import Settings
from tests.metrics_text import GAUGES
from tests.metrics_text import metrics_text as metrics_by_hand

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
_CALM = {"utilization": 0.31, "workers_needed": 1, "arrival_rate": 12.0}
_FAULTS = (
    "failing_ratio 1.0", "stuck_seconds 9.0", "api_late_seconds 0.4", "leaked_tokens 96", "redis_evicts 1",
    "redis_refuses_writes 1", "foreign_workers 1",
)  # fmt: skip
# Names from elsewhere, and a percentile beyond the last bucket.
_NAMED = 'miniserve_workers 1\nminiserve_worker_slots{{worker="a\x1b[2Jb"}} {}\n'
_SLOW = 'miniserve_time_to_first_token_seconds_bucket{{le="10.0"}} 0\n' + (
    'miniserve_time_to_first_token_seconds_bucket{{le="+Inf"}} {}\n'
)


def files() -> dict[str, str]:
    return {"tests/tables/drawings.txt": "".join(f"== {name}\n{_trimmed(text)}\n" for name, text in _drawings())}


def window(**about: Any) -> Snapshot:
    """Ten seconds of a steady load, with other gauges before."""
    before = metrics_by_hand(100.0, **(about | dict.fromkeys(GAUGES, 0.5)))
    return snapshot(parse(before, 100.0), parse(metrics_by_hand(110.0, **about), 110.0), Settings())


def frame(**about: Any) -> Frame:
    return Frame("http://far:8000", window(**about), NOON)


def lines(shown: Frame, width: int = 80, height: int | None = None, now: datetime = NOON) -> list[str]:
    """Blanks at their ends included."""
    console = Console(width=width, file=io.StringIO())
    drawn = console.render_lines(picture(shown, now, width, "q quits"), console.options.update(height=height))
    return ["".join(segment.text for segment in line) for line in drawn]


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _drawings() -> Iterator[tuple[str, str]]:
    away = replace(frame(), away_since=NOON + timedelta(seconds=2), why="connection\x1brefused")
    shown = {
        "top": lines(frame(), height=24),
        "top with alerts": lines(
            frame(utilization=0.93, predicted_wait_seconds=0.7, workers_needed=3, num_workers=11), height=24
        ),
        "top while no worker lives": lines(frame(num_workers=0)),
        "top while the server is away": lines(away, now=NOON + timedelta(seconds=14)),
        "top before the first answer": lines(replace(away, snapshot=None, read_at=None), now=NOON),
        "top without ages": lines(frame(without="oldest")),
        "top without numbers": lines(frame(without="num_requests")),
        "top with names from elsewhere": lines(_strange(_NAMED)),
        "top beyond the last bucket": lines(_strange(_SLOW)),
    }
    yield from ((name, "\n".join(some)) for name, some in shown.items())
    yield "top --json", json.dumps(window().document(), indent=1)
    yield from _capacity()
    yield "correct --trace", trace_picture(_traced([7], sent_s=0.004, now_s=0.05))
    yield from _traces()
    yield "GET /metrics", _metrics()


def _strange(text: str) -> Frame:
    earlier, later = (parse(text.format(number), 10.0 * number) for number in (1, 2))
    return Frame("http://far:8000", snapshot(earlier, later, Settings()), NOON)


def _capacity() -> Iterator[tuple[str, str]]:
    some = {"": {}, ", nothing known": {"service_rate": 0.0}, ", too few": {"utilization": 0.9, "workers_needed": 2}}
    some |= {", little used": {"utilization": 0.0017}, ", none live": {"num_workers": 0}}
    texts = {name: metrics_by_hand(0.0, **{"num_workers": 1, **_CALM, **about}) for name, about in some.items()}
    texts[", an older server"] = metrics_by_hand(0.0, without="workers_needed")
    texts |= {f", {fault}": f"{texts['']}miniserve_{fault}\n" for fault in _FAULTS}
    yield "capacity", _said(texts[""])
    yield "capacity --json", _said(texts[""], "--json")
    yield from ((f"capacity{name}", _said(text).partition("\n")[0]) for name, text in texts.items() if name)


def _said(text: str, *options: str) -> str:
    """Of a server that answers this."""
    with patch.object(capacity, "scrape", lambda url, api_key: parse(text)):
        return CliRunner().invoke(main, ["capacity", *options]).output


def _traced(num_tokens: Sequence[int], sent_s: float, now_s: float, is_own: bool = True) -> dict[str, Any]:
    """Of sentences that end together, in so many tokens each; concluded 2 ms later."""
    waterfall, times = Waterfall(received_s=0.0), Timings(queue_s=0.010, prefill_s=0.005, decode_s=0.020)
    ends = [Completion(f"r-{at}", FinishReason.STOP, (1,) * num, times) for at, num in enumerate(num_tokens, 1)]
    waterfall.note_answers(ends, sent_s=sent_s, now_s=now_s, is_own=is_own)
    return waterfall.document(now_s + 0.002)


def _traces() -> Iterator[tuple[str, str]]:
    """Of an answer that is found by its key, and of one that was there before its times were over, too."""
    documents = {
        "of two sentences": _traced([3, 9], sent_s=0.004, now_s=0.05),
        "of an answer that is found": _traced([3], sent_s=0.001, now_s=0.002, is_own=False),
        "of an answer that was there early": _traced([3], sent_s=0.001, now_s=0.020),
    }
    for name, document in documents.items():
        yield f"trace {name}", "\n".join(map(json.dumps, [document["total_ms"], *document["stages"]]))


def _metrics() -> str:
    """What is no part of a histogram, of a system with one of everything."""
    seen = Observed(
        now=Moment(at_s=1_700_000_000.0), queue_depth=4, num_waiting=6, num_running=5, reserved_tokens=700,
        workers=(WorkerFacts("a-1", 3, 2, 90, 600, 16, tokens_per_s=12.5), WorkerFacts("b-2", 1, 0, 60, 400, 8)),
        num_api_replicas=3, oldest_waiting_s=1.5, oldest_running_s=2.5, dead_letters=2, redis_memory_bytes=1000,
        redis_max_memory_bytes=5000, foreign_workers=("rq.1",),
        counts={
            "accepted": 100, "done": 80, "done_length": 7, "failed": 3, "cancelled": 4, "expired": 5, "removed": 6,
            "expired_waiting": 15, "expired_running": 16,
            "refused_full": 8, "refused_late": 9, "refused_share": 1, "duplicates": 2,
        },
        totals={
            "rejected:not-ready": 10, "rejected:shutting-down": 11, "rejected:queue-full": 20, "prompt_tokens": 30,
            "generation_tokens": 12, "iteration:n": 7, "http:/correct:200": 80, "key:school:200": 40,
            "key_tokens:school": 41, "deferred_for_budget": 13, "log_lines_dropped": 14,
        },
    )  # fmt: skip
    told = metrics_text(seen, Settings(max_queue_requests=2048)).decode().splitlines()
    return "\n".join(line for line in told if not re.match("#|.*_(bucket|sum|count)[{ ]", line))
