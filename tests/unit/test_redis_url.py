"""URLs of a Redis: which are sound, what the refusal of another says, what may be shown of one."""

from __future__ import annotations

import pytest

from scheduler.urls import hide_password, redis_url_fault
from worker.queue.sentinel import SentinelUrl


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://a/mymaster",
        "redis+sentinel://a:26379,b,[::1]:7/mymaster/0",
        "redis+sentinel://api:p%40ss@a:1,b:2/service/15?sentinel_password=x",
        "rediss+sentinel://a,b/mymaster/0?ssl_ca_certs=/etc/ca.pem",
        "rediss://api:pw@h/0?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=required",
    ],
)
def test_a_sound_url_of_sentinels_or_over_tls_has_no_fault(url: str) -> None:
    assert redis_url_fault(url) is None


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("redis+sentinel://a:26379,b:26379", "mymaster/0"),
        ("redis+sentinel://a/", "mymaster/0"),
        ("redis+sentinel://a/mymaster/zero", "mymaster/0"),
        ("redis+sentinel:///mymaster", "names no host"),
        ("redis+sentinel://a,,b/mymaster", "HOST:PORT"),
        ("redis+sentinel://a:0,b/mymaster", "HOST:PORT"),
        ("redis+sentinel://a:x,b/mymaster", "HOST:PORT"),
        ("redis://a,b/0", "HOST:PORT"),
        ("redis://a:1/0,redis://b:1/0", "deployments behind a balancer that hashes the client: docs/proxies.md"),
        ("unix:///tmp/s, redis+sentinel://a:1,b:2/main", "it must name one Redis"),
        ("sentinel://a/mymaster", "must begin with redis://"),
        ("redis://h/0?ssl_ca_certs=/ca.pem", "an option of rediss://"),
        ("redis://h/0?sentinel_password=x", "takes no option sentinel_password"),
        ("redis://h/0?socket_timeout=60", "takes no option socket_timeout, only db"),
        ("redis://h?db=x", "number of a database"),
        ("rediss://h/0?ssl_cert_reqs=maybe", "none, optional, required"),
    ],
)
def test_the_fault_of_a_url_says_what_is_wanted(url: str, fault: str) -> None:
    assert fault in redis_url_fault(url)


def test_a_sentinel_url_is_taken_apart_into_sentinels_and_the_rest() -> None:
    url = (
        "rediss+sentinel://api:p%40ss@a:1,[::1],c:3/main/2?ssl_ca_certs=/a%20b&sentinel_username=s&sentinel_password=t"
    )

    known = SentinelUrl.parse(url)

    assert known.sentinels == (("a", 1), ("::1", 26379), ("c", 3))
    assert known.service == "main"
    assert known.redis_url == "rediss://api:p%40ss@a:1/2?ssl_ca_certs=%2Fa+b"
    assert (known.sentinel_username, known.sentinel_password) == ("s", "t")


def test_what_is_printed_of_a_sentinel_url_holds_no_password() -> None:
    known = SentinelUrl.parse("redis+sentinel://api:hunter2@a/main/0?sentinel_password=hunter3")

    assert "hunter" not in repr(known)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis+sentinel://api:pw@a:1,b:2/main/0", "redis+sentinel://api:***@a:1,b:2/main/0"),
        ("redis+sentinel://a:1,b:2/main/0?sentinel_password=pw&db=1",
         "redis+sentinel://a:1,b:2/main/0?sentinel_password=***&db=1"),
        ("rediss://:pw@h/0?ssl_password=x", "rediss://:***@h/0?ssl_password=***"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_any_of_its_passwords(url: str, shown: str) -> None:
    assert hide_password(url) == shown


@pytest.mark.parametrize("url", ["redis://h/0", "redis+sentinel://a", ""])
def test_what_names_no_sentinels_is_not_taken_apart(url: str) -> None:
    with pytest.raises(ValueError, match="sentinels|mymaster"):
        SentinelUrl.parse(url)
