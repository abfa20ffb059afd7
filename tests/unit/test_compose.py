"""docker-compose.yml, as far as text can tell: what is published, what a container may do, what old Compose reads."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.http.threads import NUM_OTHERS, NUM_WAITING
from ops.run import embedded_redis, health
from scheduler.addresses import ClientAddresses
from scheduler.settings import Settings, variable
from tests.small_server import http, small_servers

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
POOLS = ("prefill", "decode")
OURS = ("api", "worker", *POOLS, "dashboard", "monitor")
OBSERVERS = ("prometheus", "grafana")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")

each_service = pytest.mark.parametrize("name", SERVICES)


def test_the_services_have_the_names_of_the_contract() -> None:
    assert list(SERVICES) == ["redis", *OURS, "balancer", *OBSERVERS]


def test_only_loopback_is_published_and_redis_not_at_all() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert set(published) == {"dashboard", "balancer", *OBSERVERS}
    assert all(port.startswith("127.0.0.1:${MINISERVE_") for ports in published.values() for port in ports)


def test_redis_is_reached_by_those_alone_who_need_it() -> None:
    neighbours = {name for name, service in SERVICES.items() if "store" in service["networks"]}

    assert neighbours == {"redis", *OURS}
    assert SERVICES["redis"]["networks"] == ["store"]
    assert COMPOSE["networks"]["store"] == {"internal": True}


def test_the_api_may_start_all_of_its_threads() -> None:
    of_the_loop = 32  # by asyncio's default, at most
    num_threads = NUM_WAITING + NUM_OTHERS + of_the_loop

    assert num_threads + 64 < SERVICES["api"]["pids_limit"], "or the check of its health cannot be started"


def test_redis_keeps_what_it_has_and_evicts_nothing() -> None:
    command = SERVICES["redis"]["command"]
    rights = command.index("--user")
    options = dict(zip(command[1:rights:2], command[2:rights:2], strict=True))

    assert command[rights + 1 :] == ["default", "on", "nopass", "~*", "&*", "+@all", "-@dangerous", "+info"]
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
    assert int(options["--maxmemory"].removesuffix("gb")) * 2 == int(SERVICES["redis"]["mem_limit"].removesuffix("g"))


@each_service
def test_a_container_is_bounded_and_may_do_little(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True and service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"]
    assert service["mem_limit"] and service["pids_limit"]
    assert service["restart"] == "unless-stopped"
    assert name in OURS or str(service["user"]).split(":")[0] not in ("0", "root")


@each_service
def test_a_container_says_whether_it_is_healthy_and_waits_for_what_it_needs(name: str) -> None:
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert {need["condition"] for need in service.get("depends_on", {}).values()} <= {"service_healthy"}
    assert name == "redis" or service["depends_on"]


@pytest.mark.parametrize("name", OURS)
def test_all_of_ours_run_from_one_image(name: str) -> None:
    assert SERVICES[name]["build"]["context"] == "." and SERVICES[name]["image"] == "miniserve:local"


def test_every_image_has_an_exact_tag_and_a_variable_that_replaces_it() -> None:
    images = [service["image"] for name, service in SERVICES.items() if name not in OURS]
    images.append(SERVICES["api"]["build"]["args"]["PYTHON_IMAGE"])

    for image in images:
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*\}", image), image


def test_the_images_base_is_a_build_argument_with_the_same_default_in_both_stages() -> None:
    default = re.search(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE).group(1)

    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    assert SERVICES["api"]["build"]["args"] == {"PYTHON_IMAGE": f"${{PYTHON_IMAGE:-{default}}}"}
    assert default in (ROOT / "ops" / "deploy" / "compose_drill.sh").read_text(encoding="utf-8")


def test_the_redis_of_compose_has_no_known_hole_in_its_lua() -> None:
    version = re.search(r":-redis:(\d+)\.(\d+)\.(\d+)", SERVICES["redis"]["image"]).groups()

    assert embedded_redis.is_safe(tuple(map(int, version)))


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
    assert SERVICES["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"] == "${MINISERVE_GRAFANA_PASSWORD:-}"


def test_behind_the_balancer_the_api_knows_the_clients_apart() -> None:
    given = SERVICES["api"]["environment"]["MINISERVE_TRUSTED_PROXIES"]
    default = re.fullmatch(r"\$\{MINISERVE_TRUSTED_PROXIES:-(.+)\}", given).group(1)
    addresses = ClientAddresses(default)

    assert addresses.of("172.18.0.5", "203.0.113.9") == "203.0.113.9"
    assert addresses.of("203.0.113.9", "192.0.2.1") == "203.0.113.9"


def test_only_settings_that_exist_are_passed_on() -> None:
    known = {variable(name) for name in Settings.__dataclass_fields__}
    passed = {name for name in SERVICES["monitor"]["environment"] if name.startswith("MINISERVE_")}

    assert passed <= known


def test_every_variable_is_in_the_documents_table() -> None:
    text = (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")
    table = text[text.index("| variable | default | for |") : text.index("## Log in")]
    told = set(re.findall(r"`(MINISERVE_\w+)`", table))

    asked = set(re.findall(r"\$\{(MINISERVE_\w+)", TEXT)) | set(re.findall(r"^ +(MINISERVE_\w+):$", TEXT, re.MULTILINE))

    assert told == asked


def test_prometheus_alone_gets_its_key_as_a_file_that_is_there_without_one() -> None:
    ((name, secret),) = COMPOSE["secrets"].items()
    config = yaml.safe_load((ROOT / "ops" / "deploy" / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))

    assert [who for who, service in SERVICES.items() if name in service.get("secrets", ())] == ["prometheus"]
    assert [job["authorization"] for job in config["scrape_configs"]] == [{"credentials_file": f"/run/secrets/{name}"}]
    variable_name, default = re.fullmatch(r"\$\{(\w+):-(.+)\}", secret["file"]).groups()
    assert variable_name == "MINISERVE_PROMETHEUS_KEY_FILE"
    assert (ROOT / default).read_text().strip().isalnum()


def test_pools_prometheus_and_grafana_come_only_when_asked_for() -> None:
    profiles = {name: service["profiles"] for name, service in SERVICES.items() if "profiles" in service}

    assert profiles == dict.fromkeys(POOLS, ["pools"]) | dict.fromkeys(OBSERVERS, ["observability"])


@pytest.mark.parametrize("role", POOLS)
def test_a_worker_of_a_pool_differs_from_others_by_its_role_alone(role: str) -> None:
    command = SERVICES[role]["command"]

    assert command == [*SERVICES["worker"]["command"], "--role", role]
    assert SERVICES[role] == SERVICES["worker"] | {"command": command, "profiles": ["pools"]}


def test_the_dashboard_wants_a_login_and_deletes_nothing() -> None:
    service = SERVICES["dashboard"]

    assert service["command"] == ["miniserve", "dashboard", "--host", "0.0.0.0"]
    assert service["environment"]["MINISERVE_DASHBOARD_DISABLE_DELETE"].endswith(":-1}")
    assert service["healthcheck"]["test"][-1] == "401"


def test_an_old_compose_and_a_plain_builder_can_read_it() -> None:
    assert not re.search(r"^(name|version):", TEXT, re.MULTILINE)
    assert "start_interval" not in TEXT and "deploy:" not in TEXT
    assert "--mount" not in DOCKERFILE and "syntax=" not in DOCKERFILE


def test_the_image_does_not_run_as_root() -> None:
    last_stage = DOCKERFILE.rsplit("\nFROM ", 1)[1]

    assert re.search(r"^USER (?!root)\w+$", last_stage, re.MULTILINE)


@pytest.mark.parametrize(
    ("answer", "is_healthy"), [(http(200, {}), True), (http(503, {}), False), (b"nonsense\n", False)]
)
def test_a_port_is_healthy_if_it_gives_the_wanted_status(answer: bytes, is_healthy: bool) -> None:
    with small_servers() as start:
        server = start(lambda _: answer)
        fault = health.http_fault(server.url.rsplit(":", 1)[1], "/healthz", "200")

    assert server.received[0].startswith(b"GET /healthz HTTP/1.1\r\n")
    assert (fault == "") is is_healthy


def test_a_port_where_nobody_listens_is_unhealthy_in_one_line() -> None:
    with small_servers() as start:
        port = start(lambda _: None).url.rsplit(":", 1)[1]

    assert health.http_fault(port, "/healthz", "200").startswith(f"GET /healthz on port {port}: ")
