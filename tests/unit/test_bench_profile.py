"""The profile by stage, without servers: what belongs where, what a process samples of itself, what is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ops.bench import profile, stages


@pytest.mark.parametrize(
    ("stack", "stage"),
    [
        ("lib/json/encoder.py:JSONEncoder.encode;/x/worker/queue/formats.py:encode_request;/x/api/app.py:_x", "send"),
        ("lib/json/encoder.py:JSONEncoder.encode;/x/api/problems.py:to_json;/x/api/app.py:_json_response", "serialise"),
        ("/x/api/words.py:split_pieces;/x/api/tokenizer.py:Tokenizer.encode;/x/api/agent.py:Agent.prepare", "tokenize"),
        ("/x/api/words.py:split_pieces;/x/api/edit_facts.py:FactFinder.find;/x/api/agent.py:Agent._edit", "conclude"),
        ("/x/api/grammar/words.py:split_pieces;/x/api/grammar/tokenizer.py:Tokenizer.encode", "tokenize"),
        ("/x/worker/queue/formats.py:encode_submission;/x/worker/queue/api_loop.py:Sender._send_next", "send"),
        ("lib/json/encoder.py:encode;/x/api/service/corrector.py:submission_of;/x/api/http/correct.py:_x", "send"),
        ("lib/json/encoder.py:encode;/x/api/http/lines.py:as_line;/x/api/http/replies.py:json_reply", "serialise"),
        ("/x/scheduler/batching.py:ContinuousBatching.submit;/x/worker/engine.py:Engine.accept", "schedule"),
        ("/x/api/grammar/subjects.py:find;/x/api/http/routes.py:correct", "conclude"),
        ("/x/uvicorn/protocols/http/httptools_impl.py:on_url;/x/api/server/protocol.py:_feed", stages.ACCEPT),
        ("lib/asyncio/runners.py:Runner.run", stages.ACCEPT),
        ("/x/worker/queue/line.py:Line.ask;/x/worker/queue/worker_end.py:WorkerMailbox._send", "drain"),
        ("/x/scheduler/batching.py:plan;/x/worker/engine.py:Engine.step;/x/worker/actor.py:Actor._step", "schedule"),
        ("lib/threading.py:Condition.wait;lib/threading.py:Thread.run", "other"),
    ],
)  # fmt: skip
def test_a_stack_belongs_to_the_stage_of_its_innermost_known_frame(stack: str, stage: str):
    assert stages.stage_of(stack.split(";")) == stage


def test_an_iteration_that_prefills_and_decodes_counts_by_rows():
    stack = "/x/worker/model.py:multiply;/x/worker/engine.py:Engine.step[2+30]"

    spent = stages.microseconds([f"100;{stack}\n", "5;/x/worker/model.py:multiply;/x/Engine.step[0+3]\n"], 15.0)

    assert spent == {"prefill": 50.0, "decode": 55.0}


def test_a_process_that_is_told_to_samples_itself_by_cpu_time(tmp_path: Path):
    code = "def burn():\n    for _ in range(10_000_000): pass\nburn()"
    env = {**os.environ, "PYTHONPATH": profile.SAMPLER, "PROFILE_FOLDER": str(tmp_path)}

    subprocess.run([sys.executable, "-c", code, "monitor"], env=env, check=True)
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", code, "worker"], env=env, check=True)

    (path,) = tmp_path.iterdir()
    assert any(line.partition(";")[2].startswith("<string>:burn;") for line in path.read_text().splitlines())


def test_another_checkout_is_compared_round_by_round():
    rest = dict.fromkeys(profile.LINES.values(), 1.0)
    rows = [
        {
            **rest,
            "server": name,
            "clients": clients,
            "run": run,
            "stolen_ticks": 0,
            "cpu_us": run * us,
            "throughput_per_s": us,
        }
        for name, us in (("now", 1000), ("old", 1100))
        for clients in profile.CLIENTS
        for run in (1, 2)
    ]

    told = profile.summary(rows)

    assert "| **all** | 1,500 | 1,500 | 1,650 | 1,650 |" in told
    costs, does = "+10.0 % of CPU a request (standard error 0.0)", "+10.0 % of corrections/s (standard error 0.0)"
    assert told[-1] == f"old against now, 64 clients: {costs}, {does}"
