"""Streams of edits, with a real API process and Redis. The test itself plays the worker, token by token."""

from __future__ import annotations

import http.client
import json
from typing import Any

from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from scheduler.messages import NO_CAPACITY, Completion, FinishReason, Progress
from tests.mailbox_house import AMPLE, RedisHouse, an_answer, eventually, ids_of, take_one
from tests.pace import patient
from tests.running_system import ApiProcess, events_of, send
from worker.queue.worker_end import WorkerMailbox

SENTENCE = "He goed there and they was late."
EDITS = [ScriptEdit(1, 1, "went", Reason.PAST_IRREG), ScriptEdit(5, 1, "were", Reason.SVA_BE)]
OUTPUT = tuple(Tokenizer.load().encode_output(EDITS))


class Stream:
    """An event stream, read as it comes."""

    def __init__(self, api: ApiProcess, sentence: str = SENTENCE, **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port)
        told = {"Content-Type": "application/json", "Accept": "text/event-stream"} | headers
        self.connection.request("POST", "/correct", json.dumps({"sentence": sentence}), told)

    def open(self) -> http.client.HTTPResponse:
        """The head comes with the first news, or after two seconds without any."""
        response = self.connection.getresponse()
        self._events = events_of(iter(lambda: response.readline().decode(), ""))
        return response

    def next(self) -> tuple[str, Any]:
        """The next event: its name and document."""
        return next(self._events)

    def rest(self) -> list[tuple[str, Any]]:
        return list(self._events)


def tell(worker: WorkerMailbox, request_id: str, num_tokens: int) -> None:
    worker.exchange((), NO_CAPACITY, progress=[Progress(request_id, OUTPUT[:num_tokens])])


def test_an_edit_is_sent_while_the_next_is_still_being_decoded(api: ApiProcess, redis_url: str) -> None:
    house = RedisHouse(redis_url, WorkerMailbox)  # it waits for nothing
    worker, stream = house.worker(), Stream(api)
    delivery = take_one(worker)

    # All but <eos>: the second may yet be half of a move.
    worker.exchange((), AMPLE, progress=[Progress(delivery.request.request_id, OUTPUT[:-1])])
    response = stream.open()
    stream.connection.sock.settimeout(patient(5))
    name, first = stream.next()
    worker.exchange([an_answer(delivery.request.request_id, *OUTPUT)], NO_CAPACITY)
    rest = stream.rest()
    house.close()

    assert delivery.streams
    assert (response.status, response.getheader("Content-Type")) == (200, "text/event-stream; charset=utf-8")
    assert (name, first["original"], first["replacement"], first["reason"]) == (
        "edit",
        "goed",
        "went",
        "irregular_past",
    )
    assert [name for name, _ in rest] == ["edit", "done"]
    assert rest[-1][1]["edits"] == [first, rest[0][1]]


def test_an_edit_is_sent_once_although_the_worker_dies_and_another_begins_anew(
    api: ApiProcess, house: RedisHouse
) -> None:
    one, stream = house.worker(), Stream(api)
    request_id = take_one(one).request.request_id
    tell(one, request_id, len(OUTPUT) - 1)
    stream.open()
    sent = [stream.next()]
    house.mailboxes.remove(one)  # it dies without a word
    one._heartbeat.stop()
    house.connect().zadd("miniserve:leases", {one.name: 1})  # ran out in 1970

    other = house.worker()
    again = take_one(other)
    for num_tokens in range(1, len(OUTPUT)):
        tell(other, request_id, num_tokens)
    other.exchange([an_answer(request_id, *OUTPUT)], NO_CAPACITY)
    sent += stream.rest()

    assert (again.request.request_id, again.attempt, again.streams) == (request_id, 2, True)
    assert [name for name, _ in sent] == ["edit", "edit", "done"]
    assert [event["original"] for _, event in sent[:2]] == ["goed", "was"]


def test_sentences_of_a_text_are_told_as_they_are_done_at_their_places(api: ApiProcess, house: RedisHouse) -> None:
    worker, stream = house.worker(), Stream(api, f"He came. {SENTENCE}")
    taken: list[str] = []
    eventually(lambda: taken.extend(ids_of(worker.exchange((), AMPLE))) or len(taken) == 2)

    worker.exchange([an_answer(taken[1], *OUTPUT)], NO_CAPACITY)
    stream.open()
    early = [stream.next(), stream.next()]
    worker.exchange([an_answer(taken[0], EOS_ID)], NO_CAPACITY)
    (name, done), *_ = stream.rest()

    assert [event["start"] for _, event in early] == [12, 32]
    assert (name, done["corrected"]) == ("done", "He came. He went there and they were late.")
    assert done["edits"] == [event for _, event in early]


def test_comments_come_while_nothing_happens(api: ApiProcess, house: RedisHouse) -> None:
    worker, stream = house.worker(), Stream(api)
    request_id = take_one(worker).request.request_id
    response = stream.open()

    lines = [response.readline() for _ in range(4)]  # one at once, one after a while
    worker.exchange([an_answer(request_id, EOS_ID)], NO_CAPACITY)

    assert [line for line in lines if line != b"\n"] == [b": nothing new\n"] * 2
    assert [name for name, _ in stream.rest()] == ["done"]


def test_what_fails_in_the_middle_ends_the_stream_with_its_problem(api: ApiProcess, house: RedisHouse) -> None:
    worker, stream = house.worker(), Stream(api)
    request_id = take_one(worker).request.request_id
    tell(worker, request_id, len(OUTPUT) - 1)
    stream.open()

    worker.exchange([Completion(request_id, FinishReason.ERROR, error="broke")], NO_CAPACITY)
    _, (name, problem) = stream.rest()

    assert (name, problem["type"], problem["status"]) == ("problem", "urn:miniserve:problem:request-failed", 502)


def test_who_does_not_prefer_events_gets_json(api: ApiProcess, house: RedisHouse) -> None:
    worker = house.worker()
    for accept in ("*/*", "application/json, text/event-stream;q=0.5", "text/html", ""):
        stream = Stream(api, Accept=accept)
        delivery = take_one(worker)
        worker.exchange([an_answer(delivery.request.request_id, EOS_ID)], NO_CAPACITY)

        assert stream.open().getheader("Content-Type") == "application/json", accept
        assert not delivery.streams


def test_two_who_follow_by_the_same_key_hear_the_same_story(api: ApiProcess, house: RedisHouse) -> None:
    worker = house.worker()
    first, second = (Stream(api, **{"Idempotency-Key": "joined"}) for _ in range(2))
    first.open(), second.open()
    request_id = take_one(worker).request.request_id

    tell(worker, request_id, len(OUTPUT) - 1)
    early = first.next(), second.next()
    worker.exchange([an_answer(request_id, *OUTPUT)], NO_CAPACITY)

    assert early[0] == early[1]
    assert first.rest() == second.rest()


def test_pages_and_metrics_wait_behind_no_stream(api: ApiProcess, house: RedisHouse) -> None:
    house.worker()
    streams = [Stream(api) for _ in range(300)]
    accepted = "miniserve_requests_accepted_total 300"
    eventually(lambda: accepted in send(api.url, "GET", "/metrics").body)
    assert [api.status_of(path) for path in ("/", "/ops", "/v2/languages", f"/requests/{'0' * 32}")] == [200] * 3 + [
        404
    ]
    for stream in streams:
        stream.connection.close()
