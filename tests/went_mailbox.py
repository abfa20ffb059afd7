"""A mailbox that puts 'went' for word 1 of every sentence, and LanguageTool's clients in front of it."""

from __future__ import annotations

from collections.abc import Sequence

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from api.service.corrector import Corrector
from scheduler.errors import QueueFull
from scheduler.messages import Completion, FinishReason, Timings
from scheduler.settings import Settings
from tests.fake_corrector import client_of
from tests.fake_tokenizer import FakeTokenizer
from tests.unit.test_corrector import FakeMailbox
from worker.queue.protocol import Submission


class WentMailbox(FakeMailbox):
    """Puts 'went' for word 1 of each sentence, or raises what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer = FakeTokenizer()
        self.records: list[Submission] = []
        self.batches: list[int] = []
        self.error: Exception | None = None
        self.refusal: QueueFull | None = None
        self.output = tuple(self.tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)]))

    def known_refusal(self, client: str = "") -> QueueFull | None:
        return self.refusal

    async def enqueue(self, wanted: Submission) -> None:
        self.records.append(wanted)
        self.batches.append(len(wanted.requests))
        await super().enqueue(wanted)

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        if self.error:
            raise self.error
        times, ids = Timings(0.001, 0.002, 0.003), [request.request_id for request in wanted.requests]
        return [Completion(job_id, FinishReason.STOP, self.output, times) for job_id in job_ids or ids]

    def observe(self) -> None: ...


def client_of_mailbox(mailbox: WentMailbox, settings: Settings | None = None) -> FlaskClient:
    settings = settings or Settings()
    pipeline = TextPipeline(mailbox.tokenizer, VerbTable.load())
    return client_of(Corrector(pipeline, mailbox, settings), settings=settings)


def check(client: FlaskClient, text: str | None = None, **fields: str) -> TestResponse:
    form = {"language": "en-US", **({} if text is None else {"text": text}), **fields}
    return client.post("/v2/check", data=form)


def utf16(text: str, offset: int, length: int) -> str:
    """What a client of JavaScript or Java cuts out of the text."""
    return text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le")
