"""A corrector that answers at once, and how to look at the problems it provokes."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.agent import Agent
from api.edit_script import ScriptEdit
from api.jobs import Answer, BatchAnswer, BatchJob, Job, Pending
from api.reasons import Reason
from api.verbs import VerbTable
from scheduler.errors import QueueFull, ServingError
from scheduler.messages import Timings
from scheduler.observed import Moment, Observed, WorkerFacts
from tests.fake_tokenizer import FakeTokenizer
from worker.mailbox.protocol import MailboxStatus


class FakeCorrector:
    """Puts 'went' for word 1 of each sentence, or raises what it is told to."""

    keeps_requests = False

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.error: Exception | None = None
        self.refusal: QueueFull | None = None
        self._tokenizer = FakeTokenizer()
        self._agent = Agent(self._tokenizer, VerbTable.load())

    def known_refusal(self) -> QueueFull | None:
        return self.refusal

    def correct(self, job: Job) -> Answer:
        self.jobs.append(job)
        if self.error:
            raise self.error
        draft = self._agent.prepare_text(job.sentence)
        output = self._tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
        correction = self._agent.conclude_text(draft, [output] * len(draft.sentences))
        return Answer(job.request_id, correction, Timings(0.0012, 0.0034, 0.0056))

    def correct_batch(self, batch: BatchJob) -> BatchAnswer:
        outcomes = (
            item if isinstance(item, ServingError) else self.correct(batch.job(number))
            for number, item in enumerate(batch.items, start=1)
        )
        return BatchAnswer(batch.request_id, tuple(outcomes))

    def start(self, job: Job | BatchJob) -> Pending:
        raise AssertionError("keeps no requests")

    find = cancel = start

    def check_ready(self) -> MailboxStatus:
        if self.error:
            raise self.error
        return MailboxStatus(redis_ok=True, live_workers=2, queue_depth=3)

    def observe(self) -> Observed:
        if self.error:
            raise self.error
        return Observed(now=Moment(at_s=1.0), workers=(WorkerFacts("w-1"), WorkerFacts("w-2")), queue_depth=3)

    def close(self) -> None:
        pass


def post(client: FlaskClient, data: bytes | str, **headers: str) -> TestResponse:
    return client.post("/correct", data=data, content_type="application/json", headers=headers)


def assert_problem(response: TestResponse, status: int, slug: str) -> dict[str, Any]:
    document = json.loads(response.get_data(as_text=True))
    assert (response.status_code, document["type"]) == (status, f"urn:miniserve:problem:{slug}")
    assert response.content_type == "application/problem+json"
    assert document["status"] == status
    assert document["title"] and document["detail"] and document["request_id"]
    assert response.headers["X-Request-ID"]
    return document
