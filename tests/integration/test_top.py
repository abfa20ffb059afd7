"""`miniserve top` in a real terminal (a pseudo-terminal): it leaves the way it came, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from tests.metrics_text import metrics_text
from tests.running_system import is_running, wait_until
from tests.small_server import SmallServer, StartServer
from tests.terminal import IS_OVER_S, Terminal

TOP = [sys.executable, "-m", "ops.cli", "top"]
LEFT_THE_SCREEN, SHOWS_THE_CURSOR = b"\x1b[?1049l", b"\x1b[?25h"


def answer(number: int) -> bytes:
    """As if a second had passed since the last one."""
    body = metrics_text(float(number)).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def top_in_a_terminal(url: str) -> Terminal:
    return Terminal([*TOP, "--url", url, "--every", "0.1"])


def _is_as_before(screen: Terminal) -> bool:
    after = screen.shown.rpartition(b"workers")[2]
    return screen.settings() == screen.before and LEFT_THE_SCREEN in after and SHOWS_THE_CURSOR in after


@pytest.mark.parametrize("end", [b"Q", b"\x03", signal.SIGTERM, signal.SIGHUP])
def test_a_key_or_a_signal_ends_it_and_the_terminal_is_as_before(
    serve: StartServer, end: bytes | signal.Signals
) -> None:
    with top_in_a_terminal(serve(answer).url) as screen:
        screen.wait(lambda: screen.shows("workers") and screen.takes_keys_at_once())

        screen.press(end) if isinstance(end, bytes) else os.kill(screen.pid, end)

        assert screen.wait_for_exit() == 0
        assert _is_as_before(screen)


def test_a_server_that_hangs_keeps_nobody_from_leaving() -> None:
    hang = "import time; from ops.observe import top; top.scrape = lambda *_: time.sleep(3600); top.top()"
    with Terminal([sys.executable, "-c", hang]) as screen:
        screen.wait(lambda: screen.shows("no answer yet"))

        screen.press(b"q")

        assert screen.wait_for_exit() == 0


def test_the_last_values_stay_while_the_server_is_away_and_new_ones_come_after(serve: StartServer) -> None:
    is_away = threading.Event()
    with top_in_a_terminal(serve(lambda number: None if is_away.is_set() else answer(number)).url) as screen:
        screen.wait(lambda: screen.shows("utilization"))
        is_away.set()
        screen.wait(lambda: screen.shows("NO NUMBERS since"))
        assert b"utilization" in screen.shown.rpartition(b"NO NUMBERS since")[0]
        screen.wait(lambda: b"utilization" in screen.shown.rpartition(b"NO NUMBERS since")[2])

        is_away.clear()

        # A picture without the line, after one with it.
        screen.wait(lambda: screen.shown.rpartition(b"NO NUMBERS since")[2].count(b"utilization") >= 2)


def test_it_ends_with_its_terminal(serve: StartServer) -> None:
    with top_in_a_terminal(serve(answer).url) as screen:
        screen.wait(lambda: screen.shows("workers"))

        screen.hang_up()

        wait_until(lambda: not is_running(screen.pid), IS_OVER_S, "its end")


def once(server: SmallServer, *options: object) -> Result:
    return CliRunner().invoke(main, ["top", "--every", "0.1", "--url", server.url, *map(str, options)])


def test_without_a_terminal_one_picture_is_printed_without_control_characters(serve: StartServer) -> None:
    done = once(serve(answer))

    assert (done.exit_code, done.stderr) == (0, "")
    assert "workers 2, API replicas 3" in done.stdout and "q quits" not in done.stdout
    assert "\x1b" not in done.stdout


def test_json_is_one_document_with_the_figures_between_two_readings(serve: StartServer) -> None:
    server = serve(answer)

    told = json.loads(once(server, "--once", "--json").stdout)

    assert server.num_requests == 2
    assert told["url"] == server.url and told["window_s"] >= 0.1
    assert told["rates"]["arrivals_per_s"] == pytest.approx(238 / told["window_s"])
    assert told["latency"]["ttft"]["count"] == 100
