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
from worker.queue.learners import Answered, Learners


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


def test_an_id_of_two_lines_can_be_forgotten(mailbox: FakeMailbox) -> None:
    routes = create_site(corrector_of(mailbox), Settings()).url_map.bind("here")

    assert routes.match("/learners/a\nb", method="DELETE")[1] == {"learner_id": "a\nb"}


def test_what_is_no_number_of_ours_counts_as_nothing() -> None:
    fields = {"since": "x", "corrections": "9" * 99, "n:habit": "-5", "at:habit": "1e9", "v:habit:go": "?"}

    document = document_of("a", fields)

    assert document["corrections"] == 0 and document["reasons"][0]["count"] == 0


def test_a_report_of_many_mistakes_is_cut_and_nothing_of_it_is_lost() -> None:
    learners, mistakes = Learners(None, 2**31), tuple(("habit", f"v{at}") for at in range(1_500))
    for number in range(20):
        learners.note(Answered(f"l{number}", "1", "r", True, True, 1, mistakes))

    reports = []
    while (command := learners.command()) is not None:
        reports.append(command)
        learners.note_reply(0)

    assert max(map(len, reports)) < 12_000, "8,192 words, and the 1,024 kinds of one answer more"
    assert [word for report in reports for word in report if str(word) in {f"l{n}" for n in range(20)}] == [
        f"l{number}" for number in range(20)
    ]
