"""Clients that close their side while they wait: one that reads on is answered, one that has left frees its work."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable

import pytest

from scheduler.messages import NO_CAPACITY
from tests.integration.test_rude_clients import read_all
from tests.mailbox_house import AMPLE, RedisHouse, an_answer, eventually, take_one
from tests.running_system import ApiProcess
from worker.queue.worker_end import WorkerMailbox

JSON, FORM = "Content-Type: application/json\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"
SENTENCE = json.dumps({"sentence": "He went home"})
REQUESTS = {
    "plain": ("/correct HTTP/1.1", JSON, SENTENCE),
    "plain, HTTP/1.0": ("/correct HTTP/1.0", JSON, SENTENCE),
    "by a key": ("/correct HTTP/1.1", JSON + "Idempotency-Key: one\r\n", SENTENCE),
    "for a learner": ("/correct HTTP/1.1", JSON, json.dumps({"sentence": "He went home", "learner_id": "5f0c"})),
    "stream": ("/correct HTTP/1.1", JSON + "Accept: text/event-stream\r\n", SENTENCE),
    "batch": ("/correct/batch HTTP/1.1", JSON, json.dumps({"sentences": ["He went home"]})),
    "an editor's": ("/v2/check HTTP/1.1", FORM, "text=He+went+home&language=en-US"),
}
LATE_S = 0.3  # over the 250 ms of api/server/connection.py


def ask(api: ApiProcess, what: str = "plain", flags: int = 0, body: str = "") -> socket.socket:
    start, header, usual_body = REQUESTS[what]
    body = body or usual_body
    connection = api.connect()
    connection.send(f"POST {start}\r\nHost: x\r\n{header}Content-Length: {len(body)}\r\n\r\n{body}".encode(), flags)
    return connection


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def close_late(connection: socket.socket) -> None:
    wait_long()
    connection.close()


def wait_long() -> None:
    """Once the request has arrived: as a client does that gives up."""
    until_s = time.monotonic() + LATE_S
    eventually(lambda: time.monotonic() >= until_s)


def cancelled(worker: WorkerMailbox) -> list[str]:
    return [str(request_id) for request_id in worker.exchange((), NO_CAPACITY).cancelled_ids]


@pytest.mark.parametrize("what", REQUESTS)
def test_a_client_that_closes_its_sending_side_with_its_request_is_answered(
    api: ApiProcess, house: RedisHouse, what: str
) -> None:
    worker = house.worker()
    with ask(api, what, socket.MSG_MORE) as connection:
        connection.shutdown(socket.SHUT_WR)  # in one packet with the request
        request_id = take_one(worker).request.request_id
        other = ask(api)
        other_id = take_one(worker).request.request_id
        reset(other)
        eventually(lambda: other_id in cancelled(worker))  # so each of them has been looked at
        worker.exchange([an_answer(request_id)], AMPLE)

        reply = read_all(connection)

    assert reply.startswith(b"HTTP/1.1 200 OK") or reply.startswith(b"HTTP/1.0 200 OK")
    assert b"He went home" in reply or b'"matches": []' in reply


def test_a_client_that_closes_its_sending_side_later_is_asked_once_and_answered(
    api: ApiProcess, house: RedisHouse
) -> None:
    worker = house.worker()
    with ask(api) as connection:
        request_id = take_one(worker).request.request_id
        wait_long()
        connection.shutdown(socket.SHUT_WR)
        interim = connection.recv(100)
        worker.exchange([an_answer(request_id)], AMPLE)

        reply = read_all(connection)

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert reply.startswith(b"HTTP/1.1 200 OK") and reply.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("what", "leave"), [*((what, reset) for what in REQUESTS), ("plain", close_late), ("stream", close_late)]
)
def test_a_client_that_resets_or_closes_its_connection_frees_its_work(
    api: ApiProcess, house: RedisHouse, what: str, leave: Callable[[socket.socket], None]
) -> None:
    worker, connection = house.worker(), ask(api, what)
    request_id = take_one(worker).request.request_id

    leave(connection)

    assert eventually(lambda: cancelled(worker)) == [request_id]
    assert "Traceback" not in api.output()


def test_a_batch_whose_client_resets_frees_all_of_its_texts(api: ApiProcess, house: RedisHouse) -> None:
    worker, gone = house.worker(), set[str]()
    connection = ask(api, "batch", body=json.dumps({"sentences": ["He went home"] * 3}))
    name = take_one(worker).request.request_id.removesuffix("-1")  # all three of them

    reset(connection)

    eventually(lambda: gone.update(cancelled(worker)) or gone == {f"{name}-{number}" for number in (1, 2, 3)})
