"""Reading GET /metrics of a running system, for commands that may stand far from its Redis.

`scrape(url)` gives a `Scrape`: values by sample name and labels, as they stood at one moment. `snapshot` makes figures
of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import click
from prometheus_client.parser import text_string_to_metric_families

from ops.load.client import Client, fetch, reason_of, refusal

Labels = frozenset[tuple[str, str]]


class ScrapeError(click.ClickException):
    """No numbers, and why."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of all time, or of the time between two scrapes."""

    buckets: tuple[tuple[float, float], ...] = ()  # upper bound, how many were at most that; the last bound is inf
    sum: float = 0.0

    @property
    def count(self) -> float:
        return self.buckets[-1][1] if self.buckets else 0.0

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count > 0 else None

    def quantile(self, share: float) -> float | None:
        """Within a bucket values count as spread evenly, as Prometheus does; beyond the last bound, that bound."""
        rank, low, below = share * self.count, 0.0, 0.0
        if self.count <= 0:
            return None
        for bound, num in self.buckets:
            if num >= rank and num > below:
                return low if math.isinf(bound) else low + (bound - low) * (rank - below) / (num - below)
            low, below = bound, num
        return low


@dataclass(frozen=True, slots=True)
class Scrape:
    """All samples of one answer; sample names, so counters end in `_total`."""

    samples: Mapping[str, Mapping[Labels, float]]
    at_s: float = 0.0  # when it was asked for, by a clock that never goes back

    def value(self, name: str) -> float | None:
        """The one sample without labels."""
        return self.samples.get(name, {}).get(frozenset())

    def total(self, name: str) -> float:
        """The sum of all samples, whatever their labels."""
        return sum(self.samples.get(name, {}).values())

    def by(self, name: str, label: str) -> dict[str, float]:
        """Values by one label, the samples that differ in others added up."""
        found: dict[str, float] = {}
        for has, value in self.samples.get(name, {}).items():
            if (key := dict(has).get(label)) is not None:
                found[key] = found.get(key, 0.0) + value
        return found

    def since(self, earlier: Scrape) -> Scrape:
        """What counters and histograms gained since `earlier`; all of it where they were reset since."""
        return Scrape({name: _gained(now, earlier.samples.get(name, {})) for name, now in self.samples.items()})

    def histogram(self, name: str) -> Histogram:
        """Empty where there is none."""
        buckets = sorted((float(bound), num) for bound, num in self.by(f"{name}_bucket", "le").items())
        return Histogram(tuple(buckets), self.total(f"{name}_sum"))


def _gained(now: Mapping[Labels, float], before: Mapping[Labels, float]) -> Mapping[Labels, float]:
    if any(value < before.get(labels, 0.0) for labels, value in now.items()):
        return now
    return {labels: value - before.get(labels, 0.0) for labels, value in now.items()}


def scrape(url: str, api_key: str = "", timeout_s: float = 5.0) -> Scrape:
    """GET /metrics of the server at a base URL. Raises ScrapeError."""
    client = Client(url, api_key)
    at_s, asked = time.monotonic(), f"GET {client.url}/metrics"
    try:
        reply = fetch(client, "GET", "/metrics", patience_s=timeout_s)
    except OSError as error:
        remedy = "is it running there? Another address: --url, or MINISERVE_URL"
        raise ScrapeError(f"{asked} fails ({reason_of(error)}): {remedy}") from None
    if reply.status != 200:
        raise ScrapeError(f"{asked} answers {refusal(reply)}")
    return parse(reply.body.decode(errors="replace"), at_s)


def parse(text: str, at_s: float = 0.0) -> Scrape:
    """Read Prometheus' text format. Raises ScrapeError."""
    samples: dict[str, dict[Labels, float]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    except (ValueError, KeyError, IndexError) as error:
        raise ScrapeError(f"the answer is not in Prometheus' text format: {error}") from None
    if not any(name.startswith("miniserve_") for name in samples):
        raise ScrapeError("the answer has no miniserve_ numbers: is this the URL of a miniserve?")
    return Scrape(samples, at_s)
