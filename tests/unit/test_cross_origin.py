"""Cross-origin requests: off by default, for the origins of a list on, and never with credentials."""

from __future__ import annotations

import pytest
from werkzeug.test import TestResponse

from scheduler.settings import Settings
from tests.fake_mailbox import client_of

EDITOR, LOCAL = "https://editor.example", "http://localhost:5173"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,idempotency-key"}


def ask(path: str, method: str, origin: str, allowed: str = f"{EDITOR}, {LOCAL}") -> TestResponse:
    headers = {"Origin": origin} | (PREFLIGHT if method == "OPTIONS" else {})
    return client_of(settings=Settings(cors_origins=allowed)).open(path, method=method, headers=headers)


@pytest.mark.parametrize("path", ["/correct", "/correct/batch", "/v2/check", "/none"])
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
@pytest.mark.parametrize(
    ("origin", "allowed", "is_named"),
    [
        (EDITOR, f"{EDITOR}, {LOCAL}", True),
        (LOCAL, f"{EDITOR}, {LOCAL}", True),
        ("moz-extension://0f0e0d0c", "*", True),
        ("https://other.example", EDITOR, False),
        ("null", EDITOR, False),
        (f"{EDITOR}.evil", EDITOR, False),
        (f"{EDITOR}:444", EDITOR, False),
        ("", "*", False),
    ],
)
def test_an_origin_of_the_list_is_named_and_no_other(
    path: str, method: str, origin: str, allowed: str, is_named: bool
) -> None:
    headers = ask(path, method, origin, allowed).headers

    assert headers.get("Access-Control-Allow-Origin") == (origin if is_named else None)
    assert ("Retry-After" in headers.get("Access-Control-Expose-Headers", "")) is is_named
    assert "Access-Control-Allow-Credentials" not in headers and headers["Vary"] == "Origin"


@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_no_origin_is_named_by_default(method: str) -> None:
    names = [name.lower() for name, _ in ask("/correct", method, EDITOR, "").headers]

    assert not any(name.startswith("access-control-") or name == "vary" for name in names)


def test_a_preflight_is_answered_with_what_the_api_takes() -> None:
    response = ask("/correct", "OPTIONS", EDITOR)

    headers = response.headers
    assert (response.status_code, response.data) == (204, b"")
    assert headers["Access-Control-Allow-Methods"] == "GET, POST, DELETE"
    taken = headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"content-type", "authorization", "idempotency-key", "prefer", "x-deadline-ms"} <= set(taken)
    assert int(headers["Access-Control-Max-Age"]) > 0 and headers["X-Request-ID"]
    assert set(client_of().options("/correct").headers["Allow"].split(", ")) == {"OPTIONS", "POST"}, "without one"
