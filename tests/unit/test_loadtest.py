"""The load generator: when it sends, what it counts, against small servers of the test's own."""

from __future__ import annotations

import gc
import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ops.load.arrivals import Arrivals, ClosedLoop, Limits, OpenLoop
from ops.load.measurements import Measurements, is_clean, measure
from ops.load.traffic import MEASURED, Traffic
from ops.run.embedded_redis import free_port
from tests.small_server import FULL, OK, http


def put(url: str, arrivals: Arrivals, limits: Limits) -> Measurements:
    return measure(Traffic([url], [{"sentence": "He goed."}], arrivals, limits, MEASURED))


def load(url: str, concurrency: int = 2, total: int = 10) -> Measurements:
    return put(url, ClosedLoop(concurrency), Limits(total=total))


def test_a_closed_loop_keeps_each_client_at_one_request_and_its_connection(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.1)

    measured = load(server.url, concurrency=3, total=12)

    assert measured.statuses == {200: 12}
    assert (server.num_requests, server.num_connections, server.most_at_once) == (12, 3, 3)


@contextmanager
def open_files(most: int) -> Iterator[None]:
    """Lower the limit of open files for the block. Those that are open stay open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_more_clients_than_the_shell_allows_open_files_are_no_failure_of_the_server(serve):
    server = serve(lambda _: http(200, OK))

    with open_files(max(map(int, os.listdir("/dev/fd"))) + 50):
        measured = load(server.url, concurrency=100, total=200)

    assert measured.statuses == {200: 200} and not measured.failures


def test_a_load_for_which_no_file_is_left_ends_at_once_and_says_why(serve):
    server = serve(lambda _: http(200, OK))

    with open_files(3), pytest.raises(OSError, match="Too many open files"):
        load(server.url)


def test_refusals_and_failures_are_counted_by_kind_and_leave_latency_alone(serve):
    closing = http(200, OK, "Connection: close")
    server = serve(
        lambda n: {1: http(503, FULL), 2: None, 3: http(500, "no document"), 4: closing}.get(n, http(200, OK))
    )

    measured = load(server.url, concurrency=1, total=6)
    summary = measured.summary(slo_ms=None)

    assert summary["requests"] == 6 and len(measured.latencies_s) == 3
    assert summary["problems"] == {"queue-full": 1, "no problem document": 1}
    assert summary["failures"] == {"closed before the answer was complete": 1}
    assert not is_clean(summary)


def test_a_server_that_is_away_is_a_failure_and_the_load_still_ends():
    measured = load(f"http://127.0.0.1:{free_port()}", total=3)

    assert measured.failures == {"Connection refused": 3}
    assert measured.elapsed_s > 0.015  # it paused after each; loops round their times to a millisecond


def test_an_open_loop_counts_latency_from_the_due_time_where_no_connection_is_free(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.05)
    arrivals = OpenLoop(rate_per_s=200, seed=1, max_connections=1)

    measured = put(server.url, arrivals, Limits(total=8))

    assert max(measured.latencies_s) > 0.25  # the last waited for seven others; on the wire it took 0.05


def test_what_was_due_in_time_is_sent_and_counted_however_late(serve):
    server = serve(lambda _: http(200, OK), delay_s=0.05)
    arrivals = OpenLoop(rate_per_s=50, seed=1, max_connections=1)
    num_due = len(list(itertools.takewhile(lambda due_s: due_s < 0.2, due_times(rate_per_s=50, seed=1))))

    measured = put(server.url, arrivals, Limits(duration_s=0.2))

    assert measured.num_over == num_due > 0.2 / 0.05


def test_an_open_loop_ends_when_asked_where_nothing_more_is_due(serve):
    server = serve(lambda _: http(200, OK))

    measured = put(server.url, OpenLoop(0.01, 1, 1), Limits(duration_s=0.2))

    assert (measured.num_over, server.num_requests) == (0, 0)  # the first request is due after 14 s


def test_no_collection_of_garbage_interrupts_a_load(serve):
    were_collecting = []

    def answer(_: int) -> bytes:
        were_collecting.append(gc.isenabled())
        return http(200, OK)

    load(serve(answer).url, concurrency=1, total=9)

    assert were_collecting == [False] * 9
    assert gc.isenabled()


def due_times(rate_per_s: float, seed: int) -> Iterator[float]:
    loop = OpenLoop(rate_per_s, seed, 1)
    while True:
        yield loop.draw(0.0)


def test_the_times_of_an_open_loop_are_those_of_its_seed():
    once, again, other = (list(itertools.islice(due_times(10.0, seed), 1000)) for seed in (1, 1, 2))

    assert once == again != other
    assert once[-1] == pytest.approx(100.0, rel=0.15)


def test_goodput_counts_what_keeps_the_target():
    measured = Measurements([0.010, 0.020, 0.500, 0.900], elapsed_s=2.0)
    measured.statuses[200] = 4

    summary = measured.summary(slo_ms=100)

    assert (summary["throughput_per_s"], summary["goodput_per_s"]) == (2.0, 1.0)
    assert summary["p50_ms"] == pytest.approx(260.0)
    assert summary["max_ms"] == 900.0
