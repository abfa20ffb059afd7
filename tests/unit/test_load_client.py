"""The client that every load and drill sends by: kept connections, chunks, TLS, and what it raises."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from ops.load import client
from ops.load.client import Client, Reply, fetch, run
from tests.pace import patient
from tests.small_server import OK, http


def ask(url: str, number: int = 1) -> list[Reply]:
    """So many requests, one after the other."""

    async def load() -> list[Reply]:
        asking = Client(url)
        replies = [await asking.request("POST", "/correct", b"{}") for _ in range(number)]
        await asking.close()
        return replies

    return run(load())


def test_a_connection_the_server_closed_while_it_was_idle_is_made_again(serve):
    server = serve(lambda n: http(200, OK))

    async def ask_twice() -> None:
        kept = Client(server.url)
        for _ in range(2):
            assert (await kept.request("POST", "/correct", b"{}")).status == 200
            (connection,) = kept._idle
            server.hang_up()
            async with asyncio.timeout(patient(5)):
                while connection.is_open:
                    await asyncio.sleep(0.001)
        await kept.close()

    run(ask_twice())

    assert (server.num_requests, server.num_connections) == (2, 2)


def test_a_server_that_accepts_nobody_holds_up_no_other_request(serve):
    server = serve(lambda n: http(200, OK))

    async def ask_both(full_port: int) -> list[int]:
        full, other = Client(f"http://127.0.0.1:{full_port}"), Client(server.url)
        stuck = [asyncio.create_task(full.request("POST", "/correct")) for _ in range(4)]  # the backlog takes some
        statuses = [(await other.request("POST", "/correct")).status for _ in range(3)]
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        await other.close()
        return statuses

    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        assert run(ask_both(listener.getsockname()[1])) == [200] * 3


def test_an_answer_in_chunks_is_read_to_its_last(serve):
    body = json.dumps(OK).encode()
    parts = [b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:])]
    answer = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts) + b"0\r\nX-Trailer: 1\r\n\r\n"
    server = serve(lambda _: answer)

    replies = ask(server.url, number=3)

    assert [(reply.status, json.loads(reply.body)) for reply in replies] == [(200, OK)] * 3
    assert server.num_connections == 1


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a certificate of 127.0.0.1, signed by itself, and its key."""
    path = tmp_path / "own.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=own -days 2"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    path.write_text(path.read_text() + (tmp_path / "cert.pem").read_text())
    return path


def test_a_server_behind_tls_is_asked_once_its_certificate_is_trusted(
    serve, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate)
    server = serve(lambda _: http(200, OK | {"explanation": "x" * 100_000}), tls=own)

    with pytest.raises(ssl.SSLError):
        ask(server.url)
    monkeypatch.setattr(client, "_tls", lambda: ssl.create_default_context(cafile=str(certificate)))
    replies = ask(server.url, number=4)

    assert [len(reply.body) > 100_000 for reply in replies] == [True] * 4
    assert server.num_requests == 4


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://h", "http://", "http://h/correct", "http://h/?a=b", "http://h:x", "http://h:99999",
     "http://user:secret@h"],
)  # fmt: skip
def test_what_is_no_base_url_is_refused_without_its_password(url: str):
    with pytest.raises(ValueError, match="must look like") as refused:
        Client(url)

    assert "secret" not in str(refused.value)


def test_a_signal_that_comes_while_a_request_is_asked_alone_wakes_who_waits_for_signals(serve):
    def answer(_: int) -> bytes:
        os.kill(os.getpid(), signal.SIGUSR1)
        return http(200, OK)

    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        kept = signal.signal(signal.SIGUSR1, lambda *_: None), signal.set_wakeup_fd(writer.fileno())
        try:
            fetch(Client(serve(answer).url), "GET", "/metrics")
        finally:
            signal.signal(signal.SIGUSR1, kept[0])
            signal.set_wakeup_fd(kept[1])

        assert reader.recv(9) == bytes([signal.SIGUSR1])
