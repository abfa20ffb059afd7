"""What crosses the queue: requests on their way to a worker, completions on their way back.

Plain values, JSON on the wire with a `version`. A worker sees token ids and word numbers, never text.
A reader refuses a version it does not know instead of guessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any

WIRE_VERSION = 1
EOS_ID = 1  # the tokenizer's <eos>, the same in every vocabulary we ship
MAX_WORDS = 64  # <p0>..<p63> in the tokenizer's vocabulary
MAX_SENTENCES = 64  # of a request
MAX_PROMPT_TOKENS = 128  # <sep> included; with the output 160, the positions the model was trained with
MOST_DELIVERIES = 512  # of one drain; bounds how long the script keeps Redis busy
MAX_OUTPUT_TOKENS = 32  # <eos> included: room for about six edits


class FinishReason(Enum):
    """Why a sequence ended. `stop` and `length` are the completion-API standard; `expired`: its deadline was over."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ERROR = "error"


class WireError(ValueError):
    """A message that cannot be read; it fails its own request and nothing else."""


@dataclass(frozen=True, slots=True)
class CorrectionRequest:
    """One sentence, tokenized."""

    request_id: str
    prompt_ids: tuple[int, ...]  # ends in <sep>
    word_numbers: tuple[int, ...]  # one per prompt token: word number + 1, 0 where the token belongs to no word
    max_output_tokens: int
    tokenizer_fingerprint: str
    learner_id: str | None = None
    traceparent: str | None = None  # under which its spans belong (W3C Trace Context); None: it has none

    @property
    def reserved_tokens(self) -> int:
        """KV tokens the request may come to need: the unit of admission everywhere."""
        return len(self.prompt_ids) + self.max_output_tokens

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready object. Spelled out, because `asdict` takes 18 us and runs for every request."""
        wire = {
            "version": WIRE_VERSION,
            "request_id": self.request_id,
            "prompt_ids": self.prompt_ids,
            "word_numbers": self.word_numbers,
            "max_output_tokens": self.max_output_tokens,
            "tokenizer_fingerprint": self.tokenizer_fingerprint,
            "learner_id": self.learner_id,
        }
        if self.traceparent is not None:
            wire["traceparent"] = self.traceparent
        return wire

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> CorrectionRequest:
        """Raises WireError where the object is not a request of this version."""
        _check_version(wire)
        try:
            return cls(
                request_id=str(wire["request_id"]),
                prompt_ids=tuple(map(int, wire["prompt_ids"])),
                word_numbers=tuple(map(int, wire["word_numbers"])),
                max_output_tokens=int(wire["max_output_tokens"]),
                tokenizer_fingerprint=str(wire["tokenizer_fingerprint"]),
                learner_id=wire.get("learner_id"),
                traceparent=wire.get("traceparent"),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"not a correction request: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Timings:
    """Where the time of one request went, in seconds of the worker's monotonic clock."""

    queue_s: float = 0.0  # accepted by the API until first scheduled, the Redis list included
    prefill_s: float = 0.0  # the iteration that read the prompt and gave the first token
    decode_s: float = 0.0  # from the first token to the last


@dataclass(frozen=True, slots=True)
class Completion:
    """The one final event of a request."""

    request_id: str
    finish_reason: FinishReason
    output_ids: tuple[int, ...] = ()  # <eos> included where it was generated
    timings: Timings = Timings()
    error: str | None = None  # for people; set only with FinishReason.ERROR, never holds user text

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready object."""
        timings = self.timings
        return {
            "version": WIRE_VERSION,
            "request_id": self.request_id,
            "finish_reason": self.finish_reason.value,
            "output_ids": self.output_ids,
            "timings": {
                "queue_s": timings.queue_s,
                "prefill_s": timings.prefill_s,
                "decode_s": timings.decode_s,
            },
            "error": self.error,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Completion:
        """Raises WireError where the object is not a completion of this version."""
        _check_version(wire)
        try:
            return cls(
                request_id=str(wire["request_id"]),
                finish_reason=FinishReason(wire["finish_reason"]),
                output_ids=tuple(map(int, wire["output_ids"])),
                timings=Timings(**wire["timings"]),
                error=wire.get("error"),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"not a completion: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Progress:
    """All that a running request has written so far; of no meaning once there is a completion."""

    request_id: str
    output_ids: tuple[int, ...]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready object."""
        return {"version": WIRE_VERSION, "request_id": self.request_id, "output_ids": self.output_ids}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Progress:
        """Raises WireError where the object is no progress of this version."""
        _check_version(wire)
        try:
            return cls(str(wire["request_id"]), tuple(map(int, wire["output_ids"])))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"no progress: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request handed to a worker."""

    request: CorrectionRequest
    attempt: int  # 1 the first time
    waited_s: float  # in the queue until now, by the clock of Redis
    left_s: float = inf  # until its deadline, from now on
    streams: bool = False  # somebody wants to hear every token


@dataclass(frozen=True, slots=True)
class Room:
    """What a worker would take now."""

    tokens: int  # reserved ones, of all requests together
    requests: int = MOST_DELIVERIES
    may_look_ahead: bool = False  # one more that does not fit, so that it is known to wait


NO_ROOM = Room(tokens=0, requests=0)


@dataclass(frozen=True, slots=True)
class Inbox:
    """All that one exchange with the mailbox brought."""

    deliveries: tuple[Delivery, ...] = ()
    cancelled_ids: tuple[str, ...] = ()


def _check_version(wire: Mapping[str, Any]) -> None:
    if not isinstance(wire, Mapping):
        raise WireError(f"a {type(wire).__name__} is no message")
    if wire.get("version") != WIRE_VERSION:
        raise WireError(f"message version {wire.get('version')!r}; this process reads version {WIRE_VERSION}")
