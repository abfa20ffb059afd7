"""The unit for systemd: well-formed, closed, and what it forbids is nothing that the service needs."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from ops.run.embedded_redis import free_port
from tests import system_tools
from tests.pace import patient
from tests.running_system import child, post_sentence, send, status_of

ROOT = Path(__file__).resolve().parents[2]
UNIT = (ROOT / "ops" / "deploy" / "systemd" / "miniserve.service").read_text(encoding="utf-8")
MINISERVE = Path(sys.prefix, "bin", "miniserve")
MOST_EXPOSED = 15  # tenths
# NoNewPrivileges, MemoryDenyWriteExecute (kernel 6.3 and later) and UMask of the unit, without its systemd.
CONFINED = """
import ctypes, os, sys
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0
prctl(65, 1, 0, 0, 0)
os.umask(0o077)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_systemd_finds_no_fault_in_the_unit_and_little_that_is_open(tmp_path: Path) -> None:
    unit = tmp_path / "miniserve.service"
    unit.write_text(UNIT.replace("/usr/local/bin/miniserve", str(MINISERVE)), encoding="utf-8")
    analyze = system_tools.find("systemd-analyze")

    verified = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, timeout=60)
    rated = subprocess.run(
        [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", unit],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (verified.returncode, verified.stderr) == (0, "")
    assert rated.returncode == 0, rated.stdout


def test_the_service_starts_answers_and_stops_under_the_bans_of_the_unit(tmp_path: Path) -> None:
    (line,) = re.findall(r"^ExecStart=/usr/local/bin/miniserve (.*)$", UNIT, re.MULTILINE)
    (stop_s,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environ = {"PATH": "/usr/bin:/bin", "MINISERVE_PORT": str(port)}  # as an EnvironmentFile sets it
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # in place of systemd
    told.bind(environ.setdefault("NOTIFY_SOCKET", str(tmp_path / "notify")))
    told.settimeout(patient(40))
    confined = [sys.executable, "-c", CONFINED, MINISERVE, *line.split()]
    with child("/usr/bin/env", "-C", "/", *confined, env=environ, patience_s=30.0) as member, closing(told):
        assert told.recv(100) == b"READY=1"
        assert status_of(url, "/readyz") == 200
        assert post_sentence(url, "He goed home.").body["corrected"] == "He went home."
        assert "miniserve" in send(url, "GET", "/docs").body
        member.process.send_signal(signal.SIGTERM)
        assert member.process.wait(int(stop_s)) == 0
