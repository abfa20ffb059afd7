"""What ops/deploy/kubernetes scales by: numbers that GET /metrics tells, bounds that can be met, targets that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scheduler.capacity.measure import MAX_UTILIZATION
from scheduler.settings import Settings
from tests.kustomize import build, build_with

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "ops" / "deploy" / "kubernetes"
# Of KEDA's ScaledObject, what we use: name -> whether it must be there.
SPEC = {"scaleTargetRef": True, "triggers": True, "minReplicaCount": False, "maxReplicaCount": False,
        "pollingInterval": False, "advanced": False}  # fmt: skip
METADATA = {"prometheus": {"serverAddress", "query", "threshold", "ignoreNullValues"}, "cpu": {"value"}}
METRIC_TYPES = {"prometheus": {"AverageValue", "Value"}, "cpu": {"Utilization", "AverageValue"}}


@pytest.fixture
def scaled() -> dict[str, dict[str, Any]]:
    """Specifications by what they scale."""
    objects = [one for one in build(KUBERNETES / "overlays" / "sentinel") if one["kind"] == "ScaledObject"]
    assert {one["apiVersion"] for one in objects} == {"keda.sh/v1alpha1"}
    return {one["spec"]["scaleTargetRef"]["name"]: one["spec"] for one in objects}


@pytest.fixture
def pools(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The same of the two pools of workers, by role."""
    objects = build_with(["keda-pools"], KUBERNETES / "overlays" / "sentinel", tmp_path)
    specs = {one["metadata"]["name"]: one["spec"] for one in objects if one["kind"] == "ScaledObject"}
    return {"prefill": specs["worker"], "decode": specs["decode"]}


def queries(spec: dict[str, Any]) -> dict[str, str]:
    return {trigger["name"]: trigger["metadata"]["query"] for trigger in spec["triggers"]}


def test_scaled_objects_have_the_form_that_keda_reads(scaled: dict[str, dict[str, Any]]) -> None:
    for spec in scaled.values():
        assert {name for name, must in SPEC.items() if must} <= set(spec) <= set(SPEC)
        assert set(spec["advanced"]) == {"horizontalPodAutoscalerConfig"}
        assert set(spec["advanced"]["horizontalPodAutoscalerConfig"]) == {"behavior"}
        for trigger in spec["triggers"]:
            assert set(trigger) <= {"type", "name", "metricType", "metadata"}
            assert set(trigger["metadata"]) == METADATA[trigger["type"]]
            assert trigger["metricType"] in METRIC_TYPES[trigger["type"]]
            assert all(isinstance(value, str) for value in trigger["metadata"].values()), "KEDA takes text only"


def test_api_replicas_and_workers_are_scaled_within_bounds_that_keep_two(scaled: dict[str, dict[str, Any]]) -> None:
    assert set(scaled) == {"api", "worker"}
    for spec in scaled.values():
        assert 2 <= spec["minReplicaCount"] < spec["maxReplicaCount"]
    assert [trigger["type"] for trigger in scaled["api"]["triggers"]] == ["cpu"]


def test_workers_are_scaled_by_arithmetic_and_tokens_and_not_by_the_length_of_the_queue(
    scaled: dict[str, dict[str, Any]],
) -> None:
    asked = queries(scaled["worker"])

    assert set(asked) == {"workers-needed", "reserved-tokens", "predicted-wait"}
    assert "queue_depth" not in str(asked) and "num_requests_waiting" not in str(asked)


def test_every_metric_that_is_asked_for_is_told_by_the_api(scaled: dict[str, dict[str, Any]]) -> None:
    told = (ROOT / "api" / "observe" / "metrics.py").read_text()
    names = re.findall(r"miniserve_(\w+)", str(queries(scaled["worker"])))

    assert len(set(names)) == 5
    for name in names:
        assert f'"{name}"' in told, name


def test_a_query_that_brings_nothing_takes_no_worker_away(scaled: dict[str, dict[str, Any]]) -> None:
    assert {trigger["metadata"]["ignoreNullValues"] for trigger in scaled["worker"]["triggers"]} == {"false"}


def test_thresholds_are_the_settings_they_stand_for(scaled: dict[str, dict[str, Any]]) -> None:
    settings = Settings()
    thresholds = {one["name"]: float(one["metadata"]["threshold"]) for one in scaled["worker"]["triggers"]}

    assert thresholds == {"workers-needed": 1.0, "reserved-tokens": settings.kv_budget_tokens, "predicted-wait": 1.0}
    wait_s, utilization = re.findall(r"> bool ([\d.]+)", queries(scaled["worker"])["predicted-wait"])
    assert (float(wait_s), float(utilization)) == (settings.slo_ms / 1000, MAX_UTILIZATION)


def test_no_trigger_of_the_workers_is_a_ratio_that_multiplies_them(scaled: dict[str, dict[str, Any]]) -> None:
    """A ratio doubles their number at every look, for as long as it stays high, whatever its cause."""
    assert {trigger["metricType"] for trigger in scaled["worker"]["triggers"]} == {"AverageValue"}


def test_each_pool_is_scaled_as_all_workers_are_by_its_own_figures(
    scaled: dict[str, dict[str, Any]], pools: dict[str, dict[str, Any]]
) -> None:
    own = ("workers_needed", "workers", "utilization")
    for role, spec in pools.items():
        expected = queries(scaled["worker"])
        if role == "prefill":
            del expected["reserved-tokens"]  # most of them decode
        for name, query in expected.items():
            for metric in own:
                query = query.replace(
                    f'miniserve_{metric}{{namespace="miniserve"}}',
                    f'miniserve_pool_{metric}{{namespace="miniserve", role="{role}"}}',
                )
            expected[name] = query

        assert queries(spec) == expected
        rest = {name: spec[name] for name in spec if name not in ("triggers", "scaleTargetRef")}
        assert rest == {name: scaled["worker"][name] for name in rest}
        thresholds = {one["name"]: one["metadata"]["threshold"] for one in spec["triggers"]}
        assert (
            thresholds.items()
            <= {one["name"]: one["metadata"]["threshold"] for one in scaled["worker"]["triggers"]}.items()
        )


def test_every_metric_that_the_pools_ask_for_is_told_by_the_api(pools: dict[str, dict[str, Any]]) -> None:
    told = (ROOT / "api" / "observe" / "metrics.py").read_text()
    names = set(re.findall(r"miniserve_(\w+)", str([queries(spec) for spec in pools.values()])))

    assert names >= {"pool_workers_needed", "pool_workers", "pool_utilization"}
    assert all(f'"{name}"' in told for name in names)


def test_whatever_is_scaled_has_no_number_of_replicas_of_its_own() -> None:
    for one in build(KUBERNETES / "base"):
        if one["kind"] == "Deployment" and one["metadata"]["name"] in ("api", "worker"):
            assert "replicas" not in one["spec"], "every apply would undo the scaling"


def test_without_keda_the_api_is_scaled_by_cpu() -> None:
    (scaler,) = build(KUBERNETES / "components" / "hpa")

    assert scaler["spec"]["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}
    assert scaler["spec"]["metrics"][0]["resource"]["name"] == "cpu"
