"""The way of one request from text to answer: texts become sequences, the queue runs them, outputs become corrections.

Any worker on the same queue may run a sequence. The HTTP handlers know this class and its mailbox.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.grammar.pipeline import TextPipeline
from api.service import problems
from api.service.body import CorrectionBody, RequestOptions
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.messages import MAX_OUTPUT_TOKENS, Completion, CorrectionRequest
from scheduler.settings import Settings
from worker.queue.api_mailbox import ApiMailbox


class Corrector:
    """Corrects by way of a mailbox, in an event loop."""

    def __init__(self, pipeline: TextPipeline, mailbox: ApiMailbox, settings: Settings) -> None:
        self.mailbox = mailbox
        self.pipeline = pipeline
        self.timeout_s = settings.request_timeout_s

    async def correct(self, exchange: Exchange, body: CorrectionBody) -> Correction:
        """Wait for the answer. Raises a ServingError."""
        exchange.limit_wait(self.timeout_s)
        draft = await in_turn(len(body.sentence), self.prepare, exchange, body)
        return await in_turn(len(body.sentence), self.conclude, draft, await self._answers(exchange))

    async def _answers(self, exchange: Exchange) -> Sequence[Completion]:
        if not exchange.requests:
            return ()
        await self.mailbox.enqueue(exchange)
        completions = await self.mailbox.wait(exchange)
        exchange.note_answers(completions)
        return completions

    def prepare(self, exchange: Exchange, body: CorrectionBody) -> TextDraft:
        """Read the text. Its sentences are then to be enqueued."""
        draft = self.pipeline.prepare_text(body.sentence, body.min_confidence)
        if draft.sentences:
            self.make_ready(exchange, text_of(body), self.requests_of(draft, exchange.request_id))
        return draft

    def requests_of(self, draft: TextDraft, answer_id: str) -> list[CorrectionRequest]:
        """One for each sentence: a single one under the id of its answer, of several number 2 under `<that id>-2`."""
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

    def make_ready(self, exchange: Exchange, content: dict[str, Any], requests: Sequence[CorrectionRequest]) -> None:
        """`content`: what any replica needs to give the answer later (api/kept/requests.py)."""
        exchange.tokenizer_fingerprint = self.pipeline.tokenizer_fingerprint
        note_content(exchange, content)
        exchange.requests, exchange.within_s = tuple(requests), exchange.left_s()
        exchange.may_be_known = bool(exchange.key)
        exchange.prompt_tokens = sum([len(request.prompt_ids) for request in requests])
        exchange.sent_s = time.perf_counter()

    def conclude(self, draft: TextDraft, completions: Sequence[Completion]) -> Correction:
        """The answer for a text, whichever way it goes out."""
        return self.pipeline.conclude_text(draft, [completion.output_ids for completion in completions])


def text_of(body: CorrectionBody) -> dict[str, Any]:
    """What is kept of a body."""
    return {"sentence": body.sentence} | options_of(body)


def options_of(body: RequestOptions) -> dict[str, Any]:
    """What is kept of a body besides its texts."""
    return {"learner_id": body.learner_id} | ({"min_confidence": body.min_confidence} if body.min_confidence else {})


def note_content(exchange: Exchange, content: dict[str, Any]) -> None:
    """What is kept of a request besides its sentences. Its text is kept only where it may be asked for again."""
    # Digests are compared only under a key, which is of one account.
    if exchange.key:
        exchange.digest = hashlib.blake2b(problems.to_json(content).encode(), digest_size=16).hexdigest()
    if exchange.account is not None:  # nobody else may fetch its answer
        content["account"], exchange.limits = exchange.account.name, exchange.account.limits
    if exchange.is_kept:
        exchange.document = problems.to_json(content)


def learner_of(learner_id: str, account: str) -> str:
    """Return the name under which a learner is counted: a digest, another one for each account."""
    return hashlib.blake2b(learner_id.encode(), key=account.encode(), digest_size=16).hexdigest()
