"""nginx with the balancer's own configuration, before replicas of a few lines: who is asked again, and who is not."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

from tests.fake_mailbox import site_of
from tests.proxies import Proxy, before_replicas, proxy
from tests.running_system import Reply, send, wait_until
from tests.small_server import FULL, OK, SmallServer, StartServer, http

PROBLEM = "Content-Type: application/problem+json"
KEY = {"Idempotency-Key": "7f1c0b1e"}
GOOD, BREAKS_OFF = http(200, OK), None
STOPS = http(503, {"type": "urn:miniserve:problem:shutting-down"}, "Retry-After: 1")
ASKED = {"POST": ("POST", {}), "POST with a key": ("POST", KEY), "GET": ("GET", {}), "DELETE": ("DELETE", {})}


def before(*ports: int) -> AbstractContextManager[Proxy]:
    """nginx before these replicas, in the order in which it asks them."""
    return proxy("balancer", before_replicas(*ports))


@pytest.fixture
def refusing() -> Iterator[int]:
    """A port that is bound and not listened on: nobody else gets it."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield closed.getsockname()[1]


def _port(server: SmallServer) -> int:
    return int(server.url.rsplit(":", 1)[1])


def _ask(balancer: Proxy, method: str = "POST", headers: Mapping[str, str] | None = None) -> Reply:
    path, body = ("/correct", b"{}") if method == "POST" else ("/requests/5f3b0f3f", None)
    return send(balancer.url, method, path, body, {"X-Request-ID": "mine", **(headers or {})})


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("fault", ["refuses", "stops", "breaks off"])
def test_of_a_replica_at_fault_another_takes_all_but_a_post_that_may_have_begun(
    serve: StartServer, refusing: int, fault: str, asked: str
) -> None:
    bad, good = serve(lambda _: STOPS if fault == "stops" else BREAKS_OFF), serve(lambda _: GOOD)

    with before(refusing if fault == "refuses" else _port(bad), _port(good)) as balancer:
        replies = [_ask(balancer, *ASKED[asked]) for _ in range(4)]  # the first two go to one replica each

    lost = [reply for reply in replies if reply.status != 200]
    assert len(lost) == (bad.num_requests if (fault, asked) == ("breaks off", "POST") else 0)
    assert len(lost) + good.num_requests == 4
    assert bad.num_requests >= 1 or fault == "refuses"
    for one in lost:
        assert (one.status, one.slug, one.headers["Retry-After"]) == (503, "not-ready", "1")
        assert (one.headers["Content-Type"], one.headers["X-Request-ID"]) == ("application/problem+json", "mine")


def test_a_post_without_a_key_that_gets_no_answer_is_not_sent_again(serve: StartServer) -> None:
    silent, good = serve(lambda _: GOOD, delay_s=3.0), serve(lambda _: GOOD)  # 2 s is the patience

    with before(_port(silent), _port(good)) as balancer:
        assert [_ask(balancer).status for _ in range(2)] == [503, 200]

    assert silent.num_requests == good.num_requests == 1


def test_a_full_queue_is_told_in_the_words_of_the_replica(serve: StartServer) -> None:
    full = [serve(lambda _: http(503, FULL, "Retry-After: 7", PROBLEM)) for _ in range(3)]

    with before(*map(_port, full)) as balancer:
        replies = [_ask(balancer, "POST", headers) for headers in 6 * ({}, KEY)]

    told = {(reply.status, reply.slug, reply.headers["Retry-After"]) for reply in replies}
    assert told == {(503, "queue-full", "7")}
    assert sum(one.num_requests for one in full) <= 24  # one more is asked at most, not all


def test_problems_of_a_replica_pass_as_they_are(serve: StartServer) -> None:
    problems = [
        (status, {"type": f"urn:miniserve:problem:{slug}", "request_id": "r1"})
        for status, slug in ((502, "request-failed"), (504, "deadline-exceeded"), (413, "body-too-large"))
        for _ in range(2)
    ]
    replica = serve(lambda number: http(*problems[number - 1], PROBLEM, "X-Request-ID: from the replica"))

    with before(_port(replica)) as balancer:
        replies = [_ask(balancer, "POST", headers) for headers in 3 * ({}, KEY)]

    assert [(reply.status, reply.body) for reply in replies] == problems
    assert {reply.headers["X-Request-ID"] for reply in replies} == {"from the replica"}
    assert all(b"\r\nX-Request-ID: mine\r\n" in received for received in replica.received)


def test_without_any_replica_clients_are_told_when_to_come_again(refusing: int) -> None:
    with before(refusing) as balancer:
        replies = [send(balancer.url, "POST", "/correct", b"{}", headers) for headers in ({}, KEY)]

    assert {(reply.status, reply.slug, reply.headers["Retry-After"]) for reply in replies} == {(503, "not-ready", "2")}
    assert {len(reply.headers["X-Request-ID"]) for reply in replies} == {32}


def test_the_replica_with_the_fewest_open_requests_is_asked(serve: StartServer) -> None:
    slow, fast = serve(lambda _: GOOD, delay_s=1.5), serve(lambda _: GOOD)

    with before(_port(slow), _port(fast)) as balancer, ThreadPoolExecutor(1) as pool:
        held = pool.submit(_ask, balancer)
        wait_until(lambda: slow.num_requests == 1, 5, "the slow one has a request")
        assert [_ask(balancer).status for _ in range(5)] == [200] * 5
        assert fast.num_requests == 5
        assert held.result().status == 200


def test_the_log_names_every_route_and_the_replica_and_no_text_key_or_id(serve: StartServer, refusing: int) -> None:
    replica = serve(lambda _: http(200, OK, "X-Request-ID: r1"))
    rules = {rule.rule for rule in site_of().url_map.iter_rules()}
    routes = sorted(re.sub(r"<.*?>", "secret", rule) for rule in rules)
    texts = ["/He%20secret", "/v2/check?language=en&text=secret", "/v2/check?text=secret" + "x" * 9_000]

    with before(refusing, _port(replica)) as balancer:
        statuses = [send(balancer.url, "GET", path, headers=KEY).status for path in (*routes, *texts)]
        wait_until(lambda: len(balancer.logged().splitlines()) == len(statuses), 5, "all are logged")
        logged = balancer.logged()

    lines = [json.loads(line) for line in logged.splitlines()]
    assert statuses == [200] * (len(routes) + 2) + [414]
    paths = [line["path"] for line in lines]
    assert "other" not in paths[: len(routes)] and {"/correct", "/requests/<id>", "/learners/<id>"} <= set(paths)
    assert paths[len(routes) :] == ["other", "/v2/check", "other"]
    assert all(line["replica"].endswith(f"127.0.0.1:{_port(replica)}") for line in lines[:-1])
    assert {line["request_id"] for line in lines[:-1]} == {"r1"}
    assert not any(word in logged for word in ("secret", KEY["Idempotency-Key"]))
