"""What a drill is, what it finds, and the stage it is held on.

A drill is a function of a `Stage` that gives `Findings`: the requests it sent and the checks it made. `hold` adds what
is checked in every drill, and makes a `Result` of it.
"""

from __future__ import annotations

import random
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from api.grammar.sentences import find_sentences
from ops.drills.conservation import CountWatch
from ops.drills.system import DrillError, Shape, System, running
from ops.drills.traffic import Exchange, Habits, Question, Traffic
from ops.load import prompts
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, Arrivals, ClosedLoop, Limits, OpenLoop

_CALM_CLIENTS = 8
ONCE = Habits(retries=False)  # no client comes back
NUM_SENTENCES = 1000  # different ones of a full drill; the calm run asks each once


@dataclass(frozen=True, slots=True)
class Check:
    """One figure and what is asked of it."""

    what: str
    value: float | str | None
    bar: str
    is_met: bool


def at_most(what: str, value: float | None, most: float) -> Check:
    return Check(what, value, f"<= {most:g}", value is not None and value <= most)


def at_least(what: str, value: float | None, least: float) -> Check:
    return Check(what, value, f">= {least:g}", value is not None and value >= least)


def equal(what: str, value: float, wanted: float) -> Check:
    return Check(what, value, f"= {wanted:g}", value == wanted)


