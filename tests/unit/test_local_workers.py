"""gunicorn's workers of the modes without a queue: clients that say nothing, and what happens when told to stop."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from gunicorn.config import Config
from gunicorn.workers.gthread import TConn

from api.server import local_workers
from api.server.local_workers import SyncApiWorker, ThreadedApiWorker
from scheduler.settings import Settings
from tests.pace import patient
from tests.running_system import wait_until


@pytest.fixture
def worker() -> ThreadedApiWorker:
    one = ThreadedApiWorker(1, 1, [], None, 30, Config(), None)
    one.method_queue.init()
    return one


def with_application(worker: ThreadedApiWorker, grace_s: float) -> threading.Event:
    """Set once its corrector is closed."""
    closed = threading.Event()
    worker.wsgi = SimpleNamespace(settings=Settings(grace_s=grace_s), mailbox=SimpleNamespace(close=closed.set))
    worker.booted = True
    return closed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_told_to_stop_while_it_loads_the_model_does_so(worker: ThreadedApiWorker, number: signal.Signals):
    stop = worker.handle_exit if number is signal.SIGTERM else worker.handle_quit

    stop(number, None)

    assert not worker.alive


def test_whoever_still_waits_when_the_grace_is_over_is_told_so_and_nobody_before(worker: ThreadedApiWorker):
    closed = with_application(worker, grace_s=0.1)

    worker.handle_exit(signal.SIGTERM, None)

    assert not worker.alive and not closed.is_set()
    wait_until(closed.is_set, 5.0, "the corrector is closed")


def test_a_client_that_says_nothing_is_let_go_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_workers, "_SYNC_STALL_S", 0.05)
    worker = SyncApiWorker(1, 1, [], None, 30, Config(), Mock())
    ours, theirs = socket.socketpair()

    with theirs:
        worker.handle(None, ours, ("", 0))
        theirs.settimeout(0.0)

        assert theirs.recv(1) == b""
    assert worker.log.exception.call_count == 0


def threaded(ours: socket.socket) -> None:
    worker = ThreadedApiWorker(1, 1, [], None, 30, Config(), Mock())
    conn = TConn(worker.cfg, ours, ("127.0.0.1", 1), ("127.0.0.1", 2))
    conn.data_ready = True
    worker.handle(conn)


def plain(ours: socket.socket) -> None:
    SyncApiWorker(1, 1, [], None, 30, Config(), Mock()).handle(None, ours, ("", 0))


@pytest.mark.parametrize("handle", [threaded, plain])
def test_a_client_that_stops_within_a_head_is_let_go_when_the_time_of_the_request_is_over(
    monkeypatch: pytest.MonkeyPatch, handle: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr(local_workers, "_REQUEST_S", 0.2)
    monkeypatch.setattr(local_workers, "_SYNC_REQUEST_S", 0.2)
    ours, theirs = socket.socketpair()

    with theirs:
        theirs.sendall(b"GET / HTTP/1.1\r\nX: ")
        server = threading.Thread(target=handle, args=(ours,), daemon=True)
        server.start()
        server.join(patient(20))

        assert not server.is_alive()


@pytest.mark.parametrize("handle", [threaded, plain])
def test_a_head_that_never_ends_is_let_go_although_its_client_sends_now_and_then(
    monkeypatch: pytest.MonkeyPatch, handle: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr(local_workers, "_REQUEST_S", 0.2)
    monkeypatch.setattr(local_workers, "_SYNC_REQUEST_S", 0.2)
    ours, theirs = socket.socketpair()
    is_over = threading.Event()

    def dribble() -> None:
        theirs.sendall(b"GET / HTTP/1.1\r\nX: ")
        while not is_over.wait(0.02):
            theirs.send(b"x")

    with theirs:
        client = threading.Thread(target=dribble)
        client.start()
        server = threading.Thread(target=handle, args=(ours,), daemon=True)
        server.start()
        server.join(patient(20))
        is_over.set()
        client.join()

    assert not server.is_alive()
