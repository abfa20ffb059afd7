"""What a client asks for and what it is told: the values between the HTTP handlers and the `Corrector`.

What is kept of a job beside the queue makes the job again, so that any replica can tell the answer later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from api import problems
from api.agent import Correction, Edit
from scheduler.errors import ServingError
from scheduler.messages import Timings
from scheduler.traces import Marks
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
    marks: Marks = field(default_factory=Marks, compare=False)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One accepted body of several texts; where one was refused already, why."""

    request_id: str
    items: Sequence[str | ServingError]
    learner_id: str | None = None
    wishes: Wishes = NO_WISHES
    marks: Marks = field(default_factory=Marks, compare=False)

    def id_of(self, number: int) -> str:
        """Of item `number`, from 1."""
        return f"{self.request_id}-{number}"

    def job(self, number: int) -> Job:
        """Of item `number`, which is a text."""
        return Job(self.id_of(number), str(self.items[number - 1]), self.learner_id, self.wishes, self.marks)


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


@dataclass(frozen=True, slots=True)
class Following:
    """A request whose edits are told as they are decoded, then its answer; None while there is nothing new.

    The iterator raises a ServingError, and is to be closed.
    """

    request_id: str
    events: Generator[Edit | Answer | None]


def record_of(job: Job | BatchJob, refusals: Sequence[ServingError | None], maker: str, manner: Manner) -> Record:
    """What is to be kept of a job, in whose place of a refused text only the refusal stands.

    `refusals`: one for each text. `maker`: the tokenizer, for another one reads what the model wrote differently.
    """
    texts = [job.sentence] if isinstance(job, Job) else job.items
    items = [text if no is None else problems.problem(no) for text, no in zip(texts, refusals, strict=True)]
    content = {"sentence": items[0]} if isinstance(job, Job) else {"items": items}
    document = problems.to_json(content | {"learner_id": job.learner_id})
    digest = hashlib.blake2b(document.encode(), digest_size=16).hexdigest()
    return Record(job.request_id, document, maker, digest, job.wishes.key, manner)


def job_of(request_id: str, document: str) -> Job | BatchJob:
    """The job that `record_of` has kept."""
    content = json.loads(document)
    if "sentence" in content:
        return Job(request_id, content["sentence"], content["learner_id"])
    items = tuple(item if isinstance(item, str) else problems.refusal_of(item) for item in content["items"])
    return BatchJob(request_id, items, content["learner_id"])


def longest(timings: Sequence[Timings]) -> Timings:
    """Of each part, over all that ran side by side; zeros of none."""
    if len(timings) == 1:
        return timings[0]
    return Timings(
        queue_s=max((one.queue_s for one in timings), default=0.0),
        prefill_s=max((one.prefill_s for one in timings), default=0.0),
        decode_s=max((one.decode_s for one in timings), default=0.0),
    )
