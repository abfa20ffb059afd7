"""What `kustomize build` would give, as far as ops/deploy/kubernetes uses it; all else is an error."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
_KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "labels", "images", "patches",
          "configMapGenerator"}  # fmt: skip


def build(folder: Path, below: Sequence[Object] = ()) -> list[Object]:
    """All objects of a kustomization, those below it first; a component changes these, too.

    Raises LookupError or OSError for what is not there.
    """
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    if unknown := set(kustomization) - _KNOWN:
        raise LookupError(f"{folder}: {', '.join(sorted(unknown))} is not read here")
    objects = [*below, *(one for name in kustomization.get("resources", ()) for one in _resource(folder, name))]
    objects += [_config_map(folder, one) for one in kustomization.get("configMapGenerator", ())]
    for name in kustomization.get("components", ()):
        objects = build(folder / name, objects)
    for patch in kustomization.get("patches", ()):
        _patch(folder, patch, objects)
    for one in objects:
        if "namespace" in kustomization:
            one["metadata"]["name" if one["kind"] == "Namespace" else "namespace"] = kustomization["namespace"]
        for label in kustomization.get("labels", ()):
            one["metadata"].setdefault("labels", {}).update(label["pairs"])
        for image in kustomization.get("images", ()):
            for container in containers(one):
                if container["image"] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    names = [(one["kind"], one["metadata"]["name"]) for one in objects]
    if len(names) > len(set(names)):
        raise LookupError(f"{folder}: an object is there twice among {names}")
    return objects


def build_with(components: Sequence[str], overlay: Path, scratch: Path) -> list[Object]:
    """The same overlay with these components in place of KEDA's."""
    kubernetes = overlay.parents[1]
    for folder in (kubernetes, kubernetes.parent / "redis"):
        shutil.copytree(folder, scratch / folder.name, dirs_exist_ok=True)
    copied = scratch / overlay.relative_to(kubernetes.parent)
    text = (copied / "kustomization.yaml").read_text(encoding="utf-8")
    keda = "  - ../../components/keda\n"
    assert keda in text
    written = "".join([keda.replace("keda", name) for name in components])
    (copied / "kustomization.yaml").write_text(text.replace(keda, written))
    return build(copied)


def _resource(folder: Path, name: str) -> list[Object]:
    return (
        build(folder / name)
        if (folder / name).is_dir()
        else [one for one in yaml.safe_load_all(_read(folder, name)) if one]
    )


def _read(folder: Path, name: str) -> str:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise LookupError(f"{folder}: kustomize reads no files above it, {name} is one")
    return path.read_text(encoding="utf-8")


def _config_map(folder: Path, about: dict[str, Any]) -> Object:
    """Under its own name: kustomize adds a hash of the content, and changes all that refer to it alike."""
    data = {name: _read(folder, name) for name in about["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": about["name"]}, "data": data}


def _patch(folder: Path, patch: dict[str, Any], objects: list[Object]) -> None:
    kind, name = patch["target"]["kind"], patch["target"].get("name", ".*")
    found = [one for one in objects if one["kind"] == kind and re.fullmatch(name, one["metadata"]["name"])]
    if not found:
        raise LookupError(f"{folder}: {patch['path']} fits no object")
    for one in found:
        for operation in yaml.safe_load(_read(folder, patch["path"])):
            _apply(one, operation)


def _apply(one: Object, operation: dict[str, Any]) -> None:
    """JSON Patch (RFC 6902), `add` and `replace`."""
    *way, last = operation["path"].strip("/").split("/")
    place: Any = one
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    key = int(last) if isinstance(place, list) and last != "-" else last
    if operation["op"] == "replace":
        place[key]  # must be there
    if isinstance(place, dict) or operation["op"] == "replace":
        place[key] = operation["value"]
    else:
        place.insert(len(place) if key == "-" else key, operation["value"])


def containers(one: Object) -> list[Object]:
    """Of a workload; none of anything else."""
    return one.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
