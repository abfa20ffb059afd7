"""The patient clients of the drills: when they send again, where to, and when they take no for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ops.drills.traffic import ONCE, Exchange, Habits, Traffic
from ops.load.arrivals import ClosedLoop, Limits
from ops.run.embedded_redis import free_port
from tests.small_server import FULL, OK, LastWords, StartServer, http, small_servers

STOPPING = {"type": "urn:miniserve:problem:shutting-down", "retry_after_s": 1}
SOON = FULL | {"retry_after_s": 0}


def half_an_answer(number: int) -> LastWords:
    return LastWords(http(200, OK)[:-5])


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    with small_servers() as start:
        yield start


def ask(*urls: str, total: int = 1, habits: Habits = Habits()) -> list[Exchange]:  # noqa: B008 - frozen
    with Traffic(urls, [{"sentence": "He goed."}], ClosedLoop(1), Limits(total=total), habits) as traffic:
        pass
    return traffic.ended


def answers(*documents: tuple[int, object]) -> Callable[[int], bytes]:
    """The n-th to the n-th request, the last one to all that follow."""
    return lambda number: http(*documents[min(number, len(documents)) - 1])


def test_an_answer_is_kept_apart_from_its_request_id(start_server: StartServer) -> None:
    (one,) = ask(start_server(answers((200, OK))).url)

    assert (one.is_ok, one.request_id) == (True, "r")
    assert one.answer == {name: value for name, value in OK.items() if name != "request_id"}


def test_a_refused_client_comes_back_after_retry_after(start_server: StartServer) -> None:
    (one,) = ask(start_server(answers((503, SOON), (503, SOON), (200, OK))).url)

    assert one.is_ok
    assert len(one.refusals) == 2


def test_a_client_that_obeys_once_takes_the_second_refusal(start_server: StartServer) -> None:
    (one,) = ask(start_server(answers((503, SOON))).url, habits=Habits(returns=1))

    assert (one.status, one.slug, len(one.refusals)) == (503, "queue-full", 2)


def test_a_client_without_patience_takes_the_first_refusal(start_server: StartServer) -> None:
    server = start_server(answers((503, SOON)))

    (one,) = ask(server.url, habits=ONCE)

    assert (one.status, server.num_requests) == (503, 1)


def test_a_replica_that_is_being_stopped_sends_its_client_to_the_other(start_server: StartServer) -> None:
    stopping, other = start_server(answers((503, STOPPING))), start_server(answers((200, OK)))

    (one,) = ask(stopping.url, other.url)

    assert (one.is_ok, one.failovers) == (True, ["shutting-down"])


def test_a_replica_that_is_away_sends_its_client_to_the_other(start_server: StartServer) -> None:
    (one,) = ask(f"http://127.0.0.1:{free_port()}", start_server(answers((200, OK))).url)

    assert (one.is_ok, one.failovers) == (True, ["connection refused"])


def test_a_connection_closed_before_any_byte_is_tried_elsewhere(start_server: StartServer) -> None:
    (one,) = ask(start_server(lambda number: None).url, start_server(answers((200, OK))).url)

    assert (one.is_ok, one.failovers) == (True, ["closed before the answer"])


def test_half_an_answer_is_a_loss_for_who_has_no_key(start_server: StartServer) -> None:
    urls = (start_server(half_an_answer).url, start_server(answers((200, OK))).url)

    (one,) = ask(*urls)

    assert (one.status, one.slug, one.failovers) == (0, "closed before the answer", [])


def test_half_an_answer_is_asked_for_again_by_who_has_a_key(start_server: StartServer) -> None:
    urls = (start_server(half_an_answer).url, start_server(answers((200, OK))).url)

    (one,) = ask(*urls, habits=Habits(is_keyed=True))

    assert (one.is_ok, one.failovers) == (True, ["closed before the answer"])


def test_every_attempt_of_a_keyed_client_bears_the_same_key(start_server: StartServer) -> None:
    server = start_server(answers((503, SOON), (200, OK)))

    (one,) = ask(server.url, habits=Habits(is_keyed=True))

    keys = [request.partition(b"Idempotency-Key: ")[2].partition(b"\r\n")[0].decode() for request in server.received]
    assert one.is_ok
    assert keys == [one.key, one.key]


def test_drills_end_their_clients_at_once_where_something_else_fails(start_server: StartServer) -> None:
    silent = start_server(answers((200, OK)), delay_s=20.0)

    with pytest.raises(RuntimeError, match="elsewhere"):  # noqa: SIM117
        with Traffic([silent.url], [{"sentence": "He goed."}], ClosedLoop(4)):
            raise RuntimeError("elsewhere")
