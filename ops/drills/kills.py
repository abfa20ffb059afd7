"""The faults of the drills that kill, stop, cut and restart, beside a load; and what is looked at afterwards."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from ops.drills.drill import Size, Stage
from ops.drills.figures import Figures
from ops.drills.probing import read_probes
from ops.drills.workers import POISON
from ops.load.arrivals import ClosedLoop, Limits
from ops.load.client import Client, run
from ops.load.traffic import ONCE, Exchange, Question, Traffic, document_of, key_header
from ops.run.supervisor import Member

_ASKED_AGAIN = 200
_LONGEST_SILENCE_S = 30.0
_SETTLE_S = 1.0  # after the last one; also what the append-only file may lag behind
_RUNNING = 0.45  # of those who leave; the KV cache holds half


@dataclass(frozen=True, slots=True)
class Repeated:
    """A fault that is done again and again, and the load goes on until there were enough requests.

    What `fault` returns is a moment, from which the next answer is waited for.
    """

    fault: Callable[[Stage], float | None]
    times: Size
    pause_s: tuple[float, float]  # before each, at least and at most
    requests: Size = 0

    def __call__(self, stage: Stage, traffic: Traffic) -> Figures:
        times, silences_s, num_done = stage.size(self.times), [0.0], 0
        while num_done < times or len(traffic.ended) < stage.size(self.requests):
            stage.system.pause(stage.rng.uniform(*self.pause_s))
            if num_done < times:
                since_s = self.fault(stage)
                num_done += 1
                if since_s is not None:
                    silences_s.append(_next_answer_s(stage, traffic) - since_s)
            stage.show(num_done / times, f"{num_done} of {times} times, {len(traffic.ended):,} answered")
        stage.system.pause(_SETTLE_S)
        num_again = sum(bool(one.failovers) for one in traffic.ended)
        return {"times": num_done, "silence_longest_s": round(max(silences_s), 2), "sent_again": num_again}


def _next_answer_s(stage: Stage, traffic: Traffic) -> float:
    since_s = time.monotonic()
    stage.system.wait_until(lambda: traffic.last_ok_s > since_s, _LONGEST_SILENCE_S, "an answer after the kill")
    return traffic.last_ok_s


def kill_holder(stage: Stage) -> None:
    """SIGKILL to a worker that holds requests. It is stopped first, or it could answer the last before it dies."""
    stage.system.wait_until(lambda: _kill_one_holder(stage), 10.0, "a worker that holds a request")


def _kill_one_holder(stage: Stage) -> bool:
    for member in stage.rng.sample(stage.system.workers, len(stage.system.workers)):
        if member.is_alive:
            member.process.send_signal(signal.SIGSTOP)
            if stage.system.is_named(member, "rq:wip:correct"):
                member.kill()
                return True
            member.process.send_signal(signal.SIGCONT)
    return False


def _kill_one(stage: Stage, members: list[Member]) -> None:
    """SIGKILL to one of those that live, once one does."""
    stage.system.wait_until(lambda: any(member.is_alive for member in members), 10.0, "one to kill")
    stage.rng.choice([member for member in members if member.is_alive]).kill()


def kill_worker(stage: Stage) -> None:
    _kill_one(stage, stage.system.workers)


def kill_replica(stage: Stage) -> None:
    """SIGKILL to one of the API replicas."""
    stage.system.wait_until(stage.system.is_ready, 30.0, "two replicas")  # else all that is killed is a start
    stage.system.pause(stage.rng.uniform(0.05, 0.15))  # until clients wait at both again
    _kill_one(stage, stage.system.apis)


def restart_all(stage: Stage) -> None:
    """SIGTERM to one process after the other, each replaced before the next is ended."""
    for member in stage.system.members:
        stage.system.restart(member)


def cut_subscription(stage: Stage) -> None:
    """Redis closes the API's subscription."""
    kill = ("CLIENT", "KILL", "TYPE", "pubsub")
    stage.system.wait_until(lambda: bool(stage.system.redis.execute_command(*kill)), 10.0, "a subscription")


def kill_redis(stage: Stage) -> float:
    """The silence begins when Redis answers again."""
    stage.system.take_away(stage.system.server)
    stage.system.pause(stage.rng.uniform(0.0, 1.0))
    stage.system.server.serve()
    return time.monotonic()


