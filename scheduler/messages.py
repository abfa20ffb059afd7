"""What crosses the queue: requests on their way to a worker, completions on their way back.

Plain values, JSON on the wire with a `version`; lists of ids are packed bytes in base64. A worker sees token ids and
word numbers, never text. A reader refuses another version instead of guessing.
"""

from __future__ import annotations

from array import array
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, NamedTuple

WIRE_VERSION = 3
EOS_ID, X2_ID = 1, 3  # the tokenizer's, the same in every vocabulary we ship; the places of words follow <x2>
# An output id is a token in its lower bits. Where the token ends an edit, the upper ones hold a step of confidence: no
# byte more for it on the wire. 0: the worker says nothing of it.
ID_BITS = 12
ID_MASK = (1 << ID_BITS) - 1
MOST_CONFIDENT = 15  # the last step that fits into 16 bits
EVEN_ODDS = 7  # the step that means a probability of one half
LOG_ODDS_PER_STEP = 0.5
MAX_WORDS = 64  # <p0>..<p63> in the tokenizer's vocabulary
MAX_SENTENCES = 64  # of a request
MAX_PROMPT_TOKENS = 128  # <sep> included; with the output 160, the positions the model was trained with
MAX_OUTPUT_TOKENS = 32  # <eos> included: room for about six edits
MAX_TOTAL_TOKENS = MAX_PROMPT_TOKENS + MAX_OUTPUT_TOKENS
MOST_DELIVERIES = 512  # of one drain; bounds how long the script keeps Redis busy


class FinishReason(Enum):
    """Why a sequence ended. `stop` and `length` are the completion-API standard; `expired`: its deadline was over."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ERROR = "error"

    __hash__ = object.__hash__  # Enum's own is written in Python


_REASONS = {reason.value: reason for reason in FinishReason}


class WireError(ValueError):
    """A message that cannot be read; it fails its own request and nothing else."""


@dataclass(slots=True)
class CorrectionRequest:
    """One sentence, tokenized."""

    request_id: str
    prompt_ids: tuple[int, ...]  # ends in <sep>
    word_numbers: tuple[int, ...]  # one per prompt token: word number + 1, 0 where the token belongs to no word
    max_output_tokens: int
    tokenizer_fingerprint: str

    @property
    def reserved_tokens(self) -> int:
        """KV tokens the request may come to need: the unit of admission everywhere."""
        return len(self.prompt_ids) + self.max_output_tokens

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready object. Spelled out, because `asdict` takes 18 us and runs for every request."""
        return {
            "version": WIRE_VERSION,
            "request_id": self.request_id,
            "prompt": _packed("H", self.prompt_ids),
            "words": _packed("B", self.word_numbers),
            "max_output_tokens": self.max_output_tokens,
            "tokenizer": self.tokenizer_fingerprint,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> CorrectionRequest:
        """Raises WireError where the object is not a request of this version."""
        _check_version(wire)
        try:
            return cls(
                request_id=str(wire["request_id"]),
                prompt_ids=_unpacked("H", wire["prompt"]),
                word_numbers=_unpacked("B", wire["words"]),
                max_output_tokens=int(wire["max_output_tokens"]),
                tokenizer_fingerprint=str(wire["tokenizer"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"not a correction request: {error!r}") from error


class Timings(NamedTuple):
    """Where the time of one request went, in seconds of the worker's monotonic clock."""

    queue_s: float = 0.0  # accepted by the API until first scheduled, the Redis list included
    prefill_s: float = 0.0  # the iteration that read the prompt and gave the first token
    decode_s: float = 0.0  # from the first token to the last


@dataclass(slots=True)
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
            "output": _packed("H", self.output_ids),
            "timings": {"queue_s": timings.queue_s, "prefill_s": timings.prefill_s, "decode_s": timings.decode_s},
            "error": self.error,
        }

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Completion:
        """Raises WireError where the object is not a completion of this version."""
        _check_version(wire)
        try:
            return cls(
                request_id=str(wire["request_id"]),
                finish_reason=_REASONS[wire["finish_reason"]],
                output_ids=_unpacked("H", wire["output"]),
                timings=Timings(**wire["timings"]),
                error=wire.get("error"),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"not a completion: {error!r}") from error


@dataclass(slots=True)
class Progress:
    """All that a running request has written so far; of no meaning once there is a completion."""

    request_id: str
    output_ids: tuple[int, ...]

    def to_wire(self) -> dict[str, Any]:
        """A JSON-ready object."""
        return {"version": WIRE_VERSION, "request_id": self.request_id, "output": _packed("H", self.output_ids)}

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Progress:
        """Raises WireError where the object is no progress of this version."""
        _check_version(wire)
        try:
            return cls(str(wire["request_id"]), _unpacked("H", wire["output"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise WireError(f"no progress: {error!r}") from error


@dataclass(slots=True)
class Delivery:
    """A request handed to a worker: a sequence, once its policy has it.

    From its admission until it is retired it owns a slot and its reserved tokens.
    """

    request: CorrectionRequest
    attempt: int  # one more than the workers that died while they ran it by itself
    waited_s: float  # in the queue until now, by the clock of Redis
    left_s: float = inf  # until its deadline, from now on
    streams: bool = False  # somebody wants to hear every token
    is_suspect: bool = False  # an earlier worker died with it: nothing else runs with it and its group
    handed: Any = None  # what another worker has read of it: bytes, and once they are opened a scheduler.pools.Handed

    submitted_s: float = field(default=0.0, init=False)
    deadline_s: float = field(default=inf, init=False)
    slot: int = field(default=-1, init=False)  # not admitted
    admitted_s: float = field(default=0.0, init=False)
    first_token_s: float = field(default=0.0, init=False)
    output_ids: list[int] = field(default_factory=list, init=False)

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def reserved_tokens(self) -> int:
        return self.request.reserved_tokens

    @property
    def num_rows(self) -> int:
        """Return how many its first iteration computes."""
        return len(self.request.prompt_ids) if self.handed is None else 1

    @property
    def queue_s(self) -> float:
        """Return the time from acceptance by the API until admission."""
        return self.age_s(self.admitted_s)

    def age_s(self, now: float) -> float:
        """Return the time since the API accepted it."""
        return self.waited_s + now - self.submitted_s


class FreeCapacity(NamedTuple):
    """What a worker would take now."""

    tokens: int  # reserved ones, of all requests together
    requests: int = MOST_DELIVERIES


NO_CAPACITY = FreeCapacity(tokens=0, requests=0)


class Inbox(NamedTuple):
    """All that one exchange with the mailbox brought."""

    deliveries: tuple[Delivery, ...] = ()
    cancelled_ids: tuple[str, ...] = ()
    deferred_id: str = ""  # of the request that is first in line and does not fit

    @property
    def is_empty(self) -> bool:
        return not (self.deliveries or self.cancelled_ids or self.deferred_id)


def _packed(kind: str, ids: Sequence[int]) -> str:
    """`ids` as bytes (`B`) or pairs of them (`H`), in base64. Raises OverflowError, TypeError."""
    return b2a_base64(array(kind, ids).tobytes(), newline=False).decode()


def _unpacked(kind: str, text: str) -> tuple[int, ...]:
    return tuple(array(kind, a2b_base64(text, strict_mode=True)))


def _check_version(wire: Mapping[str, Any]) -> None:
    if not isinstance(wire, dict):
        raise WireError(f"a {type(wire).__name__} is no message")
    if (version := wire.get("version")) != WIRE_VERSION:
        raise WireError(f"message version {version!r}; this process reads {WIRE_VERSION}")
