"""Cross-origin requests: off by default, for the origins of a list on, and never with credentials."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from api.access.keys import new_key
from scheduler.errors import SettingsError
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, client_of

EDITOR = "https://editor.example"
LOCAL = "http://localhost:5173"
OTHER = "https://other.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,idempotency-key"}


@pytest.fixture
def client(corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector, settings=Settings(cors_origins=f"{EDITOR}, {LOCAL}"))


def named(headers) -> list[str]:
    return [name for name, _ in headers if name.lower().startswith("access-control-")]


def test_no_origin_is_named_by_default(corrector: FakeCorrector) -> None:
    client = client_of(corrector)

    posted = client.post("/correct", json={"sentence": "He goed"}, headers={"Origin": EDITOR})
    preflight = client.options("/correct", headers={"Origin": EDITOR, **PREFLIGHT})

    assert posted.status_code == 200 and named(posted.headers) == named(preflight.headers) == []
    assert "Vary" not in posted.headers


@pytest.mark.parametrize("origin", [EDITOR, LOCAL])
@pytest.mark.parametrize("path", ["/correct", "/correct/batch", "/v2/check", "/none"])
def test_an_origin_of_the_list_is_named_in_every_answer(client: FlaskClient, origin: str, path: str) -> None:
    response = client.post(path, json={"sentence": "He goed"}, headers={"Origin": origin})

    assert response.headers["Access-Control-Allow-Origin"] == origin
    assert "Retry-After" in response.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in response.headers
    assert response.headers["Vary"] == "Origin"


@pytest.mark.parametrize("origin", [OTHER, "null", "https://editor.example.evil", "https://editor.example:444", ""])
def test_another_origin_is_not_named(client: FlaskClient, origin: str) -> None:
    for response in (
        client.post("/correct", json={"sentence": "He goed"}, headers={"Origin": origin}),
        client.options("/correct", headers={"Origin": origin, **PREFLIGHT}),
    ):
        assert "Access-Control-Allow-Origin" not in response.headers and response.headers["Vary"] == "Origin"


def test_a_preflight_is_answered_with_what_the_api_takes(client: FlaskClient, corrector: FakeCorrector) -> None:
    response = client.options("/correct", headers={"Origin": EDITOR, **PREFLIGHT})

    headers = response.headers
    assert (response.status_code, response.data) == (204, b"")
    assert headers["Access-Control-Allow-Origin"] == EDITOR
    assert headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE"
    taken = headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"content-type", "authorization", "idempotency-key", "prefer", "x-deadline-ms"} <= set(taken)
    assert int(headers["Access-Control-Max-Age"]) > 0 and headers["X-Request-ID"]
    assert corrector.jobs == []


def test_options_without_a_preflight_still_names_the_methods(client: FlaskClient) -> None:
    assert set(client.options("/correct").headers["Allow"].split(", ")) == {"OPTIONS", "POST"}


def test_a_preflight_needs_no_key_and_the_request_does(corrector: FakeCorrector, tmp_path: Path) -> None:
    key, line = new_key("editor")
    (tmp_path / "keys").write_text(line)
    client = client_of(corrector, settings=Settings(cors_origins=EDITOR, api_keys_file=str(tmp_path / "keys")))

    preflight = client.options("/correct", headers={"Origin": EDITOR, **PREFLIGHT})
    without = client.post("/correct", json={"sentence": "He goed"}, headers={"Origin": EDITOR})
    with_key = client.post(
        "/correct", json={"sentence": "He goed"}, headers={"Origin": EDITOR, "Authorization": f"Bearer {key}"}
    )

    assert [one.status_code for one in (preflight, without, with_key)] == [204, 401, 200]
    assert without.headers["Access-Control-Allow-Origin"] == EDITOR


def test_a_star_names_whoever_asks(corrector: FakeCorrector) -> None:
    client = client_of(corrector, settings=Settings(cors_origins="*"))

    response = client.get("/v2/languages", headers={"Origin": "moz-extension://0f0e0d0c-1111-2222-3333-444455556666"})

    assert response.headers["Access-Control-Allow-Origin"] == "moz-extension://0f0e0d0c-1111-2222-3333-444455556666"
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize(
    "origin", ["editor.example", "https://editor.example/", "HTTPS://Editor.example", "null", "http://"]
)
def test_what_no_browser_sends_is_refused_at_start(origin: str) -> None:
    with pytest.raises(SettingsError, match="MINISERVE_CORS_ORIGINS"):
        Settings(cors_origins=f"{EDITOR},{origin}")


@pytest.mark.parametrize("origin", ["http://[::1]:8000", "http://127.0.0.1", "chrome-extension://abcdefgh", "*", ""])
def test_what_browsers_send_is_taken(origin: str) -> None:
    assert Settings(cors_origins=origin).cors_origins == origin
