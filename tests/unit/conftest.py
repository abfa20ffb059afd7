"""What the tests of the HTTP face share: a queue that answers at once, and a client that reaches the site before it."""

from __future__ import annotations

import os

import pytest
from flask.testing import FlaskClient

from api.telemetry.line_writer import STDERR
from tests.fake_mailbox import FakeMailbox, client_of

STDERR.descriptor = os.open(os.devnull, os.O_WRONLY)  # its thread also writes between two tests, among pytest's dots


@pytest.fixture
def mailbox() -> FakeMailbox:
    return FakeMailbox()


@pytest.fixture
def client(mailbox: FakeMailbox) -> FlaskClient:
    return client_of(mailbox)
