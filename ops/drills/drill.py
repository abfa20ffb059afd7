"""What a drill is and what it finds.

A drill is a function of a `Stage` that gives `Findings`: the requests it sent and the checks it made. `hold` adds what
is checked in every drill, and makes a `Result` of it. `UnderLoad` is the drill that is data.
"""

from __future__ import annotations

import random
import statistics
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

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
    lost: int = 0  # connected, and without a 200 in the end
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
    table: str = ""  # for people, below the row


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

    drill: Drill
    findings: Findings
    conservation: str
    seconds: float

    @property
    def has_passed(self) -> bool:
        return all(check.is_met for check in self.findings.checks)

    def document(self) -> dict[str, Any]:
        found = self.findings
        about = {"name": self.drill.name, "passed": self.has_passed, **asdict(found.tally), "bar": self.drill.bar}
        about |= {"checks": [asdict(check) for check in found.checks], "details": found.details}
        return about | {"conservation": self.conservation, "seconds": self.seconds}


class Stage:
    """What a drill works with: sizes by form, dice, systems; `show` moves a bar, and may raise KeyboardInterrupt."""

    def __init__(
        self, is_quick: bool, seed: int, show: Callable[[float, str], None] = lambda share, words: None
    ) -> None:
        self.is_quick = is_quick
        self.seed = seed
        self.show = show
        self.rng = random.Random(seed)
        self.watches: list[CountWatch] = []

    def size(self, full: Any, quick: Any) -> Any:
        return quick if self.is_quick else full

    def questions(self, quick: int = 60) -> list[Question]:
        """Each a single sentence, so that a request is one job."""
        single = [text for text in prompts.load(None, self.seed) if len([*find_sentences(text)]) == 1]
        return [{"sentence": text} for text in single[: self.size(NUM_SENTENCES, quick)]]

    @contextmanager
    def system(self, shape: Shape) -> Iterator[System]:
        """Run a system, ready, with its counts read all the while."""
        with running(shape) as system, CountWatch(system.redis_url) as watch:
            self.watches.append(watch)
            yield system

    def calm(self, system: System, questions: Sequence[Question]) -> Calm:
        """Ask each once and wait. Raises DrillError where not even that works."""
        with Traffic(system.urls, questions, ClosedLoop(_CALM_CLIENTS), Limits(total=len(questions))) as traffic:
            self.follow(system, traffic, "calm run")
        if bad := [exchange for exchange in traffic.ended if not exchange.is_ok]:
            raise DrillError(f"the calm run already fails: {bad[0].status} {bad[0].slug} {bad[0].answer}")
        answers = {exchange.question["sentence"]: exchange.answer for exchange in traffic.ended}
        return Calm(answers, statistics.median(exchange.latency_s for exchange in traffic.ended))

    def open_loop(self, rate_per_s: float) -> OpenLoop:
        return OpenLoop(rate_per_s, self.seed, MAX_OPEN_CONNECTIONS)

    def load(
        self,
        system: System,
        questions: Sequence[Question],
        arrivals: Arrivals,
        seconds: float,
        habits: Habits = ONCE,
    ) -> list[Exchange]:
        """So many seconds of it, and until all is answered."""
        with Traffic(system.urls, questions, arrivals, Limits(duration_s=seconds), habits) as traffic:
            self.follow(system, traffic, f"{seconds:g} s of load")
        return traffic.ended

    def follow(self, system: System, traffic: Traffic, what: str) -> None:
        """Wait until all is answered."""
        while not traffic.is_over:
            num_ended = len(traffic.ended)
            self.show(num_ended / (num_ended + traffic.num_open or 1), f"{what}, {num_ended:,} answered")
            system.pause(0.02)


