"""The servers of other tests count requests, not the pieces in which they arrive."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from tests.small_server import OK, http, small_servers


def test_a_head_and_a_body_that_come_one_after_the_other_are_one_request() -> None:
    with small_servers() as start:
        server = start(lambda number: http(200, OK))
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port), timeout=0.3) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n")
            with pytest.raises(TimeoutError):
                client.recv(1)
            client.sendall(b"{}")
            client.settimeout(None)
            assert client.recv(4096).startswith(b"HTTP/1.1 200")

        assert server.received == [b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"]
