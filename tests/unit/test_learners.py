"""Learners: what is counted of an answer, what is shown of it, and for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from api.access.keys import new_key
from api.grammar.correction import Correction
from api.grammar.reasons import Reason
from api.kept.requests import KeptRequests
from api.learners.routes import document_of
from api.service.exchange import Exchange
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, assert_problem, client_of
from worker.queue.learners import MOST_VERBS, Answered, InMemoryLearners


@pytest.fixture
def corrector() -> FakeCorrector:
    return FakeCorrector()


@pytest.fixture
def client(corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector)


def correct(
    client: FlaskClient, learner_id: str | None = "anna", sentence: str = "He goed home", **headers: str
) -> Any:
    return client.post("/correct", json={"sentence": sentence, "learner_id": learner_id}, headers=headers)


def test_reasons_and_verbs_of_an_answer_are_counted(client: FlaskClient) -> None:
    for _ in range(3):
        correct(client)

    document = client.get("/learners/anna").json
    (reason,) = document.pop("reasons")
    assert document.pop("since").endswith("Z") and reason.pop("last_seen").endswith("Z")
    assert document == {"learner_id": "anna", "corrections": 3}
    assert reason == {"reason": "irregular_past", "count": 3, "verbs": ["go"]}


def test_each_text_of_a_batch_is_one_correction(client: FlaskClient) -> None:
    client.post("/correct/batch", json={"sentences": ["He goed", "", "She goed"], "learner_id": "anna"})

    document = client.get("/learners/anna").json
    assert (document["corrections"], document["reasons"][0]["count"]) == (2, 2)


def test_without_a_learner_nothing_is_counted(client: FlaskClient) -> None:
    correct(client, None)

    assert_problem(client.get("/learners/anna"), 404, "not-found")


def test_a_refused_request_is_not_counted(client: FlaskClient, corrector: FakeCorrector) -> None:
    correct(client, sentence="")

    assert_problem(client.get("/learners/anna"), 404, "not-found")


def test_a_learner_is_forgotten_on_demand(client: FlaskClient) -> None:
    correct(client)
    correct(client, "bea")

    assert client.delete("/learners/anna").json == {"learner_id": "anna", "status": "forgotten"}

    assert_problem(client.get("/learners/anna"), 404, "not-found")
    assert client.get("/learners/bea").status_code == 200
    assert client.delete("/learners/anna").status_code == 200


@pytest.mark.parametrize("learner_id", ["a/b", "caf\u00e9 \U0001f600", "x" * 64, "%", "..", "?a=b#c"])
def test_an_id_may_be_any_text(client: FlaskClient, learner_id: str) -> None:
    correct(client, learner_id)

    assert client.get(f"/learners/{quote(learner_id, safe='')}").json["learner_id"] == learner_id


@pytest.mark.parametrize("learner_id", ["x" * 65, "a%00b", "a%1bb"])
def test_an_id_that_no_request_may_have_is_refused(client: FlaskClient, learner_id: str) -> None:
    for method in ("GET", "DELETE"):
        assert_problem(client.open(f"/learners/{learner_id}", method=method), 422, "invalid-request")


@pytest.fixture
def two_keys(tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    (one, line), (other, other_line) = new_key("one"), new_key("other")
    (tmp_path / "keys").write_text(f"{line}\n{other_line}\n")
    yield one, other, str(tmp_path / "keys")


def test_learners_of_one_key_are_not_those_of_another(corrector: FakeCorrector, two_keys: tuple[str, str, str]) -> None:
    one, other, path = two_keys
    client = client_of(corrector, settings=Settings(mode="sync", api_keys_file=path))
    headers = [{"Authorization": f"Bearer {key}"} for key in (one, other)]
    correct(client, **headers[0])

    assert client.get("/learners/anna", headers=headers[0]).status_code == 200
    assert_problem(client.get("/learners/anna", headers=headers[1]), 404, "not-found")
    client.delete("/learners/anna", headers=headers[1])
    assert client.get("/learners/anna", headers=headers[0]).status_code == 200
    assert_problem(client.get("/learners/anna"), 401, "unauthorized")


def answered(learner: str, request_id: str, *mistakes: tuple[str, str]) -> Answered:
    return Answered(learner, "1", request_id, True, True, 1, mistakes)


def test_reasons_and_verbs_come_by_how_often() -> None:
    learners = InMemoryLearners()
    mistakes = [("habit", "go"), ("habit", "see"), ("past_tense", "take"), ("habit", "see"), ("past_tense", "")]
    learners.note(answered("a", "id", *mistakes))

    found = document_of("a", asyncio.run(learners.find("a")))["reasons"]
    assert [(one["reason"], one["count"], one["verbs"]) for one in found] == [
        ("habit", 3, ["see", "go"]), ("past_tense", 2, ["take"]),
    ]  # fmt: skip
    assert {one["reason"] for one in found} <= {reason.value for reason in Reason}


def test_the_verbs_of_a_learner_are_bounded() -> None:
    learners = InMemoryLearners()
    for number in range(MOST_VERBS + 50):
        learners.note(answered("a", f"id-{number}", ("habit", f"verb{number}")))

    found = asyncio.run(learners.find("a"))
    assert len([name for name in found if name.startswith("v:")]) == MOST_VERBS
    assert found["n:habit"] == str(MOST_VERBS + 50)


def test_learners_of_a_process_are_bounded() -> None:
    learners = InMemoryLearners()
    for number in range(10_001):
        learners.note(answered(f"learner-{number}", f"id-{number}"))

    first, last = (asyncio.run(learners.find(name)) for name in ("learner-0", "learner-10000"))
    assert first == {} and last["corrections"] == "1"


@pytest.mark.parametrize("way", ["POST", "GET"])
def test_a_learner_is_held_by_who_asks(
    corrector: FakeCorrector, two_keys: tuple[str, str, str], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, path = two_keys
    noted: list[str] = []

    async def found(_: KeptRequests, request_id: str, exchange: Exchange) -> Correction:
        exchange.learner = "x"
        return Correction("He went home", (), "", 0)

    monkeypatch.setattr(KeptRequests, "find", found)
    for keys_file, senders in (("", ("", "")), (path, (one, other))):
        client = client_of(corrector, settings=Settings(mode="sync", api_keys_file=keys_file))
        client.application.corrections.listeners.append(lambda exchange, *_: noted.append(exchange.client))
        for number, key in enumerate(senders):
            client.environ_base["REMOTE_ADDR"] = f"10.0.0.{number}"
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            correct(client, **headers) if way == "POST" else client.get("/requests/x", headers=headers)

    assert len(set(noted)) == 4 and all(name.isdecimal() for name in noted)


def test_a_learner_is_held_by_the_network_of_an_ipv6_address(corrector: FakeCorrector) -> None:
    noted: list[str] = []
    client = client_of(corrector)
    client.application.corrections.listeners.append(lambda exchange, *_: noted.append(exchange.client))
    for address in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"):
        client.environ_base["REMOTE_ADDR"] = address
        correct(client)

    assert noted[0] == noted[1] != noted[2]


def test_what_is_no_number_of_ours_counts_as_nothing() -> None:
    fields = {"since": "x", "corrections": "9" * 99, "n:habit": "-5", "at:habit": "1e9", "v:habit:go": "?"}

    document = document_of("a", fields)

    assert document["corrections"] == 0 and document["reasons"][0]["count"] == 0
