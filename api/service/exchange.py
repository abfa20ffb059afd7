"""One HTTP request on its way through the API."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduler.messages import Completion, Timings
from worker.queue.protocol import Submission


@dataclass(frozen=True, slots=True)
class Account:
    """Who sends it, where API keys are asked for: the name of the keys, and what a second may bring; 0: no limit."""

    name: str
    requests_per_s: float = 0.0
    tokens_per_s: float = 0.0

    @property
    def limits(self) -> str:
        """Return the limits as ENQUEUE takes them; '' without any."""
        return f"{self.requests_per_s:g} {self.tokens_per_s:g}" if self.requests_per_s or self.tokens_per_s else ""


# Not frozen: a frozen dataclass takes three times as long to make, and each request makes one.
@dataclass(slots=True, eq=False)
class Exchange(Submission):
    """What is known of one HTTP request, filled in on its way; where it asks for corrections, its mailbox is given it.

    Its id is that of its job, too: nobody can guess another's. Points of time are by time.perf_counter(); 0: it never
    came to that. Those but the first, and all below them, are of a request for a correction.
    """

    received_s: float = 0.0
    route: str = "none"  # as in the table of routes; never a path, which may hold anything
    correlation_id: str | None = None
    status: int = 0
    slug: str | None = None  # of its problem document
    timings: Timings = Timings()  # of its answer
    is_shed: bool = False  # refused without asking the queue
    is_answer: bool = False  # to a client that waited for it
    is_stream: bool = False  # it is over when its last event is sent
    has_gone: bool = False  # the client of a stream, before its end
    learner: str = ""  # a digest of whom it is counted for; '' for nobody
    account: Account | None = None  # whose key it came with; None where no key is asked for
    prompt_tokens: int = 0
    output_tokens: int = 0
    more_tokens: int = 0  # of an earlier, asynchronous request whose answer is first given here
    is_read: bool = False  # and is to become a job
    sent_s: float = 0.0  # to the queue
    trace: Any = None  # of a request that asks where its time went; hears of its answers

    @property
    def has_own_jobs(self) -> bool:
        """Not those of an earlier request with the same key."""
        return bool(self.requests) and not self.is_joined

    @property
    def outcome(self) -> str:
        if self.has_gone:
            return "left"
        return self.slug or ("accepted" if self.status == 202 else "answered")

    def note_answers(self, completions: Sequence[Completion]) -> None:
        self.accepted_s = self.accepted_s or time.perf_counter()  # the answer may be there before the queue's reply
        self.output_tokens += sum([len(completion.output_ids) for completion in completions])
        self.note_times(completions)
        if self.trace is not None:
            self.trace.note_answers(completions, self.sent_s, time.perf_counter(), self.has_own_jobs)

    def note_times(self, completions: Sequence[Completion]) -> None:
        """The longest of each time, over all that ran side by side."""
        for completion in completions:
            self.timings = Timings(*map(max, self.timings, completion.timings))

    def further(self) -> Exchange:
        """The same request, for the next portion of its sentences."""
        return replace(self, requests=(), prompt_tokens=0, output_tokens=0, timings=Timings(), is_further=True)

    def add(self, part: Exchange) -> None:
        """A further portion is over. They run one after the other, so that their times add up."""
        self.has_left = self.has_left or part.has_left
        if part.accepted_s:  # else the queue has refused it
            self.prompt_tokens += part.prompt_tokens
            self.output_tokens += part.output_tokens
        self.timings = Timings(*map(sum, zip(self.timings, part.timings, strict=True)))
