"""Little's law by stage: read from GET /metrics of any replica, and put into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ops.observe.scrape import Scrape
from ops.observe.top import words
from scheduler.capacity.stages import API, DECODE, POOLS, PREFILL, REDIS, WORKER, Stage, Stages, busiest

_NAMES = {
    API: "the API", REDIS: "Redis", WORKER: "the workers", PREFILL: "the prefill workers", DECODE: "the decode workers",
}  # fmt: skip
_REMEDIES = {
    API: "add a replica, or a core and --api-processes; more workers do not help",
    REDIS: "give it a faster core; more workers do not help",
    PREFILL: "add a prefill worker",
    DECODE: "add a decode worker",
}


def stages_in(found: Scrape) -> Stages:
    """Those that a server reports; none of an older one."""
    labels = map(dict, found.samples.get("miniserve_stage_number", {}))
    each = tuple(_stage(found, one) for one in labels if one.get("stage") in POOLS and one.get("pool") in _NAMES)
    whole_s, residual = (found.value(f"miniserve_stages_{name}") or 0.0 for name in ("time_seconds", "residual"))
    return Stages(each, whole_s, residual)


def _stage(found: Scrape, labels: dict[str, str]) -> Stage:
    names = ("rate", "number", "time_seconds", "utilization", "predicted_wait_seconds")
    return Stage(
        labels["stage"], labels["pool"], *(found.value(f"miniserve_stage_{name}", **labels) or 0.0 for name in names)
    )


def full_elsewhere(stages: Stages, max_utilization: float) -> str:
    """What to do where another pool than that of plain workers is full; '' otherwise."""
    stage, used = busiest(stages.each) or (None, 0.0)
    if stage is None or used <= max_utilization or stage.pool not in _REMEDIES:
        return ""
    return f"{_first(stage, used)}: {_REMEDIES[stage.pool]}."


def summary(stages: Stages) -> str:
    """The pool that is the first to be full, and how far the stages are from the whole."""
    off = f"The stages' W are off by {words.percent(stages.residual)} from the API's clock." if stages.whole_s else ""
    stage, used = busiest(stages.each) or (None, 0.0)
    if stage is None:
        return off or "No request has come in the last seconds."
    return f"{_first(stage, used)}. {off}".rstrip()


def _first(stage: Stage, used: float) -> str:
    return f"First to be full: {_NAMES[stage.pool]}, {words.percent(used)} used, most of it by {stage.name}"


def rows(stages: Stages) -> Iterator[Sequence[str]]:
    """A row for each stage, one for their sum, one for what the API's clock says."""
    for stage in stages.each:
        times = words.seconds(stage.time_s), words.seconds(stage.predicted_wait_s)
        rate, number, used = words.rate(stage.rate_per_s), f"{stage.number:,.2f}", words.percent(stage.utilization)
        yield stage.name, stage.pool, rate, times[0], number, used, times[1]
    number = sum(stage.number for stage in stages.each)
    yield "all stages", "", "", words.seconds(sum(stage.time_s for stage in stages.each)), f"{number:,.2f}", "", ""
    yield "by the API's clock", "", "", words.seconds(stages.whole_s), "", "", ""
