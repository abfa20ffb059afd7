"""Compose reads docker-compose.yml, without a Docker daemon: that of Debian 12 is among the oldest that we support."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from tests import system_tools

ROOT = Path(__file__).resolve().parents[2]
SERVICES = {"redis", "api", "worker", "dashboard", "monitor", "balancer"}


def test_compose_takes_the_file_and_knows_the_services_of_the_contract() -> None:
    command = [system_tools.find("docker-compose"), "config"]

    config = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert config.returncode == 0, config.stderr
    assert set(yaml.safe_load(config.stdout)["services"]) >= SERVICES
