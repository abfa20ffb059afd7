"""Sentences through every real part: HTTP, Redis, the worker's batch, the trained model, and back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ops.run import processes
from tests.many_sentences import sentences
from tests.running_system import ApiProcess, RunningSystem, post_sentence, send

RQ = Path(sys.executable).with_name("rq")


@pytest.mark.parametrize(
    ("sentence", "corrected", "reason"),
    [
        ("He goed to school", "He went to school", "irregular_past"),
        ("She go to school every day.", "She goes to school every day.", "singular_agreement"),
        ("They was at home.", "They were at home.", "be_agreement"),
        ("He did not went home.", "He did not go home.", "base_after_do"),
        ("She can swims very well.", "She can swim very well.", "base_after_modal"),
    ],
)
def test_a_mistake_comes_back_corrected_with_its_reason(
    system: RunningSystem, sentence: str, corrected: str, reason: str
) -> None:
    reply = post_sentence(system.url, sentence)

    assert reply.status == 200
    assert reply.body["corrected"] == corrected
    assert [edit["reason"] for edit in reply.body["edits"]] == [reason]
    assert reply.body["explanation"] == reply.body["edits"][0]["explanation"]


@pytest.mark.parametrize(("asked", "corrected"), [(0.5, "He went to school"), (1, "He goed to school")])
def test_an_answer_a_stream_and_a_kept_answer_leave_out_what_is_less_certain_than_asked(
    system: RunningSystem, asked: float, corrected: str
) -> None:
    body = json.dumps({"sentence": "He goed to school", "min_confidence": asked}).encode()
    headers = {"Content-Type": "application/json"}

    answer = send(system.url, "POST", "/correct", body, headers | {"Idempotency-Key": f"certain {asked}"})
    stream = send(system.url, "POST", "/correct", body, headers | {"Accept": "text/event-stream"})
    kept = send(system.url, "GET", f"/requests/{answer.body['request_id']}")

    assert answer.body["corrected"] == kept.body["corrected"] == corrected
    assert kept.body == answer.body
    assert f'"corrected": "{corrected}"' in stream.body
    assert ("event: edit" in stream.body) is (corrected == "He went to school")


def test_the_edit_says_where_in_code_points_even_behind_an_emoji(system: RunningSystem) -> None:
    sentence = "\U0001f600 Yesterday he goed to school."

    reply = post_sentence(system.url, sentence)

    (edit,) = reply.body["edits"]
    assert sentence[edit["start"] : edit["end"]] == edit["original"] == "goed"
    assert reply.body["corrected"] == sentence.replace("goed", "went")


@pytest.mark.parametrize(
    "sentence",
    [
        "He went to school.",
        "  She   is\treading a \u201cgood\u201d book, isn\u2019t she ?  ",
        "I have never been to Paris \U0001f5fc\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "...",
    ],
)
def test_a_sentence_without_mistake_comes_back_byte_for_byte(system: RunningSystem, sentence: str) -> None:
    reply = post_sentence(system.url, sentence)

    assert (reply.status, reply.body["corrected"], reply.body["edits"]) == (200, sentence, [])
    assert reply.body["explanation"]


def test_the_answer_carries_its_id_and_where_the_time_went(system: RunningSystem) -> None:
    body = json.dumps({"sentence": "He goed home", "learner_id": "anna"}).encode()

    reply = send(system.url, "POST", "/correct", body, {"Content-Type": "application/json", "X-Request-ID": "mine-1"})

    assert reply.headers["X-Request-ID"] == "mine-1"
    assert reply.body["request_id"] not in ("mine-1", "")
    assert all(f"{part};dur=" in reply.headers["Server-Timing"] for part in ("queue", "prefill", "decode", "total"))


def test_64_clients_get_exactly_what_the_offline_command_gives_and_rq_sees_it(system: RunningSystem) -> None:
    source = sentences(seed=7)
    texts = [next(source) for _ in range(640)]

    with ThreadPoolExecutor(65) as pool:
        seen_by_rq = pool.submit(_rq_info, system.redis_url)
        replies = list(pool.map(lambda text: post_sentence(system.url, text), texts))

    assert {reply.status for reply in replies} == {200}
    assert [reply.body["corrected"] for reply in replies] == _offline(texts)
    assert len({reply.body["request_id"] for reply in replies}) == len(texts)
    assert "correct" in seen_by_rq.result() and "1 workers, 2 queues" in seen_by_rq.result()


def _rq_info(redis_url: str) -> str:
    return subprocess.run([RQ, "info", "-u", redis_url], capture_output=True, text=True, check=True).stdout


def _offline(texts: list[str]) -> list[str]:
    command = processes.miniserve_command("correct", "--json", "-")
    done = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True)
    return [json.loads(line)["corrected"] for line in done.stdout.splitlines()]


def test_a_second_replica_on_another_port_shares_queue_and_worker(system: RunningSystem) -> None:
    with ApiProcess(system.redis_url) as replica:
        replica.wait_until_ready()
        with ThreadPoolExecutor(16) as pool:
            urls = [replica.url, system.url] * 20
            replies = list(pool.map(lambda one: post_sentence(one, "He goed to school"), urls))
        replica.signal(signal.SIGTERM)
        exit_status = replica.process.wait()

    assert {(reply.status, reply.body["corrected"]) for reply in replies} == {(200, "He went to school")}
    assert exit_status == 0


def test_an_answer_that_would_come_too_late_is_a_504_and_a_generous_deadline_is_kept(system: RunningSystem) -> None:
    body, headers = json.dumps({"sentence": "He goed to school"}).encode(), {"Content-Type": "application/json"}

    late = send(system.url, "POST", "/correct", body, headers | {"X-Deadline-Ms": "1"})
    timely = send(system.url, "POST", "/correct", body, headers | {"X-Deadline-Ms": "20000"})

    assert (late.status, late.slug) == (504, "deadline-exceeded")
    assert timely.body["corrected"] == "He went to school"
