"""Whom a line asks for its Redis."""

from __future__ import annotations

import socket
import threading

import hiredis

from worker.queue.line import Line


class Sentinel(threading.Thread):
    """One that knows a primary; keeps what it is sent."""

    def __init__(self, flags: bytes) -> None:
        super().__init__(daemon=True)
        self.commands: list[list[bytes]] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        words = b"ip", b"10.0.0.1", b"port", b"6380", b"flags", flags
        self._about = b"*6\r\n" + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])
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


def test_sentinels_are_asked_in_turn_by_their_own_login_for_a_primary_that_is_not_down() -> None:
    first, second = Sentinel(b"s_down,master"), Sentinel(b"master")
    options = "sentinel_username=s&sentinel_password=t%40&db=1"

    line = Line(f"redis+sentinel://api:hunter2@{first.place},{second.place}/my%20main/0?{options}", 2.0)

    assert line.primary() == ("10.0.0.1", 6380)
    assert first.commands == second.commands == [[b"AUTH", b"s", b"t@"], [b"SENTINEL", b"MASTER", b"my main"]]
    assert "hunter" not in repr(line)
