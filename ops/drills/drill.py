"""What a drill is, and how one is held.

A drill is data (catalogue.py): parts, of which each is a system, steps in their order, and bars. A step is a `Load`, or
a function of the `Stage` that does something to the system; both return figures, by name. A bar asks something of one
of them.
"""

from __future__ import annotations

import random
import statistics
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from api.grammar.sentences import find_sentences
from ops.drills.conservation import Counts, Watch, summary
from ops.drills.figures import Bar, Check, Figures, answers_per_s, figures_of, latency_ms
from ops.drills.probing import asking, probe_figures
from ops.drills.system import DrillError, Shape, System, running
from ops.load import prompts
from ops.load.arrivals import MAX_OPEN_CONNECTIONS, Arrivals, ClosedLoop, Limits, OpenLoop
from ops.load.measurements import percentile
from ops.load.traffic import Exchange, Habits, Question, Traffic
from ops.run.supervisor import Member
from worker.queue.redis_py import connect

_CALM_CLIENTS = 8
_DRAIN_PATIENCE_S = 60.0
NUM_SENTENCES = 1000  # different ones of a full drill; the calm run asks each once
Size = Any  # a number, or a pair: of the full form and of the short one
Fault = Callable[["Stage", Traffic], Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Clients that send, for so many seconds or requests, or for as long as the fault takes."""

    name: str = "load"  # several of one name are one in the figures
    clients: Size = 0  # a closed loop of so many,
    per_s: float = 0.0  # or an open one,
    of_peak: float = 0.0  # or one of so much of what the load `peak` was answered
    connections: int = MAX_OPEN_CONNECTIONS  # of an open loop
    seconds: Size = None
    requests: Size = None
    questions: Callable[[Stage], Sequence[Question]] | None = None  # None: those of the calm run
    habits: Habits = Habits()  # noqa: RUF009 - frozen
    replica: int | None = None  # the one that is asked; None: all
    beside: tuple[Load, ...] = ()  # as long as it lasts
    fault: Fault | None = None
    is_counted: bool = True  # in what the drill as a whole shows
    honest: tuple[int, ...] = ()  # statuses that end a request and are no loss

    def __call__(self, stage: Stage) -> Figures:
        found: Figures = {}
        with ExitStack() as stack:
            all_traffic = [(flood, stack.enter_context(flood._traffic(stage))) for flood in self.beside]
            begun_s = time.monotonic()
            all_traffic.append((self, traffic := stack.enter_context(self._traffic(stage))))
            if self.fault is not None:
                found = self.fault(stage, traffic)
                traffic.send_no_more()
            stage.follow(traffic, self.name)
        stage.windows[self.name] = begun_s, time.monotonic()
        for load, one in all_traffic:
            stage.ended.setdefault(load.name, []).extend(one.ended)
            stage.uncounted |= set() if load.is_counted else {load.name}
        of_each = {load.name: load.figures(stage) for load, _ in all_traffic}
        return of_each | {self.name: of_each[self.name] | found}

    def _traffic(self, stage: Stage) -> Traffic:
        system, arrivals = stage.system, self._arrivals(stage)
        urls = system.urls if self.replica is None else [system.urls[self.replica]]
        questions = self.questions(stage) if self.questions else stage.questions
        limits = Limits(stage.size(self.requests), stage.size(self.seconds))
        return Traffic(urls, questions, arrivals, limits, self.habits)

    def _arrivals(self, stage: Stage) -> Arrivals:
        if self.clients:
            return ClosedLoop(stage.size(self.clients))
        return OpenLoop(self.per_s or self.of_peak * stage.peak_per_s, stage.seed, self.connections)

    def figures(self, stage: Stage) -> Figures:
        """Of all that has ended under this name."""
        ended = stage.ended[self.name]
        return figures_of(ended, stage.size(self.clients)) | {
            "lost": sum(not one.is_ok and one.status not in self.honest for one in ended),
            "wrong": sum(one.is_ok and stage.is_wrong(one) for one in ended),
        }


Step = Callable[["Stage"], Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A system, what happens to it, and what is asked."""

    shape: Shape = Shape()  # noqa: RUF009 - frozen
    steps: tuple[Step, ...]
    bars: tuple[Bar, ...]
    num_questions: Size = (NUM_SENTENCES, 60)
    probed_every_s: float = 0.0  # all replicas; 0: never
    only: str = ""  # held in this form alone


@dataclass(frozen=True, slots=True)
class Drill:
    """`bar` says in words what the bars ask."""

    name: str
    what: str
    bar: str
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Result:
    """A line of the table, and of the file."""

    drill: Drill
    figures: Figures
    checks: Sequence[Check]
    seconds: float

    @property
    def has_passed(self) -> bool:
        return all(check.is_met for check in self.checks)

    def document(self) -> dict[str, Any]:
        about = {"name": self.drill.name, "passed": self.has_passed, "bar": self.drill.bar}
        about["requests"] = self.figures.get("requests", 0)
        about |= {"checks": [asdict(check) for check in self.checks], "details": self.figures}
        return about | {"seconds": self.seconds}


class Stage:
    """Where one drill is held: its form, dice, the system of the moment, and what was found so far.

    `show` moves a bar.
    """

    system: System
    questions: Sequence[Question]

    def __init__(
        self, is_quick: bool, seed: int, show: Callable[[float, str], None] = lambda share, words: None
    ) -> None:
        self.is_quick, self.seed, self.show = is_quick, seed, show
        self.rng = random.Random(seed)
        self.figures: Figures = {"duplicated": 0}
        self.ended: dict[str, list[Exchange]] = {}
        self.uncounted: set[str] = set()  # names of loads
        self.windows: dict[str, tuple[float, float]] = {}  # of each load, by time.monotonic
        self.counts: list[Counts] = []
        self.probers: list[Member] = []
        self.calm_answers: dict[str, dict[str, Any]] = {}  # answers by sentence
        self.calm_s = 0.0  # their median latency

    def size(self, of: Size) -> Any:
        """What it is in this form."""
        return of[self.is_quick] if isinstance(of, tuple) else of

    @property
    def peak_per_s(self) -> float:
        return answers_per_s(self.ended["peak"])

    def sentences(self, number: int) -> list[Question]:
        """Each a single one, so that a request is one job."""
        single = (text for text in prompts.load(None, self.seed) if len([*find_sentences(text)]) == 1)
        return [{"sentence": text} for text, _ in zip(single, range(number), strict=False)]

    def is_wrong(self, one: Exchange) -> bool:
        """Whether it was answered otherwise than in the calm run."""
        return one.answer != self.calm_answers.get(one.question.get("sentence", ""), one.answer)

    def play(self, part: Part) -> None:
        """Raises DrillError."""
        self.questions = self.sentences(self.size(part.num_questions))
        with running(part.shape) as self.system, ExitStack() as stack:
            watch = stack.enter_context(Watch(stack.enter_context(connect(self.system.redis_url))))
            probed = self.system.urls if part.probed_every_s else []
            self.probers = [stack.enter_context(asking(url, part.probed_every_s)) for url in probed]
            try:
                for step in part.steps:
                    self.figures |= step(self)
                if self.probers:
                    self.figures["probes"] = probe_figures(self.probers, self.windows)
                self.figures["duplicated"] += self.system.num_stored_twice()
            finally:
                self.counts += watch.seen

    def follow(self, traffic: Traffic, what: str) -> None:
        """Wait until all is answered."""
        while not traffic.is_over:
            num_ended = len(traffic.ended)
            self.show(num_ended / (num_ended + traffic.num_open or 1), f"{what}, {num_ended:,} answered")
            self.system.pause(0.02)

    def sum_up(self) -> None:
        """What became of the requests that count, over all loads."""
        loads = self.ended.keys() - self.uncounted
        of_each = [self.figures[name] for name in loads]
        for name in ("requests", "lost", "wrong", "refused"):
            self.figures[name] = sum(one[name] for one in of_each)
        answered = [one for name in loads for one in self.ended[name] if one.is_ok]
        added_ms = [1e3 * max(0.0, one.latency_s - self.calm_s) for one in answered] if self.calm_answers else []
        self.figures["added_p99_ms"] = percentile(added_ms, 99)
        self.figures["max_ms"] = latency_ms(answered, 100)
        self.figures["most_reserved_requests"] = max((one.num_requests for one in self.counts), default=0)
        self.figures["most_reserved_tokens"] = max((one.num_tokens for one in self.counts), default=0)


def calm(stage: Stage) -> Figures:
    """Ask every question once, and remember the answers. Raises DrillError where not even that works."""
    limits = Limits(total=len(stage.questions))
    with Traffic(stage.system.urls, stage.questions, ClosedLoop(_CALM_CLIENTS), limits) as traffic:
        stage.follow(traffic, "calm run")
    if bad := [exchange for exchange in traffic.ended if not exchange.is_ok]:
        raise DrillError(f"the calm run already fails: {bad[0].status} {bad[0].slug} {bad[0].answer}")
    stage.calm_answers = {exchange.question["sentence"]: exchange.answer for exchange in traffic.ended}
    stage.calm_s = statistics.median(exchange.latency_s for exchange in traffic.ended)
    return {}


def drained(stage: Stage) -> Figures:
    """Wait for an empty queue."""
    system = stage.system
    seconds = system.wait_until(lambda: system.num_reserved() == 0, _DRAIN_PATIENCE_S, "an empty queue")
    waiting = system.num_queued() + system.redis.llen("rq:queue:correct-async")
    reserved = system.counted("reserved_tokens") + system.num_running()
    return {"drained_after_s": round(seconds, 2), "waiting_in_the_end": waiting, "reserved_in_the_end": reserved}


def hold(drill: Drill, stage: Stage) -> Result:
    """A drill that cannot be held has failed; its result says why."""
    started_s = time.monotonic()
    form = "quick" if stage.is_quick else "full"
    parts = [part for part in drill.parts if part.only in ("", form)]
    try:
        for part in parts:
            stage.play(part)
        stage.sum_up()
        checks = [bar.check(stage.figures) for part in parts for bar in part.bars]
    except Exception as error:  # a fault of any kind: one drill must not end the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        checks = [Check("held", words, "to its end", False)]
        stage.figures["traceback"] = traceback.format_exc()
    words = summary(stage.counts)
    checks.append(Check("conservation", words, "exact", words == "exact"))
    return Result(drill, stage.figures, checks, round(time.monotonic() - started_s, 1))
