"""The way of one request from text to answer; the HTTP handlers know only the `Corrector` protocol.

`QueueCorrector` puts the mailbox between the two halves of the agent's work. Other ways of serving hand in another
corrector.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from api.agent import Agent, Correction, TextDraft
from scheduler.errors import NotReady
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest, Timings
from scheduler.settings import Settings
from worker.mailbox.protocol import READY_WITHIN_S, ApiMailbox, MailboxStatus

_PROBE_TIMEOUT_S = 1.0  # a probe must answer although Redis hangs
_PROBE_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """One accepted body: a sentence, or a text of several."""

    request_id: str
    sentence: str
    learner_id: str | None = None
    has_left: Callable[[], bool] | None = None  # whether the client hung up; asked now and then


@dataclass(frozen=True, slots=True)
class Answer:
    """A correction and where its time went; of several sentences the longest of each, as they run side by side."""

    correction: Correction
    timings: Timings


class Corrector(Protocol):
    """What the HTTP handlers need."""

    def correct(self, job: Job) -> Answer:
        """Raises a ServingError."""

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
        draft = self._agent.prepare_text(job.sentence)
        tickets = self._mailbox.submit_all(self._requests(job, draft))
        completions = self._mailbox.wait_all(tickets, self._timeout_s, job.has_left)
        correction = self._agent.conclude_text(draft, [completion.output_ids for completion in completions])
        return Answer(correction, _longest([completion.timings for completion in completions]))

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
        status = self._probe.status()
        if status is None:
            raise NotReady(
                f"Redis does not answer within {self._probe.timeout_s:g} s; try again shortly.", _PROBE_AGAIN_S
            )
        if not status.redis_ok:
            raise NotReady("Redis does not answer; try again shortly.", _PROBE_AGAIN_S)
        if not status.live_workers:
            raise NotReady(f"No worker has been heard of in the last {READY_WITHIN_S:g} s.", _PROBE_AGAIN_S)
        return status

    def close(self) -> None:
        self._mailbox.close()


def _job_ids(job: Job, num_sentences: int) -> list[str]:
    """A single sentence runs under the id of the answer; of several, number 2 runs under `<id of the answer>-2`."""
    if num_sentences == 1:
        return [job.request_id]
    return [f"{job.request_id}-{number}" for number in range(1, num_sentences + 1)]


def _longest(timings: Sequence[Timings]) -> Timings:
    if len(timings) == 1:
        return timings[0]
    return Timings(
        queue_s=max(one.queue_s for one in timings),
        prefill_s=max(one.prefill_s for one in timings),
        decode_s=max(one.decode_s for one in timings),
    )


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
