"""Whom a line asks for its Redis, and how it connects."""

from __future__ import annotations

import socket
import threading

import hiredis
import pytest

from worker.queue.line import Line


class Sentinel(threading.Thread):
    """One that knows a primary; keeps what it is sent."""

    def __init__(self, flags: bytes, host: bytes = b"10.0.0.1", epoch: bytes = b"3") -> None:
        super().__init__(daemon=True)
        self.commands: list[list[bytes]] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        words = b"ip", host, b"port", b"6380", b"flags", flags, b"config-epoch", epoch
        self._about = b"*8\r\n" + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])
        self.start()

    def run(self) -> None:
        client, _ = self.listener.accept()
        with client:
            reader = hiredis.Reader()
            while chunk := client.recv(4096):
                reader.feed(chunk)
                while (command := reader.gets()) is not False:
                    self.commands.append(command)
                    client.sendall(b"+OK\r\n" if command[0] == b"AUTH" else self._about)


def test_sentinels_are_asked_by_their_own_login_for_the_newest_primary_that_is_not_down() -> None:
    down, cut_off, sound = (
        Sentinel(b"s_down,master", epoch=b"4"),
        Sentinel(b"master", b"10.0.0.9", b"2"),
        Sentinel(b"master"),
    )
    options = "sentinel_username=s&sentinel_password=t%40&db=1"

    line = Line(f"redis+sentinel://api:hunter2@{down.place},{cut_off.place},{sound.place}/my%20main/0?{options}", 2.0)

    assert line.primary() == ("10.0.0.1", 6380)
    assert (
        down.commands
        == cut_off.commands
        == sound.commands
        == [[b"AUTH", b"s", b"t@"], [b"SENTINEL", b"MASTER", b"my main"]]
    )
    assert "hunter" not in repr(line)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("ssl_ca_certs=/nowhere/ca.pem", "ssl_ca_certs=/nowhere/ca.pem: No such file"),
        ("ssl_certfile=/nowhere/c&ssl_keyfile=/nowhere/k", "ssl_certfile=/nowhere/c, ssl_keyfile=/nowhere/k: No such"),
    ],
)
def test_a_file_of_tls_that_cannot_be_read_is_named_with_its_option(options: str, named: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(ConnectionError, match=named):
        Line(f"rediss://127.0.0.1:{server.getsockname()[1]}/0?{options}", 2.0).connect()
