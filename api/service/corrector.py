"""The way of one request from text to answer: texts become sequences, the queue runs them, outputs become corrections.

Any worker on the same queue may run a sequence. The HTTP handlers know this class and its mailbox.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from api.grammar.correction import Correction
from api.grammar.pipeline import TextDraft, TextPipeline
from api.http import problems
from api.http.schema import CorrectionBody, RequestOptions
from api.service.exchange import Exchange
from scheduler.errors import DeadlineExceeded
from scheduler.messages import MAX_OUTPUT_TOKENS, Completion, CorrectionRequest
from scheduler.settings import Settings
from worker.mailbox.protocol import ApiMailbox, ReplyMode, Submission, WhenLeft

_SHORT = 600  # characters: read, and answered, within a millisecond


class Corrector:
    """Corrects by way of a mailbox. Threads call what has no `async`, the event loop what has."""

    def __init__(self, pipeline: TextPipeline, mailbox: ApiMailbox, settings: Settings) -> None:
        self.mailbox = mailbox
        self.pipeline = pipeline
        self.pause = pipeline.pause  # for callers that cut long texts themselves
        self.timeout_s = settings.request_timeout_s

    def correct(self, exchange: Exchange, body: CorrectionBody) -> Correction:
        """Wait for the answer. Raises a ServingError."""
        exchange.limit_wait(self.timeout_s)
        draft, wanted = self.submit(exchange, body)
        completions = self.wait(exchange, wanted) if draft.sentences else ()
        exchange.request_id = wanted.request_id
        return self.conclude(draft, completions)

    async def correct_soon(self, exchange: Exchange, body: CorrectionBody, when_left: WhenLeft) -> Correction:
        """As `correct`, from the event loop."""
        exchange.limit_wait(self.timeout_s)
        is_short = len(body.sentence) <= _SHORT
        read = partial(self.pipeline.prepare_text, body.sentence, body.min_confidence)
        draft = read() if is_short else await asyncio.to_thread(read)
        wanted = Submission(exchange.request_id)
        completions: Sequence[Completion] = ()
        if draft.sentences:
            requests = self.requests_of(exchange, draft, exchange.request_id)
            wanted = self._wanted(exchange, _content_of(body), requests, ReplyMode.WAIT)
            await self.mailbox.enqueue_soon(wanted)
            self._note_enqueued(exchange, wanted)
            try:
                completions = await self.mailbox.wait_all_soon(wanted, exchange.left_s(), when_left)
            except DeadlineExceeded as error:
                raise exchange.explained(error) from None
            finally:
                exchange.accepted_s = wanted.accepted_s
            exchange.note_answers(completions)
        exchange.request_id = wanted.request_id
        if is_short:
            return self.conclude(draft, completions)
        return await asyncio.to_thread(self.conclude, draft, completions)

    def submit(
        self, exchange: Exchange, body: CorrectionBody, mode: ReplyMode = ReplyMode.WAIT
    ) -> tuple[TextDraft, Submission]:
        """Give the sentences that can be read to the queue. Its refusal comes from here or from the wait."""
        draft = self.pipeline.prepare_text(body.sentence, body.min_confidence)
        if not draft.sentences:
            return draft, Submission(exchange.request_id)
        requests = self.requests_of(exchange, draft, exchange.request_id)
        return draft, self.enqueue(exchange, _content_of(body), requests, mode)

    def requests_of(self, exchange: Exchange, draft: TextDraft, answer_id: str) -> list[CorrectionRequest]:
        """One for each sentence, in order. A single sentence runs under the id of its answer; of several,
        number 2 runs under `<id of the answer>-2`."""
        fingerprint, is_alone = self.pipeline.tokenizer_fingerprint, len(draft.sentences) == 1
        return [
            CorrectionRequest(
                answer_id if is_alone else f"{answer_id}-{place}",
                sentence.prompt.token_ids,
                sentence.prompt.word_numbers,
                MAX_OUTPUT_TOKENS,
                fingerprint,
            )
            for place, sentence in enumerate(draft.sentences, start=1)
        ]

    def enqueue(
        self, exchange: Exchange, content: dict[str, Any], requests: Sequence[CorrectionRequest], mode: ReplyMode
    ) -> Submission:
        """`content`: what any replica needs to give the answer later (api/kept/requests.py)."""
        wanted = self._wanted(exchange, content, requests, mode)
        self.mailbox.enqueue(wanted)
        self._note_enqueued(exchange, wanted)
        return wanted

    def _wanted(
        self, exchange: Exchange, content: dict[str, Any], requests: Sequence[CorrectionRequest], mode: ReplyMode
    ) -> Submission:
        wanted = submission_of(exchange, content, self.pipeline.tokenizer_fingerprint, mode)
        wanted.requests, wanted.within_s = tuple(requests), exchange.left_s()
        wanted.is_own_deadline = exchange.has_own_deadline
        exchange.is_kept_longer = wanted.is_kept
        exchange.prompt_tokens = sum([len(request.prompt_ids) for request in requests])
        exchange.sent_s = time.perf_counter()
        return wanted

    def _note_enqueued(self, exchange: Exchange, wanted: Submission) -> None:
        if wanted.request_id == exchange.request_id:  # else an earlier one has the same key
            exchange.job_ids = tuple([request.request_id for request in wanted.requests])

    def wait(self, exchange: Exchange, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        """Wait for the answers to all of it, or to these of its jobs."""
        try:
            completions = self.mailbox.wait_all(wanted, exchange.left_s(), exchange.has_left, job_ids)
        except DeadlineExceeded as error:
            raise exchange.explained(error) from None
        finally:
            exchange.accepted_s = wanted.accepted_s
        exchange.note_answers(completions)
        return completions

    def conclude(self, draft: TextDraft, completions: Sequence[Completion]) -> Correction:
        """The answer for a text, whichever way it goes out."""
        return self.pipeline.conclude_text(draft, [completion.output_ids for completion in completions])


def _content_of(body: CorrectionBody) -> dict[str, Any]:
    return {"sentence": body.sentence} | options_of(body)


def options_of(body: RequestOptions) -> dict[str, Any]:
    """What is kept of a body besides its texts."""
    options = {"learner_id": body.learner_id}
    return {"min_confidence": body.min_confidence} | options if body.min_confidence else options


def submission_of(exchange: Exchange, content: dict[str, Any], fingerprint: str, mode: ReplyMode) -> Submission:
    """A request as the queue keeps it, without its sentences. Its text is kept only where it may be asked for again.

    The fingerprint is kept because another tokenizer reads the same output differently.
    """
    # Digests are compared only under a key, which is of one account; versions that kept no account digested the same.
    digest = hashlib.blake2b(problems.to_json(content).encode(), digest_size=16).hexdigest() if exchange.key else ""
    limits, key = "", exchange.key
    if exchange.account is not None:  # nobody else may fetch its answer
        content["account"], limits = exchange.account.name, exchange.account.limits
    document = problems.to_json(content) if key or mode is ReplyMode.ASYNC else ""
    about = (document, fingerprint, digest, key, mode, exchange.client, limits)
    return Submission(exchange.request_id, *about, may_be_known=bool(key))


def learner_of(learner_id: str, account: str) -> str:
    """Return the name under which a learner is counted: a digest, another one for each account."""
    return hashlib.blake2b(learner_id.encode(), key=account.encode(), digest_size=16).hexdigest()
