"""What a client asks for and what it is told: the values between the HTTP handlers and the `Corrector`.

A job knows its `document`, from which it can be made again: kept beside the queue, it lets any replica tell the answer
later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from api.agent import Correction
from api.schema import parse_batch, parse_body
from scheduler.errors import NotFound, ServingError
from scheduler.messages import Timings
from worker.mailbox.protocol import Manner, Phase, Record


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the client wants its answer; from its headers."""

    has_left: Callable[[], bool] | None = None  # whether it hung up; asked now and then
    within_s: float | None = None  # the answer is of no use later
    key: str = ""  # digest of its idempotency key


NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class Job:
    """One accepted body: a sentence, or a text of several."""

    request_id: str
    sentence: str
    learner_id: str | None = None
    wishes: Wishes = NO_WISHES

    @property
    def document(self) -> str:
        return json.dumps({"sentence": self.sentence, "learner_id": self.learner_id})


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One accepted body of several texts; where one was refused already, why."""

    request_id: str
    items: Sequence[str | ServingError]
    document: str
    learner_id: str | None = None
    wishes: Wishes = NO_WISHES

    def id_of(self, number: int) -> str:
        """Of item `number`, from 1."""
        return f"{self.request_id}-{number}"

    def job(self, number: int) -> Job:
        """Of item `number`, which is a text."""
        return Job(self.id_of(number), str(self.items[number - 1]), self.learner_id, self.wishes)


@dataclass(frozen=True, slots=True)
class Answer:
    """A correction and where its time went; of several sentences the longest of each, as they run side by side."""

    request_id: str
    correction: Correction
    timings: Timings


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """Of each item, in order."""

    request_id: str
    outcomes: tuple[Answer | ServingError, ...]

    @property
    def timings(self) -> Timings:
        return longest([outcome.timings for outcome in self.outcomes if isinstance(outcome, Answer)])


@dataclass(frozen=True, slots=True)
class Pending:
    """No answer yet."""

    request_id: str
    phase: Phase


def record_of(job: Job | BatchJob, tokenizer_fingerprint: str, manner: Manner) -> Record:
    """What is to be kept of it. Another tokenizer reads the model's output differently, so its name is part of it."""
    document = f"{tokenizer_fingerprint}\n{job.document}"
    digest = hashlib.blake2b(document.encode(), digest_size=16).hexdigest()
    return Record(job.request_id, document, digest, job.wishes.key, manner)


def job_of(request_id: str, document: str, tokenizer_fingerprint: str) -> Job | BatchJob:
    """The job that a record tells of. Raises NotFound where another version of the program has made it."""
    fingerprint, _, text = document.partition("\n")
    if fingerprint != tokenizer_fingerprint:
        raise NotFound("The request was made with another version of the model; send it again.")
    raw = text.encode()
    if "sentence" in json.loads(raw):
        body = parse_body(raw)
        return Job(request_id, body.sentence, body.learner_id)
    batch = parse_batch(raw)
    return BatchJob(request_id, batch.items, batch.document, batch.learner_id)


def longest(timings: Sequence[Timings]) -> Timings:
    """Of each part, over all that ran side by side; zeros of none."""
    if len(timings) == 1:
        return timings[0]
    return Timings(
        queue_s=max((one.queue_s for one in timings), default=0.0),
        prefill_s=max((one.prefill_s for one in timings), default=0.0),
        decode_s=max((one.decode_s for one in timings), default=0.0),
    )
