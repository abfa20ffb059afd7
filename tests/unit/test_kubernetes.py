"""ops/deploy/kubernetes: what manifests refer to exists, and what they promise holds. test-system has the schemas."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler.settings import Settings
from tests.kustomize import build, build_with, containers
from worker.queue.sentinel import SentinelUrl

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "ops" / "deploy" / "kubernetes"
OVERLAYS = [f"{overlay} {scaling}" for overlay in ("sentinel", "managed-redis")
            for scaling in ("keda", "keda-pools", "hpa", "hpa pools")]  # fmt: skip
WORKLOADS = ("Deployment", "StatefulSet")
NAMESPACE = "miniserve"
# Secrets, see docs/kubernetes.md
MADE_BY_OPERATORS = {"miniserve-redis", "miniserve-redis-ca", "miniserve-alerts", "miniserve-api-keys"}


@pytest.fixture(params=OVERLAYS)
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    name, *components = request.param.split()
    return build_with(components, KUBERNETES / "overlays" / name, tmp_path)


def roles_of(objects: list[dict[str, Any]]) -> list[str]:
    return [one["metadata"]["name"] for one in objects if one["kind"] == "Deployment"]


def workloads(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in objects if one["kind"] in WORKLOADS]


def find(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    return next(one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name))


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    return workload["spec"]["template"]["spec"]


def labels(workload: dict[str, Any]) -> dict[str, str]:
    return workload["spec"]["template"]["metadata"]["labels"]


def test_everything_of_a_system_is_there(objects: list[dict[str, Any]]) -> None:
    names = {(one["kind"], one["metadata"]["name"]) for one in objects}

    roles = {"api", "worker", *roles_of(objects)} - {"monitor"}
    for role in roles:
        assert {("Deployment", role), ("PodDisruptionBudget", role)} <= names
    scaled = {name for kind, name in names if kind == "ScaledObject"}
    by_cpu = {name for kind, name in names if kind == "HorizontalPodAutoscaler"}
    assert (scaled, by_cpu) in [(roles, set()), (set(), {"api"})], "an object of KEDA's fails where KEDA is not"
    assert {("Deployment", "monitor"), ("Service", "api"), ("NetworkPolicy", "default-deny")} <= names


def test_all_is_in_one_namespace_that_allows_no_rights(objects: list[dict[str, Any]]) -> None:
    assert {one["metadata"]["namespace"] for one in objects if one["kind"] != "Namespace"} == {NAMESPACE}
    enforced = find(objects, "Namespace", NAMESPACE)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    assert enforced == "restricted"


def test_no_process_has_more_rights_than_it_needs(objects: list[dict[str, Any]]) -> None:
    for workload in workloads(objects):
        spec = pod(workload)
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_every_container_says_what_it_needs_and_may_take(objects: list[dict[str, Any]]) -> None:
    for container in (one for workload in workloads(objects) for one in containers(workload)):
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


def test_every_container_is_looked_after_by_a_probe(objects: list[dict[str, Any]]) -> None:
    probed = {container["name"]: {key for key in container if key.endswith("Probe")}
              for workload in workloads(objects) for container in containers(workload)}  # fmt: skip

    assert all(probed.values()), probed
    api = containers(find(objects, "Deployment", "api"))[0]
    worker = containers(find(objects, "Deployment", "worker"))[0]
    assert api["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert api["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert worker["readinessProbe"]["exec"]["command"] == ["python", "-m", "ops.run.health", "worker"]
    assert "livenessProbe" not in worker, "a Redis that is away would end all workers"


def test_our_image_is_of_the_version_that_these_manifests_belong_to(objects: list[dict[str, Any]]) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    images = {containers(find(objects, "Deployment", role))[0]["image"] for role in roles_of(objects)}

    (image,) = images
    assert image.rpartition(":")[2] == version


def test_modules_that_probes_run_are_in_the_repository(objects: list[dict[str, Any]]) -> None:
    commands = re.findall(r"'-m', '([\w.]+)'", str(objects))

    assert len(commands) >= 3
    for module in commands:
        assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), module


def test_nobody_is_killed_before_its_grace_is_over(objects: list[dict[str, Any]]) -> None:
    grace_s = float(find(objects, "ConfigMap", "miniserve-settings")["data"]["MINISERVE_GRACE_S"])

    for role in {*roles_of(objects)} - {"monitor"}:
        spec = pod(find(objects, "Deployment", role))
        hook = spec["containers"][0].get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [0])
        assert spec["terminationGracePeriodSeconds"] >= grace_s + float(hook[-1]) + 5


def test_the_settings_are_settings_with_values_they_may_have(objects: list[dict[str, Any]]) -> None:
    data = find(objects, "ConfigMap", "miniserve-settings")["data"]

    assert set(data) <= set(Settings().to_env())
    Settings.from_env(data)


def test_what_a_workload_refers_to_exists_or_is_made_by_the_operator(objects: list[dict[str, Any]]) -> None:
    config_maps = {one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"}
    text = str([pod(workload) for workload in workloads(objects)])

    assert set(re.findall(r"'configMap(?:Ref)?': \{'name': '([\w-]+)'", text)) <= config_maps
    secrets = re.findall(r"'secretKeyRef': \{'name': '([\w-]+)'", text) + re.findall(r"'secretName': '([\w-]+)'", text)
    assert secrets and set(secrets) <= MADE_BY_OPERATORS


def test_every_mount_has_its_volume_and_every_volume_its_mount(objects: list[dict[str, Any]]) -> None:
    for workload in workloads(objects):
        claims = [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())]
        volumes = {volume["name"] for volume in pod(workload).get("volumes", ())} | set(claims)
        mounts = {mount["name"] for container in containers(workload) for mount in container.get("volumeMounts", ())}
        assert mounts == volumes, workload["metadata"]["name"]


def test_every_selector_finds_its_pods(objects: list[dict[str, Any]]) -> None:
    pods = [labels(workload) for workload in workloads(objects)]
    for one in objects:
        spec = one.get("spec", {})
        selector = spec.get("selector") if one["kind"] == "Service" else spec.get("selector", {}).get("matchLabels")
        selector = spec["podSelector"].get("matchLabels") if one["kind"] == "NetworkPolicy" else selector
        if selector:
            assert any(selector.items() <= found.items() for found in pods), one["metadata"]["name"]


def test_every_service_leads_to_a_port_that_is_open(objects: list[dict[str, Any]]) -> None:
    ports = {key for workload in workloads(objects) for container in containers(workload)
             for port in container.get("ports", ()) for key in (port["name"], port["containerPort"])}  # fmt: skip

    for service in (one for one in objects if one["kind"] == "Service"):
        for port in service["spec"]["ports"]:
            assert port.get("targetPort", port["port"]) in ports


def test_everything_is_denied_but_what_a_rule_allows(objects: list[dict[str, Any]]) -> None:
    deny = find(objects, "NetworkPolicy", "default-deny")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    clients = {workload["metadata"]["name"] for workload in workloads(objects)
               if labels(workload).get("miniserve/uses-redis") == "true"}  # fmt: skip

    assert {"api", "worker", "monitor"} <= {*roles_of(objects)} <= clients
    for rule in (one["spec"] for one in objects if one["kind"] == "NetworkPolicy"):
        assert all(set(way) & {"from", "to"} or way["ports"] == [{"protocol": "TCP", "port": 443}]
                   for way in (*rule.get("ingress", ()), *rule.get("egress", ())))  # fmt: skip


def in_namespace(text: str) -> str:
    """As Kubernetes fills it in."""
    return text.replace("$(POD_NAMESPACE)", NAMESPACE)


def environment(objects: list[dict[str, Any]], role: str) -> dict[str, Any]:
    """By name, in order."""
    return {one["name"]: one for one in containers(find(objects, "Deployment", role))[0]["env"]}


@pytest.mark.parametrize("role", ["api", "worker", "monitor", "decode"])
def test_each_role_reaches_the_watched_redis_as_its_own_user(role: str, tmp_path: Path) -> None:
    objects = build_with(["keda-pools"], KUBERNETES / "overlays" / "sentinel", tmp_path)
    env = environment(objects, role)
    known = SentinelUrl.parse(in_namespace(env["MINISERVE_REDIS_URL"]["value"]).replace("$(REDIS_PASSWORD)", "pw"))
    redis = find(objects, "StatefulSet", "redis")

    user = "worker" if role in ("worker", "decode") else "api"
    assert known.redis_url.startswith(f"redis://{user}:pw@")
    assert env["REDIS_PASSWORD"]["valueFrom"]["secretKeyRef"]["key"] == f"{user}-password"
    assert list(env)[:3] == ["REDIS_PASSWORD", "POD_NAMESPACE", "MINISERVE_REDIS_URL"], "it is put together from them"
    nodes = [f"redis-{number}.redis-nodes.{NAMESPACE}.svc" for number in range(redis["spec"]["replicas"])]
    assert known.sentinels == tuple((node, 26379) for node in nodes)
    for container in containers(redis):
        assert [one["name"] for one in container["env"]].index("POD_NAMESPACE") == 1, "others are put together from it"
        values = {one["name"]: in_namespace(one.get("value", "")) for one in container["env"]}
        assert values["SENTINELS"].split() == [f"{node}:26379" for node in nodes]
        assert (values["SERVICE"], values["FIRST_PRIMARY"]) == (known.service, f"{nodes[0]} 6379")


def test_in_two_pools_each_deployment_has_a_role_and_all_else_is_the_same(tmp_path: Path) -> None:
    objects = build_with(["keda-pools"], KUBERNETES / "overlays" / "sentinel", tmp_path)
    prefill, decode = (find(objects, "Deployment", name) for name in ("worker", "decode"))

    arguments = [containers(one)[0].pop("args") for one in (prefill, decode)]

    assert arguments == [["miniserve", "worker", "--role", role] for role in ("prefill", "decode")]
    prefill_text, decode_text = (
        json.dumps(one, sort_keys=True).replace('"worker"', '"decode"') for one in (prefill, decode)
    )
    assert prefill_text == decode_text


def test_the_redis_pods_run_the_scripts_that_the_drills_run() -> None:
    objects = build(KUBERNETES / "overlays" / "sentinel")
    scripts = find(objects, "ConfigMap", "redis-scripts")["data"]

    for container in containers(find(objects, "StatefulSet", "redis")):
        assert container["command"][1].removeprefix("/scripts/") in scripts
        read = " ".join(scripts.values())
        for name in (one["name"] for one in container["env"] if not one["name"].startswith("POD_NAME")):
            assert re.search(rf"\b{name}\b", read), f"no script reads {name}"


def test_every_variable_a_managed_redis_needs_comes_from_its_secret() -> None:
    objects = build(KUBERNETES / "overlays" / "managed-redis")

    for role in ("api", "worker", "monitor"):
        assert (
            environment(objects, role)["MINISERVE_REDIS_URL"]["valueFrom"]["secretKeyRef"]["name"] == "miniserve-redis"
        )
        assert "/etc/redis-ca" in str(containers(find(objects, "Deployment", role)))
    assert not [one for one in objects if one["kind"] == "StatefulSet"]


def test_a_kustomization_that_names_what_is_not_there_is_noticed(tmp_path: Path) -> None:
    for broken in (
        {"resources": ["missing.yaml"]},
        {"resources": [], "patches": [{"path": "p.yaml", "target": {"kind": "Deployment"}}]},
        {"resources": [], "replicas": []},
    ):
        (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(broken))
        with pytest.raises((LookupError, OSError)):
            build(tmp_path)
