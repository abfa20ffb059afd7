"""The dashboard and `rq info` while hundreds of requests wait and run, the one seen by a real browser."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser
from redis import Redis

from ops.drills.system import System
from tests.browser import visit
from tests.dashboard_process import dashboard_of
from tests.loaded_dashboard import NUM_CLIENTS, PAGES, dashboard_under_load


@pytest.fixture(scope="module")
def under_load() -> Iterator[tuple[str, System]]:
    with dashboard_under_load() as (url, system):
        yield url, system


def test_the_queues_page_shows_every_request_once(under_load: tuple[str, System], browser: Browser) -> None:
    url, _ = under_load

    rows = re.findall(r"<tr.*?</tr>", visit(browser, url + PAGES["queues"]), re.DOTALL)
    (row,) = (each for each in rows if re.search(r">\s*correct\s*<", each))
    cells = re.findall(r">\s*(\d+)\s*</a>", row)

    queued, _, _, started, finished, failed, _ = map(int, cells)
    # The page asks for the columns one after the other, while requests go from one to the next.
    assert queued > 0 and started > 0
    assert 0.6 * NUM_CLIENTS <= queued + started <= 1.4 * NUM_CLIENTS
    assert finished > 0 and failed == 1


def test_the_workers_page_shows_both_with_their_batches(under_load: tuple[str, System], browser: Browser) -> None:
    url, system = under_load

    page = visit(browser, url + PAGES["workers"])

    names = [key.decode().removeprefix("rq:worker:") for key in system.redis.smembers("rq:workers")]
    assert len(names) == 2 and all(name in page for name in names)
    assert len(re.findall(r">\s*continuous batch: \d+ sequences\s*<", page)) == 2


def test_the_jobs_page_shows_numbers_and_no_text(under_load: tuple[str, System], browser: Browser) -> None:
    url, _ = under_load

    page = visit(browser, url + PAGES["waiting"])

    assert len(re.findall(r"correct: at most \d+ tokens", page)) == 5


def test_rq_info_counts_the_waiting_and_names_the_workers(under_load: tuple[str, System]) -> None:
    _, system = under_load
    rq = Path(sys.executable).with_name("rq")

    done = subprocess.run([rq, "info", "-u", system.server.url, "--raw"], capture_output=True, text=True, timeout=30)

    depth = int(re.search(r"^queue correct (\d+)", done.stdout, re.MULTILINE).group(1))
    workers = re.findall(r"^worker (\S+) \(.*\) busy", done.stdout, re.MULTILINE)
    assert 0 < depth < NUM_CLIENTS, done.stdout + done.stderr
    assert len(workers) == 2, done.stdout


HOSTILE = "<img src=x onerror=document.body.id='ran'>"
FIELDS = {
    "data": '["f", null, [], {}]', "created_at": "2026-11-23T10:00:00.000000Z", "status": "failed", "origin": HOSTILE,
    "description": HOSTILE, "meta": json.dumps({"m": HOSTILE}), "result": json.dumps(HOSTILE), "exc_info": HOSTILE,
}  # fmt: skip


@pytest.fixture
def hostile_redis(redis_url: str) -> str:
    """Every field that a page shows holds markup that runs a script."""
    with Redis.from_url(redis_url) as client:
        client.hset("rq:job:j", mapping=FIELDS)
        client.rpush("rq:queue:correct", "j")
        client.sadd("rq:queues", "rq:queue:correct", f"rq:queue:{HOSTILE}")
        client.sadd("rq:workers", f"rq:worker:{HOSTILE}")
        about = {"birth": FIELDS["created_at"], "queues": "correct", "current_job": "j", "version": HOSTILE}
        client.hset(f"rq:worker:{HOSTILE}", mapping={**about, "python_version": HOSTILE})
        result = base64.b64encode(zlib.compress(HOSTILE.encode()))
        client.xadd("rq:results:j", {"type": 2, "created_at": FIELDS["created_at"], "exc_string": result})
    return redis_url


@pytest.mark.parametrize(
    "path", [*PAGES.values(), "/0/view/job/j", f"/0/view/jobs/{quote(HOSTILE, safe='')}/queued/5/asc/1"]
)
def test_markup_in_redis_or_in_the_path_is_shown_as_text_and_never_runs(
    path: str, hostile_redis: str, browser: Browser
) -> None:
    with dashboard_of(hostile_redis) as url:
        page = visit(browser, url + path)

    assert "&lt;img src=x onerror=" in page
    assert not re.search(r"<img|id=.?ran", page.replace("id='ran'", ""))
