"""A queue that answers at once, the site in front of it, and how to look at the problems it provokes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from api.http.app import Api
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.errors import NeedsAQueue, QueueFull, RateLimited
from scheduler.messages import ID_BITS, Completion, CorrectionRequest, FinishReason, Timings
from scheduler.settings import Settings
from tests.by_handler import ByHandler
from worker.queue.api_mailbox import ApiMailbox
from worker.queue.protocol import MailboxStatus, Submission

TOKENIZER, VERBS = Tokenizer.load(), VerbTable.load()
HEADERS_OF_PROBLEMS = {401: "WWW-Authenticate", 405: "Allow", 429: "Retry-After", 503: "Retry-After"}


class FakeMailbox(ApiMailbox):
    """Puts 'went' for word 1 of each sentence, or raises what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.exchanges: list[Exchange] = []  # that came to the queue
        self.error: Exception | None = None
        self.refusal: QueueFull | RateLimited | None = None
        output = TOKENIZER.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
        output[-2] |= 10 << ID_BITS  # the tag, of an edit that is right two times in three
        self.output = tuple(output)

    @property
    def requests(self) -> list[CorrectionRequest]:
        return [request for exchange in self.exchanges for request in exchange.requests]

    @property
    def batches(self) -> list[int]:
        """How many sentences came at once."""
        return [len(exchange.requests) for exchange in self.exchanges]

    def known_refusal(self, client: str = "") -> QueueFull | RateLimited | None:
        return self.refusal

    async def enqueue(self, wanted: Submission) -> None:
        self.exchanges.append(wanted)
        if self.error:
            raise self.error
        wanted.accepted_s = time.perf_counter()

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        """The last of several has waited for longest, and the first was decoded for longest."""
        ids = [request.request_id for request in wanted.requests] if job_ids is None else job_ids
        times = [Timings(0.0012 + at / 1e4, 0.0034, 0.0055 + (len(ids) - at) / 1e4) for at in range(len(ids))]
        return [
            Completion(job_id, FinishReason.STOP, self.output, took) for job_id, took in zip(ids, times, strict=True)
        ]

    def abandon(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> None: ...

    def _cancel(self, job_ids: Sequence[str], why: FinishReason) -> None: ...

    async def ask(self, command: tuple[object, ...]) -> NoReturn:
        raise NeedsAQueue("Redis is not asked here")

    def follow(self, wanted: Submission) -> NoReturn:
        raise AssertionError("nothing is followed here")

    def status(self, asked: MailboxStatus | None = None) -> MailboxStatus:
        return MailboxStatus(redis_ok=True, live_workers=0 if self.error else 2, queue_depth=3)

    # It is what is observed, too, as engines in the modes without a queue.
    async def observe(self) -> Observed:
        if self.error:
            raise self.error
        return Observed(now=Moment(at_s=1.0), workers=(WorkerFacts("w-1"), WorkerFacts("w-2")), queue_depth=3)

    async def find(self, request_id: str) -> None: ...

    async def news(self, since: str) -> tuple[list[str], str]:
        return [], since

    def close(self) -> None: ...


class FailingMailbox(FakeMailbox):
    """Answers so many sentences; every later one fails."""

    def __init__(self, num_answered: int, error: Exception) -> None:
        super().__init__()
        self._num_left, self._later = num_answered, error

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        ids = [request.request_id for request in wanted.requests] if job_ids is None else job_ids
        wanted.outcomes |= dict.fromkeys(ids)
        answers = await super().wait(wanted, ids[: self._num_left])
        wanted.outcomes |= {answer.request_id: answer for answer in answers}
        self._num_left -= len(answers)
        if len(answers) < len(ids):
            raise self._later
        return answers


class LimitedMailbox(FakeMailbox):
    """Refuses these batches the first time, as for a key that has used what a second brings."""

    def __init__(self, *refused: int, retry_after_s: float = 0.001) -> None:
        super().__init__()
        self._refused, self._retry_after_s = set(refused), retry_after_s

    async def enqueue(self, wanted: Submission) -> None:
        number = len(self.exchanges)
        if number in self._refused:
            self._refused.remove(number)
            raise RateLimited("used up", self._retry_after_s)
        await super().enqueue(wanted)


def corrector_of(mailbox: FakeMailbox, settings: Settings | None = None) -> Corrector:
    return Corrector(TextPipeline(TOKENIZER, VERBS), mailbox, settings or Settings())


def site_of(mailbox: FakeMailbox | None = None, settings: Settings | None = None) -> Api:
    """The application with all plug-ins, in a mode without a queue."""
    from api.site import create_site  # with all plug-ins

    settings = replace(settings or Settings(), mode="sync")
    return create_site(corrector_of(mailbox or FakeMailbox(), settings), settings)


def client_of(mailbox: FakeMailbox | None = None, settings: Settings | None = None) -> FlaskClient:
    return client_around(site_of(mailbox, settings))


def client_around(app: Api) -> FlaskClient:
    app.wsgi_app = ByHandler(app)
    return app.test_client()


def check(client: FlaskClient, text: str | None = None, **fields: str) -> TestResponse:
    """As clients of LanguageTool ask."""
    form = {"language": "en-US", **({} if text is None else {"text": text}), **fields}
    return client.post("/v2/check", data=form)


def assert_problem(response: TestResponse, status: int, slug: str) -> dict[str, Any]:
    document = json.loads(response.get_data(as_text=True))
    assert (response.status_code, document["type"]) == (status, f"urn:miniserve:problem:{slug}")
    assert response.content_type == "application/problem+json"
    assert document["status"] == status
    assert document["title"] and document["detail"] and document["request_id"]
    assert response.headers["X-Request-ID"] and HEADERS_OF_PROBLEMS.get(status, "X-Request-ID") in response.headers
    return document
