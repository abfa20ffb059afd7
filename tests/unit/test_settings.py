"""Settings: every value has a range, every refusal names the variable and what it takes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from scheduler.errors import SettingsError
from scheduler.settings import Settings, variable

NUMBERS = [
    spec for spec in fields(Settings) if spec.metadata["range"].low is not None and not spec.metadata["range"].choices
]


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_env({}) == Settings()


def test_an_empty_variable_counts_as_unset() -> None:
    assert Settings.from_env({"MINISERVE_PORT": "", "MINISERVE_STRICTNESS": ""}) == Settings()


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.name)
def test_a_number_outside_its_range_names_variable_and_range(spec) -> None:
    allowed = spec.metadata["range"]

    for value in (allowed.low - 1, allowed.high + 1):
        with pytest.raises(SettingsError) as caught:
            Settings(**{spec.name: value})
        assert variable(spec.name) in str(caught.value)
        assert str(allowed) in str(caught.value)


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda spec: spec.name)
def test_the_bounds_themselves_are_allowed(spec) -> None:
    allowed = spec.metadata["range"]

    for value in (allowed.low, allowed.high):
        assert getattr(Settings(**{spec.name: value}), spec.name) == value


@pytest.mark.parametrize("text", [" ", "abc", "1.5", "0x10", "1e3", "\u0000"])
def test_a_port_that_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="MINISERVE_PORT.* a whole number, 1 to 65,535"):
        Settings.from_env({"MINISERVE_PORT": text})


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_not_every_float_is_a_number_in_range(text: str) -> None:
    with pytest.raises(SettingsError, match="MINISERVE_GRACE_S.*0 to 600"):
        Settings.from_env({"MINISERVE_GRACE_S": text})


def test_a_word_that_is_no_choice_names_the_choices() -> None:
    with pytest.raises(SettingsError, match="MINISERVE_LOG_FORMAT.*console, json"):
        Settings.from_env({"MINISERVE_LOG_FORMAT": "xml"})


@pytest.mark.parametrize("text", ["auto", "1", "64"])
def test_a_word_or_a_number_may_be_allowed(text: str) -> None:
    assert Settings.from_env({"MINISERVE_API_PROCESSES": text}).api_processes == text


@pytest.mark.parametrize("text", ["0", "65", "-1", "1.5", "many", "\u0662"])
def test_neither_the_word_nor_a_number_in_range_names_both(text: str) -> None:
    with pytest.raises(SettingsError, match="MINISERVE_API_PROCESSES.*auto, or 1 to 64"):
        Settings.from_env({"MINISERVE_API_PROCESSES": text})


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("localhost:6379", "must begin with redis://"),
        ("http://localhost", "must begin with redis://"),
        ("redis://127.0.0.1:99999/0", "HOST:PORT"),
        ("redis://127.0.0.1:0/0", "HOST:PORT"),
        ("redis://host:port/0", "HOST:PORT"),
        ("redis://[::1/0", "HOST:PORT"),
        ("redis:///0", "names no host"),
        ("redis://host/zero", "number of a database"),
        ("unix://", "path of a socket"),
        ("unix://tmp/a.sock", "path of a socket"),
    ],
)
def test_a_redis_url_that_is_none_is_refused_with_its_value_and_fault(url: str, fault: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"MINISERVE_REDIS_URL": url})

    assert str(caught.value).startswith(f"MINISERVE_REDIS_URL is {url!r}; ")
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["redis://h", "redis://h:1", "redis://:pw@h:6379/15", "rediss://[::1]:6379/0", "unix:///run/redis.sock?db=1"],
)
def test_a_sound_redis_url_is_taken_as_it_is(url: str) -> None:
    assert Settings(redis_url=url).redis_url == url


def test_a_child_that_gets_the_environment_of_settings_sees_the_same_settings() -> None:
    settings = Settings(port=8123, strictness=-1.5, redis_url="redis://127.0.0.1:1/0", grace_s=0.25, log_format="json")

    assert Settings.from_env(settings.to_env()) == settings


def test_every_setting_has_help_that_is_a_sentence() -> None:
    for spec in fields(Settings):
        assert spec.metadata["help"].endswith("."), spec.name
