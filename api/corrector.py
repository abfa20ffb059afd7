"""The way of one request from text to answer; the HTTP handlers know only the `Corrector` protocol.

`QueueCorrector` puts the mailbox between the two halves of the agent's work. Other ways of serving hand in another
corrector.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from api.agent import MAX_TEXT_CHARACTERS, Agent, Correction, TextDraft
from api.readiness import check_status
from scheduler.errors import DeadlineExceeded, InvalidRequest, ServingError, ShuttingDown
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_SENTENCES, CorrectionRequest, Timings
from scheduler.settings import Settings
from worker.mailbox.protocol import ApiMailbox, MailboxStatus, Ticket

_PROBE_TIMEOUT_S = 1.0  # a probe must answer although Redis hangs


@dataclass(frozen=True, slots=True)
class Job:
    """One accepted body: a sentence, or a text of several."""

    request_id: str
    sentence: str
    learner_id: str | None = None
    has_left: Callable[[], bool] | None = None  # whether the client hung up; asked now and then
    within_s: float | None = None  # the answer is of no use later, says the client


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One accepted body of several texts; where one was refused already, why."""

    request_id: str
    items: Sequence[str | ServingError]
    learner_id: str | None = None
    has_left: Callable[[], bool] | None = None
    within_s: float | None = None

    def id_of(self, number: int) -> str:
        """Of item `number`, from 1."""
        return f"{self.request_id}-{number}"

    def job(self, number: int) -> Job:
        """Of item `number`, which is a text."""
        return Job(self.id_of(number), str(self.items[number - 1]), self.learner_id, self.has_left)


@dataclass(frozen=True, slots=True)
class Answer:
    """A correction and where its time went; of several sentences the longest of each, as they run side by side."""

    correction: Correction
    timings: Timings


class Corrector(Protocol):
    """What the HTTP handlers need."""

    def correct(self, job: Job) -> Answer:
        """Raises a ServingError."""

    def correct_batch(self, batch: BatchJob) -> list[Answer | ServingError]:
        """Of each item, in order. Raises a ServingError where all of it is refused, or nobody is left to read it."""

    def check_ready(self) -> MailboxStatus:
        """Raises NotReady with the reason; answers within about a second."""

    def close(self) -> None:
        """Answer whoever still waits with ShuttingDown."""


class QueueCorrector:
    """Corrects by way of the queue: any worker on the same Redis may do it."""

    def __init__(
        self, agent: Agent, mailbox: ApiMailbox, settings: Settings, probe_timeout_s: float = _PROBE_TIMEOUT_S
    ) -> None:
        self._agent = agent
        self._mailbox = mailbox
        self._timeout_s = settings.request_timeout_s
        self._probe = _Probe(mailbox, probe_timeout_s)

    def correct(self, job: Job) -> Answer:
        deadline = self._deadline(job)
        draft = self._agent.prepare_text(job.sentence)
        tickets = self._mailbox.submit_all(self._requests(job, draft), deadline.left_s)
        return self._answer(draft, tickets, deadline, job.has_left)

    def correct_batch(self, batch: BatchJob) -> list[Answer | ServingError]:
        deadline = self._deadline(batch)
        _check_length(batch)
        drafts = [self._draft(item) for item in batch.items]
        _check_number(drafts)
        requests = [
            self._requests(batch.job(number), draft)
            for number, draft in enumerate(drafts, start=1)
            if isinstance(draft, TextDraft)
        ]
        tickets = self._submit_batch(list(chain.from_iterable(requests)), deadline)
        try:
            return self._collect(drafts, iter(tickets), deadline, batch.has_left)
        except BaseException:
            for ticket in tickets:  # those used up already are not hurt by it
                self._mailbox.abandon(ticket)
            raise

    def _deadline(self, job: Job | BatchJob) -> _Deadline:
        return _Deadline(self._timeout_s if job.within_s is None else min(job.within_s, self._timeout_s))

    def _submit_batch(self, requests: Sequence[CorrectionRequest], deadline: _Deadline) -> tuple[Ticket, ...]:
        try:
            return self._mailbox.submit_all(requests, deadline.left_s) if requests else ()
        except InvalidRequest as error:
            raise InvalidRequest("sentences", str(error)) from None

    def _draft(self, item: str | ServingError) -> TextDraft | ServingError:
        if isinstance(item, ServingError):
            return item
        try:
            return self._agent.prepare_text(item)
        except ServingError as error:
            return error

    def _collect(
        self,
        drafts: Sequence[TextDraft | ServingError],
        tickets: Iterator[Ticket],
        deadline: _Deadline,
        has_left: Callable[[], bool] | None,
    ) -> list[Answer | ServingError]:
        outcomes: list[Answer | ServingError] = []
        for draft in drafts:
            if isinstance(draft, ServingError):
                outcomes.append(draft)
                continue
            own = tuple(islice(tickets, len(draft.sentences)))
            try:
                outcomes.append(self._answer(draft, own, deadline, has_left))
            except ServingError as error:
                if isinstance(error, ShuttingDown) or (has_left and has_left()):
                    raise
                outcomes.append(error)
        return outcomes

    def _answer(
        self, draft: TextDraft, tickets: Sequence[Ticket], deadline: _Deadline, has_left: Callable[[], bool] | None
    ) -> Answer:
        try:
            completions = self._mailbox.wait_all(tickets, deadline.left_s, has_left)
        except DeadlineExceeded:
            told = f"No answer within {deadline.within_s:g} s; the request was cancelled. Try again later."
            raise DeadlineExceeded(told) from None
        correction = self._agent.conclude_text(draft, [completion.output_ids for completion in completions])
        return Answer(correction, longest([completion.timings for completion in completions]))

    def _requests(self, job: Job, draft: TextDraft) -> list[CorrectionRequest]:
        return [
            CorrectionRequest(
                request_id=job_id,
                prompt_ids=sentence.prompt.token_ids,
                word_numbers=sentence.prompt.word_numbers,
                max_output_tokens=MAX_OUTPUT_TOKENS,
                tokenizer_fingerprint=self._agent.tokenizer_fingerprint,
                learner_id=job.learner_id,
            )
            for job_id, sentence in zip(_job_ids(job, len(draft.sentences)), draft.sentences, strict=True)
        ]

    def check_ready(self) -> MailboxStatus:
        return check_status(self._probe.status(), self._probe.timeout_s)

    def close(self) -> None:
        self._mailbox.close()


