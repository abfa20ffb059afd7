"""Connections that clients keep open without sending anything: closed in time, and no fault of anybody."""

from __future__ import annotations

import logging
import socket
from types import SimpleNamespace

import pytest
from gunicorn.config import Config

from api.server import client_socket
from api.server.client_socket import ClientSocket
from api.server.gevent_worker import ApiWorker


@pytest.mark.parametrize("sent", [b"", b"POST /correct HT"])
def test_a_connection_that_stays_silent_is_closed_without_an_error(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client_socket, "HEAD_S", 0.05)
    left: list[object] = []
    worker = ApiWorker.__new__(ApiWorker)
    worker.cfg, worker.log = Config(), logging.getLogger("gunicorn")
    worker._places = SimpleNamespace(leave=left.append)
    client, served = socket.socketpair()
    served = ClientSocket(fileno=served.detach(), max_body_bytes=1024, keep_alive_s=0.05)

    with client, socket.socket() as listener, caplog.at_level(logging.INFO):
        client.sendall(sent)
        worker.handle(listener, served, ("127.0.0.1", 1))

        assert client.recv(1) == b""
    assert caplog.records == []
    assert left == ["127.0.0.1"]
