"""What Redis itself spends on our scripts, of two trees: `usec` of EVALSHA in its command statistics.

The same requests go through ENQUEUE (one each, as they come), DRAIN (a batch) and FINISH (the batch). BEAT and STATUS,
and REPORT where there is one, run as often as processes send them: their cost is per second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from redis import Redis

from ops import embedded_redis
from ops.metrics_cost.trees import Tree
from scheduler.messages import Completion, CorrectionRequest, FinishReason
from worker.mailbox import formats
from worker.mailbox.errands import Errand
from worker.mailbox.line import connect
from worker.mailbox.protocol import BEAT_S, MailboxLimits

_BATCH = 8
_CYCLES = 250
_SECONDS = 30  # as many as BEAT and REPORT are run for; they look at the clock, so these pass
_AMPLE_TOKENS = 1_000_000
_WORKER = "worker-1"
_WORKER_FIELDS, _API_FIELDS = 75, 15  # that change between two reports of a busy process, about


@dataclass(frozen=True, slots=True)
class ScriptCosts:
    """Microseconds of Redis."""

    enqueue_us: float  # per request, as the next two
    drain_us: float
    finish_us: float
    beats_us_per_s: float  # of one worker
    questions_us_per_s: float  # of one API replica

    @property
    def request_us(self) -> float:
        return self.enqueue_us + self.drain_us + self.finish_us


class _Scripts:
    """Those of one tree on a Redis of their own."""

    def __init__(self, client: Redis, tree: Tree) -> None:
        folder = tree.folder / "worker" / "mailbox" / "lua"
        common = (folder / "common.lua").read_text()
        self._client = client
        self._digests = {
            path.stem: client.script_load(common + path.read_text())
            for path in folder.glob("*.lua")
            if path.stem != "common"
        }

    def __contains__(self, name: str) -> bool:
        return name in self._digests

    def run(self, name: str, *arguments: object) -> None:
        self._client.evalsha(self._digests[name], 0, *arguments)

    def us_of(self, work: Callable[[], None]) -> float:
        """What Redis spent on all scripts that this runs."""
        self._client.config_resetstat()
        work()
        return self._client.info("commandstats")["cmdstat_evalsha"]["usec"]


def measure(tree: Tree) -> ScriptCosts:
    """Takes about a minute: a second of beats has to be a second."""
    with embedded_redis.private_directory() as directory:
        server = embedded_redis.start(directory)
        try:
            with connect(server.url) as client:
                return _costs(_Scripts(client, tree))
        finally:
            server.stop()


def _costs(scripts: _Scripts) -> ScriptCosts:
    spent: dict[str, list[float]] = {"enqueue": [], "drain": [], "finish": []}
    for cycle in range(_CYCLES):
        _beat(scripts, 0)
        requests = [_request(f"r{cycle}-{number}") for number in range(_BATCH)]
        spent["enqueue"].append(scripts.us_of(partial(_enqueue, scripts, requests)))
        spent["drain"].append(scripts.us_of(partial(scripts.run, "drain", _WORKER, 1.2, _AMPLE_TOKENS, 1, 64, 0)))
        spent["finish"].append(scripts.us_of(partial(_finish, scripts, requests)))
    # The median: whatever else the machine does in a moment takes that moment's time into `usec`.
    per_request = {f"{name}_us": statistics.median(us) / _BATCH for name, us in spent.items()}
    return ScriptCosts(
        **per_request,
        beats_us_per_s=_per_second(scripts, partial(_beat, scripts)),
        questions_us_per_s=_per_second(scripts, partial(_question, scripts)),
    )


def _per_second(scripts: _Scripts, send: Callable[[int], None]) -> float:
    turns = round(_SECONDS / BEAT_S)
    started_s, spent = time.monotonic(), []
    for turn in range(turns):
        time.sleep(max(0.0, started_s + turn * BEAT_S - time.monotonic()))
        spent.append(scripts.us_of(partial(send, turn)))
    return _without_outliers(spent) / BEAT_S


def _without_outliers(spent: Sequence[float]) -> float:
    """Mean of all but the dearest twentieth; one in four writes a row of history and is dearer."""
    kept = sorted(spent)[: len(spent) - len(spent) // 20]
    return statistics.fmean(kept)


def _request(request_id: str) -> CorrectionRequest:
    prompt = tuple(range(2, 14))
    return CorrectionRequest(request_id, prompt, prompt, 32, "fingerprint")


def _enqueue(scripts: _Scripts, requests: Sequence[CorrectionRequest]) -> None:
    for request in requests:
        _, _, _, *arguments = Errand((request,), 30.0).command("miniserve:reply:api", MailboxLimits())
        scripts.run("enqueue", *arguments)


def _finish(scripts: _Scripts, requests: Sequence[CorrectionRequest]) -> None:
    done = [Completion(request.request_id, FinishReason.STOP, (7, 8, 1)) for request in requests]
    scripts.run("finish", _WORKER, *(word for one in done for word in formats.finish_arguments(one)))


def _beat(scripts: _Scripts, turn: int) -> None:
    facts = ("num_running", 8, "num_waiting", 0, "kv_reserved_tokens", 300, "kv_budget_tokens", 4096, "max_slots", 64)
    scripts.run("beat", _WORKER, 30.0, 8, "5000.0", "0.001", *facts)
    _report(scripts, "worker-process", turn, _WORKER_FIELDS)


def _question(scripts: _Scripts, turn: int) -> None:
    scripts.run("status", 2.5)
    _report(scripts, "api-process", turn, _API_FIELDS)


def _report(scripts: _Scripts, process: str, turn: int, num_fields: int) -> None:
    if "report" in scripts:
        words = [word for at in range(num_fields) for word in (f"iteration:{at}", "0.0123" if at % 6 == 0 else "3")]
        scripts.run("report", process, turn + 1, "1" if num_fields == _API_FIELDS else "", *words)
