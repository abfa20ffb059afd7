"""The live view: what is computed for those who watch, and the load under three policies."""

from __future__ import annotations

import json
import threading
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient

from api.live import hub
from api.live.figures import figures
from api.live.hub import MOST_VIEWERS, Hub
from api.live.replay import CONTINUOUS, SLOTS, STATIC, TEXTBOOK, Arrival, replay
from scheduler.capacity.iteration_cost import IterationCost
from scheduler.capacity.measure import Goals
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, assert_problem, client_of

COST = IterationCost(0.002, 0.0001, 0.0005)
GOALS = Goals(slo_wait_s=0.5, deadline_s=30.0)
ARRIVALS = [Arrival(number, 0.004 * number, 8 + number % 9, 1 + (number * 7) % 20) for number in range(60)]


@pytest.mark.parametrize("arrivals", [ARRIVALS, ARRIVALS[:1], ARRIVALS[:9]])
def test_every_policy_answers_every_request_of_the_load(arrivals: list[Arrival]) -> None:
    runs = replay(arrivals, COST, 4096)

    assert list(runs) == [TEXTBOOK, STATIC, CONTINUOUS]
    for run in runs.values():
        began = [number for _, begun, *_ in run["iterations"] for _, number, _, _ in begun]
        ended = [pair for _, _, _, ended, _ in run["iterations"] for pair in zip(ended[1::3], ended[2::3], strict=True)]
        assert sorted(began) == [one.number for one in arrivals]
        assert sorted(ended) == [(one.number, one.output_tokens) for one in arrivals]
        assert run["answers"] == len(arrivals)
        assert all(slot < SLOTS for _, begun, *_ in run["iterations"] for slot, *_ in begun)


def test_the_policies_differ_as_they_do_in_service() -> None:
    runs = replay(ARRIVALS, COST, 4096)

    seconds, wasted = ([runs[name][what] for name in (TEXTBOOK, STATIC, CONTINUOUS)] for what in ("seconds", "wasted"))
    assert seconds[0] > seconds[1] > seconds[2]
    assert wasted[0] > wasted[1] > wasted[2] == 0.0


def test_wasted_steps_are_told_slot_by_slot() -> None:
    runs = replay(ARRIVALS, COST, 4096)

    for run in runs.values():
        steps = [(dict.fromkeys([one[0] for one in begun] + decoding[::2]), wasted)
                 for _, begun, decoding, _, wasted in run["iterations"]]  # fmt: skip
        num_wasted = sum(len(wasted) for _, wasted in steps)
        num_busy = sum(len(busy) for busy, _ in steps)
        assert all(not {*busy} & {*wasted} and len(wasted) == len({*wasted}) for busy, wasted in steps)
        assert round(num_wasted / (num_wasted + num_busy), 3) == run["wasted"]


def test_slots_that_nobody_wants_are_not_wasted() -> None:
    apart = [Arrival(number, 5.0 * number, 8, 6) for number in range(4)]

    runs = replay(apart, COST, 4096)

    assert runs[STATIC]["wasted"] == runs[CONTINUOUS]["wasted"] == 0.0 < runs[TEXTBOOK]["wasted"]


def test_a_load_whose_cost_is_not_known_ends_too() -> None:
    assert replay(ARRIVALS, IterationCost(), 4096)[CONTINUOUS]["answers"] == len(ARRIVALS)


