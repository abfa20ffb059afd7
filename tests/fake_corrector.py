"""A corrector that answers at once, and how to look at the problems it provokes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.http.app import Api
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import QueueFull
from scheduler.messages import ID_BITS, Completion, CorrectionRequest, FinishReason, Timings
from scheduler.settings import Settings
from tests.by_handler import ByHandler
from tests.fake_tokenizer import FakeTokenizer
from worker.queue.protocol import MailboxStatus, Submission


@dataclass
class Asked:
    """A request that came to the queue."""

    exchange: Exchange
    content: dict[str, Any]


class FakeCorrector(Corrector):
    """Puts 'went' for word 1 of each sentence, or raises what it is told to."""

    def __init__(self) -> None:
        self.jobs: list[Asked] = []
        self.error: Exception | None = None
        self.refusal: QueueFull | None = None
        self._tokenizer = FakeTokenizer()
        # It is its own mailbox, as far as the handlers know that.
        super().__init__(TextPipeline(self._tokenizer, VerbTable.load()), self, Settings())  # type: ignore[arg-type]
        self.timeout_s = inf

    def known_refusal(self, client: str = "") -> QueueFull | None:
        return self.refusal

    def make_ready(self, exchange: Exchange, content: dict[str, Any], requests: Sequence[CorrectionRequest]) -> None:
        self.jobs.append(Asked(exchange, content))
        exchange.requests = tuple(requests)

    async def enqueue(self, exchange: Exchange) -> None:
        if self.error:
            raise self.error

    async def wait(self, exchange: Exchange, job_ids: Sequence[str] | None = None) -> list[Completion]:
        output = self._tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
        output[-2] |= 10 << ID_BITS  # the tag, of an edit that is certain by five logits
        ids = [request.request_id for request in exchange.requests] if job_ids is None else job_ids
        times = Timings(0.0012, 0.0034, 0.0056)
        return [Completion(job_id, FinishReason.STOP, tuple(output), times) for job_id in ids]

    def abandon(self, wanted: Submission) -> None: ...

    async def find(self, request_id: str) -> None: ...

    async def news(self, since: str) -> tuple[list[str], str]:
        return [], since

    def status(self) -> MailboxStatus:
        return MailboxStatus(redis_ok=True, live_workers=0 if self.error else 2, queue_depth=3)

    async def observe(self) -> Observed:
        if self.error:
            raise self.error
        return Observed(now=Moment(at_s=1.0), workers=(WorkerFacts("w-1"), WorkerFacts("w-2")), queue_depth=3)

    def close(self) -> None:
        pass


def client_of(corrector: FakeCorrector, settings: Settings | None = None) -> FlaskClient:
    """A client of the application around a corrector, which has no queue."""
    return client_around(site_of(corrector, settings))


def site_of(corrector: FakeCorrector, settings: Settings | None = None) -> Api:
    from api.site import create_site  # with all plug-ins

    return create_site(corrector, replace(settings or Settings(), mode="sync"))


def client_around(app: Api) -> FlaskClient:
    app.wsgi_app = ByHandler(app)
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
