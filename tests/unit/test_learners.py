"""Learners: what is counted of an answer, what is shown of it, and for whom."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from api.access.keys import new_key
from api.grammar.correction import Correction
from api.kept.routes import KeptRequests
from api.learners import routes
from api.learners.routes import document_of
from api.service.exchange import Exchange
from api.site import create_site
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, assert_problem, client_around, corrector_of
from worker.queue.learners import Answered


class CountingLearners:
    """What LEARN counts, of one process."""

    def __init__(self, *_: object) -> None:
        self._known: dict[str, Counter[str]] = {}

    def note(self, answered: Answered) -> None:
        fields = self._known.setdefault(answered.learner, Counter(since=1))
        fields["corrections"] += answered.num_texts
        for reason, verb in answered.mistakes:
            fields.update({f"n:{reason}": 1, f"at:{reason}": 1, f"v:{reason}:{verb}": 1})

    async def find(self, learner: str) -> dict[str, str]:
        return {name: str(value) for name, value in self._known.get(learner, Counter()).items()}

    async def forget(self, learner: str) -> None:
        self._known.pop(learner, None)


@pytest.fixture(autouse=True)
def _counts_are_kept_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "Learners", CountingLearners)


def client_of(mailbox: FakeMailbox, settings: Settings | None = None) -> FlaskClient:
    """Over a queue: elsewhere nothing is counted."""
    return client_around(create_site(corrector_of(mailbox), settings or Settings()))


@pytest.fixture
def client(mailbox: FakeMailbox) -> FlaskClient:
    return client_of(mailbox)


def correct(
    client: FlaskClient, learner_id: str | None = "anna", sentence: str = "He goed home", **headers: str
) -> Any:
    return client.post("/correct", json={"sentence": sentence, "learner_id": learner_id}, headers=headers)


@pytest.mark.parametrize("learner_id", ["a/b", "caf\u00e9 \U0001f600", "x" * 64, "%", "..", "?a=b#c"])
def test_an_id_may_be_any_text(client: FlaskClient, learner_id: str) -> None:
    correct(client, learner_id)

    assert client.get(f"/learners/{quote(learner_id, safe='')}").json["learner_id"] == learner_id


def test_learners_of_one_key_are_not_those_of_another(mailbox: FakeMailbox, tmp_path: Path) -> None:
    (one, line), (other, other_line) = new_key("one"), new_key("other")
    (tmp_path / "keys").write_text(f"{line}\n{other_line}\n")
    client = client_of(mailbox, Settings(api_keys_file=str(tmp_path / "keys")))
    headers = [{"Authorization": f"Bearer {key}"} for key in (one, other)]
    correct(client, **headers[0])

    assert_problem(client.get("/learners/anna", headers=headers[1]), 404, "not-found")
    client.delete("/learners/anna", headers=headers[1])
    assert client.get("/learners/anna", headers=headers[0]).status_code == 200


def test_reasons_and_verbs_come_by_how_often() -> None:
    fields = {"since": "1", "corrections": "3", "n:past_tense": "2", "v:past_tense:take": "1", "n:habit": "3"}

    found = document_of("a", fields | {"v:habit:go": "1", "v:habit:see": "2"})["reasons"]

    assert [(one["reason"], one["count"], one["verbs"]) for one in found] == [
        ("habit", 3, ["see", "go"]), ("past_tense", 2, ["take"]),
    ]  # fmt: skip


def test_an_answer_that_is_fetched_is_counted_for_who_fetches_it(
    mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[tuple[str, bool]] = []
    client = client_of(mailbox)
    client.application.listeners.append(lambda exchange, _, is_first: noted.append((exchange.client, is_first)))

    async def found(_: KeptRequests, request_id: str, exchange: Exchange) -> Correction:
        exchange.learner = "x"
        return Correction("He went home", (), "", 0)

    monkeypatch.setattr(KeptRequests, "find", found)
    for number in (0, 1, 0):
        client.environ_base["REMOTE_ADDR"] = f"10.0.0.{number}"
        client.get("/requests/x")
        correct(client)

    assert noted[0][0] != noted[2][0]
    assert noted == [(noted[0][0], False), (noted[0][0], True), (noted[2][0], False), (noted[2][0], True)] + noted[:2]


def test_what_is_no_number_of_ours_counts_as_nothing() -> None:
    fields = {"since": "x", "corrections": "9" * 99, "n:habit": "-5", "at:habit": "1e9", "v:habit:go": "?"}

    document = document_of("a", fields)

    assert document["corrections"] == 0 and document["reasons"][0]["count"] == 0
