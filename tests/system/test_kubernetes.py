"""ops/deploy/kubernetes as kubectl builds it, in every combination: schemas, and whether what objects name is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from scheduler.settings import Settings
from scheduler.urls import host_and_port, redis_url_fault, split_url
from tests import system_tools

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("1.30", "1.37")  # the oldest we write for, and the newest the checker knows
SCALED = ("", "keda", "hpa", "pools", "keda-pools", "hpa pools")
OTHERS = ("", "gateway", "pod-monitor", "pod-monitor gateway")
COMBINATIONS = [(overlay, f"{scaled} {others}".split()) for overlay, scaled, others in product(
    ("sentinel", "managed-redis"), SCALED, OTHERS)]  # fmt: skip
MADE_BY_OPERATORS = {"miniserve-redis", "miniserve-redis-ca", "miniserve-alerts", "miniserve-api-keys"}
ITS_OWN = ("keda.sh/", "monitoring.coreos.com/", "gateway.networking.k8s.io/")  # schemas that Kubernetes itself has not
SEEN = set[str]()  # most combinations have most objects in common

Object = dict[str, Any]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deploy")
    for name in ("kubernetes", "redis"):
        shutil.copytree(ROOT / "ops" / "deploy" / name, folder / name)
    return folder / "kubernetes"


def build(copy: Path, overlay: str, components: list[str]) -> list[Object]:
    """What `kubectl apply -k` would apply, by these components in place of the overlay's own."""
    file = copy / "overlays" / overlay / "kustomization.yaml"
    kustomization = yaml.safe_load(file.read_text(encoding="utf-8"))
    kustomization["components"] = [f"../../components/{name}" for name in components]
    file.write_text(yaml.safe_dump(kustomization))
    command = [system_tools.find("kubectl"), "kustomize", str(file.parent)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    return [one for one in yaml.load_all(built.stdout, yaml.CSafeLoader) if one]


def named(objects: list[Object], *kinds: str) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] in kinds}


def workloads(objects: list[Object]) -> dict[str, Object]:
    return {name: one["spec"] for name, one in named(objects, "Deployment", "StatefulSet").items()}


def values(text: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, text))


@pytest.mark.parametrize(("overlay", "components"), COMBINATIONS, ids=lambda one: str(one))
def test_every_combination_is_what_kubernetes_takes_and_names_only_what_is_there(
    overlay: str, components: list[str], copy: Path
) -> None:
    objects = build(copy, overlay, components)

    for version, one in product(VERSIONS, objects):
        if not one["apiVersion"].startswith(ITS_OWN) and f"{version} {one}" not in SEEN:
            kubernetes_validate.validate(one, version, strict=True)
            SEEN.add(f"{version} {one}")
    found = workloads(objects)
    pods = [spec["template"]["metadata"]["labels"] for spec in found.values()]
    text = str([spec["template"]["spec"] for spec in found.values()])
    ports = values(text, r"'containerPort': \d+, 'name': '([\w-]+)'")
    for one in objects:
        spec = one.get("spec", {})
        chosen = spec.get("podSelector", spec.get("selector", {})) or {}
        if labels := chosen.get("matchLabels", chosen if one["kind"] == "Service" else None):
            assert any(labels.items() <= pod.items() for pod in pods), one["metadata"]["name"]
        if one["kind"] == "Service":
            assert {str(port.get("targetPort", port["name"])) for port in spec["ports"]} <= ports
        if "scaleTargetRef" in spec:
            assert "replicas" not in found[spec["scaleTargetRef"]["name"]], "an apply would undo the scaling"
    maps = values(text, r"'configMap(?:Ref)?': \{(?:'defaultMode': \d+, )?'name': '([\w-]+)'")
    assert maps <= set(named(objects, "ConfigMap"))
    assert values(text, r"'(?:secretKeyRef': \{'key': '[\w-]+', 'name|secretName)': '([\w-]+)'") <= MADE_BY_OPERATORS
    grace_s = Settings.from_env(named(objects, "ConfigMap")["miniserve-settings"]["data"]).grace_s
    for name, spec in workloads(named(objects, "Deployment").values()).items():
        pause_s = 5 if "lifecycle" in spec["template"]["spec"]["containers"][0] else 0
        assert name == "monitor" or spec["template"]["spec"]["terminationGracePeriodSeconds"] >= grace_s + pause_s + 5


def test_each_process_runs_what_is_there_and_finds_the_watched_redis_as_its_own_user(copy: Path) -> None:
    objects = build(copy, "sentinel", ["keda-pools"])
    containers = {name: spec["template"]["spec"]["containers"][0] for name, spec in workloads(objects).items()}
    redis = {one["name"]: one.get("value", "") for one in containers["redis"]["env"]}
    (version,) = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    (scripts,) = (one["data"] for name, one in named(objects, "ConfigMap").items() if name.startswith("redis-scripts"))

    modules = values(str(objects), r"'-m', '([\w.]+)'")
    assert modules and [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []
    assert values(str(objects), r"/scripts/([\w.-]+)") <= set(scripts)
    for role in ("api", "monitor", "worker", "decode"):
        user, env = "api" if role in ("api", "monitor") else "worker", containers[role]["env"]
        by_name = {one["name"]: one for one in env}
        url = by_name["MINISERVE_REDIS_URL"]["value"].replace("$(REDIS_PASSWORD)", "pw")
        _, authority, path, _ = split_url(url.replace("$(POD_NAMESPACE)", "here"))
        login, _, hosts = authority.rpartition("@")

        assert containers[role]["image"] == f"registry.example/miniserve:{version}"
        assert (redis_url_fault(url), login) == (None, f"{user}:pw")
        assert by_name["REDIS_PASSWORD"]["valueFrom"]["secretKeyRef"]["key"] == f"{user}-password"
        assert [one["name"] for one in env[:3]] == ["REDIS_PASSWORD", "POD_NAMESPACE", "MINISERVE_REDIS_URL"]
        watched = [f"{host}:{port}" for host, port in map(host_and_port, hosts.split(","))]
        assert redis["SENTINELS"].replace("$(POD_NAMESPACE)", "here").split() == watched
        assert (redis["SERVICE"], len(watched)) == (path.split("/")[1], workloads(objects)["redis"]["replicas"])
