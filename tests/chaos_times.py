"""The checks of the fault drills that are a matter of time: figures of docs/reliability.md, which no test asserts."""

from __future__ import annotations

TIMES = (
    "added p99 ms", "answers flow again after s", "silent after a kill s", "all free after ms",
    "goodput per s", "accepted p99 ms", "refusals p99 ms", "admitted at first retry",
    "probes p99 ms", "slowest probe in overload ms", "readyz 503 after s", "readyz 200 after s",
)  # fmt: skip
