"""Thousands of generated requests, right ones and wrong ones: no 5xx, and no answer that is not described."""

from __future__ import annotations

import os
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
    options = ["--max-examples", "155", "--seed", "1", "--continue-on-failure", "--no-color"]
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


GENERATOR = "openapi-python-client==0.29.1"
USE = """
import sys
from miniserve_client import Client
from miniserve_client.api.corrections import correct
from miniserve_client.api.editors import check
from miniserve_client.models import CheckForm, CheckFormLanguage, CorrectionBody

client = Client(base_url=sys.argv[1])
answer = correct.sync(client=client, body=CorrectionBody(sentence="He goed home."))
found = check.sync(client=client, body=CheckForm(text="He goed home.", language=CheckFormLanguage.EN_US))
print(answer.corrected, answer.language.code, answer.notes, found.matches[0].replacements[0].value)
"""


def test_a_client_generated_from_the_description_sends_forms_and_reads_answers(tmp_path: Path) -> None:
    bin_folder = tmp_path / "venv" / "bin"
    path = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}  # of its formatter
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    subprocess.run([bin_folder / "pip", "install", "-q", GENERATOR], check=True)

    with RunningSystem() as system:
        options = ["--url", f"{system.url}/openapi.json", "--output-path", tmp_path / "made", "--fail-on-warning"]
        subprocess.run([bin_folder / "openapi-python-client", "generate", *options], env=os.environ | path, check=True)
        used = subprocess.run(
            [bin_folder / "python", "-c", USE, system.url], cwd=tmp_path / "made", capture_output=True, text=True
        )

    assert used.stdout == "He went home. en [] went\n", used.stderr
