"""rq-dashboard and `rq info` while hundreds of requests wait and run, the one seen by a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.drills.system import System
from tests.dashboard_browser import NUM_CLIENTS, PAGES, dashboard_under_load, visit


@pytest.fixture(scope="module")
def under_load() -> Iterator[tuple[str, System]]:
    with dashboard_under_load() as (url, system):
        yield url, system


def test_the_queues_page_shows_every_request_once(under_load: tuple[str, System]) -> None:
    url, _ = under_load

    cells = re.findall(r">\s*(\d+)\s*</a>", visit(url + PAGES["queues"]))

    queued, _, _, started, finished, failed, _ = map(int, cells)
    # The page asks for the columns one after the other, while requests go from one to the next.
    assert queued > 0 and started > 0
    assert 0.6 * NUM_CLIENTS <= queued + started <= 1.4 * NUM_CLIENTS
    assert finished > 0 and failed == 1


def test_the_workers_page_shows_both_with_their_batches(under_load: tuple[str, System]) -> None:
    url, system = under_load

    page = visit(url + PAGES["workers"])

    names = [key.decode().removeprefix("rq:worker:") for key in system.redis.smembers("rq:workers")]
    assert len(names) == 2 and all(name in page for name in names)
    assert len(re.findall(r">\s*continuous batch\(\)\s*<", page)) == 2


def test_the_jobs_page_shows_numbers_and_no_text(under_load: tuple[str, System]) -> None:
    url, _ = under_load

    page = visit(url + PAGES["waiting"])

    assert len(re.findall(r"correct: \d+ prompt tokens, at most \d+ more", page)) == 5


def test_rq_info_counts_the_waiting_and_names_the_workers(under_load: tuple[str, System]) -> None:
    _, system = under_load
    rq = Path(sys.executable).with_name("rq")

    done = subprocess.run([rq, "info", "-u", system.server.url, "--raw"], capture_output=True, text=True, timeout=30)

    depth = int(re.search(r"^queue correct (\d+)", done.stdout, re.MULTILINE).group(1))
    workers = re.findall(r"^worker (\S+) \(.*\) busy", done.stdout, re.MULTILINE)
    assert 0 < depth < NUM_CLIENTS, done.stdout + done.stderr
    assert len(workers) == 2, done.stdout