@dataclass(frozen=True, slots=True)
class Bar:
    """What is asked of one of the figures: `asks` is at_most, at_least or equal."""

    what: str
    figure: str
    asks: Callable[[str, Any, float], Check]
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderLoad:
    """A drill as data: a system, a load of clients that stay, a fault, bars.

    The fault is done, again and again, while the load goes on; it returns figures. `afterwards` looks at what is left.
    No request may be lost, answered twice, or answered otherwise than in the calm run before.
    """

    fault: Callable[[Stage, System, Traffic], dict[str, Any]]
    bars: tuple[Bar, ...]
    rate_per_s: float = 0.0  # an open loop
    num_clients: int = 0  # or a closed one
    shape: Shape = Shape()  # noqa: RUF009 - frozen
    habits: Habits = Habits()  # noqa: RUF009
    afterwards: Callable[[System, Sequence[Exchange]], dict[str, Any]] = lambda system, ended: {}

    def __call__(self, stage: Stage) -> Findings:
        questions = stage.questions()
        with stage.system(self.shape) as system:
            calm = stage.calm(system, questions)
            arrivals = ClosedLoop(self.num_clients) if self.num_clients else stage.open_loop(self.rate_per_s)
            with Traffic(system.urls, questions, arrivals, habits=self.habits) as traffic:
                figures = self.fault(stage, system, traffic)
                traffic.send_no_more()
                stage.follow(system, traffic, "the last ones")
            figures |= self.afterwards(system, traffic.ended)
            outcome = tally(traffic.ended, calm, num_stored_twice(system))
            figures |= {"dropped_answers": system.counted("duplicates"), "lost_by": problems_of(traffic.ended)}
        known = asdict(outcome) | figures
        return Findings(outcome, [*outcome.checks(), *(_check(bar, known) for bar in self.bars)], figures)


def _check(bar: Bar, figures: dict[str, Any]) -> Check:
    return bar.asks(bar.what, figures[bar.figure], bar.limit)


def tally(
    exchanges: Sequence[Exchange],
    calm: Calm | None = None,
    num_twice: int = 0,
    is_honest: Callable[[Exchange], bool] = lambda _: False,
) -> Tally:
    """Lost: no 200 in the end, though the client stayed. Those that ended honestly otherwise are not lost."""
    answered = [exchange for exchange in exchanges if exchange.is_ok]
    wrong = [one for one in answered if calm and one.answer != calm.answers[one.question["sentence"]]]
    added_ms = [1e3 * max(0.0, one.latency_s - calm.median_s) for one in answered] if calm else []
    return Tally(
        requests=len(exchanges),
        lost=sum(not exchange.is_ok and not is_honest(exchange) for exchange in exchanges),
        duplicated=num_twice,
        wrong=len(wrong),
        refused=sum(len(exchange.refusals) for exchange in exchanges),
        added_p99_ms=percentile(added_ms, 99),
        max_ms=latency_ms(answered, 100),
    )


def answers_per_s(exchanges: Sequence[Exchange]) -> float:
    """Between the first tenth and the last: without the filling and the emptying of the batch."""
    ends = sorted(exchange.ended_s for exchange in exchanges if exchange.is_ok)
    middle = ends[len(ends) // 10 : len(ends) - len(ends) // 10]
    return (len(middle) - 1) / (middle[-1] - middle[0]) if len(middle) > 1 else 0.0


def percentile(values: Sequence[float], percent: float) -> float | None:
    return round(float(np.percentile(values, percent)), 1) if len(values) else None


def latency_ms(exchanges: Sequence[Exchange], percent: float) -> float | None:
    """Of those that were answered."""
    return percentile([1e3 * one.latency_s for one in exchanges if one.is_ok], percent)


def refusals_ms(exchanges: Sequence[Exchange], percent: float) -> float | None:
    return percentile([1e3 * said_s for one in exchanges for said_s, _ in one.refusals], percent)


def problems_of(exchanges: Sequence[Exchange]) -> dict[str, int]:
    """How those ended that are lost."""
    return dict(Counter(exchange.slug for exchange in exchanges if not exchange.is_ok))


def num_stored_twice(system: System) -> int:
    """Requests under whose id more than one answer is stored."""
    keys = list(system.redis.scan_iter("rq:results:*", count=1000))
    with system.redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.xlen(key)
        return sum(length > 1 for length in pipeline.execute())


def hold(drill: Drill, stage: Stage) -> Result:
    """A drill that cannot be held has failed; its result says why."""
    started_s = time.monotonic()
    try:
        findings = drill.hold(stage)
    except Exception as error:  # a fault of any kind: one drill must not end the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        findings = Findings(Tally(), [Check("held", words, "to its end", False)], {"traceback": traceback.format_exc()})
    off = [one for one in stage.watches if one.is_exact is False]
    exact = [one for one in stage.watches if one.is_exact]
    words = (off or exact)[0].summary() if off or exact else "n/a"
    checks = [*findings.checks, Check("conservation", words, "exact", not off)]
    details = {**findings.details, "scrapes": sum(one.num_scrapes for one in stage.watches)}
    findings = replace(findings, checks=checks, details=details)
    return Result(drill, findings, words, round(time.monotonic() - started_s, 1))
