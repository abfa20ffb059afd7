"""ops/deploy/kubernetes against the schemas of Kubernetes, no unknown field allowed. `make test-system` installs them:
100 MB, too much for every `make install`. KEDA's objects are not among them; tests/unit looks at their form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from tests.kustomize import build

KUBERNETES = Path(__file__).resolve().parents[2] / "ops" / "deploy" / "kubernetes"
VERSIONS = ("1.30", "1.37")  # the oldest we write for, and the newest the checker knows
FOLDERS = ("base", "overlays/sentinel", "overlays/managed-redis", "components/hpa")


def objects() -> list[tuple[str, dict[str, Any]]]:
    found = [(folder, one) for folder in FOLDERS for one in build(KUBERNETES / folder)]
    return [(folder, one) for folder, one in found if "keda.sh" not in one["apiVersion"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_what_kubernetes_takes(version: str) -> None:
    faults = []
    for folder, one in objects():
        try:
            kubernetes_validate.validate(one, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            faults.append(f"{folder} {one['kind']} {one['metadata']['name']}: {error.message}")

    assert len(objects()) > 30
    assert faults == []


def test_a_field_that_no_schema_has_is_refused() -> None:
    one = next(one for _, one in objects() if one["kind"] == "Deployment")
    one["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
