"""The connection of a client: what it may send, and how long each part may take."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import gevent
import pytest
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.http.unreader import IterUnreader

from api.http.request_input import has_left, sends_no_more
from api.server import client_socket
from api.server.client_socket import ClientSocket, unread_bytes
from scheduler.errors import BodyTooLarge

MAX_BODY_BYTES = 1024


@pytest.fixture
def ends() -> Iterator[tuple[ClientSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ClientSocket(fileno=ours.detach(), max_body_bytes=MAX_BODY_BYTES, keep_alive_s=75) as server, theirs:
        yield server, theirs


Ends = tuple[ClientSocket, socket.socket]


def test_a_head_has_a_lifetime_from_its_first_byte(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = ends
    monkeypatch.setattr(client_socket, "HEAD_S", 0.05)
    client.sendall(b"G")
    assert server.recv(8192) == b"G"

    with pytest.raises(TimeoutError):
        while server.recv(8192):
            client.sendall(b"E")  # byte by byte it never stalls
            gevent.sleep(0.001)


def test_a_body_has_a_lifetime(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = ends
    monkeypatch.setattr(client_socket, "BODY_S", 0.05)
    server.expect_body()

    with pytest.raises(TimeoutError):
        while True:
            client.sendall(b"E")
            server.recv(8192)
            gevent.sleep(0.001)


def test_a_client_that_has_closed_its_sending_side_has_not_left(ends: Ends) -> None:
    server, client = ends
    assert not sends_no_more(server)

    client.shutdown(socket.SHUT_WR)
    assert sends_no_more(server) and not has_left(server)
    client.close()
    assert has_left(server)
    server.close()
    assert sends_no_more(server) and has_left(server)


def test_an_idle_connection_has_a_lifetime_of_its_own(ends: Ends) -> None:
    server, _ = ends
    idle = ClientSocket(fileno=server.detach(), max_body_bytes=MAX_BODY_BYTES, keep_alive_s=0.02)

    with idle, pytest.raises(TimeoutError):
        idle.recv(8192)


def test_head_and_body_have_a_bound_each(ends: Ends) -> None:
    server, client = ends
    client.sendall(b"x" * client_socket.MAX_HEAD_BYTES)
    assert len(server.recv(1 << 20)) == client_socket.MAX_HEAD_BYTES
    client.sendall(b"x")
    with pytest.raises(LimitRequestHeaders):
        server.recv(1 << 20)

    server.expect_body()
    client.sendall(b"x" * (MAX_BODY_BYTES + client_socket.FRAMING_BYTES + 1))
    with pytest.raises(BodyTooLarge):
        while server.recv(8192):
            pass


def test_every_further_piece_of_a_request_lets_others_go_first(ends: Ends) -> None:
    server, client = ends
    client.sendall(b"x" * 3_000)
    turns: list[int] = []
    other = gevent.spawn(lambda: [turns.append(gevent.sleep(0) or 1) for _ in range(100)])

    server.recv(1_000)
    assert turns == []
    server.recv(1_000)
    server.recv(1_000)
    assert len(turns) >= 1
    other.kill()


@pytest.mark.parametrize(
    ("num_bytes", "is_paced"), [(MAX_BODY_BYTES, False), (MAX_BODY_BYTES + 1, True), (float("inf"), False)]
)
def test_bodies_that_are_declared_too_long_are_refused_one_after_the_other(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, num_bytes: float, is_paced: bool
) -> None:
    server, _ = ends
    pauses: list[float] = []
    monkeypatch.setattr(client_socket.gevent, "sleep", lambda seconds: pauses.append(client_socket._refusals.counter))

    server.expect_body(num_bytes=num_bytes)

    assert pauses == ([0] if is_paced else []), "nobody else is refused meanwhile"


def test_of_those_with_much_to_do_one_goes_on_at_a_time() -> None:
    steps: list[str] = []

    def work(name: str) -> None:
        for _ in range(3):
            client_socket.let_others_go_first()
            steps.append(name)

    def talk(own: gevent.socket.socket) -> None:
        while own.recv(1) and len(steps) < 40:  # each time the event loop has to see that something has come
            steps.append(".")
            own.sendall(b"x")
        own.close()

    one, other = gevent.socket.socketpair()
    one.sendall(b"x")
    gevent.joinall([gevent.spawn(work, name) for name in "abc"] + [gevent.spawn(talk, end) for end in (one, other)])

    assert "".join(steps).replace(".", "") == "abcabcabc"
    assert not re.search("[abc][abc]", "".join(steps))


def test_looking_ahead_takes_nothing_from_the_bounds(ends: Ends) -> None:
    server, client = ends
    client.sendall(b"x" * client_socket.MAX_HEAD_BYTES)

    assert server.recv(1, socket.MSG_PEEK) == b"x"
    assert len(server.recv(1 << 20)) == client_socket.MAX_HEAD_BYTES


def test_what_is_left_of_a_body_is_known() -> None:
    unreader = IterUnreader([b"4\r\nabcd\r\n0\r\n\r\n"])
    declared, chunked = Body(LengthReader(unreader, 1000)), Body(ChunkedReader(object(), unreader))

    assert (unread_bytes(declared), unread_bytes(chunked)) == (1000, float("inf"))
    assert chunked.read() == b"abcd"
    assert unread_bytes(chunked) == 0
