"""Clients that send too much, too slowly or too often: they are refused or cut off, and nobody else waits for them."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.mailbox_house import AMPLE, RedisHouse, an_answer, eventually, take_one
from tests.recorded_requests import counts
from tests.running_system import ApiProcess, descendants, send

POST = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
SECURITY = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def parsed(reply: bytes) -> tuple[int, dict[str, str], dict[str, object]]:
    head, _, body = reply.partition(b"\r\n\r\n")
    start, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(start.split()[1]), headers, json.loads(body or b"{}")


def get(path: bytes, *lines: bytes) -> bytes:
    return b"\r\n".join([b"GET %s HTTP/1.1" % path, *(lines or [b"Host: x"]), b"Connection: close", b"", b""])


def asking(path: bytes, length: int) -> bytes:
    """Whether to send so long a body."""
    return POST.replace(b"/correct", path) + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % length


CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = {
    "a declared length, before a byte of it comes": (POST + b"Content-Length: 10000000\r\n\r\n", 413, "body-too-large"),
    "a long body that is offered": (asking(b"/correct", 10_000_000), 413, "body-too-large"),
    "a body for a method that takes none": (asking(b"/requests/1", 10), 405, "method-not-allowed"),
    "a body for nobody": (asking(b"/nowhere", 10), 404, "not-found"),
    "a long body that is sent on": (
        POST + b"Content-Length: 8000000\r\n\r\n" + b" " * 8_000_000,
        413,
        "body-too-large",
    ),
    "70,000 chunks of a byte": (CHUNKED + b"1\r\nx\r\n" * 70_000, 413, "body-too-large"),
    "a chunk without a length": (CHUNKED + b"ZZ\r\n", 400, "malformed-json"),
    "a coding that is not read": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "invalid-header"),
    "two hosts": (get(b"/nowhere", b"Host: x", b"Host: y"), 400, "invalid-header"),
    "no host": (get(b"/nowhere", b"Accept: */*"), 400, "invalid-header"),
    "no line of HTTP": (b"nonsense\r\n\r\n", 400, "invalid-header"),
    "another version": (b"GET /nowhere HTTP/2.0\r\nHost: x\r\n\r\n", 400, "invalid-header"),
    "101 headers": (get(b"/nowhere", b"Host: x", *99 * [b"X-Y: y"]), 400, "invalid-header"),
    "90 lines of one header": (
        get(b"/nowhere", b"Host: x", *90 * [b"Accept: text/plain;q=0.5"]),
        400,
        "invalid-header",
    ),
    "a head that does not end": (get(b"/healthz", b"Host: x", *90 * [b"X-Y: " + b"y" * 8_000]), 400, "invalid-header"),
    "a host with a blank": (get(b"/nowhere", b"Host: a b"), 404, "not-found"),
    "a host that is no Latin": (get(b"/nowhere", b"Host: \xff"), 404, "not-found"),
    "a host with a long port": (get(b"/nowhere", b"Host: evil.example:99999999"), 404, "not-found"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_too_much_or_makes_no_sense_gets_its_problem_and_the_connection_ends(
    api: ApiProcess, name: str
) -> None:
    sent, status, slug = REFUSED[name]
    with api.connect() as client:
        for at in range(0, len(sent), 1_000_000):
            client.sendall(sent[at : at + 1_000_000])
        reply = parsed(read_all(client))  # to the end: the server closes

    assert (reply[0], reply[2]["type"]) == (status, f"urn:miniserve:problem:{slug}")
    assert reply[1]["content-type"] == "application/problem+json"
    assert reply[1].get("connection", "keep-alive") == "close"


def test_an_endless_body_is_cut_off_after_a_bounded_part(api: ApiProcess) -> None:
    chunk, num_sent = b"10000\r\n" + b" " * 65_536 + b"\r\n", 0
    with api.connect() as connection:
        connection.sendall(CHUNKED)
        with pytest.raises(OSError):
            while num_sent < 64 * 1024 * 1024:
                connection.sendall(chunk)
                num_sent += len(chunk)

    assert 15 * 1024 * 1024 < num_sent < 40 * 1024 * 1024


def test_who_asks_whether_to_send_a_body_is_told_to_where_it_will_be_read(api: ApiProcess) -> None:
    with api.connect() as client:
        client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        went_on = client.recv(1024)
        client.sendall(b"{}")
        status, headers, _ = parsed(client.recv(65_536))

    assert went_on == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (status, headers.get("connection", "keep-alive")) == (422, "keep-alive")


@pytest.mark.parametrize("name", ["Accept", "Prefer", "Content-Type", "traceparent", "If-None-Match"])
def test_a_header_that_would_have_to_be_parsed_is_refused_over_a_kilobyte(api: ApiProcess, name: str) -> None:
    headers = {name: "text/html;q=0.5," * 70}
    replies = send(api.url, "POST", "/correct", b"{}", headers), send(api.url, "GET", "/requests/abc", headers=headers)

    for reply in replies:
        assert (reply.status, reply.slug) == (400, "invalid-header")
        assert "1,024" in str(reply.body["detail"])


@pytest.mark.parametrize(("length", "connection"), [(1_000, "keep-alive"), (200_000, "keep-alive"), (900_000, "close")])
def test_a_body_that_no_route_reads_is_skipped_where_it_is_short(api: ApiProcess, length: int, connection: str) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length
    with api.connect() as client:
        client.sendall(head + b" " * length)
        status, headers, _ = parsed(client.recv(65_536))

        assert (status, headers.get("connection", "keep-alive")) == (404, connection)
        if connection == "keep-alive":
            client.sendall(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
            assert parsed(client.recv(65_536))[0] == 404
        else:
            assert read_all(client) == b""


def test_no_path_redirects_to_a_host_that_the_client_names(api: ApiProcess) -> None:
    for path in ("/requests//trace", "//requests/abc", "/correct/", "/requests/abc/"):
        reply = send(api.url, "GET", path, None, {"Host": "evil.example"})

        assert reply.status in (404, 405)
        assert "Location" not in reply.headers


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /healthz",
        b"GET /readyz",
        b"GET /nowhere",
        b"GET /requests/abc",
        b"GET /metrics",
        b"POST /correct",
        b"nonsense",
    ],
)
def test_every_answer_says_that_it_is_what_it_says_and_closes_as_it_was_asked_to(
    api: ApiProcess, request_text: bytes
) -> None:
    """Perl's LWP asks by a list of options."""
    with api.connect() as client:
        head = b" HTTP/1.1\r\nHost: x\r\nX-Request-ID: abc \t\r\nTE: deflate\r\nConnection: TE, close\r\n\r\n"
        client.sendall(request_text + head)
        told = read_all(client).partition(b"\r\n\r\n")[0].lower()

    _, headers, _ = parsed(told)
    assert SECURITY.items() <= headers.items()
    assert [told.count(name) for name in (b"nosniff", b"no-store", b"\r\ndate: ")] == [1, 1, 1]
    assert request_text == b"nonsense" or headers["x-request-id"] == "abc"
    assert headers.get("connection", "keep-alive") == "close"


