"""A corrector that answers at once, and how to look at the problems it provokes."""

from __future__ import annotations

import json
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import Correction, TextDraft, TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.service.jobs import Job
from api.site import create_site
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import QueueFull, ServingError
from scheduler.messages import ID_BITS, Timings
from scheduler.settings import Settings
from tests.fake_tokenizer import FakeTokenizer
from worker.mailbox.protocol import Accepted, MailboxStatus, ReplyMode


class FakeCorrector:
    """Puts 'went' for word 1 of each sentence, or raises what it is told to."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.error: Exception | None = None
        self.refusal: QueueFull | None = None
        self.mailbox = self  # which it is as far as the handlers know it
        self._tokenizer = FakeTokenizer()
        self.pipeline = TextPipeline(self._tokenizer, VerbTable.load())
        self.pause = self.pipeline.pause

    def known_refusal(self, client: str = "", is_newcomer: bool = False) -> QueueFull | None:
        return self.refusal

    def correct(self, job: Job) -> Correction | list[Correction | ServingError]:
        self.jobs.append(job)
        if self.error:
            raise self.error
        outcomes = [text if isinstance(text, ServingError) else self._correction(text, job) for text in job.texts]
        job.exchange.timings = Timings(0.0012, 0.0034, 0.0056)
        return outcomes if job.is_batch else outcomes[0]

    def _correction(self, text: str, job: Job) -> Correction:
        draft = self.pipeline.prepare_text(text, job.min_confidence)
        output = self._tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
        output[-2] |= 10 << ID_BITS  # the tag, of an edit that is certain by five logits
        return self.pipeline.conclude_text(draft, [output] * len(draft.sentences))

    def drafts(self, job: Job) -> list[TextDraft | ServingError]:
        return [text if isinstance(text, ServingError) else self.pipeline.prepare_text(text) for text in job.texts]

    def submit(self, job: Job, drafts: object, within_s: float, mode: ReplyMode) -> Accepted:
        self.jobs.append(job)
        return Accepted(job.exchange.request_id, ())

    def find(self, request_id: str) -> None: ...

    def keep_trace(self, request_id: str, text: str) -> None: ...

    def status(self) -> MailboxStatus:
        return MailboxStatus(redis_ok=self.error is None, live_workers=2, queue_depth=3)

    def observe(self) -> Observed:
        if self.error:
            raise self.error
        return Observed(now=Moment(at_s=1.0), workers=(WorkerFacts("w-1"), WorkerFacts("w-2")), queue_depth=3)

    def close(self) -> None:
        pass


WAYS = ("plain", "flask")  # of POST /correct through the API: before Flask's machinery, and by its route


def client_of(corrector: FakeCorrector, way: str = "plain", settings: Settings | None = None) -> FlaskClient:
    """A client of the application around a corrector."""
    app = create_site(corrector, settings or Settings())
    if way == "flask":
        app.wsgi_app = app.wsgi_app.flask
    return app.test_client()


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
