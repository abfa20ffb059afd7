"""A request that kills every worker that computes it, among innocent ones; real processes, really killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from api.grammar.pipeline import TextPipeline
from ops.drills.killed_workers import POISON
from scheduler.errors import RequestFailed
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest
from tests.mailbox_house import RedisHouse, eventually

NUM_REQUESTS, POISONED = 16, 5


def test_poison_in_a_batch_of_16_is_given_up_after_three_crashes_and_15_neighbours_are_answered(
    house: RedisHouse, redis_url: str
) -> None:
    api, pipeline = house.api(), TextPipeline.load()
    drafts = [pipeline.prepare(f"He goed to school {number} times.") for number in range(NUM_REQUESTS)]
    tickets = api.submit_all([
        CorrectionRequest(f"r{number}", draft.prompt.token_ids, draft.prompt.word_numbers, MAX_OUTPUT_TOKENS,
                          pipeline.tokenizer_fingerprint, POISON if number == POISONED else "anna")
        for number, draft in enumerate(drafts)
    ])  # fmt: skip
    num_crashes, worker = 0, start_worker(redis_url)
    deadline = time.monotonic() + 60
    try:
        while api.status().reserved_requests:
            assert time.monotonic() < deadline
            if worker.poll() is not None:
                num_crashes, worker = num_crashes + 1, start_worker(redis_url)
            time.sleep(0.02)
    finally:
        worker.kill()
        worker.wait()

    assert num_crashes == 3
    for number, (ticket, draft) in enumerate(zip(tickets, drafts, strict=True)):
        if number == POISONED:
            with pytest.raises(RequestFailed, match="gave up after 3 attempts"):
                api.wait(ticket, 5)
        else:
            corrected = pipeline.conclude(draft, api.wait(ticket, 5).output_ids).corrected
            assert corrected == f"He went to school {number} times."
    eventually(lambda: api.status().reserved_tokens == 0)


def start_worker(redis_url: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ops.drills.poisoned_worker"]
    return subprocess.Popen(command, env=os.environ | {"MINISERVE_REDIS_URL": redis_url}, stderr=subprocess.DEVNULL)
