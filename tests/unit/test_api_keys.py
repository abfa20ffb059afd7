"""API keys: the check before every route that is not open."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.keys import new_key
from api.service.exchange import Account
from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, assert_problem, client_of

KEY, LINE = new_key("school")
OTHER, OTHER_LINE = new_key("other")
OPEN = ("/", "/healthz", "/readyz", "/static/page.css", "/v2/languages", "/docs", "/openapi.json", "/ops")


@pytest.fixture
def client(tmp_path: Path, mailbox: FakeMailbox) -> FlaskClient:
    (tmp_path / "keys").write_text(f"# who\n{LINE} requests_per_s=5 tokens_per_s=900.5\n\n{OTHER_LINE}  # a guest\n")
    return client_of(mailbox, Settings(api_keys_file=str(tmp_path / "keys")))


def correct(client: FlaskClient, **headers: str) -> TestResponse:
    return client.post("/correct", json={"sentence": "He goed home"}, headers=headers)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_every_route_that_is_not_open_asks_for_a_key(client: FlaskClient) -> None:
    asked = []
    for rule in client.application.url_map.iter_rules():
        route = rule.rule.replace("<request_id>", "x").replace("<path:learner_id>", "x").replace("<name>", "page.css")
        for method in rule.methods - {"HEAD", "OPTIONS"} if route not in (*OPEN, "/v2/check") else ():
            problem = assert_problem(
                client.open(route, method=method, json={"sentence": "He goed"}), 401, "unauthorized"
            )
            assert "Authorization: Bearer" in problem["detail"]
            asked.append((method, route))

    assert len(asked) >= 8 and ("POST", "/correct/batch") in asked
    assert {client.get(route).status_code for route in OPEN} == {200}


def test_a_valid_key_is_let_in_and_named_in_metrics_but_never_shown(client: FlaskClient, mailbox: FakeMailbox) -> None:
    response = correct(client, **bearer(KEY))

    totals = client.application.services.recorder.totals()
    assert response.status_code == 200
    assert mailbox.exchanges[0].account == Account("school", 5, 900.5)
    assert totals["key:school:200"] == 1
    assert KEY not in str(totals)


def test_a_key_is_one_client_whatever_its_address_with_idempotency_keys_of_its_own(
    client: FlaskClient, mailbox: FakeMailbox
) -> None:
    for key, address in ((KEY, "10.0.0.1"), (KEY, "10.0.0.2"), (OTHER, "10.0.0.2")):
        client.environ_base["REMOTE_ADDR"] = address
        correct(client, **bearer(key), **{"Idempotency-Key": "same"})

    first, second, other = [(exchange.client, exchange.key) for exchange in mailbox.exchanges]
    assert first == second
    assert first[0] != other[0] and first[1] != other[1]


@pytest.mark.parametrize(
    "given",
    ["", "Bearer ", "Bearer x", f"Bearer {KEY[:-1]}", f"Bearer {KEY[:-1]}{'0' if KEY[-1] != '0' else '1'}",
     f"Bearer {KEY}0", f"Bearer {KEY.upper()}", f"Bearer {OTHER[:16]}{KEY[16:]}", f"Bearer {'ms_' * 2_500}",
     "Bearer ms_\u00e9", f"Basic {KEY}"],
    ids=["no-header", "none", "short", "cut", "last-digit", "longer", "upper", "mixed", "long", "not-ascii", "basic"],
)  # fmt: skip
def test_any_other_key_is_refused(client: FlaskClient, mailbox: FakeMailbox, given: str) -> None:
    assert_problem(correct(client, Authorization=given), 401, "unauthorized")
    assert mailbox.exchanges == []


@pytest.mark.parametrize(
    ("fields", "headers", "status"),
    [({}, {}, 401), ({"apiKey": KEY}, {}, 200), ({"apiKey": KEY[:-1]}, {}, 401), ({}, bearer(KEY), 200),
     ({"apiKey": KEY}, bearer(KEY[:-1]), 401)],
)  # fmt: skip
def test_an_editor_sends_its_key_as_a_field_of_the_form(
    client: FlaskClient, mailbox: FakeMailbox, fields: dict[str, str], headers: dict[str, str], status: int
) -> None:
    form = {"text": "He goed home", "language": "en-US", **fields}

    response = client.post("/v2/check", data=form, headers=headers)

    assert response.status_code == status
    assert [exchange.account.name for exchange in mailbox.exchanges] == ["school"] * (status == 200)
    assert status == 200 or response.text.startswith("Error: ")
    assert status == 200 or fields or "apiKey" in response.text


@pytest.mark.parametrize("headers", [bearer(KEY), {}], ids=["header", "form"])
def test_what_a_key_may_not_use_now_is_refused_to_its_editor_without_asking_redis(
    client: FlaskClient, mailbox: FakeMailbox, headers: dict[str, str]
) -> None:
    form = {"text": "He goed home", "language": "en-US", "apiKey": KEY}
    client.post("/v2/check", data=form, headers=headers)
    used_up, (exchange,) = RateLimited("used up", 1.0), mailbox.exchanges
    mailbox.known_refusal = lambda client="": used_up if client == exchange.client else None

    refused = client.post("/v2/check", data=form, headers=headers)
    others = client.post("/v2/check", data=form | {"apiKey": OTHER}, headers=headers and bearer(OTHER))

    assert (refused.status_code, others.status_code) == (429, 200)
    assert refused.headers["Retry-After"] == "1" and len(mailbox.exchanges) == 2
