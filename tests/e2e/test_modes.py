"""The same server in every mode, and with pools of workers: same answers, same errors, an orderly end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from redis import Redis

from api.http.replies import EVENTS
from ops.cli import main
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.traffic import ONCE, Traffic
from ops.observe.scrape import scrape
from scheduler.settings import MODES, QUEUE_MODES
from tests.mailbox_house import eventually
from tests.running_system import RunningSystem, command_line, events_of, post_sentence, send, wait_until

JSON = {"Content-Type": "application/json"}
LOCAL_MODES = [mode for mode in MODES if mode not in QUEUE_MODES]
POOLS = "--prefill-workers 1 --decode-workers 1"
NUM_WORKERS = {"--mode static": 1, POOLS: 2} | {f"--mode {mode}": 0 for mode in LOCAL_MODES}
TEXT = "He goed to school. She have a car, but they was late."
NEED_A_QUEUE = [
    ("POST", "/correct", {"Prefer": "respond-async"}), ("POST", "/correct", {"Idempotency-Key": "a new one"}),
    ("GET", "/requests/0123456789abcdef", {}), ("DELETE", "/requests/0123456789abcdef", {}),
    ("GET", "/learners/nobody", {}), ("DELETE", "/learners/nobody", {}),
]  # fmt: skip


@pytest.fixture(scope="module", params=NUM_WORKERS)
def other(request: pytest.FixtureRequest) -> Iterator[RunningSystem]:
    with RunningSystem(*request.param.split()) as running:
        yield running


def test_a_text_and_its_edits_one_by_one_are_those_of_the_default(system: RunningSystem, other: RunningSystem) -> None:
    body, expected = json.dumps({"sentence": TEXT}).encode(), post_sentence(system.url, TEXT).body

    plain = send(other.url, "POST", "/correct", body, JSON)
    stream = send(other.url, "POST", "/correct", body, JSON | {"Accept": EVENTS}).body

    events = [*events_of(stream.splitlines())]
    assert [name for name, _ in events] == ["edit"] * len(expected["edits"]) + ["done"]
    for answer in (plain.body, events[-1][1]):
        assert answer | {"request_id": ""} == expected | {"request_id": ""}
    assert "X-Request-ID" in plain.headers and "Server-Timing" in plain.headers


def test_what_is_served_is_told_by_the_processes_of_the_mode(
    other: RunningSystem, request: pytest.FixtureRequest
) -> None:
    num_workers = NUM_WORKERS[request.node.callspec.params["other"]]
    post_sentence(other.url, "He goed to school")
    names = ("time_to_first_token_seconds_count", "e2e_request_latency_seconds_count", "requests_accepted_total")

    wait_until(lambda: all(scrape(other.url).total(f"miniserve_{name}") for name in names), 5, "what was served")

    seen = scrape(other.url)
    assert seen.value("miniserve_workers") >= max(1, num_workers) and seen.value("miniserve_api_replicas") == 1
    assert seen.value("miniserve_num_requests_running") == seen.value("miniserve_num_requests_waiting") == 0
    pids = {role: len(other.pids(role)) for role in ("api", "worker", "redis")}
    assert pids == {"api": 1, "worker": num_workers, "redis": int(num_workers > 0)}


def test_sentences_get_the_answers_of_the_model_alone(other: RunningSystem, alone: dict[str, Any]) -> None:
    with Traffic([other.url], questions(alone), ClosedLoop(16), Limits(total=len(alone)), ONCE) as traffic:
        pass

    assert answers(traffic) == alone


def questions(alone: dict[str, Any]) -> list[dict[str, str]]:
    return [{"sentence": text} for text in alone]


def answers(traffic: Traffic) -> dict[str, Any]:
    return {one.question["sentence"]: one.answer for one in traffic.ended}


@pytest.mark.parametrize(
    ("options", "killed"),
    [("", 2 * ["worker"]), (POOLS, 5 * ["--role decode", "--role prefill"])],
    ids=["plain", "pools"],
)
def test_killed_workers_cost_no_answer(options: str, killed: list[str], alone: dict[str, Any]) -> None:
    kills: set[int] = set()
    with RunningSystem(*options.split()) as running:
        with Traffic([running.url], questions(alone), ClosedLoop(16), Limits(total=len(alone)), ONCE) as traffic:
            for number, role in enumerate(killed, 1):
                due = number * len(alone) // (len(killed) + 1)
                wait_until(lambda due=due: len(traffic.ended) > due, 30, "some answers")
                pid = eventually(lambda role=role: pids_of(running, role), 10)[0]
                os.kill(pid, signal.SIGKILL)
                kills.add(pid)

        assert len(kills) == len(killed)
        assert answers(traffic) == alone
        with Redis.from_url(running.redis_url) as client:
            wait_until(lambda: client.hlen("miniserve:reservations") == 0, 5, "nothing is left")
            assert client.zcard("rq:wip:correct") == client.llen("rq:queue:correct") == 0
            assert int(client.hget("miniserve:counts", "failed") or 0) == 0


def pids_of(running: RunningSystem, role: str) -> list[int]:
    return [pid for pid in running.pids("worker") if role in command_line(pid)]


@pytest.mark.parametrize("other", [f"--mode {mode}" for mode in LOCAL_MODES], indirect=True)
def test_what_needs_a_queue_says_so_in_a_mode_without_one(other: RunningSystem) -> None:
    for method, path, headers in NEED_A_QUEUE:
        body = b'{"sentence": "He goed to school"}' if method == "POST" else None
        reply = send(other.url, method, path, body, JSON | headers)
        assert (reply.status, reply.slug) == (501, "needs-a-queue"), path


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("up --mode sync --workers 2", "--workers"),
        ("up --mode sync --redis-url redis://127.0.0.1:1/0", "--mode continuous or static"),
        ("up --mode sync --dashboard", "--mode continuous or static"),
        ("up --mode sync --break 6", "--break 6 is for --mode continuous or static"),
        ("up --port 8003 --dashboard --dashboard-port 8003", "--port and --dashboard-port are both 8003"),
        ("up --prefill-workers 1", "are given together"),
        ("up --decode-workers 2", "are given together"),
        (f"up {POOLS} --workers 4", "without --workers"),
        ("worker --mode threaded --redis-url redis://127.0.0.1:1/0", "--mode threaded has no workers"),
    ],
)
def test_options_that_do_not_go_together_are_refused(command: str, said: str) -> None:
    refused = CliRunner().invoke(main, command.split())

    assert refused.exit_code == 2 and said in refused.output
