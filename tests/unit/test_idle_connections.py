"""Connections that clients keep open without sending anything: closed in time, and no fault of anybody."""

from __future__ import annotations

import logging
import socket

import pytest
from gunicorn.config import Config

from api.server import gevent_worker
from api.server.application import KEEPALIVE_S
from api.server.gevent_worker import ApiWorker
from api.server.raw_replies import CLIENT_STALL_S


@pytest.mark.parametrize("sent", [b"", b"POST /correct HT"])
def test_a_connection_that_stays_silent_is_closed_without_an_error(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gevent_worker, "CLIENT_STALL_S", 0.05)
    worker = ApiWorker.__new__(ApiWorker)
    worker.cfg, worker.log = Config(), logging.getLogger("gunicorn")
    client, served = socket.socketpair()

    with client, socket.socket() as listener, caplog.at_level(logging.INFO):
        client.sendall(sent)
        worker.handle(listener, served, ("127.0.0.1", 1))

        assert client.recv(1) == b""
    assert caplog.records == []
    assert worker.num_open == 0


def test_between_two_requests_a_connection_may_be_silent_for_longer_than_within_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = ApiWorker.__new__(ApiWorker)
    worker.cfg = Config()
    worker.cfg.set("keepalive", KEEPALIVE_S)
    within = []
    monkeypatch.setattr(ApiWorker, "_respond", lambda _, name, req, sock, addr: within.append(sock.gettimeout()))

    client, served = socket.socketpair()
    with client, served:
        worker.handle_request("name", None, served, ("127.0.0.1", 1))

        assert within == [CLIENT_STALL_S]
        assert served.gettimeout() == KEEPALIVE_S > CLIENT_STALL_S
