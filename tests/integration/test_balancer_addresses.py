"""ops/deploy/compose/balancer.sh with a name server and an nginx of a few lines: it finds replicas that come and go."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running_system import wait_until

SCRIPT = Path(__file__).resolve().parents[2] / "ops" / "deploy" / "compose" / "balancer.sh"
# What BusyBox prints: the name server first, then the answer, and that there is none for IPv6.
BUSYBOX = (
    "Server:\t\t{server}\nAddress:\t{server}:53\n\nNon-authoritative answer:\n{answer}\n*** Can't find api: No answer\n"
)
NSLOOKUP = '#!/bin/sh\ncat "$ANSWER"\nexit 1\n'  # it also fails where only one of both kinds is there
NGINX = """#!/bin/sh
trap 'cat "$BALANCER_DIRECTORY/replicas.conf" >>"$BALANCER_DIRECTORY/read"; echo . >>"$BALANCER_DIRECTORY/read"' HUP
echo $$ >"$BALANCER_DIRECTORY/nginx.pid"
while [ ! -e "$BALANCER_DIRECTORY/end" ]; do sleep 0.05; done
"""


def _as_without_nohup() -> None:
    """A shell cannot trap what was ignored when it began, as SIGHUP is under nohup. The real nginx does not care."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class House:
    """The folder the script runs in."""

    def __init__(self, folder: Path, name_server: str) -> None:
        self.folder, self.name_server = folder, name_server
        self.tell()
        for name, text in (("nslookup", NSLOOKUP), ("nginx", NGINX)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        own = {
            "ANSWER": str(folder / "answer"),
            "BALANCER_DIRECTORY": str(folder),
            "MINISERVE_REQUEST_TIMEOUT_S": "12.5",
        }
        env = {**os.environ, **own, "PATH": f"{folder}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(
            ["sh", str(SCRIPT)], env=env, start_new_session=True, preexec_fn=_as_without_nohup
        )

    def tell(self, *addresses: str) -> None:
        """What the name server says from now on."""
        new = self.folder / "answer.new"
        answer = "\n".join(f"Name:\tapi\nAddress: {address}" for address in addresses)
        new.write_text(BUSYBOX.format(server=self.name_server, answer=answer))
        new.rename(self.folder / "answer")

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait_for(self, name: str, text: str) -> None:
        wait_until(lambda: self.text(name) == text, 10, f"{name} is {text!r}")


@pytest.fixture(params=["127.0.0.11", "10.96.0.10"], ids=["Docker's name server", "another"])
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[House]:
    house = House(tmp_path, request.param)
    yield house
    (tmp_path / "end").touch()
    house.process.wait()
    os.killpg(house.process.pid, 9)  # the follower, which a container's end would take along


def test_replicas_are_listed_before_nginx_starts_and_anew_when_they_change(house: House) -> None:
    assert house.text("nginx.pid") == ""  # nobody is there yet

    house.tell("172.18.0.4", "172.18.0.3")
    first = "server 172.18.0.3:8000 max_fails=1 fail_timeout=1s;\nserver 172.18.0.4:8000 max_fails=1 fail_timeout=1s;\n"
    house.wait_for("replicas.conf", first)
    house.wait_for("patience.conf", "proxy_read_timeout 22s;\n")
    wait_until(lambda: house.text("nginx.pid") != "", 10, "nginx runs")
    house.tell("172.18.0.4")
    second = "server 172.18.0.4:8000 max_fails=1 fail_timeout=1s;\n"
    house.wait_for("read", second + ".\n")

    house.tell()  # the name server is away: what is known stays
    house.tell("172.18.0.4")
    house.tell("172.18.0.4", "172.18.0.9")
    house.wait_for("read", second + ".\n" + second + "server 172.18.0.9:8000 max_fails=1 fail_timeout=1s;\n.\n")
