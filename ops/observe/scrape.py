"""Reading GET /metrics of a running system, for commands that may stand far from its Redis.

`scrape(url)` gives a `Scrape`: values by sample name and labels, as they stood at one moment. `snapshot` makes figures
of it.
"""

from __future__ import annotations

import http.client
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from scheduler.settings import variable

_LONGEST_BYTES = 4_194_304  # a whole system's numbers are some 20 kB; what is longer is no miniserve

Labels = frozenset[tuple[str, str]]


class ScrapeError(Exception):
    """No numbers, and why: a sentence that can be shown."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of all time or, as a difference of two, of the time between them."""

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

    def since(self, earlier: Histogram) -> Histogram:
        """What came after `earlier`; all of it where the counts were reset since."""
        if self.count < earlier.count or len(self.buckets) != len(earlier.buckets):
            return self
        pairs = zip(self.buckets, earlier.buckets, strict=True)
        return Histogram(tuple((bound, num - before) for (bound, num), (_, before) in pairs), self.sum - earlier.sum)


@dataclass(frozen=True, slots=True)
class Scrape:
    """All samples of one answer; sample names, so counters end in `_total`."""

    samples: Mapping[str, Mapping[Labels, float]]
    at_s: float = 0.0  # when it was asked for, by a clock that never goes back

    def value(self, name: str, **labels: str) -> float | None:
        """The one sample with exactly these labels."""
        return self.samples.get(name, {}).get(frozenset(labels.items()))

    def total(self, name: str, **labels: str) -> float:
        """The sum of all samples that have these labels, and perhaps more."""
        wanted = frozenset(labels.items())
        return sum(value for has, value in self.samples.get(name, {}).items() if wanted <= has)

    def by(self, name: str, label: str) -> dict[str, float]:
        """Values by one label, the samples that differ in others added up."""
        found: dict[str, float] = {}
        for has, value in self.samples.get(name, {}).items():
            if (key := dict(has).get(label)) is not None:
                found[key] = found.get(key, 0.0) + value
        return found

    def increase(self, name: str, earlier: Scrape, **labels: str) -> float:
        """Return the increase of a counter since `earlier`; all of it if it was reset since."""
        now, before = self.total(name, **labels), earlier.total(name, **labels)
        return now - before if now >= before else now

    def histogram(self, name: str) -> Histogram:
        """Empty where there is none."""
        buckets = sorted((float(bound), num) for bound, num in self.by(f"{name}_bucket", "le").items())
        return Histogram(tuple(buckets), self.total(f"{name}_sum"))


def scrape(url: str, api_key: str = "", timeout_s: float = 5.0) -> Scrape:
    """GET /metrics below a base URL. Raises ScrapeError."""
    at_s = time.monotonic()
    try:
        asked = urllib.request.Request(metrics_url(url), headers=key_headers(api_key))
        with urllib.request.urlopen(asked, timeout=timeout_s) as response:
            body = response.read(_LONGEST_BYTES + 1)
    except urllib.error.HTTPError as error:
        raise ScrapeError(f"GET {metrics_url(url)} answers {refusal(error.code, _read(error))}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        reason = getattr(reason, "strerror", None) or reason
        remedy = "is it running there? Another address: --url, or MINISERVE_URL"
        raise ScrapeError(f"GET {metrics_url(url)} fails ({reason}): {remedy}") from None
    if len(body) > _LONGEST_BYTES:
        raise ScrapeError(f"GET {metrics_url(url)} answers more than {_LONGEST_BYTES:,} bytes: no miniserve does")
    return parse(body.decode(errors="replace"), at_s)


def key_headers(api_key: str | None) -> dict[str, str]:
    """What a request needs where the server asks for API keys."""
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def refusal(status: int, body: bytes) -> str:
    """What a problem document says (Redis may be away), or else a guess; and how a key is given, where it wants one."""
    try:
        detail = str(json.loads(body)["detail"])
    except (ValueError, LookupError, TypeError):
        detail = "is this the URL of a miniserve?"
    remedy = f" Give it with --api-key, or better by {variable('api_key')}." if status == 401 else ""
    return f"{status}: {''.join(one if one.isprintable() else '?' for one in detail)}{remedy}"


def _read(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(_LONGEST_BYTES)
    except (OSError, http.client.HTTPException):
        return b""


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


def metrics_url(url: str) -> str:
    """Raises ScrapeError for anything but http(s)://host[:port][/path]."""
    try:
        parts = urlsplit(url)
        is_base = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_base = False
    if not is_base or parts.query or parts.fragment or "@" in parts.netloc:
        raise ScrapeError(f"{_shown(url)!r} is no base URL; it must look like http://127.0.0.1:8000")
    return url.rstrip("/") + "/metrics"


def _shown(url: str) -> str:
    """What stands before an @ may be a password."""
    return "***@" + url.rsplit("@", 1)[1] if "@" in url else url
