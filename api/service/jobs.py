"""What a client asks for and what it gets: the values between the HTTP handlers and the corrector.

The record that the queue keeps of a job is enough to make the job again, so any replica can give the answer later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from api.grammar.pipeline import Correction, Edit, TextDraft, TextPipeline
from api.http import problems
from scheduler.errors import ServingError
from scheduler.messages import Completion, Timings
from scheduler.traces import RequestTimestamps
from worker.mailbox.protocol import Phase, Record, ReplyMode


# Not frozen, here and below: a frozen dataclass takes three times as long to make, and each request makes them all.
@dataclass(slots=True)
class Job:
    """One accepted body: a text, or a batch of texts. A refused text of a batch is represented by its refusal."""

    request_id: str
    texts: Sequence[str | ServingError]
    learner_id: str | None = None
    has_left: Callable[[], bool] | None = None  # whether the client closed the connection; asked now and then
    within_s: float | None = None  # the answer is of no use later
    key: str = ""  # digest of the client's idempotency key
    timestamps: RequestTimestamps = field(default_factory=RequestTimestamps, compare=False)
    is_batch: bool = False

    def id_of(self, number: int) -> str:
        """The id under which text `number`, counted from 1, is answered."""
        return f"{self.request_id}-{number}" if self.is_batch else self.request_id


@dataclass(slots=True)
class Answer:
    """A correction and where its time went. Sentences run side by side, so each time is that of the slowest one."""

    request_id: str
    correction: Correction
    timings: Timings


@dataclass(slots=True)
class BatchAnswer:
    """One outcome for each text of a batch, in order."""

    request_id: str
    outcomes: tuple[Answer | ServingError, ...]

    @property
    def timings(self) -> Timings:
        return longest([outcome.timings for outcome in self.outcomes if isinstance(outcome, Answer)])


@dataclass(slots=True)
class Pending:
    """The request has no answer yet."""

    request_id: str
    phase: Phase


@dataclass(slots=True)
class Following:
    """A request whose edits come as they are decoded, and then its answer; None while there is nothing new.

    The iterator raises a ServingError. Whoever takes it has to close it.
    """

    request_id: str
    events: Generator[Edit | Answer | None]


class EditStream:
    """The edits of a text in the order in which they become certain, each once."""

    def __init__(self, pipeline: TextPipeline, draft: TextDraft) -> None:
        self._pipeline = pipeline
        self._sentences = draft.sentences
        self._outputs: list[Completion | tuple[int, ...]] = [()] * len(draft.sentences)
        self._num_sent = [0] * len(draft.sentences)

    def new_edits(self, outputs: Sequence[Completion | tuple[int, ...]]) -> list[Edit]:
        """The edits that are certain now and were not before. `outputs`: of each sentence what is decoded so far."""
        changed = [at for at, output in enumerate(outputs) if output is not self._outputs[at]]
        self._outputs = list(outputs)
        return [edit for at in changed for edit in self._new_edits_of(at)]

    def _new_edits_of(self, at: int) -> list[Edit]:
        sentence, output = self._sentences[at], self._outputs[at]
        if isinstance(output, Completion):
            edits = self._pipeline.conclude(sentence, output.output_ids).edits
        else:
            edits = self._pipeline.certain_edits(sentence, output)
        new = edits[self._num_sent[at] :]
        self._num_sent[at] = max(len(edits), self._num_sent[at])
        return [replace(edit, start=edit.start + sentence.start, end=edit.end + sentence.start) for edit in new]


def record_of(job: Job, refusals: Sequence[ServingError | None], tokenizer_fingerprint: str, mode: ReplyMode) -> Record:
    """What the queue keeps of a job. Of a refused text it keeps the refusal only.

    `refusals` has one entry for each text. The fingerprint is kept because another tokenizer reads the same output
    differently.
    """
    items = [text if no is None else problems.problem(no) for text, no in zip(job.texts, refusals, strict=True)]
    content = {"items": items} if job.is_batch else {"sentence": items[0]}
    document = problems.to_json(content | {"learner_id": job.learner_id})
    # Digests are compared only under a key.
    digest = hashlib.blake2b(document.encode(), digest_size=16).hexdigest() if job.key else ""
    return Record(job.request_id, document, tokenizer_fingerprint, digest, job.key, mode)


def job_of(request_id: str, document: str) -> Job:
    """The job that `record_of` has kept."""
    content = json.loads(document)
    if "sentence" in content:
        return Job(request_id, (content["sentence"],), content["learner_id"])
    texts = tuple(item if isinstance(item, str) else problems.refusal_of(item) for item in content["items"])
    return Job(request_id, texts, content["learner_id"], is_batch=True)


def longest(timings: Sequence[Timings]) -> Timings:
    """The longest of each time over all that ran side by side; zeros of none."""
    if len(timings) == 1:
        return timings[0]
    return Timings(
        queue_s=max((one.queue_s for one in timings), default=0.0),
        prefill_s=max((one.prefill_s for one in timings), default=0.0),
        decode_s=max((one.decode_s for one in timings), default=0.0),
    )
