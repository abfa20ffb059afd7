"""What a client asks for: the value between the HTTP handlers and the corrector, and what the queue keeps of it.

The record that the queue keeps of a job is enough to make the job again (api/kept/requests.py), so any replica can give
the answer later.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from api.grammar.pipeline import TextDraft
from api.http import problems
from api.telemetry.request_log import Exchange
from scheduler.errors import DeadlineExceeded, ServingError
from scheduler.messages import Timings
from worker.mailbox.protocol import Record, ReplyMode


# Not frozen: a frozen dataclass takes three times as long to make, and each request makes one.
@dataclass(slots=True)
class Job:
    """One accepted body: a text, or a batch of texts. A refused text of a batch is represented by its refusal."""

    exchange: Exchange  # the HTTP request that it came with; its id is that of the job
    texts: Sequence[str | ServingError]
    is_batch: bool = False
    learner_id: str | None = None
    has_left: Callable[[], bool] | None = None  # whether the client closed the connection; asked now and then
    within_s: float | None = None  # the answer is of no use later
    key: str = ""  # digest of the client's idempotency key
    min_confidence: float = 0.0  # edits below it are left out
    until_s: float = 0.0  # by time.monotonic(): the answers are waited for until then, all of them

    def limit_wait(self, timeout_s: float) -> None:
        """The wait begins, and the server allows so much of it."""
        self.within_s = timeout_s if self.within_s is None else min(self.within_s, timeout_s)
        self.until_s = time.monotonic() + self.within_s

    def left_s(self) -> float:
        return max(0.0, self.until_s - time.monotonic())

    def explained(self, error: DeadlineExceeded) -> DeadlineExceeded:
        """Names the time that the client or the server allowed, not what was left of it for the last wait."""
        if self.left_s() > 0.0:  # it was the deadline of the sequence, not ours
            return error
        reason = f"No answer within {self.within_s:g} s; the request was cancelled."
        return DeadlineExceeded(f"{reason} Give it longer, or try again later.")


def record_of(
    job: Job, drafts: Sequence[TextDraft | ServingError], tokenizer_fingerprint: str, mode: ReplyMode
) -> Record:
    """What the queue keeps of a job. Of a refused text it keeps the refusal only.

    The fingerprint is kept because another tokenizer reads the same output differently.
    """
    items = [
        problems.problem(draft) if isinstance(draft, ServingError) else text
        for text, draft in zip(job.texts, drafts, strict=True)
    ]
    content: dict[str, Any] = {"items": items} if job.is_batch else {"sentence": items[0]}
    if job.min_confidence:
        content["min_confidence"] = job.min_confidence
    content["learner_id"] = job.learner_id
    # Digests are compared only under a key, which is of one account; versions that kept no account digested the same.
    digest = hashlib.blake2b(problems.to_json(content).encode(), digest_size=16).hexdigest() if job.key else ""
    exchange, limits = job.exchange, ""
    if exchange.account is not None:  # nobody else may fetch its answer
        content["account"], limits = exchange.account.name, exchange.account.limits
    document = problems.to_json(content)
    return Record(exchange.request_id, document, tokenizer_fingerprint, digest, job.key, mode, exchange.client, limits)


def learner_of(learner_id: str, account: str) -> str:
    """Return the name under which a learner is counted: a digest, another one for each account."""
    return hashlib.blake2b(learner_id.encode(), key=account.encode(), digest_size=16).hexdigest()


def longest(timings: Sequence[Timings]) -> Timings:
    """The longest of each time over all that ran side by side; zeros of none."""
    if len(timings) == 1:
        return timings[0]
    return Timings(*map(max, zip(*[(one.queue_s, one.prefill_s, one.decode_s) for one in timings], strict=True)))
