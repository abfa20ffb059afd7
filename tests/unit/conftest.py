"""What the tests of the HTTP face share: a corrector that answers at once, and a client that reaches it both ways."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from scheduler.settings import Settings
from tests.fake_corrector import WAYS, FakeCorrector, client_of


@pytest.fixture
def corrector() -> FakeCorrector:
    return FakeCorrector()


@pytest.fixture(params=WAYS)
def client(corrector: FakeCorrector, request: pytest.FixtureRequest) -> FlaskClient:
    return client_of(corrector, request.param, Settings(max_body_bytes=1024))
