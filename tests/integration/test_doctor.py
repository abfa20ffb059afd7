"""`miniserve doctor` on a real Redis: what a user may do is found by asking, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from redis import Redis

from ops.run import processes
from ops.run.doctor import Finding, examine
from ops.run.embedded_redis import EmbeddedRedis
from tests import guarded_redis
from tests.guarded_redis import GuardedRedis
from tests.mailbox_house import eventually
from tests.running_system import child


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    with guarded_redis.guarded(tmp_path_factory.mktemp("guarded"), {"MAX_MEMORY": "100mb"}) as server:
        yield server


def of_redis(url: str) -> dict[str, Finding]:
    return {finding.check: finding for finding in examine({}, url) if finding.check in ("Redis", "clock")
            or finding.check.startswith("Redis ")}  # fmt: skip


def test_it_names_the_weights_as_the_log_of_a_worker_does(redis_url: str) -> None:
    with child(*processes.miniserve_command("worker", "--redis-url", redis_url)) as worker:
        named = eventually(lambda: re.search(r"model loaded.*(sha256)\W+(\w+)", worker.said()), within_s=20.0)

    (model,) = [finding.found for finding in examine({}) if finding.check == "model"]
    assert " ".join(named.groups()) in model


@pytest.mark.parametrize("user", ["api", "worker"])
def test_with_the_users_of_our_acl_file_all_is_well(server: GuardedRedis, user: str) -> None:
    assert [finding.row for finding in of_redis(server.url(user)).values() if finding.remedy] == []


def test_a_user_who_may_do_everything_is_a_warning_that_says_what(private_redis: EmbeddedRedis) -> None:
    with Redis.from_url(private_redis.url) as client:
        before = client.config_get("*"), client.dbsize()

    users = of_redis(private_redis.url)["Redis users"]

    assert users.state == "warn" and "'default' may use CONFIG, MODULE" in users.found
    assert "users.acl" in users.remedy
    with Redis.from_url(private_redis.url) as client:
        assert (client.config_get("*"), client.dbsize()) == before


def test_a_wrong_password_is_told_from_a_redis_that_is_away(server: GuardedRedis) -> None:
    finding = of_redis(server.url("api").replace("-secret", "-guessed"))["Redis"]

    assert "authentication refused" in finding.found and "password" in finding.remedy
    assert "guessed" not in finding.row[2]
