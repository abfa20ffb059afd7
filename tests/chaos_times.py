"""The checks of the fault drills that are a matter of time: figures of docs/reliability.md, which no test asserts."""

from __future__ import annotations

from ops.drills.faults import FAULTS
from ops.drills.rude_clients import ATTACKS
from ops.drills.under_attack import judged

TIMES = (
    *(f"{fault.name}: raised after s" for fault in FAULTS),
    *map(judged, ATTACKS),
    "added p99 ms", "answers flow again after s", "silent after a kill s", "all free after ms", "longest ms",
    "goodput per s", "accepted p99 ms", "refusals p99 ms", "admitted at first retry",
    "probes p99 ms", "slowest probe in overload ms", "readyz 503 after s", "readyz 200 after s",
    "others' p50 ms",
)  # fmt: skip
