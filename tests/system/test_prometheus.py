"""What Prometheus' own tool says of its configuration, of the rules, and of every expression on Grafana's boards."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from api.access.keys import new_key
from ops.run.embedded_redis import free_port
from tests import system_tools
from tests.running_system import RunningSystem, send, wait_until

DEPLOY = Path(__file__).resolve().parents[2] / "ops" / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
BOARDS = sorted((DEPLOY / "grafana" / "boards").glob("*.json"))


def _fault(*arguments: str | Path, folder: Path = PROMETHEUS) -> str:
    """What promtool complains of; nothing where all is well."""
    command = [system_tools.find("promtool"), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr if done.returncode else ""


def _configured(folder: Path, key: str, target: str = "balancer:8080") -> Path:
    """A folder like the container's, with the secret and what is scraped in other places."""
    shutil.copytree(PROMETHEUS, folder, dirs_exist_ok=True)
    secret, config = folder / "prometheus-key", folder / "prometheus.yml"
    secret.write_text(key)
    text = config.read_text(encoding="utf-8")
    assert text.count("/run/secrets/prometheus-key") == text.count("balancer:8080") == 1
    config.write_text(text.replace("/run/secrets/prometheus-key", str(secret)).replace("balancer:8080", target))
    return folder


def test_prometheus_can_read_its_configuration_and_its_rules(tmp_path: Path) -> None:
    assert _fault("check", "config", "prometheus.yml", folder=_configured(tmp_path, "none")) == ""
    assert _fault("check", "rules", "rules.yml") == ""


@contextmanager
def _prometheus(folder: Path) -> Iterator[str]:
    """The URL of a Prometheus that runs with the configuration of a folder."""
    port = free_port()
    options = ["--config.file=prometheus.yml", f"--storage.tsdb.path={folder / 'data'}"]
    command = [system_tools.find("prometheus"), *options, f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.parametrize("asks_for_keys", [True, False])
def test_prometheus_scrapes_a_server_whether_it_asks_for_keys_or_not(tmp_path: Path, asks_for_keys: bool) -> None:
    key, line = new_key("prometheus")
    (tmp_path / "keys").write_text(f"{line}\n")
    options = ["--api-keys-file", str(tmp_path / "keys")] if asks_for_keys else []
    secret = f"{key}\n" if asks_for_keys else (PROMETHEUS / "no-key").read_text(encoding="utf-8")
    with RunningSystem(*options) as system:
        folder = _configured(tmp_path / "configured", secret, urlsplit(system.url).netloc)
        with _prometheus(folder) as url:
            wait_until(lambda: _health(url) == ["up"], 30, lambda: (folder / "log").read_text()[-2000:])


def _health(url: str) -> list[str]:
    try:
        targets = send(url, "GET", "/api/v1/targets?state=active").body["data"]["activeTargets"]
    except (OSError, TypeError):  # it starts
        return []
    return [target["health"] for target in targets]


def test_the_rules_are_raised_and_cleared_as_their_series_rise_and_fall() -> None:
    assert _fault("test", "rules", "rules_test.yml") == ""


def test_a_rule_that_forgot_its_lower_bar_would_be_noticed(tmp_path: Path) -> None:
    shutil.copy(PROMETHEUS / "rules_test.yml", tmp_path)
    rules = (PROMETHEUS / "rules.yml").read_text(encoding="utf-8")
    (tmp_path / "rules.yml").write_text(
        rules.replace("max(miniserve_utilization) > 0.7", "max(miniserve_utilization) > 0.8")
    )

    assert _fault("test", "rules", "rules_test.yml", folder=tmp_path)


def _check_expressions(expressions: list[str], folder: Path) -> str:
    rules = [{"record": f"board:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    (folder / "board.yml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    return _fault("check", "rules", "board.yml", folder=folder)


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.stem)
def test_prometheus_can_read_every_expression_of_a_board(path: Path, tmp_path: Path) -> None:
    panels = json.loads(path.read_text(encoding="utf-8"))["panels"]
    asked = [target["expr"] for panel in panels for target in panel.get("targets", [])]

    assert len(asked) > 20
    assert _check_expressions([text.replace("$__rate_interval", "1m") for text in asked], tmp_path) == ""


def test_an_expression_that_is_none_would_be_noticed(tmp_path: Path) -> None:
    assert _check_expressions(["sum(rate(miniserve_batch_size_bucket[1m])"], tmp_path)  # a bracket is missing
