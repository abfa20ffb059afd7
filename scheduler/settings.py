"""All settings of all processes, in one frozen value.

Entry points build it with `Settings.from_env(os.environ)`, tests from a dict. Each field carries its range and
its help: the command line makes its options from them, and a test compares them with docs/reference.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from scheduler.addresses import proxies_fault
from scheduler.errors import SettingsError
from scheduler.messages import MAX_OUTPUT_TOKENS
from scheduler.urls import hide_password, redis_url_fault

PREFIX = "MINISERVE_"
QUEUE_MODES = ("continuous", "static")
MODES = (*QUEUE_MODES, "threaded", "sync")
AUTO = "auto"
_KINDS = {int: "a whole number, ", float: "a number, ", str: ""}


@dataclass(frozen=True, slots=True)
class Range:
    """What a setting may be: a number between two bounds, one of a few words, either of these, or any text (none)."""

    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None

    def contains(self, value: Any) -> bool:
        """NaN is within no bounds. Where words are allowed too, a number is written as text."""
        if self.choices:
            return value in self.choices or (self.low is not None and self._contains_text(value))
        return self.low is None or self.high is None or self.low <= value <= self.high

    def _contains_text(self, text: str) -> bool:
        return text.isascii() and text.isdecimal() and Range(self.low, self.high).contains(int(text))

    def __str__(self) -> str:
        words = ", ".join(choice for choice in self.choices or () if choice)
        if words:
            return words if self.low is None else f"{words}, or {self.low:,} to {self.high:,}"
        return "text" if self.low is None else f"{self.low:,} to {self.high:,}"

    def wanted(self, kind: type) -> str:
        """What a refusal asks for: `a whole number, 1 to 65,535`."""
        return _KINDS[kind] + str(self)


def _setting(default: Any, help: str, allowed: Range) -> Any:
    return field(default=default, metadata={"help": help, "range": allowed})


@dataclass(frozen=True, slots=True)
class Settings:
    """Field `max_slots` is the variable MINISERVE_MAX_SLOTS and the option --max-slots; `break_` is --break."""

    redis_url: str = _setting("", "Redis to use; empty: `miniserve up` starts its own.", Range())
    redis_port: int = _setting(0, "Port of the embedded Redis on loopback; 0: only its socket.", Range(0, 65535))
    redis_memory_mb: int = _setting(
        2048,
        "Memory limit of the embedded Redis, in MiB; also assumed for a Redis without one. Above half of it "
        "asynchronous requests are refused, above three quarters all.",
        Range(16, 1_048_576),
    )
    host: str = _setting("127.0.0.1", "Address the API listens on.", Range())
    port: int = _setting(8000, "Port the API listens on.", Range(1, 65535))
    trusted_proxies: str = _setting(
        "",
        "Proxies whose X-Forwarded-For names the client: addresses and networks, separated by commas; empty: none.",
        Range(),
    )
    api_keys_file: str = _setting("", "File of API keys; empty: the API asks for none.", Range())
    cors_origins: str = _setting(
        "", "Origins of other sites' pages that may use the API, separated by commas; *: any. Empty: none.", Range()
    )
    workers: int = _setting(1, "Worker processes that `miniserve up` starts.", Range(1, 64))
    api_processes: str = _setting(
        AUTO,
        "Processes of one API; auto: the cores less the workers, at most 4 and at most 2 a worker. Local modes: 1.",
        Range(1, 64, (AUTO,)),
    )
    mode: str = _setting("continuous", "How requests are batched.", Range(choices=MODES))
    max_batch: int = _setting(8, "Mode static: requests of a batch.", Range(1, 4096))
    max_wait_ms: float = _setting(20.0, "Mode static: how long a batch waits to be full, in ms.", Range(0, 60_000))
    fixed_tokens: int = _setting(
        0,
        "Mode static: tokens every member decodes, needed or not (longer answers are cut); 0: until its own end.",
        Range(0, MAX_OUTPUT_TOKENS),
    )
    model_threads: int = _setting(4, "Mode threaded: requests that run the model at once.", Range(1, 64))
    strictness: float = _setting(
        3.0,
        "How sure the model must be before it changes a sentence: higher changes less, 20 nothing.",
        Range(-20, 20),
    )
    grace_s: float = _setting(10.0, "Longest time a process may take to finish what it holds, in s.", Range(0, 600))
    request_timeout_s: float = _setting(30.0, "Longest wait for an answer before 504, in s.", Range(0.1, 600))
    max_queue_requests: int = _setting(2048, "Requests accepted and unfinished before 503.", Range(1, 1_000_000))
    max_queue_tokens: int = _setting(131_072, "Their reserved tokens before 503.", Range(160, 100_000_000))
    keep_alive_s: float = _setting(
        130.0, "How long an idle connection stays open, in s; longer than a proxy keeps its own.", Range(1, 3600)
    )
    max_body_bytes: int = _setting(262_144, "Longest request body, in bytes.", Range(1024, 16_777_216))
    kv_budget_tokens: int = _setting(4096, "KV cache of one worker, in tokens.", Range(160, 1_000_000))
    max_slots: int = _setting(256, "Sequences one worker runs at once.", Range(1, 4096))
    max_iteration_tokens: int = _setting(512, "Tokens of one iteration, prompts included.", Range(160, 65_536))
    max_stall_ms: float = _setting(
        8.0, "Longest pause of a decoding sequence for prompts, in ms, as a worker measures it.", Range(0.1, 60_000)
    )
    slo_ms: float = _setting(500.0, "Target for the mean wait in the queue, in ms.", Range(1, 600_000))
    result_ttl_s: int = _setting(60, "How long an answer is kept in Redis, in s.", Range(5, 86_400))
    otel_endpoint: str = _setting("", "OTLP/HTTP collector for spans, as http://host:4318; empty: no spans.", Range())
    break_: int = _setting(0, "Number of the exercise to start (docs/exercises); 0: none.", Range(0, 7))
    alert_webhook: str = _setting("", "URL that alerts are posted to; it may hold a secret. Empty: none.", Range())
    dashboard_port: int = _setting(9181, "Port of rq-dashboard with --dashboard.", Range(1, 65535))
    log_format: str = _setting("console", "Form of the log lines.", Range(choices=("console", "json")))
    log_level: str = _setting("info", "Lowest level logged.", Range(choices=("debug", "info", "warning", "error")))

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if value is not None and not spec.metadata["range"].contains(value):
                raise _refusal(spec, value)
        if self.break_ and not self.uses_queue:
            raise SettingsError(f"--break {self.break_} is for --mode {' or '.join(QUEUE_MODES)}, not {self.mode}")
        if fault := redis_url_fault(self.redis_url):
            raise SettingsError(f"{variable('redis_url')} is {hide_password(self.redis_url)!r}; {fault}")
        if fault := proxies_fault(self.trusted_proxies):
            raise SettingsError(f"{variable('trusted_proxies')} is {self.trusted_proxies!r}; {fault}")
        if self.cors_origins or self.alert_webhook or self.otel_endpoint:
            from scheduler.web_urls import web_faults  # seldom needed

            for name, fault in web_faults(self.cors_origins, self.alert_webhook, self.otel_endpoint):
                raise SettingsError(f"{variable(name)}{fault}")

    @property
    def uses_queue(self) -> bool:
        """Whether workers run the model, fed by Redis; else the API process does it itself."""
        return self.mode in QUEUE_MODES

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Raises SettingsError, naming the variable and its range. Empty variables count as unset."""
        found = {}
        for spec in fields(cls):
            if text := env.get(variable(spec.name)):
                try:
                    found[spec.name] = value_type(spec)(text)
                except ValueError:
                    raise _refusal(spec, text) from None
        return cls(**found)

    def to_env(self) -> dict[str, str]:
        """The variables that make a child process see these settings."""
        values = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        return {variable(name): "" if value is None else str(value) for name, value in values.items()}


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.rstrip("_").upper()


def value_type(spec: Field[Any]) -> type:
    """int, float or str: what a setting's text is read as."""
    return {"int": int, "float": float}.get(str(spec.type).split(" ")[0], str)


def _refusal(spec: Field[Any], value: Any) -> SettingsError:
    wanted = spec.metadata["range"].wanted(value_type(spec))
    return SettingsError(f"{variable(spec.name)} is {value!r}; it takes {wanted}")
