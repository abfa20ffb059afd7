"""What the tests of the HTTP face share: a corrector that answers at once, and a client that reaches it."""

from __future__ import annotations

import os

import pytest
from flask.testing import FlaskClient

from api.telemetry.line_writer import STDERR
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, client_of

STDERR.descriptor = os.open(os.devnull, os.O_WRONLY)  # its thread also writes between two tests, among pytest's dots


@pytest.fixture(autouse=True)
def _log_where_it_is_captured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "capfd" in request.fixturenames:
        monkeypatch.setattr(STDERR, "descriptor", 2)


@pytest.fixture
def corrector() -> FakeCorrector:
    return FakeCorrector()


@pytest.fixture
def client(corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector, Settings(max_body_bytes=1024))
