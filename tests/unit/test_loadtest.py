"""The load generator: when it sends, what it counts, against small servers of the test's own."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import resource
import select
import selectors
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from ops.load import connection
from ops.load.arrivals import ClosedLoop, Limits, OpenLoop
from ops.load.command import expected_answers
from ops.load.connection import Connection, Target
from ops.load.generator import Generator
from ops.load.measurements import Measurements, is_clean
from ops.run.embedded_redis import free_port
from ops.run.offline import OfflineCorrector
from scheduler.errors import InvalidRequest, ServingError
from scheduler.settings import Settings
from tests.pace import patient
from tests.small_server import FULL, OK, StartServer, http, small_servers


@pytest.fixture
def serve() -> Iterator[StartServer]:
    with small_servers() as start:
        yield start


def load(url: str, concurrency: int = 2, total: int = 10, expected: dict | None = None) -> Measurements:
    return Generator(
        Target.from_url(url), ["He goed."], ClosedLoop(concurrency), Limits(total=total), expected
    ).run()  # fmt: skip


def _without_id(answer: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in answer.items() if name != "request_id"}


def test_a_closed_loop_keeps_each_client_at_one_request_and_its_connection(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.01)

    measured = load(server.url, concurrency=3, total=12)

    assert measured.statuses == {200: 12}
    assert (server.num_requests, server.num_connections, server.most_at_once) == (12, 3, 3)


def test_a_server_that_closes_after_each_answer_is_connected_to_again(serve):
    server = serve(lambda _: http(200, OK, "Connection: close"))

    measured = load(server.url, concurrency=1, total=5)

    assert measured.statuses == {200: 5} and not measured.failures
    assert server.num_connections == 5


def test_more_clients_than_the_shell_allows_open_files_are_no_failure_of_the_server(serve):
    server = serve(lambda _: http(200, OK))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))

    try:
        measured = load(server.url, concurrency=100, total=200)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert measured.statuses == {200: 200} and not measured.failures


def test_a_connection_the_server_closed_while_it_was_idle_is_made_again(serve):
    server = serve(lambda n: http(200, OK))
    kept = Connection(Target.from_url(server.url))

    for _ in range(2):
        kept.ask(b"{}")
        server.hang_up()
        assert select.select([kept], [], [], patient(5))[0], "the end of the connection has arrived"

    assert (server.num_requests, server.num_connections) == (2, 2)
    kept.close()


def test_a_server_that_accepts_nobody_holds_up_no_other_request():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as stack:
        target = Target.from_url(f"http://127.0.0.1:{full.getsockname()[1]}")
        clients = [stack.enter_context(contextlib.closing(Connection(target))) for _ in range(4)]

        for client in clients:  # the backlog takes some of them
            client.send(b"{}")

        assert not clients[-1].has_sent and clients[-1].events == selectors.EVENT_WRITE
        full.accept()[0].close()


def test_an_answer_in_chunks_is_read_to_its_last(serve):
    body = json.dumps(OK).encode()
    parts = [b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:])]
    answer = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(parts) + b"0\r\nX-Trailer: 1\r\n\r\n"
    server = serve(lambda _: answer)

    measured = load(server.url, concurrency=1, total=3, expected={"He goed.": _without_id(OK)})

    assert measured.statuses == {200: 3} and not measured.failures and not measured.unexpected
    assert server.num_connections == 1


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a certificate of 127.0.0.1, signed by itself, and its key."""
    path = tmp_path / "own.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=own -days 2"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    path.write_text(path.read_text() + (tmp_path / "cert.pem").read_text())
    return path


def test_a_server_behind_tls_is_loaded_like_any_other(serve, certificate: Path, monkeypatch: pytest.MonkeyPatch):
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate)
    server = serve(lambda _: http(200, OK | {"explanation": "x" * 100_000}), tls=own)

    untrusted = load(server.url, total=2)
    monkeypatch.setattr(connection, "_tls", lambda: ssl.create_default_context(cafile=str(certificate)))
    measured = load(server.url, concurrency=3, total=12)

    assert untrusted.failures == {"cannot connect": 2}
    assert measured.statuses == {200: 12} and not measured.failures
    assert server.num_requests == 12


