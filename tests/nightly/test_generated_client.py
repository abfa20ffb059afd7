"""A client that a generator makes from /openapi.json; the generator has an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.running_system import RunningSystem

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
