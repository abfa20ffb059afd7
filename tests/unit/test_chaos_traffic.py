"""The patient clients of the drills: when they send again, where to, and when they take no for an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ops.load.arrivals import ClosedLoop, Limits, OpenLoop
from ops.load.traffic import ONCE, Exchange, Habits, Traffic
from ops.run.embedded_redis import free_port
from tests.small_server import FULL, OK, LastWords, StartServer, http

Answer = Callable[[int], bytes | None]
SOON = FULL | {"retry_after_s": 0}
KEYED = Habits(is_keyed=True)


def answers(*documents: tuple[int, object]) -> Answer:
    """The n-th to the n-th request, the last one to all that follow."""
    return lambda number: http(*documents[min(number, len(documents)) - 1])


WELL = answers((200, OK))
STOPPING = answers((503, {"type": "urn:miniserve:problem:shutting-down", "retry_after_s": 1}))


def silent(number: int) -> None:
    return None


def half_an_answer(number: int) -> LastWords:
    return LastWords(http(200, OK)[:-5])


def ask(*urls: str, habits: Habits) -> Exchange:
    with Traffic(urls, [{"sentence": "He goed."}], ClosedLoop(1), Limits(total=1), habits) as traffic:
        pass
    return traffic.ended[0]


@pytest.mark.parametrize(
    ("servers", "habits", "status", "num_refusals", "failovers"),
    [
        ([answers((503, SOON), (503, SOON), (200, OK))], Habits(), 200, 2, []),
        ([answers((503, SOON))], Habits(returns=1), 503, 2, []),
        ([answers((503, SOON))], ONCE, 503, 1, []),
        ([STOPPING, WELL], Habits(), 200, 0, ["shutting-down"]),
        ([None, WELL], Habits(), 200, 0, ["Connection refused"]),
        ([silent, WELL], Habits(), 200, 0, ["closed before the answer was complete"]),
        ([silent, WELL], ONCE, 0, 0, []),
        ([half_an_answer, WELL], Habits(), 0, 0, []),  # a loss: who has no key may be answered twice
        ([half_an_answer, WELL], KEYED, 200, 0, ["closed before the answer was complete"]),
    ],
)
def test_a_client_sends_again_where_a_balancer_or_a_patient_user_would(
    serve: StartServer,
    servers: list[Answer | None],
    habits: Habits,
    status: int,
    num_refusals: int,
    failovers: list[str],
) -> None:
    urls = [f"http://127.0.0.1:{free_port()}" if one is None else serve(one).url for one in servers]

    one = ask(*urls, habits=habits)

    assert (one.status, len(one.refusals), one.failovers) == (status, num_refusals, failovers)


def test_a_client_loses_patience_so_long_after_it_was_due_though_it_was_sent_late(serve: StartServer) -> None:
    server, arrivals = serve(WELL, delay_s=0.1), OpenLoop(rate_per_s=200, seed=1, max_connections=1)

    with Traffic([server.url], [{}], arrivals, Limits(total=8), replace(ONCE, patience_s=0.3)) as traffic:
        pass

    assert traffic.ended[-1].slug == "no 200 within 0.3 s, last: nothing"


def test_drills_end_their_clients_at_once_where_something_else_fails(serve: StartServer) -> None:
    late = serve(WELL, delay_s=20.0)

    with pytest.raises(RuntimeError, match="elsewhere"):  # noqa: SIM117
        with Traffic([late.url], [{"sentence": "He goed."}], ClosedLoop(4)):
            raise RuntimeError("elsewhere")
