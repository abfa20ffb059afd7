"""The way of one request from text to answer; the HTTP handlers know only the `Corrector` protocol.

`QueueCorrector` puts the mailbox between the two halves of the agent's work. Other ways of serving hand in another
corrector.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import Protocol

from api.agent import Agent, Edit, TextDraft
from api.drafting import Drafting, Drafts
from api.jobs import Answer, BatchAnswer, BatchJob, Following, Job, Pending, job_of, record_of
from api.readiness import check_status
from scheduler.errors import DeadlineExceeded, InvalidRequest, NotFound, QueueFull, ServingError, ShuttingDown
from scheduler.messages import Completion, FinishReason
from scheduler.observed import Observed
from scheduler.settings import Settings
from worker.mailbox.found_traces import FoundTrace
from worker.mailbox.protocol import (
    HEARTBEAT_S,
    KEPT_TTL_S,
    Accepted,
    ApiMailbox,
    CallOff,
    Found,
    FoundJob,
    MailboxStatus,
    Manner,
    Phase,
    Ticket,
)
from worker.mailbox.waiters import completion_of


class Corrector(Protocol):
    """What the HTTP handlers need."""

    keeps_requests: bool  # whether `follow`, `start`, `find` and `cancel` are of use

    def known_refusal(self) -> QueueFull | None:
        """What anybody would be told who came now, where that is known without asking the queue."""

    def correct(self, job: Job) -> Answer:
        """Raises a ServingError."""

    def correct_batch(self, batch: BatchJob) -> BatchAnswer:
        """Raises a ServingError where all of it is refused, or nobody is left to read it."""

    def follow(self, job: Job) -> Following:
        """Raises a ServingError."""

    def start(self, job: Job | BatchJob) -> Answer | BatchAnswer | Pending:
        """Accept it and wait for nothing. Raises a ServingError."""

    def find(self, request_id: str) -> Answer | BatchAnswer | Pending:
        """What became of a request. Raises NotFound, and what the request itself ended in."""

    def cancel(self, request_id: str) -> CallOff:
        """End what has no answer yet. Raises NotFound, NotReady."""

    def trace(self, request_id: str) -> FoundTrace | None:
        """Where the time of a request went; None where nothing is known of it. Raises NotReady."""

    def check_ready(self) -> MailboxStatus:
        """Raises NotReady with the reason."""

    def observe(self) -> Observed:
        """What metrics are made of. Raises NotReady."""

    def close(self) -> None:
        """Answer whoever still waits with ShuttingDown."""


class QueueCorrector:
    """Corrects by way of the queue: any worker on the same Redis may do it."""

    def __init__(self, agent: Agent, mailbox: ApiMailbox, settings: Settings) -> None:
        self._drafting = Drafting(agent)
        self._mailbox = mailbox
        self._timeout_s = settings.request_timeout_s

    @property
    def keeps_requests(self) -> bool:
        return self._mailbox.keeps_requests

    def known_refusal(self) -> QueueFull | None:
        return self._mailbox.known_refusal()

    def correct(self, job: Job) -> Answer:
        deadline = self._deadline(job)
        drafts = self._drafting.drafts(job)
        accepted = self._submit(job, drafts, deadline.left_s)
        (draft,) = drafts
        assert isinstance(draft, TextDraft)
        return self._answer(accepted.request_id, draft, accepted.tickets, _Waiting(deadline, job))

    def correct_batch(self, batch: BatchJob) -> BatchAnswer:
        deadline = self._deadline(batch)
        drafts = self._drafting.drafts(batch)
        accepted = self._submit(batch, drafts, deadline.left_s)
        try:
            return self._collect(drafts, accepted, _Waiting(deadline, batch))
        except BaseException:
            for ticket in accepted.tickets:  # those used up already are not hurt by it
                self._mailbox.abandon(ticket)
            raise

    def follow(self, job: Job) -> Following:
        deadline = self._deadline(job)
        drafts = self._drafting.drafts(job)
        accepted = self._submit(job, drafts, deadline.left_s, Manner.FOLLOW)
        (draft,) = drafts
        assert isinstance(draft, TextDraft)
        events = self._events(accepted, draft, _Waiting(deadline, job))
        next(events)  # from here on closing it lets the request go
        return Following(accepted.request_id, events)

    def _events(self, accepted: Accepted, draft: TextDraft, waiting: _Waiting) -> Generator[Edit | Answer | None]:
        states = self._mailbox.follow(accepted.tickets, waiting.deadline.left_s, waiting.has_left)
        with closing(states), waiting.deadline.named():
            first = next(states)
            yield None
            story, told_s = self._drafting.story(draft), time.monotonic()
            for outputs in chain((first,), states):
                news = story.news(outputs)
                if news or time.monotonic() - told_s >= HEARTBEAT_S:
                    yield from news or (None,)
                    told_s = time.monotonic()
        waiting.note_answers(outputs)
        yield self._drafting.answer(accepted.request_id, draft, outputs)

    def start(self, job: Job | BatchJob) -> Answer | BatchAnswer | Pending:
        within_s = KEPT_TTL_S if job.wishes.within_s is None else job.wishes.within_s
        drafts = self._drafting.drafts(job)
        accepted = self._submit(job, drafts, within_s, Manner.ASYNC)
        if accepted.request_id != job.request_id:
            return self.find(accepted.request_id)  # begun by an earlier one with the same key
        if not any(isinstance(draft, TextDraft) for draft in drafts):
            return BatchAnswer(job.request_id, tuple(drafts))
        return Pending(accepted.request_id, Phase.QUEUED)

    def find(self, request_id: str) -> Answer | BatchAnswer | Pending:
        return self._outcome(request_id, self._found(request_id))

    def cancel(self, request_id: str) -> CallOff:
        jobs = self._found(request_id).jobs
        told = {self._mailbox.cancel(job.job_id) for job in jobs if isinstance(job.state, Phase)}
        if any(isinstance(job.state, Completion) and job.state.finish_reason is FinishReason.CANCELLED for job in jobs):
            told.add(CallOff.CANCELLED)
        order = (CallOff.CANCELLING, CallOff.CANCELLED, CallOff.DONE)
        return min(told, key=order.index, default=CallOff.DONE)

    def _found(self, request_id: str) -> Found:
        found = self._mailbox.find(request_id)
        if found is None or found.maker != self._drafting.tokenizer_fingerprint:
            raise NotFound("No request has this id, or its answer is no longer kept.")
        return found

    def _outcome(self, request_id: str, found: Found) -> Answer | BatchAnswer | Pending:
        phases = [job.state for job in found.jobs if isinstance(job.state, Phase)]
        if phases:
            is_queued = len(phases) == len(found.jobs) and Phase.RUNNING not in phases
            return Pending(request_id, Phase.QUEUED if is_queued else Phase.RUNNING)
        job = job_of(request_id, found.document)
        drafts, jobs = self._drafting.drafts(job), iter(found.jobs)
        if sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft)) != len(found.jobs):
            raise NotFound("The request was taken by another version of this server; send it again.")
        if isinstance(job, Job):
            return self._told(request_id, drafts[0], jobs)
        outcomes: list[Answer | ServingError] = []
        for number, draft in enumerate(drafts, start=1):
            try:
                outcomes.append(self._told(job.id_of(number), draft, jobs))
            except ServingError as error:
                outcomes.append(error)
        return BatchAnswer(request_id, tuple(outcomes))

    def _told(self, request_id: str, draft: TextDraft | ServingError, jobs: Iterator[FoundJob]) -> Answer:
        if isinstance(draft, ServingError):
            raise draft
        own = list(islice(jobs, len(draft.sentences)))
        return self._drafting.answer(request_id, draft, [completion_of(job.state) for job in own])

    def _deadline(self, job: Job | BatchJob) -> _Deadline:
        within_s = job.wishes.within_s
        return _Deadline(self._timeout_s if within_s is None else min(within_s, self._timeout_s))

    def _submit(
        self,
        job: Job | BatchJob,
        drafts: Drafts,
        within_s: float,
        manner: Manner = Manner.WAIT,
    ) -> Accepted:
        marks = job.marks
        marks.tokenized_s = time.perf_counter()
        requests = self._drafting.requests(job, drafts)
        if not requests:  # of a batch in which all are refused nothing is kept: nothing would bound it
            return Accepted(job.request_id, ())
        refusals = [draft if isinstance(draft, ServingError) else None for draft in drafts]
        record = record_of(job, refusals, self._drafting.tokenizer_fingerprint, manner)
        marks.prompt_tokens = sum([len(request.prompt_ids) for request in requests])
        marks.sent_s = time.perf_counter()
        try:
            accepted = self._mailbox.submit_recorded(record, requests, within_s)
        except InvalidRequest as error:
            raise InvalidRequest("sentence" if isinstance(job, Job) else "sentences", str(error)) from None
        marks.accepted_s = time.perf_counter()
        if accepted.request_id == job.request_id:  # else it has a trace already, of who came first with the same key
            marks.job_ids = tuple([request.request_id for request in requests])
        return accepted

    def _collect(self, drafts: Drafts, accepted: Accepted, waiting: _Waiting) -> BatchAnswer:
        tickets = iter(accepted.tickets)
        outcomes: list[Answer | ServingError] = []
        for number, draft in enumerate(drafts, start=1):
            if isinstance(draft, ServingError):
                outcomes.append(draft)
                continue
            own = tuple(islice(tickets, len(draft.sentences)))
            try:
                outcomes.append(self._answer(f"{accepted.request_id}-{number}", draft, own, waiting))
            except ServingError as error:
                if isinstance(error, ShuttingDown) or waiting.is_over():
                    raise
                outcomes.append(error)
        return BatchAnswer(accepted.request_id, tuple(outcomes))

    def _answer(self, request_id: str, draft: TextDraft, tickets: Sequence[Ticket], waiting: _Waiting) -> Answer:
        with waiting.deadline.named():
            completions = self._mailbox.wait_all(tickets, waiting.deadline.left_s, waiting.has_left)
        waiting.note_answers(completions)
        return self._drafting.answer(request_id, draft, completions)

    def trace(self, request_id: str) -> FoundTrace | None:
        return self._mailbox.trace(request_id)

    def check_ready(self) -> MailboxStatus:
        return check_status(self._mailbox.status())

    def observe(self) -> Observed:
        return self._mailbox.observe()

    def close(self) -> None:
        self._mailbox.close()


class _Waiting:
    """For the jobs of one HTTP request: until when, and whether for somebody."""

    def __init__(self, deadline: _Deadline, job: Job | BatchJob) -> None:
        self.deadline = deadline
        self.has_left = job.wishes.has_left
        self._marks = job.marks

    def note_answers(self, completions: Sequence[Completion]) -> None:
        self._marks.answered_s = time.perf_counter()
        self._marks.output_tokens += sum([len(completion.output_ids) for completion in completions])

    def is_over(self) -> bool:
        return self.has_left is not None and self.has_left()


class _Deadline:
    """One for all that came in one HTTP request."""

    def __init__(self, within_s: float) -> None:
        self.within_s = within_s
        self._at_s = time.monotonic() + within_s

    @contextmanager
    def named(self) -> Iterator[None]:
        """Whoever waits in vain is told all of the time there was, not what was left of it."""
        try:
            yield
        except DeadlineExceeded:
            if self.left_s > 0.0:  # it was the job's deadline, not ours
                raise
            told = (
                f"No answer within {self.within_s:g} s; the request was cancelled. Give it longer, or try again later."
            )
            raise DeadlineExceeded(told) from None

    @property
    def left_s(self) -> float:
        return max(0.0, self._at_s - time.monotonic())
