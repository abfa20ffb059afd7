"""The foot of the first terminal, and its warning: short where all is well, loud where the door is open."""

from __future__ import annotations

import io
import re

import pytest

from ops.run.status_line import StatusLine
from ops.run.up import is_loopback, warn_if_open
from scheduler.settings import Settings
from tests.small_server import small_servers


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _metrics(done: int, failed: int) -> bytes:
    text = f"""miniserve_num_requests_running 3
miniserve_num_requests_waiting 2
miniserve_request_success_total{{finished_reason="stop"}} {done}
miniserve_request_failure_total{{type="deadline-exceeded"}} {failed}
"""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text.encode())


def test_a_terminal_shows_one_line_that_is_drawn_over() -> None:
    terminal = _Terminal()
    with small_servers() as start:
        status = StatusLine(start(lambda n: _metrics(100 * n, n)).url, is_wanted=True, stream=terminal)
        status.look(60.0)
        status._due_s = 0.0
        rest_s = status.look(60.0)

    lines = terminal.getvalue().split("\r")
    assert 0 < rest_s <= 2.0
    assert "\n" not in terminal.getvalue() and terminal.getvalue().endswith("\r")
    assert re.search(r"[1-9][\d,.]* sentences/s, 3 running, 2 waiting, 1 failed$", lines[-2])


def test_a_server_that_does_not_answer_ends_nothing() -> None:
    terminal = _Terminal()

    StatusLine("http://127.0.0.1:9", is_wanted=True, stream=terminal).look(1.0)

    assert "no figures" in terminal.getvalue()


@pytest.mark.parametrize(("is_wanted", "stream"), [(False, _Terminal()), (True, io.StringIO())])
def test_without_a_terminal_or_with_a_line_for_each_request_there_is_none(is_wanted: bool, stream: io.StringIO) -> None:
    assert StatusLine("http://127.0.0.1:9", is_wanted=is_wanted, stream=stream).look(7.0) == 7.0
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("host", "is_closed"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_a_host_that_others_reach_is_warned_of(host: str, is_closed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    warn_if_open(Settings(host=host))

    assert is_loopback(host) is is_closed
    assert ("WARNING" in capsys.readouterr().err) is not is_closed
