"""How a response of gunicorn's leaves: head and body in one write, and framed as HTTP wants it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import InvalidResponseHeader

from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS
from api.server.gevent_worker import OneWriteResponse


class Connection:
    """Keeps what is written, write by write; one `send` takes no more than `room`."""

    def __init__(self, room: int = 1 << 20) -> None:
        self.writes: list[bytes] = []
        self.is_asked = False
        self._room = room

    def send(self, data: bytes) -> int:
        self.writes.append(data[: self._room])
        return len(self.writes[-1])

    def sendall(self, data: bytes) -> None:
        self.writes.append(data)


def written(
    method: str, headers: list[tuple[str, str]], *parts: bytes, version: tuple[int, int] = (1, 1), room: int = 1 << 20
) -> list[bytes]:
    body = SimpleNamespace(failed=False, reader=SimpleNamespace(length=0))  # read to its end
    request = SimpleNamespace(method=method, version=version, body=body, headers=[], should_close=lambda: False)
    connection = Connection(room)
    response = OneWriteResponse(request, connection, Config())
    response.start_response("200 OK", headers)
    for part in parts:
        response.write(part)
    response.close()
    return connection.writes


def test_a_body_of_known_length_leaves_with_its_head_in_one_write() -> None:
    (text,) = written("POST", [("Content-Length", "2"), ("X-Request-ID", "\u00e4")], b"ok")

    head, _, body = text.partition(b"\r\n\r\n")
    safety = [name.encode() for name, _ in SECURITY_HEADERS]
    names = [line.split(b":")[0] for line in head.split(b"\r\n")[1:]]
    assert head.startswith(b"HTTP/1.1 200 OK\r\n") and body == b"ok"
    assert names == [b"Server", *safety, b"Date", b"Connection", b"Content-Length", b"X-Request-ID"]
    assert b"X-Request-ID: \xe4" in head and b"Connection: keep-alive" in head


def test_a_file_that_browsers_may_keep_says_nothing_else_about_it() -> None:
    (text,) = written("GET", [KEPT_BY_BROWSERS, ("Content-Length", "2")], b"ok")

    assert [line for line in text.split(b"\r\n") if b"Cache-Control" in line] == [b"Cache-Control: no-cache"]
    assert b"X-Content-Type-Options: nosniff" in text


def test_a_stream_is_sent_in_chunks_as_it_comes_and_ends_with_an_empty_one() -> None:
    first, second, last = written("POST", [], b"event one", b"", b"event two")

    assert b"Transfer-Encoding: chunked\r\n" in first and first.endswith(b"\r\n\r\n9\r\nevent one\r\n")
    assert (second, last) == (b"9\r\nevent two\r\n", b"0\r\n\r\n")


def test_a_stream_to_an_old_client_ends_with_its_connection() -> None:
    first, second = written("POST", [], b"event one", b"event two", version=(1, 0))

    assert first.startswith(b"HTTP/1.0 200 OK") and b"Connection: close" in first and first.endswith(b"\r\nevent one")
    assert second == b"event two"


def test_a_head_without_a_body_is_sent_all_the_same() -> None:
    (text,) = written("HEAD", [("Content-Length", "2")], b"ok")

    assert b"Content-Length: 2\r\n" in text and text.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("value", ["a\r\nX-Forged: 1", "a\x00", "\u2028"])
def test_a_header_that_would_end_its_line_is_refused(value: str) -> None:
    with pytest.raises(InvalidResponseHeader):
        written("POST", [("X-Request-ID", value)])


def test_what_the_kernel_has_no_room_for_follows() -> None:
    whole = written("POST", [("Content-Length", "2")], b"ok")

    assert b"".join(written("POST", [("Content-Length", "2")], b"ok", room=10)) == b"".join(whole)
