"""Settings: every value has a range, every refusal names the variable and what it takes."""

from __future__ import annotations

from dataclasses import fields
from math import nan

import pytest

from scheduler.errors import SettingsError
from scheduler.settings import Settings, variable
from scheduler.urls import hide_password

NUMBERS = [
    spec for spec in fields(Settings) if spec.metadata["range"].low is not None and not spec.metadata["range"].choices
]


@pytest.mark.parametrize("env", [{}, {"MINISERVE_PORT": "", "MINISERVE_STRICTNESS": ""}])
def test_an_environment_without_values_gives_the_defaults(env: dict[str, str]) -> None:
    assert Settings.from_env(env) == Settings()


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.name)
def test_a_number_may_be_a_bound_of_its_range_and_beyond_it_is_refused_with_the_range(spec) -> None:
    allowed = spec.metadata["range"]

    for value in (allowed.low, allowed.high):
        assert getattr(Settings(**{spec.name: value}), spec.name) == value
    for value in (allowed.low - 1, allowed.high + 1, nan):
        with pytest.raises(SettingsError) as caught:
            Settings(**{spec.name: value})
        assert variable(spec.name) in str(caught.value)
        assert str(allowed) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "texts", "wanted"),
    [
        ("PORT", [" ", "abc", "1.5", "0x10", "1e3", "\u0000"], "a whole number, 1 to 65,535"),
        ("LOG_FORMAT", ["xml"], "console, json"),
        ("API_PROCESSES", ["0", "65", "-1", "1.5", "many", "\u0662"], "auto, or 1 to 64"),
        ("REDIS_URL", ["localhost:6379", "http://localhost", "sentinel://a/mymaster"], "must begin with redis://"),
        ("REDIS_URL", ["redis://127.0.0.1:99999/0", "redis://127.0.0.1:0/0", "redis://host:port/0"], "HOST:PORT"),
        ("REDIS_URL", ["redis://[::1/0", "redis+sentinel://a,,b/m", "redis+sentinel://a:0,b/m"], "HOST:PORT"),
        ("REDIS_URL", ["redis+sentinel://a:x,b/mymaster", "redis://a,b/0"], "HOST:PORT"),
        ("REDIS_URL", ["redis:///0", "redis://:6379/0", "redis+sentinel:///mymaster"], "names no host"),
        ("REDIS_URL", ["redis://host/zero", "redis://h?db=x"], "number of a database"),
        ("REDIS_URL", ["unix://", "unix://tmp/a.sock"], "path of a socket"),
        ("REDIS_URL", ["redis+sentinel://a:1,b:2", "redis+sentinel://a/", "redis+sentinel://a/m/0x"], "mymaster/0"),
        ("REDIS_URL", ["redis://a:1/0,redis://b:1/0"], "balancer that hashes the client: docs/proxies.md"),
        ("REDIS_URL", ["unix:///tmp/s, redis+sentinel://a:1,b:2/main"], "it must name one Redis"),
        ("REDIS_URL", ["redis://h/0?ssl_ca_certs=/ca.pem"], "an option of rediss://"),
        ("REDIS_URL", ["redis://h/0?sentinel_password=x"], "takes no option sentinel_password"),
        ("REDIS_URL", ["redis://h/0?socket_timeout=60"], "takes no option socket_timeout, only db"),
        ("REDIS_URL", ["rediss://h/0?ssl_cert_reqs=maybe"], "none, optional, required"),
        ("OTEL_ENDPOINT", ["localhost:4318"], "must begin with http"),
        ("CORS_ORIGINS", ["editor.example", "https://editor.example/", "HTTPS://Editor.example"], "https://"),
        ("CORS_ORIGINS", ["https://editor.example,null", "http://"], "https://"),
        ("TRUSTED_PROXIES", ["proxy.example", "10.0.0.0/33", "10.0.0.7 10.0.0.8"], "addresses and networks"),
    ],
)
def test_a_text_that_is_not_sound_is_refused_with_variable_value_and_what_it_takes(
    name: str, texts: list[str], wanted: str
) -> None:
    for text in texts:
        with pytest.raises(SettingsError) as caught:
            Settings.from_env({f"MINISERVE_{name}": text})
        of_a_list = f"MINISERVE_{name}: {text.rpartition(',')[2]!r} is none of: "
        assert str(caught.value).startswith((f"MINISERVE_{name} is {hide_password(text)!r}; ", of_a_list))
        assert wanted in str(caught.value)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("API_PROCESSES", ["auto", "1", "64"]),
        ("CORS_ORIGINS", ["", "*", "http://[::1]:8000", "http://127.0.0.1", "chrome-extension://abcdefgh"]),
        ("REDIS_URL", [
            "redis://h", "redis://h:1", "redis://:pw@h:6379/15", "rediss://[::1]:6379/0", "unix:///run/redis.sock?db=1",
            "rediss://api:pw@h/0?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=required",
            "redis+sentinel://a/mymaster", "redis+sentinel://a:26379,b,[::1]:7/mymaster/0",
            "redis+sentinel://api:p%40ss@a:1,b:2/service/15?sentinel_password=x",
            "rediss+sentinel://a,b/mymaster/0?ssl_ca_certs=/etc/ca.pem",
        ]),
    ],
)  # fmt: skip
def test_a_text_that_is_sound_is_taken_as_it_is(name: str, texts: list[str]) -> None:
    for text in texts:
        assert getattr(Settings(**{name.lower(): text}), name.lower()) == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis+sentinel://api:pw@a:1,b:2/main/0", "redis+sentinel://api:***@a:1,b:2/main/0"),
        ("redis+sentinel://a:1,b:2/main/0?sentinel_password=pw&db=1",
         "redis+sentinel://a:1,b:2/main/0?sentinel_password=***&db=1"),
        ("rediss://:pw@h/0?ssl_password=x", "rediss://:***@h/0?ssl_password=***"),
        ("redis://h/0?username=u&password=secret&db=1", "redis://h/0?username=u&password=***&db=1"),
        ("rediss://user:se:c/r@et@host/0", "rediss://user:***@host/0"),
        ("user:secret@host", "user:***@host"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_any_of_its_passwords(url: str, shown: str) -> None:
    assert hide_password(url) == shown


def test_a_child_that_gets_the_environment_of_settings_sees_the_same_settings() -> None:
    settings = Settings(port=8123, strictness=-1.5, redis_url="redis://127.0.0.1:1/0", grace_s=0.25, log_format="json")

    assert Settings.from_env(settings.to_env()) == settings
