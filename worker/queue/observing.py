"""Looks at the whole system, and at what is kept of a request. No other request waits for this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from scheduler.capacity.observed import Observed
from scheduler.errors import ServingError
from scheduler.messages import Completion
from scheduler.phases import Phase


@dataclass(frozen=True, slots=True)
class FoundJob:
    """One job of a recorded request."""

    job_id: str
    state: Phase | Completion | ServingError


@dataclass(frozen=True, slots=True)
class Found:
    """A recorded request and what became of it."""

    content: Mapping[str, Any]  # as the API has kept it
    tokenizer_fingerprint: str
    jobs: tuple[FoundJob, ...]


class Observer(Protocol):
    """Any thread may ask."""

    def observe(self) -> Observed:
        """Everything that metrics are made of, at one moment. Raises NotReady."""

    def find(self, request_id: str) -> Found | None:
        """A recorded request; None for one that is not known, or not any more. Raises NotReady."""

    def is_first(self, request_id: str) -> bool:
        """Whether this asks for the answers of a recorded request that nobody waits for, and did never before."""

    def news(self, since: str) -> tuple[list[str], str]:
        """What workers did after a place, as JSON, and the next place; '' is now. They report while somebody asks."""
