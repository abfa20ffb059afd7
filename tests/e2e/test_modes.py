"""The same server in every mode: same answers, same errors, an orderly end."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from click.testing import CliRunner

from api.http.replies import EVENTS
from ops.cli import main
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.traffic import ONCE, Traffic
from scheduler.settings import MODES, QUEUE_MODES
from tests.exposed_metrics import families_of
from tests.running_system import RunningSystem, descendants, post_sentence, send, wait_until

JSON = {"Content-Type": "application/json"}
LOCAL_MODES = [mode for mode in MODES if mode not in QUEUE_MODES]
TEXT = "He goed to school. She have a car, but they was late."


@pytest.fixture(scope="module", params=[mode for mode in MODES if mode != "continuous"])
def other(request: pytest.FixtureRequest) -> Iterator[RunningSystem]:
    with RunningSystem("--mode", request.param) as running:
        yield running


def test_a_text_gets_the_answer_of_the_default_mode(system: RunningSystem, other: RunningSystem) -> None:
    expected, reply = post_sentence(system.url, TEXT), post_sentence(other.url, TEXT)

    assert reply.status == 200
    assert reply.body | {"request_id": ""} == expected.body | {"request_id": ""}
    assert "X-Request-ID" in reply.headers and "Server-Timing" in reply.headers


def test_metrics_are_told_in_every_mode(other: RunningSystem) -> None:
    def told() -> dict[str, float]:
        families = families_of(send(other.url, "GET", "/metrics").body.encode())
        return {sample.name: sample.value for family in families.values() for sample in family.samples}

    post_sentence(other.url, "He goed to school")
    names = ("time_to_first_token_seconds_count", "e2e_request_latency_seconds_count", "requests_accepted_total")
    wait_until(lambda: all(told()[f"miniserve_{name}"] for name in names), 5, "what was served is told")

    values = told()
    assert values["miniserve_workers"] >= 1
    assert values["miniserve_api_replicas"] == 1
    assert values["miniserve_num_requests_running"] == values["miniserve_num_requests_waiting"] == 0


def test_sentences_get_the_answers_of_the_model_alone(other: RunningSystem, alone: dict[str, object]) -> None:
    questions, limits = [{"sentence": text} for text in alone], Limits(total=len(alone))

    with Traffic([other.url], questions, ClosedLoop(16), limits, ONCE) as traffic:
        pass

    assert {one.question["sentence"]: one.answer for one in traffic.ended} == alone


def test_without_a_queue_there_is_the_api_process_alone(other: RunningSystem, request: pytest.FixtureRequest) -> None:
    has_queue = request.node.callspec.params["other"] in QUEUE_MODES

    pids = {role: len(other.pids(role)) for role in ("api", "worker", "redis")}

    assert pids == {"api": 1, "worker": int(has_queue), "redis": int(has_queue)}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/correct", {"Prefer": "respond-async"}, 202),
        ("POST", "/correct", {"Idempotency-Key": "a new one"}, 200),
        ("GET", "/requests/0123456789abcdef", {}, 404),
        ("DELETE", "/requests/0123456789abcdef", {}, 404),
        ("GET", "/learners/nobody", {}, 404),
        ("DELETE", "/learners/nobody", {}, 200),
    ],
)
def test_what_needs_a_queue_says_so_in_a_mode_without_one(
    other: RunningSystem, request: pytest.FixtureRequest, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    has_queue = request.node.callspec.params["other"] in QUEUE_MODES
    body = b'{"sentence": "He goed to school"}' if method == "POST" else None

    reply = send(other.url, method, path, body, JSON | headers)

    assert reply.status == status if has_queue else (reply.status, reply.slug) == (501, "needs-a-queue")


def test_edits_are_streamed_in_every_mode_and_end_in_the_answer(other: RunningSystem) -> None:
    answer = post_sentence(other.url, TEXT).body

    reply = send(other.url, "POST", "/correct", json.dumps({"sentence": TEXT}).encode(), JSON | {"Accept": EVENTS})

    events = [event.split("\ndata: ") for event in reply.body.strip().split("\n\n") if event.startswith("event: ")]
    assert [name for name, _ in events] == ["event: edit"] * len(answer["edits"]) + ["event: done"]
    assert json.loads(events[-1][1]) | {"request_id": ""} == answer | {"request_id": ""}


@pytest.mark.parametrize("mode", LOCAL_MODES)
def test_what_is_being_answered_is_answered_before_the_end(mode: str) -> None:
    long = " ".join(f"She have {number} cars." for number in range(60))
    with RunningSystem("--mode", mode) as running, ThreadPoolExecutor(1) as pool:
        files_before = _num_open_files(running)
        reply = pool.submit(post_sentence, running.url, long)
        wait_until(lambda: reply.done() or _num_open_files(running) > files_before, 10, "accepted")
        running.signal(signal.SIGTERM)
        status = reply.result().status
        ended = running.process.wait()

    assert (status, ended) == (200, 0)


def _num_open_files(running: RunningSystem) -> int:
    """Of the API and its worker: an accepted connection is one more."""
    pids = [pid for api in running.pids("api") for pid in (api, *descendants(api))]
    return sum(psutil.Process(pid).num_fds() for pid in pids)


@pytest.mark.parametrize("options", [("--workers", "2"), ("--redis-url", "redis://127.0.0.1:1/0"), ("--dashboard",)])
def test_what_needs_a_queue_is_refused_in_a_mode_without_one(options: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(main, ["up", "--mode", "sync", *options])

    assert refused.exit_code == 2
    assert options[0] in refused.output and "--mode continuous or static" in refused.output


def test_a_worker_without_a_queue_is_refused() -> None:
    refused = CliRunner().invoke(main, ["worker", "--mode", "threaded", "--redis-url", "redis://127.0.0.1:1/0"])

    assert refused.exit_code == 2
    assert "--mode threaded has no workers" in refused.output
