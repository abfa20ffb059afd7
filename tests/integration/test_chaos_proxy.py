"""The counting proxy of the fault drills, between a client and a real Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from ops.drills.proxy import CountingProxy, Tripwire
from ops.run.embedded_redis import EmbeddedRedis
from tests.mailbox_house import eventually
from worker.queue.connection import Address, RedisConnection
from worker.queue.protocol import MailboxDown
from worker.queue.redis_py import connect


@pytest.fixture
def proxy(redis_server: EmbeddedRedis, redis_url: str) -> Iterator[CountingProxy]:
    proxy = CountingProxy(redis_server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def client(proxy: CountingProxy) -> Iterator[Redis]:
    with connect(proxy.url) as client:
        yield client


@pytest.fixture
def behind(redis_url: str) -> Iterator[Redis]:
    """Past the proxy."""
    with connect(redis_url) as client:
        yield client


@pytest.mark.parametrize("before_reply", [True, False])
def test_the_command_that_trips_has_run_and_nothing_follows_it(
    proxy: CountingProxy, behind: Redis, before_reply: bool
) -> None:
    line, trips = RedisConnection(Address(proxy.url)), []
    line.ask(("PING",))
    proxy.watch(Tripwire(2, before_reply), lambda: trips.append(behind.get("count")))

    with pytest.raises(MailboxDown):
        line.ask(("INCR", "count"), ("INCR", "count"), ("INCR", "count"))

    eventually(lambda: proxy.has_tripped)
    assert trips == [b"2"]
    assert behind.get("count") == b"2"
    assert proxy.names == ["INCR", "INCR"]


def test_a_reply_reaches_the_client_only_where_the_trip_comes_after_it(proxy: CountingProxy, client: Redis) -> None:
    client.ping()

    proxy.watch(Tripwire(1, before_reply=False))
    assert client.echo("a reply") == b"a reply"
    eventually(lambda: proxy.has_tripped)

    proxy.watch(Tripwire(1, before_reply=True))
    with pytest.raises(RedisConnectionError):
        client.echo("a reply")