def test_heads_that_never_end_from_one_address_leave_places_for_others(redis_url: str) -> None:
    with ExitStack() as stack:
        # 135 places, of which 108 are not scarce.
        api = stack.enter_context(ApiProcess(redis_url, "--api-processes", "1", max_files=400))
        *_, last = (stack.enter_context(_begin_head(api)) for _ in range(200))

        assert parsed(last.recv(4096))[2]["type"] == "urn:miniserve:problem:rate-limited"
        for _ in range(5):
            with api.connect("127.0.0.3") as other:
                other.sendall(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
                assert other.recv(4096).startswith(b"HTTP/1.1 404")


def _begin_head(api: ApiProcess) -> socket.socket:
    connection = api.connect("127.0.0.2")
    connection.sendall(b"GET /nowhere HTTP/1.1\r\nX-Y: ")
    return connection


def test_a_client_behind_a_proxy_that_holds_its_share_is_refused_and_that_is_recorded(
    redis_url: str, house: RedisHouse
) -> None:
    request = REQUEST.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 10.0.0.1")
    with ExitStack() as stack:
        options = "--api-processes", "1", "--trusted-proxies", "127.0.0.0/8"
        api = stack.enter_context(ApiProcess(redis_url, *options, max_files=400))  # 135 places: 6 for one client
        for number in range(110):
            stack.enter_context(api.connect()).sendall(request.replace(b"10.0.0.1", b"10.0.1.%d" % number))
        *waiting, last = (stack.enter_context(api.connect()) for _ in range(7))
        for connection in waiting:
            connection.sendall(request)
        eventually(lambda: house.api().status().reserved_requests == 116)

        last.sendall(request)

        status, _, problem = parsed(last.recv(65_536))
        assert (status, problem["type"]) == (429, "urn:miniserve:problem:rate-limited")
        api.wait_for_line(rf"request .*request_id={problem['request_id']} .*status=429", 10)
        counted = 'miniserve_http_responses_total{route="none",status="429"} 1.0'
        eventually(lambda: counted in send(api.url, "GET", "/metrics").body)


REQUEST = POST + b'Content-Length: 28\r\n\r\n{"sentence": "He went home"}'


def test_requests_whose_clients_may_have_left_an_overloaded_replica_are_refused_and_not_queued(
    redis_url: str, house: RedisHouse
) -> None:
    with ExitStack() as stack:
        api = stack.enter_context(ApiProcess(redis_url, "--api-processes", "1", max_files=400))
        for _ in range(20):  # of 135 places: so many that an overload is likely
            stack.enter_context(_begin_head(api))
        assert send(api.url, "GET", "/nowhere").status == 404  # those are taken
        with stopped(descendants(api.process.pid)):
            for _ in range(5):
                with api.connect() as leaving:
                    leaving.sendall(REQUEST)
            closing = stack.enter_context(api.connect())
            closing.sendall(REQUEST)
            closing.shutdown(socket.SHUT_WR)
            waiting = stack.enter_context(api.connect())
            waiting.sendall(REQUEST)
        worker = house.worker()
        worker.exchange([an_answer(take_one(worker).request.request_id)], AMPLE)

        assert parsed(waiting.recv(65_536))[0] == 200
        status, headers, problem = parsed(read_all(closing))
        assert (status, problem["type"]) == (503, "urn:miniserve:problem:queue-full")
        assert headers["retry-after"] == "1"
    assert counts(redis_url)["accepted"] == 1


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """The processes do nothing meanwhile."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"FOO /correct HTTP/1.1", (405, "method-not-allowed", "DELETE, GET, HEAD, OPTIONS, POST")),
        (b"\x16\x03\x01 /correct HTTP/1.1", (400, "invalid-header", None)),
        (b"PATCH /correct HTTP/1.1", (405, "method-not-allowed", "OPTIONS, POST")),
        (b"CONNECT example.org:443 HTTP/1.1", (405, "method-not-allowed", "DELETE, GET, HEAD, OPTIONS, POST")),
        (b"OPTIONS /docs HTTP/1.1", (204, "", "GET, HEAD, OPTIONS")),
        (b"OPTIONS * HTTP/1.1", (204, "", "DELETE, GET, HEAD, OPTIONS, POST")),
    ],
)
def test_a_method_that_nobody_knows_is_told_which_there_are(api: ApiProcess, line: bytes, expected: tuple) -> None:
    with api.connect() as client:
        client.sendall(line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
        status, headers, problem = parsed(read_all(client))

    slug = str(problem.get("type", "")).rpartition(":")[2]
    assert (status, slug, headers.get("allow")) == expected
    assert headers.get("content-type", "").endswith("json") == bool(problem)


def test_a_request_that_cannot_be_read_behind_another_is_not_taken_for_its_method(api: ApiProcess) -> None:
    with api.connect() as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n}} /healthz HTTP/1.1\r\n\r\n")
        received = read_all(client)

    assert b"HTTP/1.1 400" in received and b"HTTP/1.1 405" not in received
