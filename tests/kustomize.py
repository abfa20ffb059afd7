"""What `kustomize build` would give, as far as ops/deploy/kubernetes uses it; all else is an error."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
_KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "labels", "images", "patches",
          "configMapGenerator"}  # fmt: skip
_CLUSTER_WIDE = ("Namespace",)


class KustomizationError(Exception):
    """A file, an object or a path that is not there, or something we cannot read."""


def build(folder: Path) -> list[Object]:
    """All objects of a kustomization, those below it first."""
    text = _read(folder / "kustomization.yaml")
    kustomization = yaml.safe_load(text)
    if unknown := set(kustomization) - _KNOWN:
        raise KustomizationError(f"{folder}: {', '.join(sorted(unknown))} is not read here")
    objects = [one for name in kustomization.get("resources", ()) for one in _resource(folder, name)]
    objects += [_config_map(folder, one) for one in kustomization.get("configMapGenerator", ())]
    for name in kustomization.get("components", ()):
        objects += build(_inside(folder, name))
    for patch in kustomization.get("patches", ()):
        _patch(folder, patch, objects)
    for one in objects:
        _put_namespace(one, kustomization.get("namespace"))
        for label in kustomization.get("labels", ()):
            one["metadata"].setdefault("labels", {}).update(label["pairs"])
    _rename_images(objects, kustomization.get("images", ()))
    _check_unique(folder, objects)
    return objects


def _resource(folder: Path, name: str) -> list[Object]:
    path = _inside(folder, name)
    return build(path) if path.is_dir() else [one for one in yaml.safe_load_all(_read(path)) if one]


def _inside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.exists():
        raise KustomizationError(f"{folder}: there is no {name}")
    if path.is_file() and not path.is_relative_to(folder.resolve()):
        raise KustomizationError(f"{folder}: kustomize reads no files above it, {name} is one")
    return path


def _config_map(folder: Path, about: dict[str, Any]) -> Object:
    """Under its own name: kustomize adds a hash of the content, and changes all that refer to it alike."""
    data = {name: _read(_inside(folder, name)) for name in about["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": about["name"]}, "data": data}


def _patch(folder: Path, patch: dict[str, Any], objects: list[Object]) -> None:
    target = patch["target"]
    found = [one for one in objects if one["kind"] == target["kind"]
             and re.fullmatch(target.get("name", ".*"), one["metadata"]["name"])]  # fmt: skip
    if not found:
        raise KustomizationError(f"{folder}: {patch['path']} fits no object")
    operations = yaml.safe_load(_read(_inside(folder, patch["path"])))
    for one in found:
        for operation in operations:
            _apply(one, copy.deepcopy(operation))


def _apply(one: Object, operation: dict[str, Any]) -> None:
    """JSON Patch (RFC 6902), `add` and `replace`."""
    *way, last = operation["path"].strip("/").split("/")
    place: Any = one
    try:
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        if isinstance(place, dict):
            if operation["op"] == "replace":
                place[last]  # must be there
            place[last] = operation["value"]
        elif last == "-":
            place.append(operation["value"])
        elif operation["op"] == "replace":
            place[int(last)] = operation["value"]
        else:
            place.insert(int(last), operation["value"])
    except (KeyError, IndexError) as error:
        raise KustomizationError(f"{one['metadata']['name']} has no {operation['path']}") from error


def _put_namespace(one: Object, namespace: str | None) -> None:
    if namespace and one["kind"] not in _CLUSTER_WIDE:
        one["metadata"]["namespace"] = namespace


def _rename_images(objects: list[Object], images: list[dict[str, str]]) -> None:
    for image in images:
        for container in (one for each in objects for one in containers(each)):
            if container["image"] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"


def containers(one: Object) -> list[Object]:
    """Of a workload; none of anything else."""
    return one.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])


def _check_unique(folder: Path, objects: list[Object]) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in objects]
    if twice := {name for name in names if names.count(name) > 1}:
        raise KustomizationError(f"{folder}: twice {twice}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise KustomizationError(str(error)) from error
