"""Thousands of generated requests, right ones and wrong ones: no 5xx, and no answer that is not described."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.running_system import RunningSystem, send

SCHEMATHESIS = Path(sys.prefix, "bin", "schemathesis")
MIN_CASES = 2_000


def test_generated_requests_get_described_answers(system: RunningSystem, tmp_path: Path) -> None:
    options = ["--max-examples", "155", "--seed", "1", "--continue-on-failure", "--no-color"]
    command = [SCHEMATHESIS, "--config-file", Path(__file__).with_name("schemathesis.toml"), "run"]

    done = subprocess.run(
        [*command, f"{system.url}/openapi.json", *options], capture_output=True, text=True, timeout=400, cwd=tmp_path
    )

    OpenAPIV31SpecValidator(send(system.url, "GET", "/openapi.json").body).validate()
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert int(re.search(r"(\d+) generated", done.stdout)[1]) >= MIN_CASES
    assert "internal error" not in system.output()
