"""The connections of a process: what a client may send, how long each part may take, and which one makes room."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from unittest.mock import Mock

import pytest

from api.http.handler import RequestHandler
from api.http.incoming import IncomingRequest
from api.server import connection as protocol
from api.server import serving
from api.server.application import bind
from api.server.connection import Connection
from api.server.connections import Places, Shared
from scheduler.messages import Completion
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, site_of
from tests.integration.test_rude_clients import read_all
from tests.mailbox_house import eventually
from worker.queue.protocol import Submission

HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"POST /correct HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
BODY = b'{"sentence": "Ann goed"}'


def asking(name: bytes, more: bytes = b"") -> bytes:
    body = BODY.replace(b"Ann", name)
    return HEAD + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


class HeldMailbox(FakeMailbox):
    """Answers when it may."""

    may_answer = True

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        while not self.may_answer:
            await asyncio.sleep(0.01)
        return await super().wait(wanted, job_ids)


class Site:
    """The application, behind connections that are looked at."""

    def __init__(self) -> None:
        self.mailbox = HeldMailbox()
        self.handler = RequestHandler(site_of(self.mailbox))
        self.shared = Shared(Places(4096, ""), self.handler.begin, Settings().max_body_bytes, 75.0)
        self.are_scarce, self.num_looks = False, 0

    async def serve(self, listener: socket.socket) -> None:
        self.loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()

        def connect() -> Connection:
            self.shared.places.take("127.0.0.1")
            return Connection(self.shared, "127.0.0.1", False)

        async with await self.loop.create_server(connect, sock=listener):
            while not self.stopped.is_set():
                for connection in list(self.shared.open):
                    self.num_looks += 1
                    connection.look(self.loop.time(), self.are_scarce)
                await asyncio.sleep(0.02)


Connect = Callable[[], socket.socket]


@pytest.fixture
def site() -> Iterator[Site]:
    site, listener = Site(), bind("127.0.0.1", 0)
    site.address = listener.getsockname()
    thread = threading.Thread(target=asyncio.run, args=(site.serve(listener),))
    thread.start()
    yield site
    eventually(lambda: hasattr(site, "stopped"))
    site.loop.call_soon_threadsafe(site.stopped.set)
    thread.join()


@pytest.fixture
def connect(site: Site) -> Iterator[Connect]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(site.address, 30))


def is_let_go(client: socket.socket) -> bool:
    """Although it sends now and then."""
    try:
        client.send(b"E")
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_head_that_never_ends_is_let_go(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    client = connect()
    client.sendall(b"GET / HTTP/1.1\r\nX: ")
    client.setblocking(False)

    assert eventually(lambda: is_let_go(client))


def test_a_connection_that_sends_nothing_is_closed_when_its_time_is_over(connect: Connect, site: Site) -> None:
    site.shared.keep_alive_s = 0.2

    assert connect().recv(1) == b""


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nX: ", HEALTHZ], ids=["silent", "in a head", "idle again"])
def test_where_connections_are_scarce_those_that_send_no_request_are_closed_early(
    connect: Connect, site: Site, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(protocol, "SCARCE_S", 0.2)
    client = connect()
    client.sendall(begun)
    answered = b""
    while begun == HEALTHZ and not answered.endswith(b"}\n"):
        answered += client.recv(4096)

    site.are_scarce = True

    assert answered.startswith(b"HTTP/1.1 200 ") is (begun == HEALTHZ)
    assert read_all(client) == b""


def test_where_connections_are_scarce_who_waits_for_an_answer_gets_it(
    connect: Connect, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SCARCE_S", 0.0)
    site.mailbox.may_answer, site.are_scarce = False, True
    client = connect()
    client.sendall(asking(b"Ann"))
    eventually(lambda: site.mailbox.exchanges)
    num_looks = site.num_looks

    eventually(lambda: site.num_looks > num_looks + 3)
    site.mailbox.may_answer = True

    assert client.recv(4096).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("line", [b"Upgrade: h2c", b"upgrade: h2c", b"UPGRADE: h2c", b"upGrade: h2c"], ids=bytes.decode)
@pytest.mark.parametrize("num_bytes_first", [0, 1, 5, 9, 37])
def test_a_request_that_offers_an_upgrade_keeps_its_body_wherever_its_packet_ends(
    connect: Connect, site: Site, line: bytes, num_bytes_first: int
) -> None:
    """Java's HttpClient offers h2c with each request; httptools would take what follows for another protocol."""
    client, head = connect(), HEAD + b"Connection: Upgrade"
    rest = asking(b"Ann", line + b"\r\n")[len(HEAD) :]
    client.sendall(head + (b"\r\n" + rest)[:num_bytes_first])
    num_looks = site.num_looks
    eventually(lambda: site.num_looks > num_looks + 1)  # what has come is read
    client.sendall((b"\r\n" + rest)[num_bytes_first:])
    client.shutdown(socket.SHUT_WR)

    assert b"Ann went" in read_all(client)


