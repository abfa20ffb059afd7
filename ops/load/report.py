"""The summary of a load, for people and for files."""

from __future__ import annotations

from typing import Any

from ops import tables


def table(summary: dict[str, Any]) -> str:
    """The summary for people."""
    rows = [
        ("requests", f"{summary['requests']:,} in {summary['seconds']:.1f} s"),
        ("throughput", f"{summary['throughput_per_s']:,.1f} corrections/s"),
    ]
    if "slo_ms" in summary:
        rows.append(("goodput", f"{summary['goodput_per_s']:,.1f} corrections/s within {summary['slo_ms']:g} ms"))
    if summary["p50_ms"] is not None:
        names = ("p50_ms", "p95_ms", "p99_ms", "max_ms")
        rows.append(("latency", ", ".join(f"{name[:-3]} {summary[name]:.1f}" for name in names) + " ms"))
    rows.append(("statuses", _counts(summary["statuses"])))
    rows += [(name, _counts(summary[name])) for name in ("problems", "failures") if summary[name]]
    return tables.table(("", ""), rows)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items()) or "none"