def test_a_replay_lets_others_go_first_again_and_again() -> None:
    pauses: list[None] = []

    runs = replay(ARRIVALS, COST, 4096, lambda: pauses.append(None))

    assert len(pauses) == sum(len(run["iterations"]) // 64 for run in runs.values()) > 3


def test_figures_are_of_the_time_between_two_looks() -> None:
    earlier = Observed(now=Moment(at_s=10.0, done=100), totals={"generation_tokens": 1000})
    totals = {"generation_tokens": 1600, "time_to_first_token:9": 10, "inter_token_latency:2": 4}
    later = Observed(now=Moment(at_s=12.0, done=140), totals=totals, workers=(WorkerFacts("w"),), num_waiting=3)

    found = figures(earlier, later, GOALS)

    assert (found["answers_per_s"], found["tokens_per_s"], found["waiting"]) == (20.0, 300.0, 3)
    assert found["ttft_ms"] == [25.0, 29.5] and found["itl_ms"] == [1.8, 2.0]
    assert figures(later, later, GOALS)["ttft_ms"] is None and figures(later, later, GOALS)["law"] is None


def test_the_pool_to_grow_is_named_with_the_time_in_each_stage() -> None:
    stages = {"answered": 4, "tokenize": 0.4, "deliver": 0.2, "whole": 0.6, "api_cpu": 1.0}
    later = Observed(now=Moment(at_s=10.0, stages=stages), history=(Moment(at_s=0.0),), num_api_replicas=1)

    found = figures(later, later, GOALS)["stages"]

    assert (found["W_ms"]["tokenize"], found["W_ms"]["deliver"], found["W_ms"]["queue"]) == (100.0, 50.0, 0.0)
    assert found["busiest"] == {"stage": "deliver", "pool": "api", "used": 0.1}


def test_the_three_of_littles_law_are_of_one_window() -> None:
    earlier = Observed(now=Moment(at_s=10.0, area_s=100.0, stay_s=50.0, accepted=90, ended=90))
    later = Observed(now=Moment(at_s=20.0, area_s=104.0, stay_s=54.0, accepted=490, ended=490))

    assert figures(earlier, later, GOALS)["law"] == {"L": 0.4, "rate_per_s": 40.0, "W_ms": 10.0, "residual": 0.0}


def test_a_system_without_workers_shows_the_alert() -> None:
    seen = Observed(now=Moment(at_s=1.0))

    assert "no-live-worker" in [one["name"] for one in figures(seen, seen, GOALS)["alerts"]]


def test_so_many_may_watch_and_no_more() -> None:
    hub = Hub(FakeCorrector(), GOALS, None)
    streams = [hub.watch(lambda: False) for _ in range(MOST_VIEWERS)]
    with pytest.raises(RateLimited):
        hub.watch(lambda: False)

    next(streams[0])
    streams[0].close()

    hub.watch(lambda: False)


def test_a_client_that_takes_all_places_of_viewers_gives_one_to_another() -> None:
    hub = Hub(FakeCorrector(), GOALS, None)
    streams = [hub.watch(lambda: False, "greedy") for _ in range(MOST_VIEWERS)]
    next(streams[0])

    other = hub.watch(lambda: False, "other")

    assert next(other) == b"retry: 1000\n\n"
    assert not [part for part in streams[0] if part.startswith(b":")]  # its stream has ended
    with pytest.raises(RateLimited):
        hub.watch(lambda: False, "greedy")


def test_one_thread_looks_however_often_the_last_viewer_leaves_and_another_comes() -> None:
    hub, before = Hub(FakeCorrector(), GOALS, None), set(threading.enumerate())
    for _ in range(5):
        stream = hub.watch(lambda: False)
        next(stream)
        stream.close()
    stream = hub.watch(lambda: False)
    next(stream)

    assert len(set(threading.enumerate()) - before) == 1
    stream.close()


def test_a_viewer_gets_figures_and_an_end() -> None:
    hub, is_over = Hub(FakeCorrector(), GOALS, None), []
    stream = hub.watch(lambda: bool(is_over))

    assert next(stream) == b"retry: 1000\n\n"
    assert next(part for part in stream if part.startswith(b"event: figures\ndata: {"))
    is_over.append(True)
    assert list(stream) == []


def test_in_mode_sync_a_look_ends_so_that_others_have_their_turn() -> None:
    client = client_of(FakeCorrector(), settings=Settings(mode="sync"))

    assert client.head("/ops/events").data == b""
    response = client.get("/ops/events")

    assert response.data.startswith(b"retry: 1000\n\nevent: figures\ndata: {") and response.data.endswith(b"\n\n")
    assert response.content_type == "text/event-stream; charset=utf-8"


def test_without_a_load_there_is_nothing_to_replay(client: FlaskClient) -> None:
    assert_problem(client.get("/ops/replay"), 404, "not-found")


def test_the_page_is_kept_by_browsers_and_asks_no_other_host(client: FlaskClient) -> None:
    response = client.get("/ops")

    assert response.status_code == 200 and "'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["ETag"] and b"http" not in response.data.replace(b"http-equiv", b"")


class Stream:
    """Stands for Redis: a stream of what workers have told, and how often all of it was read."""

    def __init__(self, mailbox: object) -> None:
        self.entries: list[tuple[bytes, list[bytes]]] = []
        self.num_read_whole = 0
        self.hub = Hub(mailbox, GOALS, self.ask)  # type: ignore[arg-type]

    def tell(self, number: int, worker: str = "w") -> None:
        news = {"worker": worker, "at_ms": number, "iterations": [[5.0, [[0, number, 5, 0]], [], [0, number, 2]]]}
        self.entries.append((f"{number}-0".encode(), [b"news", json.dumps(news).encode()]))

    def ask(self, command: tuple[object, ...]) -> object:
        if command[0] == "XREVRANGE":
            return self.entries[:-2:-1]
        if command[0] != "XRANGE":
            return None
        self.num_read_whole += command[2] == "-"
        since = 0 if command[2] == "-" else int(str(command[2])[1:].partition("-")[0])
        return [one for one in self.entries if int(one[0].partition(b"-")[0]) > since]


def test_what_was_told_before_the_first_look_is_no_news() -> None:
    stream = Stream(FakeCorrector().mailbox)
    for number in range(1, 200):
        stream.tell(number)

    assert stream.hub._read_news(stream.ask) == []
    stream.tell(200)
    (news,) = stream.hub._read_news(stream.ask)

    assert json.loads(news)["at_ms"] == 200


def test_a_viewer_of_many_workers_gets_what_all_of_them_tell_at_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Thread", Mock())
    stream = Stream(FakeCorrector().mailbox)
    stream.hub._last_ids[""] = "0-0"
    viewer = stream.hub.watch(lambda: False)
    next(viewer)
    for number in range(1, 201):
        stream.tell(number)

    stream.hub._look(1)

    assert next(viewer).count(b"event: batch\ndata: {") == 200
    viewer.close()


def test_a_replay_is_computed_once_for_all_who_ask_within_a_second() -> None:
    stream = Stream(FakeCorrector().mailbox)
    stream.tell(1)

    first, second = (stream.hub.replayed(lambda: None) for _ in range(2))

    assert first is second and json.loads(b"".join(first))["requests"] == 1
    assert stream.num_read_whole == 1


class Counting(dict[str, object]):
    """Counts how often news are asked for their worker."""

    num_asked = 0

    def __getitem__(self, name: str) -> object:
        Counting.num_asked += name == "worker"
        return super().__getitem__(name)


def test_the_news_of_many_workers_are_read_once_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, pauses = Stream(FakeCorrector().mailbox), []
    for number in range(1, 64 * 5 + 1):
        stream.tell(number, f"w{number % 64}")
    monkeypatch.setattr(hub, "_read", lambda raw: Counting(json.loads(raw)))
    monkeypatch.setattr(Counting, "num_asked", 0)

    arrivals = stream.hub._arrivals(lambda: pauses.append(None))

    assert len(arrivals) == 5 and Counting.num_asked <= 2 * len(stream.entries)
    assert len(pauses) >= len(stream.entries) + 64
