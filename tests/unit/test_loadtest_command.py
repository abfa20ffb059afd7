"""`miniserve loadtest` as a command: what it sends, prints and saves, what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from ops.load import command
from ops.load.command import loadtest
from ops.run.embedded_redis import free_port
from tests.small_server import FULL, OK, http


def test_the_command_prints_saves_and_tells_failure_by_its_status(serve, tmp_path: Path):
    server = serve(lambda n: http(503, FULL) if n == 2 else http(200, OK))  # the first asks whether anybody is there
    options = ["--url", server.url, "--total", "5", "--target-ms", "1000", "--save", str(tmp_path / "load.json"),
               "--api-key", "ms_0"]  # fmt: skip

    first, second = CliRunner().invoke(loadtest, options), CliRunner().invoke(loadtest, options)

    assert (first.exit_code, second.exit_code) == (1, 0)
    assert "queue-full: 1" in first.output and "goodput" in first.output
    saved = json.loads((tmp_path / "load.json").read_text())
    assert saved["result"]["statuses"] == {"200": 5} and saved["options"]["limits"]["total"] == 5
    assert all(b"\r\nAuthorization: Bearer ms_0\r\n" in request for request in server.received)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--url", "ftp://example.org"], "it must look like http://127.0.0.1:8000"),
        (["--duration", "fast"], "60s, 2m or 500ms"),
        (["--duration", "2h"], "60s, 2m or 500ms"),
        (["--concurrency", "0"], "a whole number, 1 to 4,096"),
        (["--concurrency", "1,,2"], "a whole number, 1 to 4,096"),
        (["--rate", "10", "--concurrency", "4"], "--rate is for an open loop, --concurrency for a closed one"),
        (["--sentences", os.devnull], "holds no sentence"),
        (["--save", "/no/such/folder/load.json"], "--save"),
    ],
)
def test_a_bad_option_is_named_with_what_it_takes(options: list[str], fault: str):
    refused = CliRunner().invoke(loadtest, options)

    assert refused.exit_code == 2
    assert fault in refused.output


@pytest.mark.parametrize(
    ("answer", "delay_s", "said"),
    [
        (None, 0.0, "no connection to {} (Connection refused): start a server there, or name another --url"),
        (http(200, OK), 2.0, "no answer from {} within 0.2 s: see its /readyz, or name another --url"),
        (
            http(401, {"detail": "This server asks for an API key."}), 0.0,
            "POST {}/correct answers 401: This server asks for an API key."
            " Give it with --api-key, or better by MINISERVE_API_KEY.",
        ),
    ],
    ids=["away", "hangs", "key"],
)  # fmt: skip
def test_a_server_that_does_not_take_the_first_request_ends_the_load_before_it_begins(
    serve, monkeypatch: pytest.MonkeyPatch, answer: bytes | None, delay_s: float, said: str
):
    monkeypatch.setattr(command, "_FIRST_PATIENCE_S", 0.2 if delay_s else 60.0)
    server = answer and serve(lambda _: answer, delay_s=delay_s)
    url = server.url if server else f"http://127.0.0.1:{free_port()}"

    ended = CliRunner().invoke(loadtest, ["--url", url, "--duration", "60m", "--api-key", "ms_0"])

    assert (ended.exit_code, ended.output) == (1, f"Error: {said.format(url)}\n")
    assert server is None or server.num_requests == 1


def test_several_numbers_of_clients_make_a_table_and_a_list_of_results(serve, tmp_path: Path):
    server = serve(lambda n: http(503, FULL) if n > 8 else http(200, OK))
    saved = tmp_path / "load.json"
    options = ["--url", server.url, "--total", "4", "--save", str(saved)]

    done = CliRunner().invoke(loadtest, [*options, "--concurrency", "1,3,2"])

    assert done.exit_code == 1  # those of the third load were refused
    rows = [line.split() for line in done.output.splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows[:3]] == [("1", "0"), ("3", "1"), ("2", "4")]
    document = json.loads(saved.read_text())
    assert [one["concurrency"] for one in document["result"]] == document["options"]["concurrency"] == [1, 3, 2]
