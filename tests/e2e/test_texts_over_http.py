"""Texts through every real part: HTTP, Redis, the worker's batch, the trained model, and back; by every way."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.load import prompts
from ops.observe.scrape import scrape
from ops.run import processes
from tests.mailbox_house import eventually
from tests.running_system import RunningSystem, events_of, post_json, post_sentence, send

JSON = {"Content-Type": "application/json"}
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


def plain(url: str, body: dict[str, Any]) -> Any:
    return post_json(url, "/correct", body).body


def in_a_batch(url: str, body: dict[str, Any]) -> Any:
    texts = {"sentences": ["He came.", body["sentence"]]}
    about = {name: value for name, value in body.items() if name != "sentence"}
    return post_json(url, "/correct/batch", about | texts).body["results"][1]


def streamed(url: str, body: dict[str, Any]) -> Any:
    events = send(url, "POST", "/correct", json.dumps(body).encode(), JSON | {"Accept": "text/event-stream"}).body
    *edits, done = [document for _, document in events_of(events.splitlines())]
    assert sorted(edits, key=lambda edit: edit["start"]) == done["edits"]
    return done


def kept(url: str, body: dict[str, Any]) -> Any:
    asked = send(url, "POST", "/correct", json.dumps(body).encode(), JSON | {"Prefer": "respond-async"})
    if asked.status == 200:  # there was nothing to wait for
        return asked.body
    where = asked.headers["Location"]
    return eventually(lambda: (reply := send(url, "GET", where)).status == 200 and reply, within_s=60).body


def offline(_: str, body: dict[str, Any]) -> Any:
    return answers_offline(*TEXTS)[TEXTS.index(body["sentence"])]


@cache
def answers_offline(*texts: str) -> list[dict[str, Any]]:
    command = processes.miniserve_command("correct", "--json", "-")
    done = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


WAYS = [in_a_batch, streamed, kept, offline]
LONG_ONE = "Word " + "word " * 64 + "word."
TEXTS = [
    " ".join(PARAGRAPH.split()), "He wait\u00ading here.\u2028I don\u00b4t goed.\u200b", "He " + "goed " * 12,
    f"{LONG_ONE} He goed home.", f"{LONG_ONE} {LONG_ONE}", "Du hast die falsche Nummer. He goed home.",
    " ".join(f"Room {number} is here." for number in range(11)) + " They was late.",
    f"See www.a.com/{'x1' * 70} . They was late.", " ".join(f"They was {number} hours late." for number in range(200)),
]  # fmt: skip
CERTAIN = [{"sentence": "He goed to school", "min_confidence": least} for least in (0.5, 1)]


@pytest.mark.parametrize(
    ("way", "body"),
    [(way, {"sentence": text}) for way in WAYS for text in TEXTS]
    + [(way, one) for way in WAYS[:-1] for one in CERTAIN],
)
def test_every_way_to_an_answer_gives_the_same_one(
    system: RunningSystem, way: Callable[[str, dict[str, Any]], Any], body: dict[str, Any]
) -> None:
    expected = plain(system.url, body)

    answer = way(system.url, body)

    assert answer | {"request_id": ""} == expected | {"request_id": ""}
    assert {"corrected", "edits", "explanation", "language", "notes"} <= answer.keys()


def test_64_clients_share_batches_and_get_exactly_what_the_offline_command_gives(system: RunningSystem) -> None:
    texts = prompts.load(None, seed=7)[:640]

    with ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(lambda text: post_sentence(system.url, text), texts))

    assert {reply.status for reply in replies} == {200}
    assert [reply.body["corrected"] for reply in replies] == [one["corrected"] for one in answers_offline(*texts)]
    assert len({reply.body["request_id"] for reply in replies}) == len(texts)
    sizes = scrape(system.url).histogram("miniserve_batch_size")
    assert sizes.mean > 1.0, "a handler bypasses the scheduler"


def test_capacity_tells_the_rates_that_a_replica_measures(system: RunningSystem) -> None:
    def measured() -> dict[str, float] | None:
        for _ in range(30):
            assert post_json(system.url, "/correct/batch", {"sentences": TEXTS[:3]}).status == 200
        told = json.loads(CliRunner().invoke(main, ["capacity", "--json", "--url", system.url]).stdout)
        return told if told["service_rate_tokens_per_s"] > 0 and told["arrival_rate_per_s"] > 0 else None

    told = eventually(measured, 20)

    assert told["num_workers"] == 1 and told["advice"].startswith("At the present ")
