"""API keys: the check before every route that is not open."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.keys import new_key
from scheduler.accounts import Account
from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, assert_problem, client_of

KEY, LINE = new_key("school")
OTHER, OTHER_LINE = new_key("other")
ASKS_FOR_A_KEY = [
    ("POST", "/correct"), ("POST", "/correct/batch"), ("GET", "/requests/x"), ("DELETE", "/requests/x"),
    ("GET", "/requests/x/trace"), ("GET", "/metrics"),
]  # fmt: skip
IS_OPEN = [
    ("GET", "/"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/static/page.css"), ("GET", "/v2/languages"),
    ("GET", "/docs"), ("GET", "/openapi.json"), ("GET", "/ops"),
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"# who\n{LINE} requests_per_s=5 tokens_per_s=900.5\n\n{OTHER_LINE}  # a guest\n")
    return path


@pytest.fixture
def corrector() -> FakeCorrector:
    return FakeCorrector()


@pytest.fixture
def client(path: Path, corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector, Settings(mode="sync", api_keys_file=str(path)))


def correct(client: FlaskClient, **headers: str) -> TestResponse:
    return client.post("/correct", json={"sentence": "He goed home"}, headers=headers)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize(("method", "route"), ASKS_FOR_A_KEY)
def test_a_route_that_is_not_open_asks_for_a_key(client: FlaskClient, method: str, route: str) -> None:
    response = client.open(route, method=method, json={"sentence": "He goed home"} if method == "POST" else None)

    document = assert_problem(response, 401, "unauthorized")
    assert "Authorization: Bearer" in document["detail"]
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_every_other_route_asks_for_a_key(client: FlaskClient) -> None:
    rules = client.application.url_map.iter_rules()
    closed = {rule.rule for rule in rules} - {route for _, route in IS_OPEN} - {"/static/<name>", "/v2/check"}

    for route in closed:
        response = client.open(route.replace("<request_id>", "x"), method="GET")
        assert response.status_code in (401, 405), route


@pytest.mark.parametrize(("method", "route"), IS_OPEN)
def test_probes_and_pages_are_open(client: FlaskClient, method: str, route: str) -> None:
    assert client.open(route, method=method).status_code == 200


def test_a_valid_key_is_let_in_and_named_in_metrics_but_never_shown(
    client: FlaskClient, corrector: FakeCorrector
) -> None:
    response = correct(client, **bearer(KEY))

    totals = client.application.services.recorder.totals()
    assert response.status_code == 200
    assert corrector.jobs[0].exchange.account == Account("school", 5, 900.5)
    assert totals["key:school:200"] == 1
    assert KEY not in str(totals)


def test_the_queue_counts_a_request_for_its_key_whatever_its_address(
    client: FlaskClient, corrector: FakeCorrector
) -> None:
    for key, address in ((KEY, "10.0.0.1"), (KEY, "10.0.0.2"), (OTHER, "10.0.0.2")):
        client.environ_base["REMOTE_ADDR"] = address
        correct(client, **bearer(key))

    first, second, other = [job.exchange.client for job in corrector.jobs]
    assert first == second != other


def test_an_idempotency_key_is_that_of_an_api_key(client: FlaskClient, corrector: FakeCorrector) -> None:
    for key in (KEY, KEY, OTHER):
        correct(client, **bearer(key), **{"Idempotency-Key": "same"})

    first, second, other = [job.exchange.key for job in corrector.jobs]
    assert first == second != other


@pytest.mark.parametrize(
    "key",
    ["", "x", KEY[:-1], KEY[:-1] + ("0" if KEY[-1] != "0" else "1"), KEY + "0", KEY.upper(), OTHER[:16] + KEY[16:],
     "ms_000000000000_" + KEY[16:], "ms_" * 2_500, "ms_\u00e9"],
    ids=["none", "short", "cut", "last-digit", "longer", "upper", "mixed", "unknown", "long", "not-ascii"],
)  # fmt: skip
def test_any_other_key_is_refused(client: FlaskClient, corrector: FakeCorrector, key: str) -> None:
    assert_problem(correct(client, **bearer(key)), 401, "unauthorized")
    assert corrector.jobs == []


def test_another_scheme_is_no_key(client: FlaskClient) -> None:
    assert_problem(correct(client, Authorization=f"Basic {KEY}"), 401, "unauthorized")


def test_without_a_file_nobody_is_asked_for_a_key(corrector: FakeCorrector) -> None:
    client = client_of(corrector)

    assert correct(client).status_code == 200
    assert corrector.jobs[0].exchange.account is None


@pytest.mark.parametrize(
    ("fields", "headers", "status"),
    [({}, {}, 401), ({"apiKey": KEY}, {}, 200), ({"apiKey": KEY[:-1]}, {}, 401), ({}, bearer(KEY), 200),
     ({"apiKey": KEY}, bearer(KEY[:-1]), 401)],
)  # fmt: skip
def test_an_editor_sends_its_key_as_a_field_of_the_form(
    client: FlaskClient, corrector: FakeCorrector, fields: dict[str, str], headers: dict[str, str], status: int
) -> None:
    form = {"text": "He goed home", "language": "en-US", **fields}

    response = client.post("/v2/check", data=form, headers=headers)

    assert response.status_code == status
    assert [job.exchange.account.name for job in corrector.jobs] == ["school"] * (status == 200)
    assert status == 200 or response.text.startswith("Error: ")
    assert status == 200 or fields or "apiKey" in response.text


@pytest.mark.parametrize("headers", [bearer(KEY), {}], ids=["header", "form"])
def test_what_a_key_may_not_use_now_is_refused_to_its_editor_without_asking_redis(
    client: FlaskClient, corrector: FakeCorrector, headers: dict[str, str]
) -> None:
    form = {"text": "He goed home", "language": "en-US", "apiKey": KEY}
    client.post("/v2/check", data=form, headers=headers)
    used_up, (job,) = RateLimited("used up", 1.0), corrector.jobs
    corrector.known_refusal = lambda client="": used_up if client == job.exchange.client else None

    refused = client.post("/v2/check", data=form, headers=headers)
    others = client.post("/v2/check", data=form | {"apiKey": OTHER}, headers=headers and bearer(OTHER))

    assert (refused.status_code, others.status_code) == (429, 200)
    assert refused.headers["Retry-After"] == "1" and len(corrector.jobs) == 2
