"""API keys: the check before every route that is not open, sessions of pages."""

from __future__ import annotations

from pathlib import Path

import fakeredis
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.gate import COOKIE
from api.access.keys import KeyFile, new_key
from api.access.sessions import MemoryStore, RedisStore, Sessions
from scheduler.accounts import Account
from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_corrector import WAYS, FakeCorrector, assert_problem, client_of

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


@pytest.fixture(params=WAYS)
def client(request: pytest.FixtureRequest, path: Path, corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector, request.param, Settings(mode="sync", api_keys_file=str(path)))


def look(keys: KeyFile) -> None:
    """Until what it has found counts."""
    keys.look()
    keys.look()


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
    closed = (
        {rule.rule for rule in rules} - {route for _, route in IS_OPEN} - {"/static/<name>", "/session", "/v2/check"}
    )

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

    totals = client.application.recorder.tallies.totals()
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
     "ms_000000000000_" + KEY[16:], "ms_" * 100_000, "ms_\u00e9"],
    ids=["none", "short", "cut", "last-digit", "longer", "upper", "mixed", "unknown", "long", "not-ascii"],
)  # fmt: skip
def test_any_other_key_is_refused(client: FlaskClient, corrector: FakeCorrector, key: str) -> None:
    assert_problem(correct(client, **bearer(key)), 401, "unauthorized")
    assert corrector.jobs == []


def test_another_scheme_is_no_key(client: FlaskClient) -> None:
    assert_problem(correct(client, Authorization=f"Basic {KEY}"), 401, "unauthorized")


def test_without_a_file_nobody_is_asked_and_there_are_no_sessions(corrector: FakeCorrector) -> None:
    client = client_of(corrector)

    assert correct(client).status_code == 200
    assert corrector.jobs[0].exchange.account is None
    assert_problem(client.post("/session", headers=bearer(KEY)), 404, "not-found")


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


class UnreadBody:
    """The body of a request that nobody may read."""

    def read(self, size: int = -1) -> bytes:
        pytest.fail("the body was read")


def test_an_editors_key_in_the_header_is_checked_before_the_body_is_read(client: FlaskClient) -> None:
    unread = {"wsgi.input": UnreadBody(), "CONTENT_LENGTH": "5"}

    response = client.post("/v2/check", headers=bearer(KEY[:-1]), environ_overrides=unread)

    assert response.status_code == 401 and response.text.startswith("Error: ")


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


def begin(client: FlaskClient, key: str = KEY, **headers: str) -> TestResponse:
    return client.post("/session", headers={**bearer(key), **headers})


def test_a_page_exchanges_its_key_for_a_cookie_that_scripts_cannot_read(client: FlaskClient) -> None:
    response = begin(client, Origin="http://localhost")

    cookie = response.headers["Set-Cookie"]
    assert response.json == {"name": "school", "expires_s": 43_200}
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie and KEY not in cookie
    assert "Secure" not in cookie
    assert correct(client).status_code == 200
    assert correct(client, Origin="http://localhost").status_code == 200


def test_over_tls_the_cookie_is_for_tls_alone(client: FlaskClient) -> None:
    assert "; Secure" in begin(client, Origin="https://localhost").headers["Set-Cookie"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://localhost:3000", "null", "https://localhost.evil.example", "http://["]
)
def test_a_page_of_another_site_may_not_begin_use_or_end_a_session(client: FlaskClient, origin: str) -> None:
    assert_problem(begin(client, Origin=origin), 401, "unauthorized")
    begin(client)

    assert_problem(correct(client, Origin=origin), 401, "unauthorized")
    assert_problem(client.delete("/session", headers={"Origin": origin}), 401, "unauthorized")
    assert correct(client).status_code == 200


def test_a_session_is_not_begun_without_a_key_or_by_a_session(client: FlaskClient) -> None:
    assert_problem(client.post("/session"), 401, "unauthorized")
    begin(client)
    assert_problem(client.post("/session"), 401, "unauthorized")


def test_a_session_that_was_ended_is_of_no_use_though_its_cookie_was_kept(client: FlaskClient) -> None:
    begin(client)
    token = client.get_cookie(COOKIE).value
    assert correct(client).status_code == 200

    response = client.delete("/session")

    assert response.json == {"status": "ended"} and "Max-Age=0" in response.headers["Set-Cookie"]
    assert_problem(correct(client, Cookie=f"{COOKIE}={token}"), 401, "unauthorized")


def test_a_revoked_key_ends_its_sessions(client: FlaskClient, path: Path) -> None:
    begin(client)
    assert correct(client).status_code == 200

    path.write_text(OTHER_LINE)
    look(client.application.extensions["api-keys"])

    assert_problem(correct(client), 401, "unauthorized")


def test_a_session_ends_by_itself() -> None:
    now = [100.0]
    sessions = Sessions(MemoryStore(), lambda: now[0])
    token = sessions.begin("id")
    assert sessions.holds(token)

    now[0] += 12 * 3600 + 1

    assert not sessions.holds(token)


@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_a_key_has_a_thousand_sessions_and_the_oldest_makes_room(kind: str) -> None:
    client, now = fakeredis.FakeRedis(protocol=2), [1e9]
    store = MemoryStore() if kind == "memory" else RedisStore(lambda command: client.execute_command(*command))
    sessions = Sessions(store, lambda: now[0])
    tokens = []
    for _ in range(1001):
        now[0] += 0.01
        tokens.append(sessions.begin("id"))

    assert not sessions.holds(tokens[0])
    assert sessions.holds(tokens[1]) and sessions.holds(tokens[-1])
    sessions.end(tokens[1])
    assert not sessions.holds(tokens[1])


@pytest.mark.parametrize("token", ["", "x", ".", "ffffffffffff.token", "." * 5000])
def test_a_made_up_session_is_refused_and_asks_redis_nothing(corrector: FakeCorrector, path: Path, token: str) -> None:
    corrector.ask = lambda command: pytest.fail("Redis was asked")
    client = client_of(corrector, settings=Settings(api_keys_file=str(path)))

    assert_problem(correct(client, Cookie=f"{COOKIE}={token}"), 401, "unauthorized")
    assert client.delete("/session", headers={"Cookie": f"{COOKIE}={token}"}).status_code == 200
