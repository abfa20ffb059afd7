"""The file of API keys: what is in it, what a change does, and the commands that know of keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from api.access.keys import KeyFile, KeyFileFault, new_key, parse_keys
from api.service.exchange import Account
from ops.cli import main
from tests.small_server import http, small_servers

KEY, LINE = new_key("school")
OTHER, OTHER_LINE = new_key("other")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"# who\n{LINE} requests_per_s=5 tokens_per_s=900.5\n\n{OTHER_LINE}  # a guest\n")
    return path


def look(keys: KeyFile) -> None:
    """Until what it has found counts."""
    keys.look()
    keys.look()


SUCCESSOR, SUCCESSOR_LINE = new_key("school")


@pytest.mark.parametrize(
    ("text", "accounts"),
    [
        ("", [None, None, None]),
        (f"{OTHER_LINE}  # a guest\n", [None, None, Account("other")]),
        # Keys of one name are one account, so that one can replace the other.
        (f"# who\n{LINE}\n\n{SUCCESSOR_LINE}\n", [Account("school"), Account("school"), None]),
    ],
    ids=["empty", "taken out", "replaced"],
)
def test_only_the_keys_in_the_file_are_let_in(path: Path, text: str, accounts: list[Account | None]) -> None:
    keys = KeyFile(str(path))
    assert keys.account_of(KEY) == Account("school", 5, 900.5) and keys.account_of(OTHER) == Account("other")

    path.write_text(text)
    look(keys)

    assert [keys.account_of(key) for key in (KEY, SUCCESSOR, OTHER)] == accounts


@pytest.mark.parametrize(
    ("write", "what"),
    [(lambda path: path.write_text(f"{LINE}\nms_oops {KEY}\n"), "line 2"),
     (lambda path: path.unlink(), "cannot be read"),
     (lambda path: path.write_bytes(b"\xff\xfe"), "cannot be read")],
)  # fmt: skip
def test_a_broken_file_keeps_the_last_good_keys_and_says_so_once(
    path: Path, write: Callable[[Path], object], what: str, caplog: pytest.LogCaptureFixture
) -> None:
    keys, good = KeyFile(str(path)), path.read_text()
    write(path)

    look(keys)
    look(keys)
    assert keys.account_of(KEY) is not None
    path.write_text(good)
    look(keys)

    broken, whole = caplog.records
    assert "broken" in broken.msg and what in broken.reason and KEY not in broken.reason
    assert "whole again" in whole.msg and whole.levelname == "WARNING"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (LINE.replace("school", "sch:ool"), "line 1 is not"),
        (LINE.split()[0], "line 1 is not"),
        (f"{LINE} speed=5", "line 1 is not"),
        (f"{LINE} requests_per_s=0", "line 1 is not"),
        (f"{LINE} tokens_per_s=1.2.3", "line 1 is not"),
        (f"{LINE}\n{new_key('school')[1]} tokens_per_s=5", "line 2 has the name"),
    ],
    ids=["name", "cut", "unknown-limit", "no-rate", "no-number", "same-name"],
)
def test_a_line_that_is_wrong_is_named_and_never_quoted(text: str, fault: str) -> None:
    with pytest.raises(KeyFileFault, match=fault) as caught:
        parse_keys(text)

    assert not any(word in str(caught.value) for word in LINE.split())


def test_a_file_that_is_being_written_changes_nothing(path: Path) -> None:
    keys, good = KeyFile(str(path)), path.read_text()
    for part in ("", LINE[:20], LINE):
        path.write_text(part)
        keys.look()

        assert keys.account_of(OTHER) is not None
    path.write_text(good)
    look(keys)
    assert keys.account_of(OTHER) is not None


def test_the_command_prints_a_key_and_the_line_that_lets_it_in(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["key", "new", "school", "--requests-per-s", "5", "--tokens-per-s", "1000000"])

    key, line, *_ = result.stdout.splitlines()
    (tmp_path / "keys").write_text(line)
    assert KeyFile(str(tmp_path / "keys")).account_of(key) == Account("school", 5, 1_000_000)
    assert key not in line


@pytest.mark.parametrize("before", [None, f"# who\n{OTHER_LINE}\n", OTHER_LINE], ids=["no file", "lines", "no end"])
def test_the_command_appends_the_entry_to_the_file_and_prints_the_key_alone(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "keys"
    if before is not None:
        path.write_text(before)

    result = CliRunner().invoke(main, ["key", "new", "school", "--append", str(path)])

    keys = KeyFile(str(path))
    assert keys.account_of(result.stdout.strip()) == Account("school")
    assert (keys.account_of(OTHER) is not None) == (before is not None)


@pytest.mark.parametrize(
    ("text", "path", "fault"),
    [
        (f"{LINE} requests_per_s=5\n", "keys", "line 2 has the name"),
        ("what is this\n", "keys", "line 1 is not"),
        ("", "no-folder/keys", "No such file or directory"),
    ],
)
def test_the_command_leaves_a_file_alone_that_no_server_would_take(
    tmp_path: Path, text: str, path: str, fault: str
) -> None:
    (tmp_path / "keys").write_text(text)

    result = CliRunner().invoke(main, ["key", "new", "school", "--append", str(tmp_path / path)])

    assert (result.exit_code, result.stdout) == (2, "")
    assert str(tmp_path / path) in result.stderr and fault in result.stderr
    assert (tmp_path / "keys").read_text() == text


@pytest.mark.parametrize("name", ["", "a b", "-x", "a" * 49, "caf\u00e9", "a\n"])
def test_the_command_takes_a_name_that_is_short_and_plain(name: str) -> None:
    assert CliRunner().invoke(main, ["key", "new", "--", name]).exit_code == 2


@pytest.mark.parametrize("text", [None, "ms_abc"])
def test_no_server_starts_with_a_file_that_cannot_be_read(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "keys"
    if text is not None:
        path.write_text(text)

    for command in (["up"], ["api", "--redis-url", "unix:///tmp/none.sock"]):
        result = CliRunner().invoke(main, [*command, "--api-keys-file", str(path)])
        assert result.exit_code == 2 and str(path) in result.output


@pytest.mark.parametrize("command", ["top", "capacity", "loadtest"])
def test_commands_that_ask_a_server_send_their_key(command: str) -> None:
    with small_servers() as start:
        server = start(lambda number: http(401, {"detail": "no"}))
        options = {"top": ["--once", "--every", "0.1"], "loadtest": ["--total", "1", "--concurrency", "1"]}
        arguments = [command, "--url", server.url, *options.get(command, [])]
        result = CliRunner().invoke(main, arguments, env={"MINISERVE_API_KEY": KEY})

    assert f"authorization: bearer {KEY}".encode() in server.received[0].lower()
    assert result.exit_code == 1 and KEY not in result.output
    assert command == "loadtest" or "MINISERVE_API_KEY" in result.output
