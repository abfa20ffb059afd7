"""Thousands of generated requests, right ones and wrong ones: no 5xx, and no answer that is not described."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.running_system import RunningSystem, send

HERE = Path(__file__).parent
SCHEMATHESIS = Path(sys.prefix, "bin", "schemathesis")
MIN_CASES = 2_000


def test_generated_requests_get_described_answers(tmp_path: Path) -> None:
    options = ["--max-examples", "140", "--seed", "1", "--continue-on-failure", "--no-color"]
    with RunningSystem() as system:
        document = send(system.url, "GET", "/openapi.json").body

        done = subprocess.run(
            [SCHEMATHESIS, "--config-file", HERE / "schemathesis.toml", "run", f"{system.url}/openapi.json", *options],
            capture_output=True, text=True, timeout=400, cwd=tmp_path,
        )  # fmt: skip

        OpenAPIV31SpecValidator(document).validate()
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
        num_cases = int(re.search(r"(\d+) generated", done.stdout)[1])
        print(f"{num_cases:,} generated requests")
        assert num_cases >= MIN_CASES
        assert "internal error" not in system.output()
