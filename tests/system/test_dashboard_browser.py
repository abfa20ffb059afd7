"""The dashboard and `rq info` while hundreds of requests wait and run, the one seen by a real browser."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser
from redis import Redis

from tests.browser import open_dashboard
from tests.dashboard_process import dashboard_of
from tests.loaded_dashboard import NUM_CLIENTS, PAGES, dashboard_under_load

HOSTILE = "<img src=x onerror=document.body.id='ran'>"
FIELDS = {
    "data": '["f", null, [], {}]', "created_at": "2026-11-23T10:00:00.000000Z", "status": "failed", "origin": HOSTILE,
    "description": HOSTILE, "meta": json.dumps({"m": HOSTILE}), "result": json.dumps(HOSTILE), "exc_info": HOSTILE,
}  # fmt: skip


def visit(browser: Browser, url: str) -> str:
    """What the scripts of a page made of it, as HTML."""
    page = browser.new_page()
    try:
        open_dashboard(page, url)
        return page.content()
    finally:
        page.close()


def test_pages_and_rq_info_show_every_request_once_and_both_workers_and_no_text(browser: Browser) -> None:
    with dashboard_under_load() as (url, system):
        queues, workers, waiting = (visit(browser, url + PAGES[name]) for name in ("queues", "workers", "waiting"))
        names = [key.decode().removeprefix("rq:worker:") for key in system.redis.smembers("rq:workers")]
        command = [Path(sys.executable).with_name("rq"), "info", "-u", system.server.url, "--raw"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout

    (row,) = (each for each in re.findall(r"<tr.*?</tr>", queues, re.DOTALL) if re.search(r">\s*correct\s*<", each))
    queued, _, _, started, finished, failed, _ = map(int, re.findall(r">\s*(\d+)\s*</a>", row))
    # The page asks for the columns one after the other, while requests go from one to the next.
    assert queued > 0 and started > 0
    assert 0.6 * NUM_CLIENTS <= queued + started <= 1.4 * NUM_CLIENTS
    assert finished > 0 and failed == 1
    assert len(names) == 2 and all(name in workers for name in names)
    assert len(re.findall(r">\s*continuous batch: \d+ sequences\s*<", workers)) == 2
    assert len(re.findall(r"correct: at most \d+ tokens", waiting)) == 5
    assert 0 < int(re.search(r"^queue correct (\d+)", said, re.MULTILINE).group(1)) < NUM_CLIENTS
    assert len(re.findall(r"^worker (\S+) \(.*\) busy", said, re.MULTILINE)) == 2, said


def test_markup_in_redis_or_in_the_path_is_shown_as_text_and_never_runs(redis_url: str, browser: Browser) -> None:
    with Redis.from_url(redis_url) as client:  # every field that a page shows holds markup that runs a script
        client.hset("rq:job:j", mapping=FIELDS)
        client.rpush("rq:queue:correct", "j")
        client.sadd("rq:queues", "rq:queue:correct", f"rq:queue:{HOSTILE}")
        client.sadd("rq:workers", f"rq:worker:{HOSTILE}")
        about = {"birth": FIELDS["created_at"], "queues": "correct", "current_job": "j", "version": HOSTILE}
        client.hset(f"rq:worker:{HOSTILE}", mapping={**about, "python_version": HOSTILE})
        result = base64.b64encode(zlib.compress(HOSTILE.encode()))
        client.xadd("rq:results:j", {"type": 2, "created_at": FIELDS["created_at"], "exc_string": result})

    with dashboard_of(redis_url) as url:
        paths = *PAGES.values(), "/0/view/job/j", f"/0/view/jobs/{quote(HOSTILE, safe='')}/queued/5/asc/1"
        pages = {path: visit(browser, url + path) for path in paths}

    assert [path for path, page in pages.items() if "&lt;img src=x onerror=" not in page] == []
    assert [path for path, page in pages.items() if re.search(r"<img|id=.?ran", page.replace("id='ran'", ""))] == []