@dataclass(frozen=True, slots=True)
class Calm:
    """What the same system answered before anything was done to it."""

    answers: dict[str, dict[str, Any]]  # by sentence
    median_s: float


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the requests."""

    requests: int = 0
    lost: int = 0  # connected, and without a 200
    duplicated: int = 0  # with more than one answer
    wrong: int = 0  # answered otherwise than in the calm run
    refused: int = 0  # refusals, each with Retry-After; the clients came back
    added_p99_ms: float | None = None  # to the calm run's median latency
    max_ms: float | None = None

    def checks(self) -> list[Check]:
        return [equal(name, getattr(self, name), 0) for name in ("lost", "duplicated", "wrong")]


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds what one drill found."""

    tally: Tally
    checks: Sequence[Check]
    details: dict[str, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()  # for people, below the row


@dataclass(frozen=True, slots=True)
class Drill:
    """`bar` says in words what `hold` must show."""

    name: str
    what: str
    bar: str
    hold: Callable[[Stage], Findings]


@dataclass(frozen=True, slots=True)
class Result:
    """A line of the table, and of the file."""

    name: str
    bar: str
    tally: Tally
    checks: tuple[Check, ...]
    details: dict[str, Any]
    conservation: str
    seconds: float
    lines: Sequence[str] = ()

    @property
    def has_passed(self) -> bool:
        return all(check.is_met for check in self.checks)

    def document(self) -> dict[str, Any]:
        figures = asdict(self)
        del figures["lines"]  # they say what the details say
        return {"name": figures.pop("name"), "passed": self.has_passed, **figures.pop("tally"), **figures}


class Stop:
    """A signal handler that interrupts what runs. Python drops the exception if a fork is under way: ask `check`."""

    def __init__(self) -> None:
        self._was_asked = False

    def __call__(self, number: int, frame: object) -> None:
        self._was_asked = True
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt after a signal."""
        if self._was_asked:
            raise KeyboardInterrupt


class Stage:
    """What a drill works with: sizes by form, dice, systems, a bar that moves."""

    def __init__(self, is_quick: bool, seed: int, bar: tqdm, stop: Stop | None = None) -> None:
        self.is_quick = is_quick
        self.seed = seed
        self.rng = random.Random(seed)
        self.watches: list[CountWatch] = []
        self._bar = bar
        self._stop = stop or Stop()

    def size(self, full: Any, quick: Any) -> Any:
        return quick if self.is_quick else full

    def questions(self, quick: int = 60) -> list[Question]:
        """Each a single sentence, so that a request is one job."""
        single = [text for text in prompts.load(None, self.seed) if len([*find_sentences(text)]) == 1]
        return [{"sentence": text} for text in single[: self.size(NUM_SENTENCES, quick)]]

    @contextmanager
    def system(self, shape: Shape) -> Iterator[System]:
        """Run a system, ready, with its counts read all the while."""
        with running(shape) as system:
            watch = CountWatch(system.redis_url)
            watch.start()
            self.watches.append(watch)
            try:
                yield system
            finally:
                watch.stop()

    def calm(self, system: System, questions: Sequence[Question]) -> Calm:
        """Ask each once and wait. Raises DrillError where not even that works."""
        limits = Limits(total=len(questions))
        with Traffic(system.urls, questions, ClosedLoop(_CALM_CLIENTS), limits) as traffic:
            self.follow(system, traffic, len(questions), "calm run")
        if bad := [exchange for exchange in traffic.ended if not exchange.is_ok]:
            raise DrillError(f"the calm run already fails: {bad[0].status} {bad[0].slug} {bad[0].answer}")
        answers = {exchange.question["sentence"]: exchange.answer for exchange in traffic.ended}
        return Calm(answers, statistics.median(exchange.latency_s for exchange in traffic.ended))

    def open_loop(self, rate_per_s: float) -> OpenLoop:
        return OpenLoop(rate_per_s, self.seed, MAX_OPEN_CONNECTIONS)

    def follow(self, system: System, traffic: Traffic, total: int, what: str) -> None:
        """Wait until all is answered."""
        while not traffic.is_over:
            self.show(len(traffic.ended) / total, f"{what}, {len(traffic.ended):,} answered")
            system.pause(0.02)

    def load(
        self,
        system: System,
        questions: Sequence[Question],
        arrivals: Arrivals,
        seconds: float,
        habits: Habits = ONCE,
    ) -> Traffic:
        """So many seconds of it; returns when all is answered."""
        with Traffic(system.urls, questions, arrivals, Limits(duration_s=seconds), habits) as traffic:
            started_s = time.monotonic()
            while not traffic.is_over:
                self.show((time.monotonic() - started_s) / seconds, f"{len(traffic.ended):,} over")
                system.pause(0.02)
        return traffic

    def show(self, share: float, words: str) -> None:
        """Move the bar. Raises KeyboardInterrupt where a signal came."""
        self._stop.check()
        self._bar.set_postfix_str(words)
        self._bar.update(100 * min(1.0, share) - self._bar.n)


def tally(exchanges: Sequence[Exchange], calm: Calm, num_stored_twice: int = 0) -> Tally:
    """Lost: no 200 in the end, though the client stayed."""
    answered = [exchange for exchange in exchanges if exchange.is_ok]
    added_ms = [1e3 * max(0.0, exchange.latency_s - calm.median_s) for exchange in answered]
    return Tally(
        requests=len(exchanges),
        lost=len(exchanges) - len(answered),
        duplicated=num_stored_twice,
        wrong=sum(exchange.answer != calm.answers[exchange.question["sentence"]] for exchange in answered),
        refused=sum(len(exchange.refusals) for exchange in exchanges),
        added_p99_ms=percentile(added_ms, 99),
        max_ms=percentile([1e3 * exchange.latency_s for exchange in answered], 100),
    )


def count(exchanges: Sequence[Exchange], is_honest: Callable[[Exchange], bool] = lambda _: False) -> Tally:
    """Without a calm run to compare with. Those that ended honestly, and not with a 200, are not lost."""
    answered = [exchange for exchange in exchanges if exchange.is_ok]
    return Tally(
        requests=len(exchanges),
        lost=sum(not exchange.is_ok and not is_honest(exchange) for exchange in exchanges),
        refused=sum(len(exchange.refusals) for exchange in exchanges),
        max_ms=percentile([1e3 * exchange.latency_s for exchange in answered], 100),
    )


def answers_per_s(exchanges: Sequence[Exchange]) -> float:
    """Between the first tenth and the last: without the filling and the emptying of the batch."""
    ends = sorted(exchange.ended_s for exchange in exchanges if exchange.is_ok)
    middle = ends[len(ends) // 10 : len(ends) - len(ends) // 10]
    return (len(middle) - 1) / (middle[-1] - middle[0]) if len(middle) > 1 else 0.0


def percentile(values: Sequence[float], percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 1) if len(values) else None


def problems_of(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """How those ended that are lost."""
    slugs = [exchange.slug for exchange in exchanges if not exchange.is_ok]
    return {slug: slugs.count(slug) for slug in dict.fromkeys(slugs)}


def reasons_to_fail_over(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """How often another replica was tried, and why."""
    reasons = [reason for exchange in exchanges for reason in exchange.failovers]
    return {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}


def num_stored_twice(system: System) -> int:
    """Requests under whose id more than one answer is stored."""
    keys = list(system.redis.scan_iter("rq:results:*", count=1000))
    with system.redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.xlen(key)
        return sum(length > 1 for length in pipeline.execute())


def dropped_answers(system: System) -> int:
    """Answers that came after the first one and were given to nobody."""
    return system.counted("duplicates")


def hold(drill: Drill, stage: Stage) -> Result:
    """A drill that cannot be held has failed; its result says why."""
    started_s = time.monotonic()
    try:
        findings = drill.hold(stage)
    except Exception as error:  # a fault of any kind: one drill must not end the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        findings = Findings(Tally(), [Check("held", words, "to its end", False)], {"traceback": traceback.format_exc()})
    watches = stage.watches
    off = [one for one in watches if one.is_exact is False]
    conservation = (off or [one for one in watches if one.is_exact] or watches or [None])[0]
    words = conservation.summary() if conservation is not None else "n/a"
    checks = [*findings.checks, Check("conservation", words, "exact", not off)]
    details = {**findings.details, "scrapes": sum(one.num_scrapes for one in watches)}
    seconds = round(time.monotonic() - started_s, 1)
    return Result(drill.name, drill.bar, findings.tally, tuple(checks), details, words, seconds, findings.lines)
