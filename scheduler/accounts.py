"""Whose a request is where API keys are required: the keys of one name are one account."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """The name of the keys, and what a second may bring; 0: no limit."""

    name: str
    requests_per_s: float = 0.0
    tokens_per_s: float = 0.0

    @property
    def limits(self) -> str:
        """Return the limits as ENQUEUE takes them; '' without any."""
        return f"{self.requests_per_s:g} {self.tokens_per_s:g}" if self.requests_per_s or self.tokens_per_s else ""