@pytest.mark.parametrize("answer", [b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"])
def test_what_is_no_http_is_a_failure_and_not_the_end(serve, answer: bytes):
    server = serve(lambda n: answer if n == 1 else http(200, OK))

    measured = load(server.url, concurrency=1, total=3)

    assert measured.statuses == {200: 2} and measured.failures == {"connection broken": 1}


def test_refusals_and_failures_are_counted_by_kind_and_leave_latency_alone(serve):
    server = serve(lambda n: {1: http(503, FULL), 2: None, 3: http(500, "no document")}.get(n, http(200, OK)))

    measured = load(server.url, concurrency=1, total=6)
    summary = measured.summary(slo_ms=None)

    assert summary["requests"] == 6 and len(measured.latencies_s) == 3
    assert summary["problems"] == {"queue-full": 1, "no problem document": 1}
    assert summary["failures"] == {"connection broken": 1}
    assert not is_clean(summary)


def test_a_server_that_is_away_is_a_failure_and_the_load_still_ends():
    measured = load(f"http://127.0.0.1:{free_port()}", total=3)

    assert measured.failures == {"connection refused": 3}
    assert measured.elapsed_s > 0.02  # it paused after each


def test_an_answer_other_than_the_expected_one_is_counted(serve):
    server = serve(lambda n: http(200, OK | {"corrected": "He went." if n > 1 else "He gone."}))
    expected = {"He goed.": _without_id(OK)}

    measured = load(server.url, total=5, expected=expected)

    assert measured.unexpected == 1


@pytest.mark.parametrize("document", ["no object", {"corrected": "no request_id"}])
def test_an_answer_that_is_none_is_not_the_expected_one(serve, document: object):
    server = serve(lambda _: http(200, document))

    assert load(server.url, total=2, expected={"He goed.": OK}).unexpected == 2


def test_a_sentence_that_is_to_be_refused_has_no_expected_answer(serve):
    class Refusing:
        def correct_batch(self, sentences: list[str]) -> list[ServingError]:
            return [InvalidRequest("sentence", "too long") for _ in sentences]

    server = serve(lambda _: http(200, OK))

    with patch.object(OfflineCorrector, "load", lambda _: Refusing()):
        expected = expected_answers(Settings(), ["He goed."])

    assert expected == {}
    assert load(server.url, total=2, expected=expected).unexpected == 2


def test_an_open_loop_sends_when_requests_are_due_whatever_the_server_does(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.3)
    arrivals = OpenLoop(rate_per_s=100, seed=1, max_connections=64)

    Generator(Target.from_url(server.url), ["x"], arrivals, Limits(total=30), None).run()

    assert server.most_at_once > 10


def test_an_open_loop_counts_latency_from_the_due_time_where_no_connection_is_free(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.05)
    arrivals = OpenLoop(rate_per_s=200, seed=1, max_connections=1)

    measured = Generator(Target.from_url(server.url), ["x"], arrivals, Limits(total=8), None).run()

    assert max(measured.latencies_s) > 0.25  # the last waited for seven others; on the wire it took 0.05


def test_what_was_due_in_time_is_sent_and_counted_however_late(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.05)
    arrivals = OpenLoop(rate_per_s=50, seed=1, max_connections=1)
    num_due = len(list(itertools.takewhile(lambda due_s: due_s < 0.2, due_times(rate_per_s=50, seed=1))))

    measured = Generator(Target.from_url(server.url), ["x"], arrivals, Limits(duration_s=0.2), None).run()

    assert measured.num_over == num_due > 0.2 / 0.05


def test_an_open_loop_ends_when_asked_where_nothing_more_is_due(serve):
    server = serve(lambda _: http(200, OK))

    measured = Generator(
        Target.from_url(server.url), ["x"], OpenLoop(0.01, 1, 1), Limits(duration_s=0.2), None
    ).run()  # fmt: skip

    assert (measured.num_over, server.num_requests) == (0, 0)  # the first request is due after 14 s


@pytest.mark.parametrize("limits", [Limits(total=2), Limits(duration_s=0.02)], ids=["total", "duration"])
@pytest.mark.parametrize("max_connections", [1, 64])
def test_the_generator_sleeps_while_only_an_answer_can_help(serve, limits: Limits, max_connections: int):
    server = serve(lambda _: http(200, OK), delay_s=0.1)
    generator = Generator(Target.from_url(server.url), ["x"], OpenLoop(200, 1, max_connections), limits, None)

    with patch.object(generator.selector, "select", wraps=generator.selector.select) as select_:
        generator.run()

    assert select_.call_count < 50


def test_no_collection_of_garbage_interrupts_a_load(serve):
    generator = Generator(Target.from_url(serve(lambda _: http(200, OK)).url), ["x"], ClosedLoop(1), Limits(9), None)
    select_, were_collecting = generator.selector.select, []

    def noted(timeout_s: float) -> list:
        were_collecting.append(gc.isenabled())
        return select_(timeout_s)

    with patch.object(generator.selector, "select", noted):
        generator.run()

    assert len(were_collecting) >= 9 and not any(were_collecting)
    assert gc.isenabled()


def due_times(rate_per_s: float, seed: int) -> Iterator[float]:
    loop = OpenLoop(rate_per_s, seed, 1)
    while True:
        yield loop.take(1e9, 0)


def test_the_times_of_an_open_loop_are_those_of_its_seed():
    def times(seed: int) -> list[float | None]:
        loop = OpenLoop(10.0, seed, 1)
        return [loop.take(1e9, 0) for _ in range(1000)]

    assert times(1) == times(1) != times(2)
    assert times(1)[-1] == pytest.approx(100.0, rel=0.15)


def test_goodput_counts_what_keeps_the_target():
    measured = Measurements([0.010, 0.020, 0.500, 0.900], elapsed_s=2.0)
    measured.statuses[200] = 4

    summary = measured.summary(slo_ms=100)

    assert (summary["throughput_per_s"], summary["goodput_per_s"]) == (2.0, 1.0)
    assert summary["p50_ms"] == pytest.approx(260.0)
    assert summary["max_ms"] == 900.0
