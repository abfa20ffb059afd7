"""Where the server says that the time of its answers went: the `Server-Timing` header, of all and of the slowest."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

PARTS = ("queue", "prefill", "decode", "total")
_SLOWEST = 0.1
_PART = re.compile(rb"(\w+)\s*;\s*dur=([0-9.]+)")


def breakdown(headers: Sequence[bytes], latencies_s: Sequence[float]) -> dict[str, dict[str, float]] | None:
    """Mean ms of each part, and of the latency itself, over all answers and over the slowest tenth.

    None where an answer came without the header: another server.
    """
    if not headers or not all(headers):
        return None
    rows = np.array([_durations_ms(header) for header in headers])
    rows = np.column_stack([rows, 1e3 * np.array(latencies_s)])
    slowest = rows[np.argsort(rows[:, -1])[-max(1, round(_SLOWEST * len(rows))) :]]
    names = (*PARTS, "latency")
    return {
        label: dict(zip(names, of.mean(axis=0).round(2).tolist(), strict=True))
        for label, of in (("all", rows), ("slowest tenth", slowest))
    }


def _durations_ms(header: bytes) -> list[float]:
    found = dict(_PART.findall(header))
    return [float(found.get(part.encode(), b"0")) for part in PARTS]
