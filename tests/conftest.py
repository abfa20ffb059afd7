"""Rules for every ring: one BLAS thread, and no test is skipped. What a test needs is always there, or it fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from redis import Redis

from ops.run import embedded_redis
from ops.run.embedded_redis import EmbeddedRedis
from tests.mailbox_house import RedisHouse
from tests.pace import patient
from tests.small_server import StartServer, small_servers
from worker.model.blas import configure_blas
from worker.queue import worker_end

configure_blas(os.environ)  # before anything imports numpy
# A busy machine must not change a result, nor may chance: what fails here fails there. `make test-nightly` draws anew.
settings.register_profile("any-machine", deadline=None, derandomize=True)
settings.register_profile("by-chance", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile("any-machine")

_OF_THE_RUNNER = ("COLUMNS", "LINES", "MAKELEVEL")  # readline in a process of pytest-xdist sets two, make the third


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run with skipped tests has not shown what a green run promises."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    num_skipped = len(reporter.stats.get("skipped", ())) if reporter else 0
    if num_skipped and exitstatus == pytest.ExitCode.OK:
        reporter.write_line(f"{num_skipped} skipped: a skipped test counts as failed here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _no_settings_of_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A MINISERVE_ variable of the developer's shell must not change a test, nor what runs it."""
    for name in [name for name in os.environ if name.startswith("MINISERVE_") or name in _OF_THE_RUNNER]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _mailboxes_in_this_process_are_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's end that the machine is too busy to run keeps its lease. A test that is about a death ends one."""
    monkeypatch.setattr(worker_end, "LEASE_S", patient(worker_end.LEASE_S))


@pytest.fixture
def serve() -> Iterator[StartServer]:
    """What starts a small server."""
    with small_servers() as start:
        yield start


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded_redis.EmbeddedRedis]:
    """A real Redis, shared: tests that stop or break theirs take `private_redis`. TEST_REDIS_SERVER names another
    program for it."""
    with pytest.MonkeyPatch.context() as patch:
        if program := os.environ.get("TEST_REDIS_SERVER"):
            patch.setattr(embedded_redis, "find_redis_server", lambda: Path(program))
        server = EmbeddedRedis(tmp_path_factory.mktemp("redis"), embedded_redis.free_port()).serve()
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: embedded_redis.EmbeddedRedis) -> str:
    """The shared server, empty."""
    with Redis(port=redis_server.port) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """Of that server, past all mailboxes."""
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def house(redis_url: str) -> Iterator[RedisHouse]:
    """Mailboxes over the shared server."""
    house = RedisHouse(redis_url)
    yield house
    house.close()


@pytest.fixture
def private_redis(tmp_path: Path) -> Iterator[embedded_redis.EmbeddedRedis]:
    """A server of the test's own."""
    server = EmbeddedRedis(tmp_path, embedded_redis.free_port()).serve()
    yield server
    server.stop()
