"""What `miniserve up` prints: figures of the shipped model, URLs that can be used, no password, a loud warning."""

from __future__ import annotations

import pytest

from ops.run.banner import banner_lines, base_url
from ops.run.model_facts import read_model_facts
from ops.run.up import is_loopback, warn_if_open
from scheduler.settings import Settings


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
        ("localhost", "http://localhost:8000"),
    ],
)
def test_the_url_is_one_a_client_on_this_machine_can_use(host: str, url: str) -> None:
    assert base_url(host, 8000) == url


def test_the_figures_are_those_of_the_shipped_weights() -> None:
    facts = read_model_facts()
    text = "\n".join(banner_lines(Settings(kv_budget_tokens=1000, redis_url="redis://:pw@h:1/0"), with_dashboard=False))

    assert (facts.num_layers, facts.width) == (6, 128)
    assert 1_000_000 < facts.num_parameters < 2_000_000
    assert f"1,000 tokens = {2 * 6 * 128 * 4 * 1000 / 1e6:.1f} MB" in text
    assert "pw" not in text and "dashboard" not in text


@pytest.mark.parametrize(
    ("port", "with_dashboard", "replica"), [(8000, False, 8001), (9180, True, 9182), (65535, False, 65534)]
)
def test_the_port_for_another_replica_is_not_one_in_use(port: int, with_dashboard: bool, replica: int) -> None:
    settings = Settings(port=port, redis_url="redis://h:1/0")

    text = "\n".join(banner_lines(settings, with_dashboard=with_dashboard))

    assert f"api --port {replica}\n" in text
    assert f"top --url http://127.0.0.1:{port}" in text


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"workers": 2, "max_slots": 8, "log_level": "warning", "alert_webhook": "https://h/secret"}, ""),
        ({"api_keys_file": "/etc/my keys"}, " --api-keys-file '/etc/my keys'"),
        ({"trusted_proxies": "10.0.0.1", "cors_origins": "*"}, " --trusted-proxies 10.0.0.1 --cors-origins '*'"),
        ({"host": "::", "strictness": -0.5}, " --host :: --strictness -0.5"),
        ({"max_body_bytes": 2048, "request_timeout_s": 5.0}, " --request-timeout-s 5.0 --max-body-bytes 2048"),
        ({"otel_endpoint": "https://u:secret@h/?key=secret"}, " --otel-endpoint '***'"),
    ],
)
def test_another_replica_is_given_the_settings_of_this_one(settings: dict[str, object], options: str) -> None:
    lines = banner_lines(Settings(redis_url="redis://h:1/0", port=8000, **settings), with_dashboard=False)

    (replica,) = [line for line in lines if "add a replica" in line]
    before, _, command = replica.partition("MINISERVE_REDIS_URL=redis://h:1/0 ")
    assert before and command.endswith(f"miniserve api --port 8001{options}")


@pytest.mark.parametrize(
    ("host", "is_closed"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_a_host_that_others_reach_is_warned_of(host: str, is_closed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    warn_if_open(Settings(host=host))
    without_keys = capsys.readouterr().err
    warn_if_open(Settings(host=host, api_keys_file="/etc/keys"))

    assert is_loopback(host) is is_closed
    assert ("WARNING" in without_keys and "without keys" in without_keys) is not is_closed
    assert capsys.readouterr().err == ""
