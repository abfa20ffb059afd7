"""`miniserve dashboard` against whoever can write to Redis, and against pages of other sites in the same browser."""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from redis import Redis

from ops.cli import main
from ops.run.embedded_redis import EmbeddedRedis
from tests.dashboard_process import OPEN, dashboard_of
from tests.mailbox_house import RedisHouse, a_request
from tests.running_system import command_line, descendants, send

CREATED_AT = "2026-11-23T10:00:00.000000Z"
NAME_AND_PASSWORD = base64.b64encode(b"eva:p@ss").decode()
LOGIN = {"Authorization": f"Basic {NAME_AND_PASSWORD}"}
LOGIN_ENV = {"MINISERVE_DASHBOARD_USERNAME": "eva", "MINISERVE_DASHBOARD_PASSWORD": "p@ss"}
PAGES = ("/", "/0/view/workers", "/0/view/jobs", "/0/view/job/kept")


class _Creates:
    """Unpickled, it creates a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self._path), "w")


def _job(data: bytes = b'["f", null, [], {}]', **fields: Any) -> dict[str, Any]:
    return {"data": data, "created_at": CREATED_AT, "status": "finished", "origin": "correct", **fields}


@pytest.fixture(scope="module")
def dashboard(redis_server: EmbeddedRedis) -> Iterator[str]:
    with dashboard_of(redis_server.url) as url:
        yield url


@pytest.fixture(scope="module")
def named(redis_server: EmbeddedRedis) -> Iterator[str]:
    """One that is reached by further names."""
    with dashboard_of(redis_server.url, *OPEN, "--dashboard-hosts", "a.example, B.Example") as url:
        yield url


def submit(house: RedisHouse, *request_ids: str) -> None:
    api = house.api()
    for request_id in request_ids:
        api.submit(a_request(request_id))


def test_what_was_pickled_is_never_unpickled_and_its_page_still_opens(
    dashboard: str, client: Redis, tmp_path: Path
) -> None:
    bombs = {place: pickle.dumps(_Creates(tmp_path / place)) for place in ("data", "meta", "result", "return_value")}
    returned = base64.b64encode(bombs.pop("return_value"))
    client.sadd("rq:workers", "rq:worker:w")
    client.hset("rq:worker:w", mapping={"birth": CREATED_AT, "queues": "correct", "current_job": "bomb"})
    client.hset("rq:job:bomb", mapping=_job(**bombs))
    client.xadd("rq:results:bomb", {"return_value": returned, "type": 1, "created_at": CREATED_AT})

    pages = ("/0/data/workers.json", "/0/view/job/bomb", "/0/data/job/bomb.json")
    statuses = {page: send(dashboard, "GET", page).status for page in pages}

    assert [*tmp_path.iterdir()] == []
    assert statuses == dict.fromkeys(pages, 200)


def test_a_job_that_cannot_be_read_leaves_the_others_on_the_page(
    dashboard: str, house: RedisHouse, client: Redis
) -> None:
    submit(house, "sound", "spoilt")
    client.hset("rq:job:spoilt", mapping={"data": b"\x80\xff", "meta": b"[" * 100_000})

    listing = send(dashboard, "GET", "/0/data/jobs/correct/queued/8/asc/1.json").body

    assert [job["id"] for job in listing["jobs"]] == ["sound", "spoilt"]


def _most_memory_mib(url: str) -> int:
    """The largest that any process of the dashboard has been."""
    port = url.rpartition(":")[2]
    pids = [pid for pid in descendants(os.getpid()) if f"--dashboard-port {port}" in command_line(pid)]
    lines = "".join(Path(f"/proc/{pid}/status").read_text() for pid in pids)
    return max(int(kib) for kib in re.findall(r"VmHWM:\s+(\d+) kB", lines)) // 1024


def test_a_job_that_grows_when_it_is_read_is_shown_without_growing(dashboard: str, client: Redis) -> None:
    bomb = zlib.compress(b"[" + b" " * 150 * 2**20)
    client.hset("rq:job:bomb", mapping=_job(bomb, exc_info=bomb))
    client.xadd("rq:results:bomb", {"exc_string": base64.b64encode(bomb), "type": 2, "created_at": CREATED_AT})
    before_mib = _most_memory_mib(dashboard)

    statuses = [send(dashboard, "GET", page).status for page in ("/0/view/job/bomb", "/0/data/job/bomb.json")]

    assert statuses == [200, 200]
    assert _most_memory_mib(dashboard) - before_mib < 100


def test_a_page_of_another_origin_changes_nothing(named: str, house: RedisHouse, client: Redis) -> None:
    submit(house, "kept")
    port, empty, requeue = named.rpartition(":")[2], "/queue/correct/queued/empty", "/requeue/correct"
    origins = "http://evil.example", "http://127.0.0.1:1", "null", "", f"https://evil.example@127.0.0.1:{port}"

    for headers in [{"Origin": origin} if origin else {} for origin in origins]:
        refused = [send(named, "POST", path, headers=headers).status for path in (empty, requeue)]
        by_image = send(named, "GET", requeue, headers=headers).status
        assert (refused, by_image) == ([403, 403], 405), headers

    assert client.llen("rq:queue:correct") == 1


FOREIGN = "evil.example", "evil.example:9181", "localhost.evil.example", "127.0.0.1.evil.example"


def test_a_foreign_name_that_resolves_to_this_machine_is_refused_and_others_are_served(named: str) -> None:
    for host in FOREIGN:
        answers = [send(named, "GET", page, headers={"Host": host}) for page in ("/", "/0/data/queues.json")]
        assert [answer.status for answer in answers] == [403, 403], host
        assert not any("correct" in str(answer.body) for answer in answers)
    for host in ("localhost", "LOCALHOST:9181", "127.0.0.1:1", "[::1]:9181", "b.example"):
        assert send(named, "GET", "/", headers={"Host": host}).status == 200, host


def test_deleting_emptying_and_compacting_are_refused(dashboard: str, house: RedisHouse, client: Redis) -> None:
    submit(house, "kept")
    writes = ("/job/kept/delete", "/queue/correct/compact", "/queue/correct/queued/empty")

    refused = [send(dashboard, "POST", path, headers={"Origin": dashboard}).body for path in writes]

    assert refused == [{"status": "DISABLED"}] * 3
    assert client.lrange("rq:queue:correct", 0, -1) == [b"kept"]


def test_nobody_sees_a_page_without_the_log_in_and_no_page_shows_a_password(client: Redis, redis_url: str) -> None:
    client.config_set("requirepass", "s3cret@1")
    try:
        client.execute_command("AUTH", "s3cret@1")
        client.hset("rq:job:kept", mapping=_job())
        with dashboard_of(redis_url.replace("//", "//:s3cret%401@"), "--host", "127.0.0.1", env=LOGIN_ENV) as url:
            closed = {send(url, "GET", page).status for page in (*PAGES, "/0/data/queues.json", "/static/css/main.css")}
            wrong = send(url, "GET", "/", headers={"Authorization": "Basic " + base64.b64encode(b"eva:x").decode()})
            pages = [send(url, "GET", page, headers=LOGIN) for page in PAGES]
    finally:
        client.config_set("requirepass", "")

    assert (closed, wrong.status) == ({401}, 401)
    assert [page.status for page in pages] == [200] * len(PAGES)
    assert not any("s3cret" in page.body or "401@" in page.body for page in pages)


def test_every_answer_has_the_headers_that_a_browser_protects_by(dashboard: str) -> None:
    missing = "/nowhere", "/0/view/job/none", "/0/data/job/none.json", "/7/view/queues"
    for path in ("/", "/0/data/queues.json", *missing):
        reply = send(dashboard, "GET", path)
        headers = reply.headers

        assert (reply.status == 404) is (path in missing), path
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert "script-src 'self' 'nonce-" in headers["Content-Security-Policy"], path


def test_the_name_of_a_queue_in_the_path_is_text_within_the_page_s_script(dashboard: str) -> None:
    page = send(dashboard, "GET", "/0/view/jobs/x');alert(1);('/queued/8/asc/1").body

    assert "x');alert(1)" not in page
    assert json.dumps("x\\u0027);alert(1);(\\u0027").replace("\\\\", "\\") in page


def test_an_open_dashboard_is_refused_where_other_machines_reach_it() -> None:
    command = ["dashboard", "--redis-url", "redis://127.0.0.1:1/0", *OPEN, "--host", "0.0.0.0"]

    refused = CliRunner().invoke(main, command)

    assert (refused.exit_code, "--dashboard-open is for a loopback address" in refused.output) == (2, True)
