"""While the queue is known to be full: a refusal that looks like every other one and costs little."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient

from api.http import handler
from api.http.handler import RequestHandler
from api.http.incoming import IncomingRequest
from api.server import serving
from api.service.threads import PAGES, SHORT, in_thread
from scheduler.errors import QueueFull
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, assert_problem, client_of

GOED = {"sentence": "He goed to school"}
FULL = QueueFull("The queue holds 8 of 8 requests; try again in 3 s.", 3.0)


@pytest.fixture
def mailbox() -> FakeMailbox:
    mailbox = FakeMailbox()
    mailbox.refusal = FULL
    return mailbox


def test_a_refusal_without_asking_the_queue_looks_like_one_of_the_queue(
    client: FlaskClient, mailbox: FakeMailbox
) -> None:
    shed = client.post("/correct", json=GOED, headers={"X-Request-ID": "mine"})
    num_read = len(mailbox.exchanges)
    mailbox.refusal, mailbox.error = None, FULL
    refused = client.post("/correct", json=GOED, headers={"X-Request-ID": "mine"})

    assert (num_read, len(mailbox.exchanges)) == (0, 1)
    assert shed.status == refused.status
    assert dict(shed.headers).keys() == dict(refused.headers).keys()
    for name in ("Content-Type", "Retry-After", "X-Request-ID"):
        assert shed.headers[name] == refused.headers[name]
    assert re.sub(r"\d+", "0", shed.headers["Server-Timing"]) == re.sub(r"\d+", "0", refused.headers["Server-Timing"])
    documents = [json.loads(response.data) for response in (shed, refused)]
    assert [len(document.pop("request_id")) for document in documents] == [32, 32]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(
    ("path", "body", "more"),
    [
        ("/correct", GOED, {"headers": {"Idempotency-Key": "k"}}),
        ("/correct", GOED, {"environ_overrides": {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}}),
        ("/correct/batch", {"sentences": ["He goed."]}, {}),
    ],
)
def test_what_may_be_answered_all_the_same_or_has_no_length_is_left_to_the_queue(
    client: FlaskClient, mailbox: FakeMailbox, path: str, body: dict, more: dict
) -> None:
    client.post(path, json=body, **more)

    assert len(mailbox.exchanges) == 1


@pytest.mark.parametrize("path", ["/correct", "/correct/batch", "/v2/check"])
def test_each_request_asks_once_whether_the_queue_is_known_to_be_full(
    client: FlaskClient, mailbox: FakeMailbox, path: str
) -> None:
    asked: list[str] = []
    mailbox.known_refusal = lambda client="": asked.append(client)  # the full queue counts who asks

    client.post(path, json=GOED, headers={"Accept": "text/event-stream"})

    assert len(asked) == 1


def test_what_is_refused_for_another_reason_says_that(mailbox: FakeMailbox) -> None:
    client = client_of(mailbox, settings=Settings(max_body_bytes=1024))

    assert_problem(client.post("/correct", json={"sentence": "a" * 1024}), 413, "body-too-large")
    assert_problem(client.post("/correct", json=GOED, headers={"X-Request-ID": "x" * 129}), 400, "invalid-header")
    assert_problem(client.get("/correct"), 405, "method-not-allowed")


def test_what_it_refuses_is_counted_and_its_number_is_logged(client: FlaskClient) -> None:
    recorder, lines = client.application.services.recorder, list[Callable[[], str]]()
    recorder.put = lines.append
    for _ in range(2):
        client.post("/correct", json=GOED)

    assert (recorder.totals()["http:/correct:503"], recorder.totals()["rejected:queue-full"]) == (2, 2)
    recorder.note_tick(0.0)
    assert [re.search(r"requests refused +count=2 ", line()) is not None for line in lines] == [True]


def test_refusals_over_the_rate_of_a_process_wait_and_none_is_lost(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "REFUSALS_IN_A_SLICE", 4)
    request_handler, link = RequestHandler(client.application), Mock(is_lost=False)

    async def refuse_all() -> list[int]:
        for number in range(10):
            request = IncomingRequest(link)
            request.add_header(b"Host", b"x")
            request.add_header(b"Content-Length", b"%d" % number)
            request.end_head("POST", "1.1", b"/correct")
            request_handler.begin(request)
        num_sent = [link.respond.call_count]
        while request_handler.num_in_flight:
            await asyncio.sleep(handler.SLICE_S)
            num_sent.append(link.respond.call_count)
        return num_sent

    num_sent = asyncio.run(refuse_all())

    assert (num_sent[0], num_sent[-1]) == (4, 10)
    asked = [call.args[0].declared_bytes for call in link.respond.call_args_list]
    assert asked == list(range(10))


def test_a_page_waits_for_no_long_text() -> None:
    async def ask() -> int:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        is_over = threading.Event()
        text = asyncio.create_task(in_thread(is_over.wait))
        page = await in_thread(lambda: 7, pool=PAGES)
        is_over.set()
        await text
        return page

    assert asyncio.run(ask()) == 7


def test_where_no_thread_can_be_started_the_answer_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    client, long = client_of(FakeMailbox()), "He goed home. " * (1 + SHORT // 14)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", Mock(side_effect=RuntimeError("can't start new thread")))

    for response in (client.get("/docs"), client.post("/correct/batch", json={"sentences": [long]})):
        assert_problem(response, 503, QueueFull.slug)
        assert response.headers["Retry-After"] == "1"


def test_of_threads_with_much_to_do_one_waits_for_others_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    num_waiting, most = 0, 0

    def wait(_: float) -> None:
        nonlocal num_waiting, most
        num_waiting += 1
        most = max(most, num_waiting)
        threading.Event().wait(0.002)
        num_waiting -= 1

    monkeypatch.setattr(serving, "time", SimpleNamespace(sleep=wait, monotonic=time.monotonic))
    threads = [threading.Thread(target=serving.let_others_go_first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serving.let_others_go_first()  # the main thread has the event loop, and waits for nobody

    assert (most, num_waiting) == (1, 0)
