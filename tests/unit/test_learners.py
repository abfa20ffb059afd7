"""Learners: what is shown of their counts, and for whom an answer counts."""

from __future__ import annotations

import pytest

from api.grammar.correction import Correction
from api.kept.routes import KeptRequests
from api.learners.routes import document_of
from api.service.exchange import Exchange
from api.site import create_site
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, client_around, corrector_of


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
    client = client_around(create_site(corrector_of(mailbox), Settings()))  # over a queue: elsewhere nothing is counted
    client.application.listeners.append(lambda exchange, _, is_first: noted.append((exchange.client, is_first)))

    async def found(_: KeptRequests, request_id: str, exchange: Exchange) -> Correction:
        exchange.learner = "x"
        return Correction("He went home", (), "", 0)

    monkeypatch.setattr(KeptRequests, "find", found)
    for number in (0, 1, 0):
        client.environ_base["REMOTE_ADDR"] = f"10.0.0.{number}"
        client.get("/requests/x")
        client.post("/correct", json={"sentence": "He goed home", "learner_id": "anna"})

    assert noted[0][0] != noted[2][0]
    assert noted == [(noted[0][0], False), (noted[0][0], True), (noted[2][0], False), (noted[2][0], True)] + noted[:2]


def test_what_is_no_number_of_ours_counts_as_nothing() -> None:
    fields = {"since": "x", "corrections": "9" * 99, "n:habit": "-5", "at:habit": "1e9", "v:habit:go": "?"}

    document = document_of("a", fields)

    assert document["corrections"] == 0 and document["reasons"][0]["count"] == 0