@pytest.mark.parametrize(
    "more",
    [b"Idempotency_Key: k\r\nContent-Length: 24\r\n\r\n" + BODY,
     b"Transfer-Encoding: chunked\r\n\r\n18\r\n" + BODY + b"\r\n0\r\nIdempotency-Key: k\r\n\r\n"],
    ids=["an underscore", "behind a chunked body"],
)  # fmt: skip
def test_no_header_is_taken_for_another(connect: Connect, site: Site, more: bytes) -> None:
    client = connect()
    client.sendall(HEAD + more)
    client.shutdown(socket.SHUT_WR)

    assert b"Ann went" in read_all(client)
    assert [exchange.key for exchange in site.mailbox.exchanges] == [""]


def test_a_body_whose_client_closes_before_its_end_is_known_to_be_cut(connect: Connect) -> None:
    client = connect()
    client.sendall(asking(b"Ann")[:-1])
    client.shutdown(socket.SHUT_WR)

    assert read_all(client).startswith(b"HTTP/1.1 400 ")


def test_answers_to_pipelined_requests_of_a_client_that_left_are_dropped(
    connect: Connect, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.mailbox.may_answer = False
    client = connect()
    client.sendall(asking(b"Ann") * 3)
    eventually(lambda: site.mailbox.exchanges)

    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    site.mailbox.may_answer = True

    eventually(lambda: not site.shared.open and not site.handler.num_in_flight)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_each_of_several_requests_at_once_is_answered_in_order(connect: Connect) -> None:
    client = connect()
    client.sendall(
        asking(b"Ann") + asking(b"Bob", b"Connection: Upgrade\r\nUpgrade: h2c\r\n") + asking(b"Cid") + HEALTHZ
    )
    client.shutdown(socket.SHUT_WR)

    answers = read_all(client)

    assert answers.count(b"HTTP/1.1 200 ") == 4
    places = [answers.index(said) for said in (b"Ann went", b"Bob went", b"Cid went", b'"ok"')]
    assert places == sorted(places)


def test_more_requests_at_once_than_a_client_may_send_end_the_connection(connect: Connect) -> None:
    client = connect()
    client.sendall(asking(b"Ann") * (protocol.MAX_PIPELINED + 1))

    answers = read_all(client)

    assert answers.count(b"HTTP/1.1 200 ") == protocol.MAX_PIPELINED
    assert answers.count(b"HTTP/1.1 400 ") == 1


def test_a_replica_that_stops_closes_its_queue_once_all_in_flight_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    for patience in ("LINGER_S", "_LAST_REPORT_S"):
        monkeypatch.setattr(serving, patience, 0.0)
    mailbox, seen = HeldMailbox(), Mock(address="127.0.0.1", came_late=False, is_spare=False)
    replica = serving.Serving(site_of(mailbox), 64)
    mailbox.may_answer, mailbox.close = False, seen.closed

    async def stop() -> None:
        request = IncomingRequest(seen)
        for name, value in ((b"Host", b"x"), (b"Content-Type", b"application/json")):
            request.add_header(name, value)
        request.end_head("POST", "1.1", b"/correct")
        request.add_body(BODY, 1024)
        request.complete()
        replica._listeners = ()
        replica._handler.begin(request)
        asyncio.get_running_loop().call_later(0.05, setattr, mailbox, "may_answer", True)
        await replica._stop()

    asyncio.run(stop())

    ends = [(name, *arguments) for name, arguments, _ in seen.method_calls if name in ("respond", "closed")]
    assert [name for name, *_ in ends] == ["respond", "closed"] and ends[0][2].status == 200
