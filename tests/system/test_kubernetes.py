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
DEPLOY = ROOT / "ops" / "deploy"
VERSIONS = ("1.30", "1.37")  # the oldest we write for, and the newest the checker knows
OVERLAYS = ("sentinel", "managed-redis")
SCALED = ("", "keda", "hpa", "pools", "keda-pools", "hpa pools")
OTHERS = ("", "gateway", "pod-monitor", "pod-monitor gateway")
COMBINATIONS = [(overlay, [*scaled.split(), *others.split()]) for overlay, scaled, others in product(
    OVERLAYS, SCALED, OTHERS)]  # fmt: skip
MADE_BY_OPERATORS = {"miniserve-redis", "miniserve-redis-ca", "miniserve-alerts", "miniserve-api-keys"}
ITS_OWN = ("keda.sh/", "monitoring.coreos.com/", "gateway.networking.k8s.io/")  # schemas that Kubernetes itself has not

Object = dict[str, Any]


def build(overlay: str, components: list[str] | None, scratch: Path) -> list[Object]:
    """What `kubectl apply -k` would apply, by these components in place of the overlay's own."""
    copy = scratch / f"{overlay}-{'-'.join(components or ['as-is'])}"
    for folder in ("kubernetes", "redis"):
        shutil.copytree(DEPLOY / folder, copy / folder)
    place = copy / "kubernetes" / "overlays" / overlay
    if components is not None:
        file = place / "kustomization.yaml"
        kustomization = yaml.safe_load(file.read_text(encoding="utf-8"))
        kustomization["components"] = [f"../../components/{name}" for name in components]
        file.write_text(yaml.safe_dump(kustomization))
    command = [system_tools.find("kubectl"), "kustomize", str(place)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert built.returncode == 0, built.stderr
    return [one for one in yaml.safe_load_all(built.stdout) if one]


@pytest.fixture(scope="module", params=COMBINATIONS, ids=lambda one: f"{one[0]}: {' '.join(one[1])}")
def objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    return build(*request.param, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """Most combinations have most objects in common."""
    return set()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    return build("sentinel", None, tmp_path_factory.mktemp("shipped"))


def named(objects: list[Object], *kinds: str) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] in kinds}


def workloads(objects: list[Object]) -> dict[str, Object]:
    return named(objects, "Deployment", "StatefulSet")


def container(workload: Object) -> Object:
    return workload["spec"]["template"]["spec"]["containers"][0]


def values(text: str, pattern: str) -> set[str]:
    return set(re.findall(pattern, text))


def test_every_combination_is_what_kubernetes_takes(objects: list[Object], seen: set[str]) -> None:
    for version, one in product(VERSIONS, objects):
        if not one["apiVersion"].startswith(ITS_OWN) and f"{version} {one}" not in seen:
            kubernetes_validate.validate(one, version, strict=True)
            seen.add(f"{version} {one}")


def test_every_combination_names_only_what_is_there(objects: list[Object]) -> None:
    found = workloads(objects)
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in found.values()]
    text = str([one["spec"]["template"]["spec"] for one in found.values()])
    ports = values(str(found), r"'containerPort': \d+, 'name': '([\w-]+)'")

    for one in objects:
        spec = one.get("spec", {})
        chosen = spec.get("podSelector", spec.get("selector", {})) or {}
        if labels := chosen.get("matchLabels", chosen if one["kind"] == "Service" else None):
            assert any(labels.items() <= pod.items() for pod in pods), one["metadata"]["name"]
        if one["kind"] == "Service":
            assert {str(port.get("targetPort", port["name"])) for port in spec["ports"]} <= ports
        if "scaleTargetRef" in spec:
            assert spec["scaleTargetRef"]["name"] in found
            assert "replicas" not in found[spec["scaleTargetRef"]["name"]]["spec"], "an apply would undo the scaling"
    maps = values(text, r"'configMap(?:Ref)?': \{(?:'defaultMode': \d+, )?'name': '([\w-]+)'")
    assert maps <= set(named(objects, "ConfigMap"))
    secrets = values(text, r"'(?:secretKeyRef': \{'key': '[\w-]+', 'name|secretName)': '([\w-]+)'")
    assert secrets and secrets <= MADE_BY_OPERATORS


def test_every_process_is_of_this_version_and_has_its_grace(objects: list[Object]) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.+)"', project, re.MULTILINE)
    data = named(objects, "ConfigMap")["miniserve-settings"]["data"]

    grace_s = Settings.from_env(data).grace_s

    for name, one in named(objects, "Deployment").items():
        assert container(one)["image"] == f"registry.example/miniserve:{version}"
        if name != "monitor":
            pause_s = 5 if "lifecycle" in container(one) else 0
            assert one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= grace_s + pause_s + 5


def test_modules_that_probes_run_are_there(shipped: list[Object]) -> None:
    modules = values(str(shipped), r"'-m', '([\w.]+)'")

    assert modules and [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").is_file()] == []


@pytest.mark.parametrize("role", ["api", "monitor", "worker", "decode"])
def test_each_role_finds_the_watched_redis_as_its_own_user(role: str, tmp_path: Path) -> None:
    user = "worker" if role in ("worker", "decode") else "api"
    found = workloads(build("sentinel", ["keda-pools"], tmp_path))
    env = {one["name"]: one for one in container(found[role])["env"]}
    redis = {one["name"]: one.get("value", "") for one in container(found["redis"])["env"]}
    url = env["MINISERVE_REDIS_URL"]["value"].replace("$(REDIS_PASSWORD)", "pw")

    _, authority, path, _ = split_url(url.replace("$(POD_NAMESPACE)", "here"))
    login, _, hosts = authority.rpartition("@")

    assert (redis_url_fault(url), login) == (None, f"{user}:pw")
    assert env["REDIS_PASSWORD"]["valueFrom"]["secretKeyRef"]["key"] == f"{user}-password"
    assert list(env)[:3] == ["REDIS_PASSWORD", "POD_NAMESPACE", "MINISERVE_REDIS_URL"], "it is put together from them"
    watched = [f"{host}:{port}" for host, port in map(host_and_port, hosts.split(","))]
    assert redis["SENTINELS"].replace("$(POD_NAMESPACE)", "here").split() == watched
    assert (redis["SERVICE"], len(watched)) == (path.split("/")[1], found["redis"]["spec"]["replicas"])


def test_the_redis_pods_run_scripts_that_read_their_variables(shipped: list[Object]) -> None:
    pods = workloads(shipped)["redis"]["spec"]["template"]["spec"]["containers"]
    (scripts,) = (one["data"] for name, one in named(shipped, "ConfigMap").items() if name.startswith("redis-scripts"))
    text = "".join(scripts.values())

    assert {name for pod in pods for name in values(str(pod), r"/scripts/([\w.-]+)")} <= set(scripts)
    given = {one["name"] for pod in pods for one in pod["env"]} - {"POD_NAME", "POD_NAMESPACE"}
    assert [name for name in given if not re.search(rf"\b{name}\b", text)] == []
