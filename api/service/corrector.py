"""The way of a request from its texts to its answer: texts become sequences, the queue runs them, outputs become
corrections. What is wrong with one text of a batch, or becomes of it, is said in its place.

Any worker on the same queue may run a sequence. The HTTP handlers know this class and its mailbox.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.grammar.pipeline import MAX_TEXT_CHARACTERS, TextPipeline
from api.grammar.reading import Offsets
from api.service import problems
from api.service.body import BatchBody, Body, CorrectionBody
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServingError, ShuttingDown
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_SENTENCES, CorrectionRequest
from scheduler.settings import Settings
from worker.queue.api_mailbox import ApiMailbox, completion_of
from worker.queue.protocol import Outcome

Drafts = Sequence[TextDraft | ServingError]  # one for each text; or why it was refused
BatchOutcome = Sequence[Correction | ServingError]  # one for each text, in order
Ends = Sequence[Outcome]  # what became of the sentences of a text
Content = dict[str, Any]


class Corrector:
    """Corrects by way of a mailbox, in an event loop."""

    def __init__(self, pipeline: TextPipeline, mailbox: ApiMailbox, settings: Settings) -> None:
        self.mailbox = mailbox
        self.pipeline = pipeline
        self.timeout_s = settings.request_timeout_s

    async def correct(self, exchange: Exchange, body: Body) -> Correction | BatchOutcome:
        """Wait for all answers. Raises what concerns all texts."""
        exchange.limit_wait(self.timeout_s)
        drafts = await in_turn(body.num_characters, self.prepare, exchange, body)
        ends = await self.ends_of(exchange, drafts)
        return await in_turn(body.num_characters, self.outcome_of, body, drafts, ends)

    def prepare(self, exchange: Exchange, body: Body) -> Drafts:
        """Read the texts. Their sentences are then to be enqueued. Raises what is wrong with the whole request."""
        drafts = self.drafts_of(body)
        self.make_ready(exchange, drafts, body)
        return drafts

    def drafts_of(self, body: Body) -> Drafts:
        """One for each text. Raises what is wrong with the whole request, and so with its one text."""
        if isinstance(body, CorrectionBody):
            return [self.pipeline.prepare_text(body.sentence, body.min_confidence, body.offsets)]
        if body.num_characters > MAX_TEXT_CHARACTERS:  # first: splitting takes time
            raise _too_much(f"have {body.num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read.")
        texts = self.pipeline.in_steps(body.sentences)
        drafts = [self.draft_of(text, body.min_confidence, body.offsets) for text in texts]
        num_sentences = sum(map(num_sentences_of, drafts))
        if num_sentences > MAX_SENTENCES:
            raise _too_much(f"hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once.")
        return drafts

    def draft_of(
        self, text: str | ServingError, min_confidence: float = 0.0, offsets: Offsets = "codepoints"
    ) -> TextDraft | ServingError:
        """Why a text was refused takes the place of its draft."""
        if isinstance(text, ServingError):
            return text
        try:
            return self.pipeline.prepare_text(text, min_confidence, offsets)
        except ServingError as error:
            return error

    def make_ready(self, exchange: Exchange, drafts: Drafts, body: Body | None = None) -> None:
        """The sentences of all texts are then to be enqueued. Without a body nothing of them is kept."""
        requests: list[CorrectionRequest] = []
        for number, draft in enumerate(drafts, start=1):
            answer_id = exchange.request_id if isinstance(body, CorrectionBody) else f"{exchange.request_id}-{number}"
            if isinstance(draft, TextDraft):
                requests += self.requests_of(draft, answer_id)
        if not requests:  # a batch in which every text is refused is not recorded: no bound would apply to it
            return
        exchange.tokenizer_fingerprint = self.pipeline.tokenizer_fingerprint
        if exchange.account is not None:
            exchange.limits = exchange.account.limits
        if body is not None and exchange.is_kept:
            note_content(exchange, content_of(body, drafts))
        exchange.requests, exchange.within_s = tuple(requests), exchange.left_s()
        exchange.may_be_known = bool(exchange.key)
        exchange.prompt_tokens = sum([len(request.prompt_ids) for request in requests])
        exchange.sent_s = time.perf_counter()

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

    async def ends_of(self, exchange: Exchange, drafts: Drafts) -> list[Ends]:
        """Wait for the sentences of all texts. Raises what concerns all texts."""
        if not exchange.requests:
            return [()] * len(drafts)
        await self.mailbox.enqueue(exchange)
        job_ids, ends = iter([request.request_id for request in exchange.requests]), []
        try:
            for draft in drafts:
                ends.append(await self._ends_of_text(exchange, list(islice(job_ids, num_sentences_of(draft)))))
        except BaseException:
            self.mailbox.abandon(exchange)
            raise
        return ends

    async def _ends_of_text(self, exchange: Exchange, job_ids: list[str]) -> Ends:
        if not job_ids:
            return ()
        try:
            completions = await self.mailbox.wait(exchange, job_ids)
        except ServingError as error:
            if _concerns_all(exchange, error):
                raise
            return [error]
        exchange.note_answers(completions)
        return completions

    def outcome_of(self, body: Body, drafts: Drafts, ends: Iterable[Ends]) -> Correction | BatchOutcome:
        """Of a batch all, else the one. Raises it where it is an error."""
        if isinstance(body, BatchBody):
            return list(self.outcomes_of(drafts, ends))
        (draft,), (of_text,) = drafts, ends
        return self.conclude(draft, of_text)

    def outcomes_of(self, drafts: Drafts, ends: Iterable[Ends]) -> Iterator[Correction | ServingError]:
        """One for each text."""
        for draft, of_text in self.pipeline.in_steps(zip(drafts, ends, strict=True)):
            try:
                yield self.conclude(draft, of_text)
            except ServingError as error:
                yield error

    def conclude(self, draft: TextDraft | ServingError, ends: Ends) -> Correction:
        """The answer for a text, whichever way it goes out. Raises why it has none."""
        if isinstance(draft, ServingError):
            raise draft
        return self.pipeline.conclude_text(draft, [completion_of(end).output_ids for end in ends])


def num_sentences_of(draft: TextDraft | ServingError) -> int:
    """Of a refused text none is read."""
    return len(draft.sentences) if isinstance(draft, TextDraft) else 0


def content_of(body: Body, drafts: Drafts) -> Content:
    """What is kept of a request: its texts, but of a refused one in a batch the refusal only."""
    if isinstance(body, CorrectionBody):
        content: Content = {"sentence": body.sentence}
    else:
        texts = zip(body.sentences, drafts, strict=True)
        refused = ServingError
        content = {"items": [problems.problem(draft) if isinstance(draft, refused) else text for text, draft in texts]}
    content["learner_id"] = body.learner_id
    if body.min_confidence:
        content["min_confidence"] = body.min_confidence
    if body.offsets != "codepoints":
        content["offsets"] = body.offsets
    return content


def note_content(exchange: Exchange, content: Content) -> None:
    """What any replica needs to give the answer later."""
    # Digests are compared only under a key, which is of one account.
    exchange.digest = hashlib.blake2b(problems.to_json(content).encode(), digest_size=16).hexdigest()
    if exchange.account is not None:  # nobody else may fetch its answer
        content["account"] = exchange.account.name
    exchange.document = problems.to_json(content)


def learner_of(learner_id: str, account: str) -> str:
    """Return the name under which a learner is counted: a digest, another one for each account."""
    return hashlib.blake2b(learner_id.encode(), key=account.encode(), digest_size=16).hexdigest()


def _concerns_all(exchange: Exchange, error: ServingError) -> bool:
    """Whether the failure of one text is that of the whole request: nobody waits any more, or the queue refused it."""
    if isinstance(error, ShuttingDown):
        return True
    if isinstance(error, (Overloaded, DeadlineExceeded)) and not exchange.accepted_s:
        return True  # the refusal of a single sentence comes while it is waited for
    return exchange.has_left


def _too_much(found: str) -> InvalidRequest:
    return InvalidRequest("sentences", f"The items of `sentences` {found} Send them in parts.")
