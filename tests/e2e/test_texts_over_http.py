"""Paragraphs through every real part: cut, corrected in one batch, put together again; and what is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from ops.run import processes
from tests.mailbox_house import eventually
from tests.running_system import RunningSystem, post_json, post_sentence, send

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


def plain(url: str, text: str) -> Any:
    return post_sentence(url, text).body


def in_a_batch(url: str, text: str) -> Any:
    return post_json(url, "/correct/batch", {"sentences": ["He came.", text]}).body["results"][1]


def streamed(url: str, text: str) -> Any:
    accept = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    events = send(url, "POST", "/correct", json.dumps({"sentence": text}).encode(), accept).body
    *edits, done = [json.loads(line[6:]) for line in events.splitlines() if line.startswith("data: ")]
    assert sorted(edits, key=lambda edit: edit["start"]) == done["edits"]
    return done


def kept(url: str, text: str) -> Any:
    later = {"Content-Type": "application/json", "Prefer": "respond-async"}
    asked = send(url, "POST", "/correct", json.dumps({"sentence": text}).encode(), later)
    if asked.status == 200:  # there was nothing to wait for
        return asked.body
    where = f"/requests/{asked.body['request_id']}"
    return eventually(lambda: (reply := send(url, "GET", where)).status == 200 and reply, within_s=60).body


def offline(_: str, text: str) -> Any:
    command = processes.miniserve_command("correct", "--json", "-")
    return json.loads(subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout)


LONG_ONE = "Word " + "word " * 64 + "word."


@pytest.mark.parametrize("way", [in_a_batch, streamed, kept, offline])
@pytest.mark.parametrize(
    "text",
    [
        " ".join(PARAGRAPH.split()), "He wait\u00ading here. I don\u00b4t goed.\u200b He goed.", "He " + "goed " * 12,
        f"{LONG_ONE} He goed home.", f"{LONG_ONE} {LONG_ONE}", "Du hast die falsche Nummer. He goed home.",
        f"See www.a.com/{'x1' * 70} . They was late.",
    ],
)  # fmt: skip
def test_every_way_to_an_answer_gives_the_same_one(
    system: RunningSystem, text: str, way: Callable[[str, str], Any]
) -> None:
    expected = plain(system.url, text)

    answer = way(system.url, text)

    assert answer | {"request_id": ""} == expected | {"request_id": ""}
    assert {"corrected", "edits", "explanation", "language", "notes"} <= answer.keys()


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
        ("word " * 65, "sentence-too-long", "The sentence has 65 words"),
        ("He came. " * 5_000, "invalid-request", "has 45,000 characters; at most 40,000"),
    ],
)
def test_a_text_beyond_the_limits_is_refused_as_a_whole(system: RunningSystem, text: str, slug: str, told: str) -> None:
    reply = post_sentence(system.url, text)

    assert (reply.status, reply.slug) == (422, slug)
    assert told in reply.body["detail"]


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
