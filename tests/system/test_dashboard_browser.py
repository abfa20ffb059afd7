"""The dashboard in a real browser, with a Redis that holds markup wherever a page shows something."""

from __future__ import annotations

import base64
import json
import re
import zlib
from urllib.parse import quote

from playwright.sync_api import Browser
from redis import Redis

from tests.browser import open_dashboard
from tests.dashboard_process import dashboard_of

PAGES = "/0/view/queues", "/0/view/workers", "/0/view/jobs/correct/queued/5/asc/1"
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
        paths = *PAGES, "/0/view/job/j", f"/0/view/jobs/{quote(HOSTILE, safe='')}/queued/5/asc/1"
        pages = {path: visit(browser, url + path) for path in paths}

    assert [path for path, page in pages.items() if "&lt;img src=x onerror=" not in page] == []
    assert [path for path, page in pages.items() if re.search(r"<img|id=.?ran", page.replace("id='ran'", ""))] == []
