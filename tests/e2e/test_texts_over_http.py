"""Paragraphs through every real part: cut, corrected in one batch, put together again; and what is refused."""

from __future__ import annotations

import json
import subprocess

import pytest

from ops.run import processes
from tests.running_system import RunningSystem, post_json, post_sentence

PARAGRAPH = (
    "  Yesterday he goed to school \U0001f600. Mr. Smith was there at 5 p.m. on Monday!\r\n\r\n"
    "\u201cShe go to school every day.\u201d  They was at home.\t\tIt is 3.5 km away.\n"
    "He did not went home  \n"
)
CORRECTED = (
    PARAGRAPH.replace("goed", "went").replace("She go ", "She goes ").replace("They was", "They were")
).replace("not went", "not go")


def test_a_paragraph_is_corrected_sentence_by_sentence_and_comes_back_whole(system: RunningSystem) -> None:
    reply = post_sentence(system.url, PARAGRAPH)

    edits = reply.body["edits"]
    assert (reply.status, reply.body["corrected"]) == (200, CORRECTED)
    assert [edit["original"] for edit in edits] == ["goed", "go", "was", "went"]
    assert all(PARAGRAPH[edit["start"] : edit["end"]] == edit["original"] for edit in edits)
    assert reply.body["explanation"] == " ".join(edit["explanation"] for edit in edits)


def test_the_offline_command_answers_a_text_as_the_server_does(system: RunningSystem) -> None:
    line = " ".join(PARAGRAPH.split())

    done = subprocess.run(
        processes.miniserve_command("correct", "--json", "-"),
        input=f"{line}\nHe goed.\n", capture_output=True, text=True, check=True,
    )  # fmt: skip

    served = post_sentence(system.url, line).body
    del served["request_id"]
    assert [json.loads(answer)["corrected"] for answer in done.stdout.splitlines()][1:] == ["He went."]
    assert json.loads(done.stdout.splitlines()[0]) == served


def test_the_greatest_text_is_taken_and_answered_with_sensible_timings(system: RunningSystem) -> None:
    text = "He goed home. " * 64

    reply = post_sentence(system.url, text)

    parts = [part.strip().split(";dur=") for part in reply.headers["Server-Timing"].split(",")]
    duration = {name: float(value) for name, value in parts}
    assert (reply.status, reply.body["corrected"]) == (200, text.replace("goed", "went"))
    assert len(reply.body["edits"]) == 64
    assert all(duration[name] <= duration["total"] for name in ("queue", "prefill", "decode"))


@pytest.mark.parametrize(
    ("text", "slug", "told"),
    [
        ("He came. " * 65, "invalid-request", "holds more than 64 sentences"),
        ("He came. She left. " + "word " * 65 + ". He slept.", "sentence-too-long", "Sentence 3 has 65 words"),
        ("He came. " * 5_000, "invalid-request", "has 45,000 characters; at most 40,000"),
    ],
)
def test_a_text_beyond_the_limits_is_refused_as_a_whole(system: RunningSystem, text: str, slug: str, told: str) -> None:
    reply = post_sentence(system.url, text)

    assert (reply.status, reply.slug) == (422, slug)
    assert told in reply.body["detail"]
    assert reply.body.get("sentence_number") == (3 if slug == "sentence-too-long" else None)


def test_a_batch_is_answered_item_by_item_in_order(system: RunningSystem) -> None:
    sentences = [f"He goed to school {number} times." for number in range(40)] + ["", PARAGRAPH, "word " * 65]

    reply = post_json(system.url, "/correct/batch", {"sentences": sentences, "learner_id": "anna"})

    results = reply.body["results"]
    assert reply.status == 200
    assert [result.get("corrected") for result in results] == [
        *(sentence.replace("goed", "went") for sentence in sentences[:40]), None, CORRECTED, None,
    ]  # fmt: skip
    assert [results[at]["type"].rsplit(":")[-1] for at in (40, 42)] == ["invalid-request", "sentence-too-long"]
    assert post_sentence(system.url, sentences[7]).body["edits"] == results[7]["edits"]
