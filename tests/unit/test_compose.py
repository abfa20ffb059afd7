"""docker-compose.yml, as far as text can tell: what is published, what old versions of Compose can read."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_the_services_have_the_names_of_the_contract() -> None:
    services = COMPOSE[COMPOSE.index("\nservices:") : COMPOSE.index("\nvolumes:")]

    assert re.findall(r"^  (\w+):$", services, re.MULTILINE) == ["redis", "api", "worker", "dashboard", "balancer"]


def test_only_loopback_is_published() -> None:
    published = re.findall(r'^ +- "([^"]*:\d+)"$', COMPOSE, re.MULTILINE)

    assert len(published) == 2
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_an_old_compose_and_a_plain_builder_can_read_it() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")

    assert not re.search(r"^(name|version):", COMPOSE, re.MULTILINE)
    assert "--mount" not in dockerfile and "syntax=" not in dockerfile


def test_the_image_does_not_run_as_root() -> None:
    last_stage = (ROOT / "Dockerfile").read_text(encoding="utf-8").rsplit("\nFROM ", 1)[1]

    assert re.search(r"^USER (?!root)\w+$", last_stage, re.MULTILINE)
