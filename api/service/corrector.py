"""The way of one request from text to answer: texts become sequences, the queue runs them, outputs become corrections.

Any worker on the same queue may run a sequence. The HTTP handlers know this class and its mailbox.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from api.grammar.pipeline import MAX_TEXT_CHARACTERS, Correction, TextDraft, TextPipeline
from api.service.jobs import Job, longest, record_of
from api.telemetry.request_log import Exchange
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServingError, ShuttingDown
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_SENTENCES, Completion, CorrectionRequest
from scheduler.settings import Settings
from worker.mailbox.protocol import Accepted, ReplyMode, Ticket
from worker.mailbox.waiters import WaitingMailbox

Drafts = Sequence[TextDraft | ServingError]  # one for each text of a job; or why it was refused
BatchOutcome = Sequence[Correction | ServingError]  # one for each text, in order
Part = TypeVar("Part")


class Corrector:
    """Corrects by way of a mailbox. Used from many threads or greenlets."""

    def __init__(self, pipeline: TextPipeline, mailbox: WaitingMailbox, settings: Settings) -> None:
        self.mailbox = mailbox
        self.pipeline = pipeline
        self.pause = pipeline.pause  # for callers that cut long texts themselves
        self.timeout_s = settings.request_timeout_s

    def correct(self, job: Job) -> Correction | BatchOutcome:
        """Wait for the answer. Raises a ServingError; of a batch only what concerns all of it."""
        job.limit_wait(self.timeout_s)
        drafts = self.drafts(job)
        accepted = self.submit(job, drafts, job.left_s())
        complete = partial(self._completions, job, accepted)
        outcomes: list[Correction | ServingError] = []
        try:
            for outcome in self.outcomes(job.exchange, drafts, accepted.tickets, complete):
                if isinstance(outcome, ServingError) and _concerns_all(job, accepted, outcome):
                    raise outcome
                outcomes.append(outcome)
        except BaseException:
            for ticket in accepted.tickets:  # a ticket that is used up already stays as it is
                self.mailbox.abandon(ticket)
            raise
        job.exchange.request_id = accepted.request_id
        return outcomes if job.is_batch else only(outcomes)

    def drafts(self, job: Job) -> list[TextDraft | ServingError]:
        """One for each text. Raises what is wrong with the whole job."""
        if not job.is_batch:
            return [self.pipeline.prepare_text(text, job.min_confidence) for text in job.texts if isinstance(text, str)]
        num_characters = sum(len(text) for text in job.texts if isinstance(text, str))
        if num_characters > MAX_TEXT_CHARACTERS:  # first: splitting takes time
            raise _too_much(f"have {num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read.")
        drafts = [self._draft(text, job.min_confidence) for text in self.pipeline.in_steps(job.texts)]
        num_sentences = sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft))
        if num_sentences > MAX_SENTENCES:
            raise _too_much(f"hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once.")
        return drafts

    def _draft(self, text: str | ServingError, min_confidence: float) -> TextDraft | ServingError:
        if isinstance(text, ServingError):
            return text
        try:
            return self.pipeline.prepare_text(text, min_confidence)
        except ServingError as error:
            return error

    def submit(self, job: Job, drafts: Drafts, within_s: float, mode: ReplyMode = ReplyMode.WAIT) -> Accepted:
        """Give the sequences of a job to the queue. Its refusal comes from here or from the wait for the answers."""
        exchange = job.exchange
        exchange.tokenized_s = time.perf_counter()
        requests = self._requests(job, drafts)
        if not requests:  # a batch in which every text is refused is not recorded: no bound would apply to it
            return Accepted(exchange.request_id, ())
        record = record_of(job, drafts, self.pipeline.tokenizer_fingerprint, mode)
        exchange.is_kept_longer = bool(record.key) or mode is ReplyMode.ASYNC
        exchange.prompt_tokens = sum([len(request.prompt_ids) for request in requests])
        exchange.sent_s = time.perf_counter()
        try:
            accepted = self.mailbox.submit_recorded(record, requests, within_s)
        except InvalidRequest as error:
            raise InvalidRequest("sentences" if job.is_batch else "sentence", str(error)) from None
        if accepted.request_id == exchange.request_id:  # else the trace is the earlier request's with the same key
            exchange.job_ids = tuple([request.request_id for request in requests])
        return accepted

    def _requests(self, job: Job, drafts: Drafts) -> list[CorrectionRequest]:
        """One for each sentence, in order. A single sentence runs under the id of its answer; of several,
        number 2 runs under `<id of the answer>-2`."""
        requests, context = [], job.exchange.context
        traceparent = context and context.traceparent()
        for number, draft in enumerate(drafts, start=1):
            if isinstance(draft, ServingError):
                continue
            answer_id = f"{job.exchange.request_id}-{number}" if job.is_batch else job.exchange.request_id
            is_alone = len(draft.sentences) == 1
            for place, sentence in enumerate(draft.sentences, start=1):
                requests.append(
                    CorrectionRequest(
                        request_id=answer_id if is_alone else f"{answer_id}-{place}",
                        prompt_ids=sentence.prompt.token_ids,
                        word_numbers=sentence.prompt.word_numbers,
                        max_output_tokens=MAX_OUTPUT_TOKENS,
                        tokenizer_fingerprint=self.pipeline.tokenizer_fingerprint,
                        traceparent=traceparent,
                    )
                )
        return requests

    def _completions(self, job: Job, accepted: Accepted, tickets: Sequence[Ticket]) -> list[Completion]:
        try:
            completions = self.mailbox.wait_all(tickets, job.left_s(), job.has_left)
        except DeadlineExceeded as error:
            raise job.explained(error) from None
        finally:
            job.exchange.accepted_s = accepted.accepted_s
        job.exchange.note_answers(completions)
        return completions

    def outcomes(
        self,
        exchange: Exchange,
        drafts: Drafts,
        parts: Iterable[Part],
        complete: Callable[[Sequence[Part]], Sequence[Completion]],
    ) -> Iterator[Correction | ServingError]:
        """One for each text. There is one part for each sentence; `complete` turns those of a text into completions."""
        rest, timings = iter(parts), []
        for draft in self.pipeline.in_steps(drafts):
            try:
                if isinstance(draft, ServingError):
                    raise draft
                completions = complete(tuple(islice(rest, len(draft.sentences))))
                timings += [completion.timings for completion in completions]
                yield self.pipeline.conclude_text(draft, [completion.output_ids for completion in completions])
            except ServingError as error:
                yield error
        exchange.timings = longest(timings)


def only(outcomes: BatchOutcome) -> Correction:
    """The one of a request that is no batch. Raises what it has ended in."""
    (outcome,) = outcomes
    if isinstance(outcome, ServingError):
        raise outcome
    return outcome


def _concerns_all(job: Job, accepted: Accepted, error: ServingError) -> bool:
    """Whether the failure of one text is that of the whole job: nobody waits any more, or the queue refused it."""
    if not job.is_batch or isinstance(error, ShuttingDown):
        return True
    if isinstance(error, (Overloaded, DeadlineExceeded)) and not accepted.accepted_s:
        return True  # the refusal of a single sentence comes while it is waited for
    return job.has_left is not None and job.has_left()


def _too_much(found: str) -> InvalidRequest:
    return InvalidRequest("sentences", f"The items of `sentences` {found} Send them in parts.")
