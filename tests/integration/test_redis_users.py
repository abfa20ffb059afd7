"""ops/deploy/redis/users.acl on a real Redis: each user can do all its work, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError, RedisError

from scheduler.messages import Progress
from tests import guarded_redis
from tests.dashboard_process import OPEN, dashboard_of
from tests.guarded_redis import SCRIPTS, GuardedHouse, GuardedRedis
from tests.mailbox_house import AMPLE, a_request, an_answer, answer, eventually, take, take_one
from tests.recorded_requests import a_record
from tests.running_system import ApiProcess, post_sentence, send
from worker.queue.connection import script_sources
from worker.queue.redis_observer import Phase
from worker.queue.worker_end import WorkerMailbox

RQ = str(Path(sys.executable).with_name("rq"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    with guarded_redis.guarded(tmp_path_factory.mktemp("guarded")) as server:
        yield server


@pytest.fixture
def house(server: GuardedRedis) -> Iterator[GuardedHouse]:
    house = GuardedHouse(server)
    yield house
    house.close()


def allowed(rules: str, client: Redis) -> set[str]:
    """The commands that the rules of a user leave it, in lower case."""
    commands: set[str] = set()
    for rule in [word for word in rules.split() if word[0] in "+-" and word != "-@all"]:
        group = {name.lower() for name in client.acl_cat(rule[2:])} if rule[1] == "@" else {rule[1:]}
        commands = commands | group if rule[0] == "+" else commands - group
    return commands


def rules_of(user: str) -> str:
    text = (SCRIPTS / "users.acl").read_text().replace("\\\n", " ")
    return next(line for line in text.splitlines() if line.startswith(f"user {user} "))


@pytest.mark.parametrize("user", ["api", "worker"])
def test_every_command_of_our_scripts_is_among_the_rights_of_who_runs_them(user: str, redis_url: str) -> None:
    with Redis.from_url(redis_url, decode_responses=True) as client:
        may = allowed(rules_of(user), client)
    source = "\n".join(script_sources().values())

    used = {name.lower() for name in re.findall(r"\b(?:p?call|in_slices)\(\s*'(\w+)'", source)}

    assert used > {"hset", "zadd", "publish"}
    assert used - may == set()


def test_a_request_goes_its_whole_way_by_the_rights_of_api_and_worker(
    house: GuardedHouse, server: GuardedRedis
) -> None:
    api, worker = house.api(), house.worker(WorkerMailbox)
    accepted = api.submit_recorded(a_record("r", "key"), [a_request("r")])
    assert api.find("r").jobs[0].state is Phase.QUEUED
    listed = subprocess.run([RQ, "info", "-u", server.url("api")], capture_output=True, text=True, check=True).stdout
    assert worker.name in listed
    assert take_one(worker).request.request_id == "r"

    worker.exchange((), AMPLE, progress=[Progress("r", (7,))])
    answer(worker, "r")

    assert api.wait(accepted) == an_answer("r")
    assert api.find("r").jobs[0].state == an_answer("r")
    eventually(lambda: api.status().live_workers == 1)  # `rq info` may have taken longer than a beat counts


FORBIDDEN = [
    "FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "CONFIG GET *", "CONFIG SET maxmemory 1", "ACL LIST", "CLIENT LIST",
    "SHUTDOWN NOSAVE", "MONITOR", "REPLICAOF NO ONE", "SAVE", "EVAL return(1) 0", "SCRIPT FLUSH",
    "SET another 1", "GET another", "RPUSH rq_queue x", "SUBSCRIBE elsewhere", "PSUBSCRIBE *", "PUBLISH elsewhere x",
    "MIGRATE h 1 k 0 1", "SWAPDB 0 1",
]  # fmt: skip
FORBIDDEN_TO = {
    "api": ["BLMOVE rq:queue:correct miniserve:claim:x LEFT RIGHT 0.01"],  # only workers wait for the queue,
    "worker": ["SUBSCRIBE miniserve:reply:1"],  # and hear no channel
    "dashboard": [  # it writes nothing, and reads no text
        "SET rq:x 1", "DEL rq:queue:correct", "HSET rq:job:x status done", "ZREM rq:failed:correct x", "EVALSHA x 0",
        "LPUSH rq:queue:correct x", "EXPIRE rq:queues 1", "HGETALL miniserve:counts", "HGETALL miniserve:request:r",
    ],
}  # fmt: skip


@pytest.mark.parametrize("user", FORBIDDEN_TO)
def test_what_is_not_its_work_is_refused_to_every_user(server: GuardedRedis, user: str) -> None:
    allowed = []
    for command in FORBIDDEN + FORBIDDEN_TO[user]:
        with server.client(user) as client, suppress(NoPermissionError):
            client.execute_command(*command.split())
            allowed.append(command)

    assert allowed == []


def test_one_password_of_any_user_shuts_out_all_who_have_none(tmp_path: Path) -> None:
    told = tmp_path / "redis-server"  # in its place: what it would be told
    told.write_text('#!/bin/sh\ncat "$1"\n')
    told.chmod(0o755)
    place = {"REDIS_DIR": str(tmp_path), "RUN_DIR": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = subprocess.run(
        ["sh", SCRIPTS / "start-redis.sh"], env={**place, "WORKER_PASSWORD": "w"}, capture_output=True
    )

    assert f"aclfile {tmp_path}/users.acl" in done.stdout.decode()
    users = re.findall(r"^user (\w+) ", (tmp_path / "users.acl").read_text(), re.MULTILINE)
    assert users == ["default", "worker"]


def test_a_wrong_password_opens_nothing(server: GuardedRedis) -> None:
    for user in guarded_redis.USERS:
        url = server.url(user).replace("-secret", "-guessed")
        with Redis.from_url(url) as client, pytest.raises(RedisError, match="invalid username-password"):
            client.ping()


def test_an_api_that_redis_refuses_names_the_password_in_its_log_and_its_answers(server: GuardedRedis) -> None:
    with ApiProcess(server.url("api").replace("-secret", "-guessed")) as api:
        line = api.wait_for_line(r"^.*warning.*$", 15).group()
        eventually(lambda: "just started" not in send(api.url, "GET", "/readyz").body["detail"])
        probe, posted = send(api.url, "GET", "/readyz"), post_sentence(api.url, "He goed.")

    if "does not answer" in line:  # a machine so busy that Redis had no time to say why
        line = posted.body["detail"]
    for text in (line, probe.body["detail"], posted.body["detail"]):
        assert "authentication refused" in text and "password" in text
        assert "does not answer" not in text and "try again" not in text and "guessed" not in text
    assert probe.status == posted.status == 503


def test_who_says_no_name_may_only_ask_whether_it_is_there(server: GuardedRedis) -> None:
    with Redis(port=server.port) as client:
        assert client.ping()
        for command in ("INFO", "GET rq:queues", "SMEMBERS rq:queues", "ACL WHOAMI"):
            with pytest.raises(NoPermissionError):
                client.execute_command(*command.split())


def test_the_dashboard_shows_its_pages_by_the_rights_of_its_user(house: GuardedHouse, server: GuardedRedis) -> None:
    api, worker = house.api(), house.worker()
    api.submit(a_request("kept"))

    with dashboard_of(server.url("dashboard"), *OPEN) as url:
        pages = [f"/0/data/{page}.json" for page in ("queues", "workers", "job/kept", "jobs/correct/queued/10/asc/1")]
        statuses = {page: send(url, "GET", page).status for page in pages}

    assert set(statuses.values()) == {200}
    assert take(worker) == ["kept"]
    answer(worker, "kept")


def test_no_key_that_the_dashboards_user_may_read_holds_a_text(house: GuardedHouse, server: GuardedRedis) -> None:
    api, worker = house.api(), house.worker()
    record = replace(a_record("secret", "key of secret"), document=json.dumps({"sentence": "my secret"}))
    api.submit_recorded(record, [a_request("secret")])

    with server.client("dashboard") as client:
        fields = eventually(lambda: client.hgetall("rq:job:secret"))

    assert api.find("secret").content == {"sentence": "my secret"}
    assert fields[b"status"] == b"queued"
    assert b"my secret" not in b" ".join(fields.values())
    take(worker)
    answer(worker, "secret")
