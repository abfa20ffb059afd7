"""The findings of `miniserve doctor`: what is no fault, and may be better, is a warning; both have their remedy."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.run import doctor, embedded_redis
from tests.small_server import http, small_servers

SOUND = {
    "redis_version": "7.4.6", "role": "master", "maxmemory_policy": "noeviction", "evicted_keys": 0, "used_memory": 1,
    "maxmemory": 100, "aof_enabled": 1, "aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok",
}  # fmt: skip
NOWHERE = ("--redis-url", "redis://127.0.0.1:1")
LOOKS = (doctor._version, doctor._eviction, doctor._memory, doctor._persistence)


def faults(facts: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    findings = [look(facts) for look in LOOKS]
    return {finding.check: finding.row for finding in findings if finding.remedy}


def test_a_sound_redis_has_no_fault() -> None:
    assert faults(SOUND) == {}
    assert faults(SOUND | {"redis_version": "7.2.4", "valkey_version": "9.1.2"}) == {}


@pytest.mark.parametrize(
    ("facts", "state", "check", "said"),
    [
        ({"redis_version": "7.0.15"}, "warn", "Redis version", "7.0.15 may have a hole in its Lua (CVE-2025-49844)"),
        ({"valkey_version": "8.1.3"}, "warn", "Redis version", "valkey 8.1.3 may have"),
        ({"maxmemory_policy": "allkeys-lru"}, "FAULT", "Redis eviction", "set maxmemory-policy to noeviction"),
        ({"evicted_keys": 3}, "warn", "Redis eviction", "3 keys were evicted"),
        ({"maxmemory": 0}, "warn", "Redis memory", "set maxmemory"),
        ({"used_memory": 81}, "FAULT", "Redis memory", "raise maxmemory"),
        ({"aof_enabled": 0}, "warn", "Redis persistence", "set appendonly yes"),
        ({"aof_last_write_status": "err"}, "FAULT", "Redis persistence", "look at its disk"),
    ],
)
def test_each_fault_of_a_redis_is_one_line_with_its_remedy(
    facts: dict[str, Any], state: str, check: str, said: str
) -> None:
    ((found, of, line),) = faults(SOUND | facts).values()

    assert (found, of) == (state, check)
    assert said in line and "\n" not in line


def test_an_old_version_that_its_distribution_has_mended_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = SOUND | {"redis_version": "7.0.15", "executable": sys.executable}
    monkeypatch.setattr(embedded_redis, "version_of", lambda _: (7, 0, 15))
    monkeypatch.setattr(embedded_redis, "is_mended", lambda path: path == Path(sys.executable))

    assert faults(facts) == {}
    assert "Redis version" in faults(facts | {"redis_version": "7.0.14"}), "another server than the one installed here"


def run(*options: str, **env: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status, and the findings by name. The ports are free ones unless told."""
    ports = {
        "MINISERVE_PORT": str(embedded_redis.free_port()),
        "MINISERVE_DASHBOARD_PORT": str(embedded_redis.free_port()),
    }
    result = CliRunner().invoke(main, ["doctor", "--json", *options], env=ports | env)
    return result.exit_code, {finding["check"]: finding for finding in json.loads(result.output)}


def test_on_a_sound_machine_all_is_well() -> None:
    status, findings = run()

    assert status == 0 and all(finding["ok"] for finding in findings.values())
    assert "embedded Redis" in findings


def test_without_json_each_finding_is_one_line() -> None:
    result = CliRunner().invoke(main, ["doctor"], env={"MINISERVE_PORT": "abc", "MINISERVE_PROT": "1"})

    assert result.exit_code == 1
    assert [line[:5] for line in result.output.splitlines()].count("FAULT") >= 2
    assert all(line.startswith(("FAULT ", "ok ", "warn ", " ")) for line in result.output.splitlines())
    assert "a whole number, 1 to 65,535: correct the variable" in result.output
    assert "the nearest name is MINISERVE_PORT: correct its name" in result.output


def test_a_redis_that_is_away_is_one_fault_without_its_password() -> None:
    status, findings = run("--redis-url", f"redis://:secret@127.0.0.1:{embedded_redis.free_port()}/0")

    assert status == 1
    assert "start it, or correct --redis-url" in findings["Redis"]["remedy"]
    assert "secret" not in str(findings)


def test_a_taken_port_is_a_fault_unless_a_server_of_ours_holds_it() -> None:
    with small_servers() as start:
        ours, other = (start(lambda _, status=status: http(status, {})).url.rsplit(":", 1)[1] for status in (200, 404))

        assert run(MINISERVE_PORT=ours)[1]["API port"]["ok"]
        assert f":{ours}" in run("--port", ours, MINISERVE_PORT=other)[1]["API port"]["found"]
        status, findings = run(MINISERVE_MODE="sync", MINISERVE_PORT=other)

    assert status == 1 and "choose another with --port" in findings["API port"]["remedy"]


def test_a_taken_port_of_a_dashboard_that_may_never_be_started_is_a_warning() -> None:
    with small_servers() as start:
        other = start(lambda _: http(404, {})).url.rsplit(":", 1)[1]
        status, findings = run(MINISERVE_MODE="sync", MINISERVE_DASHBOARD_PORT=other)

    assert status == 0 and findings["dashboard port"]["is_warning"]
    assert "choose another with --dashboard-port" in findings["dashboard port"]["remedy"]


def test_changed_weights_are_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "mini-gpt.safetensors"
    shutil.copy(doctor.DEFAULT_PATH.with_suffix(".sha256"), tmp_path)
    changed.write_bytes(doctor.DEFAULT_PATH.read_bytes() + b"x")
    monkeypatch.setattr(doctor, "DEFAULT_PATH", changed)

    status, findings = run()

    assert status == 1 and findings["model"]["remedy"] == "install miniserve again"


def test_counts_of_ngrams_that_were_cut_off_are_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = tmp_path / "ngrams.bin"
    cut.write_bytes(doctor.SHIPPED.read_bytes()[:-1])
    monkeypatch.setattr(doctor, "SHIPPED", cut)

    status, findings = run()

    assert status == 1 and "ngrams.bin, are damaged" in findings["model"]["found"]


@pytest.mark.parametrize("command", [["up"], ["api", *NOWHERE], ["dashboard", *NOWHERE]])
def test_where_no_temporary_file_can_be_written_it_is_said_in_one_line(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    ports = {"MINISERVE_PORT": str(embedded_redis.free_port())}

    refused = CliRunner().invoke(main, command, env=ports)

    said = "no folder for temporary files can be written (Read-only file system): set TMPDIR to one that can"
    assert (refused.exit_code, refused.output) == (1, f"Error: {said}\n")