class _Deadline:
    """One for all that came in one HTTP request."""

    def __init__(self, within_s: float) -> None:
        self.within_s = within_s
        self._at_s = time.monotonic() + within_s

    @property
    def left_s(self) -> float:
        return max(0.0, self._at_s - time.monotonic())


def _job_ids(job: Job, num_sentences: int) -> list[str]:
    """A single sentence runs under the id of the answer; of several, number 2 runs under `<id of the answer>-2`."""
    if num_sentences == 1:
        return [job.request_id]
    return [f"{job.request_id}-{number}" for number in range(1, num_sentences + 1)]


def longest(timings: Sequence[Timings]) -> Timings:
    """Of each part, over all that ran side by side; zeros of none."""
    if len(timings) == 1:
        return timings[0]
    return Timings(
        queue_s=max((one.queue_s for one in timings), default=0.0),
        prefill_s=max((one.prefill_s for one in timings), default=0.0),
        decode_s=max((one.decode_s for one in timings), default=0.0),
    )


def _check_length(batch: BatchJob) -> None:
    """Before anything is cut into sentences, which takes time."""
    num_characters = sum(len(item) for item in batch.items if isinstance(item, str))
    if num_characters > MAX_TEXT_CHARACTERS:
        told = f"The items of `sentences` have {num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read."
        raise InvalidRequest("sentences", f"{told} Send them in parts.")


def _check_number(drafts: Sequence[TextDraft | ServingError]) -> None:
    num_sentences = sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft))
    if num_sentences > MAX_SENTENCES:
        told = f"The items of `sentences` hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once."
        raise InvalidRequest("sentences", f"{told} Send them in parts.")


class _Probe:
    """Asks the mailbox for its status in a thread of its own, one at a time: a hung Redis holds up one thread."""

    def __init__(self, mailbox: ApiMailbox, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._pending: _Asking | None = None

    def status(self) -> MailboxStatus | None:
        """None if there is no answer in time."""
        with self._lock:
            if self._pending is None or self._pending.done.is_set():
                self._pending = _Asking(self._mailbox)
            asking = self._pending
        return asking.answer if asking.done.wait(self.timeout_s) else None


class _Asking:
    """One question on its way."""

    def __init__(self, mailbox: ApiMailbox) -> None:
        self.done = threading.Event()
        self.answer: MailboxStatus | None = None
        threading.Thread(target=self._ask, args=(mailbox,), name="readiness", daemon=True).start()

    def _ask(self, mailbox: ApiMailbox) -> None:
        try:
            self.answer = mailbox.status()
        finally:
            self.done.set()
