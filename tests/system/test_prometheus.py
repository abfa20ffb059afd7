"""What Prometheus and its tool say of its configuration, of the rules, and of every expression on Grafana's boards."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from ops.run.embedded_redis import free_port
from tests import system_tools
from tests.running_system import RunningSystem, child, send, wait_until
from tests.system.conftest import KeyedSite

DEPLOY = Path(__file__).resolve().parents[2] / "ops" / "deploy"
BOARDS = sorted((DEPLOY / "grafana" / "boards").glob("*.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the container's, with the boards' expressions, the secret and what is scraped in other places."""
    copy = shutil.copytree(DEPLOY / "prometheus", tmp_path / "prometheus")
    secret = shutil.copy(copy / "no-key", copy / "prometheus-key")
    config = copy / "prometheus.yml"
    config.write_text(config.read_text(encoding="utf-8").replace("/run/secrets/prometheus-key", str(secret)))
    return copy


def test_promtool_takes_the_configuration_and_sees_rules_raised_and_cleared(folder: Path) -> None:
    for path in BOARDS:
        panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
        asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]
        rules = [
            {"record": f"board:{number}", "expr": expression.replace("$__rate_interval", "1m")}
            for number, expression in enumerate(asked)
        ]
        assert len(rules) > 20
        (folder / f"{path.stem}.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))

    boards = [f"{path.stem}.yml" for path in BOARDS]
    for arguments in (
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "rules.yml", *boards),
        ("test", "rules", "rules_test.yml"),
    ):
        done = subprocess.run([system_tools.find("promtool"), *arguments], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def _health(url: str) -> list[str]:
    try:
        targets = send(url, "GET", "/api/v1/targets?state=active").body["data"]["activeTargets"]
    except (OSError, TypeError):  # it starts
        return []
    return [target["health"] for target in targets]


@pytest.mark.parametrize("asks_for_keys", [True, False])
def test_prometheus_scrapes_a_server_whether_it_asks_for_keys_or_not(
    folder: Path, system: RunningSystem, keyed_site: KeyedSite, asks_for_keys: bool
) -> None:
    if asks_for_keys:
        (folder / "prometheus-key").write_text(f"{keyed_site.key}\n")
    config, target = folder / "prometheus.yml", urlsplit(keyed_site.url if asks_for_keys else system.url).netloc
    config.write_text(config.read_text().replace("balancer:8080", target))
    port = free_port()
    options = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    options.append(f"--web.listen-address=127.0.0.1:{port}")
    with child(system_tools.find("prometheus"), *options, port=port) as prometheus:
        wait_until(lambda: _health(f"http://127.0.0.1:{port}") == ["up"], 30, lambda: prometheus.said()[-2000:])