def kill_primary(stage: Stage) -> float:
    """The silence begins with the kill. The one killed before is brought back."""
    fleet = stage.system.fleet
    for node in fleet.nodes:
        if not node.is_alive:
            fleet.bring_back(node)
    dead, killed_s = fleet.kill_primary(), time.monotonic()
    stage.system.wait_until(lambda: fleet.primary() is not dead, _LONGEST_SILENCE_S, "another primary")
    return killed_s


def ask_again(stage: Stage) -> Figures:
    """Ask for the last requests of the load again, at both replicas, and count how often the engine ran."""
    system, ended = stage.system, stage.ended["load"]
    system.wait_until(system.is_ready, 30.0, "two replicas")
    num_runs = system.counted("done") + system.counted("duplicates") - len(stage.questions)
    other = sum(run(_num_told_otherwise(url, ended[-_ASKED_AGAIN:])) for url in system.urls)
    return {"runs_more": num_runs - len(ended), "told_otherwise": other}


async def _num_told_otherwise(url: str, exchanges: list[Exchange]) -> int:
    """Answers, their request ids included, that this replica does not repeat to who sends key and body again."""
    client, num_other = Client(url), 0
    for one in exchanges:
        reply = await client.request("POST", "/correct", json.dumps(one.question).encode(), key_header(one.key))
        num_other += document_of(reply.body) != one.answer | {"request_id": one.request_id}
    await client.close()
    return num_other


def take_worker_away(stage: Stage) -> Figures:
    stage.system.take_away(stage.system.workers[0])
    return {}


def come_and_leave(stage: Stage, staying: Traffic) -> Figures:
    """Clients come while no worker is there, hang up when nearly half of theirs run, and nothing of theirs is left.

    How many waited and how many ran when all hung up, and how long it took until all was free.
    """
    system, num = stage.system, stage.size((1000, 100))
    with Traffic(system.urls, stage.sentences(num), ClosedLoop(num), Limits(total=num), ONCE) as leaving:
        system.wait_until(lambda: system.num_queued() >= num, 20.0, "all of them waiting")
        system.workers[0].start()  # only now, or the first ones would be answered before the last ones have come
        system.wait_until(lambda: system.num_running() >= _RUNNING * num, 20.0, "nearly half of them running")
        found = {"left_queued": system.num_queued(), "left_running": system.num_running()}
        leaving.hang_up()
    left_s = time.monotonic()
    # Also the greatest of the places that hold an id: a slot is free when its id has left rq:wip.
    system.wait_until(
        lambda: max(system.num_reserved(), system.num_queued() + system.num_running()) <= staying.num_open,
        20.0, "all slots and reservations free",
    )  # fmt: skip
    return found | {"free_after_ms": round(1e3 * (time.monotonic() - left_s), 1)}


def with_poison(stage: Stage) -> list[Question]:
    """One of the questions kills every worker that computes it."""
    questions = [*stage.questions]
    questions[stage.rng.randrange(len(questions))] = {"sentence": POISON}
    return questions


def start_until_over(stage: Stage, traffic: Traffic) -> Figures:
    """Start the worker whenever it has died; how often it did while requests waited."""
    system, worker, num = stage.system, stage.system.workers[0], len(stage.questions)
    system.wait_until(lambda: system.num_queued() == num, 10.0, "a batch that waits")
    num_starts = 0
    while not traffic.is_over:
        if not worker.is_alive:
            num_starts += 1
            worker.start()
            worker.is_kept = False  # as often as it takes
        stage.show(len(traffic.ended) / num, f"{num_starts} starts, {len(traffic.ended)} answered")
        system.pause(0.02)
    return {"crashes": num_starts - 1}


def stop_worker(stage: Stage) -> Figures:
    """Until /readyz says so, and that it goes on."""
    numbers = {"unready_after_s": (signal.SIGSTOP, 503), "ready_after_s": (signal.SIGCONT, 200)}
    return {name: _answers_after(stage, *number) for name, number in numbers.items()}


def _answers_after(stage: Stage, number: signal.Signals, status: int) -> float:
    """Send the worker a signal; the seconds until /readyz answers so."""
    sent_s = time.monotonic()
    stage.system.workers[0].process.send_signal(number)

    def answered_s() -> float:
        hits = (one for one in read_probes(stage.probers[0]) if one.path == "/readyz" and one.status == status)
        return next((one.sent_s + one.seconds for one in hits if one.sent_s > sent_s), 0.0)

    stage.system.wait_until(lambda: answered_s() > 0, 10.0, f"{status} of /readyz")
    return round(answered_s() - sent_s, 2)
