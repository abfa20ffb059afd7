"""All drills, in the order of the table in docs/reliability.md: systems, loads, faults and bars."""

from __future__ import annotations

from dataclasses import replace

from ops.drills import every_command, faults, kills, looks, under_attack
from ops.drills.drill import Drill, Load, Part, calm, drained
from ops.drills.figures import NOTHING_LOST, Bar
from ops.drills.kills import Repeated
from ops.drills.system import DRILL_SETTINGS, Shape
from ops.drills.workers import POISONED
from ops.load.traffic import ONCE, Habits

_TWO_WORKERS, _TWO_APIS = Shape(num_workers=2), Shape(num_apis=2)
_TWO_OF_EACH = Shape(num_workers=2, num_apis=2)
_WATCHED = Shape(num_workers=2, num_apis=2, is_watched=True)
_LOST = Bar("lost", "lost", "=", 0)
_REFUSED = Bar("refused", "refused", "=", 0)
# Answers as long as a user's Redis keeps them.
_SHORT_LIVED = replace(DRILL_SETTINGS, result_ttl_s=60)
_ENOUGH = (10_000, 200)  # requests
_PEAK = Load(name="peak", habits=ONCE, is_counted=False)

# The KV budget runs about 90 of these at once, and the rest is the next batch: the engine never waits for the API, and
# an accepted request waits little longer than the engine's own time.
_BOUND = 128
_BOUNDED = replace(DRILL_SETTINGS, max_queue_requests=_BOUND)
_ADDRESSES = tuple(f"127.0.0.{number}" for number in range(2, 14))  # a single one may hold half of the queue only
_RUDE = replace(ONCE, addresses=_ADDRESSES)  # a refused client has another request at once

# The greedy send asynchronous requests from an address of their own and do not heed Retry-After.
_MEMORY_MB = 64
_GREEDY = replace(ONCE, addresses=("127.0.0.2",), headers={"Prefer": "respond-async"})
_OTHERS = Habits(addresses=("127.0.0.3",))
_FLOOD = Load(name="flood", clients=4, habits=_GREEDY, is_counted=False, honest=(202, 429, 503))
_BLANKS = replace(_FLOOD, questions=lambda _: [{"sentence": "Go." + "\u3000" * 39_970 + "Go."}])
_BATCHES = replace(_FLOOD, habits=replace(_GREEDY, path="/correct/batch"),
                   questions=lambda _: [{"sentences": [f"He go {number}." for number in range(64)]}])  # fmt: skip


def _leaving(only: str, num_leaving: int, num_staying: int) -> Part:
    """Half of those who leave fit into the KV cache, at about 50 tokens each. An answer takes more than a second in so
    large a batch, and yet an iteration far less than 500 ms."""
    settings = replace(DRILL_SETTINGS, max_slots=2048, kv_budget_tokens=num_leaving // 2 * 50)
    return Part(
        only=only,
        shape=Shape(num_apis=2, settings=settings, slowed_to_per_s=400.0),
        num_questions=num_staying,
        steps=(calm, kills.take_worker_away,
               Load(name="staying", clients=num_staying, requests=num_staying, fault=kills.come_and_leave),
               drained),
        bars=(*NOTHING_LOST,
              Bar("left while queued", "staying/left_queued", ">=", 0.3 * num_leaving),
              Bar("left while running", "staying/left_running", ">=", 0.3 * num_leaving),
              Bar("all free after ms", "staying/free_after_ms", "<=", 500),
              Bar("reserved in the end", "reserved_in_the_end", "=", 0)),
    )  # fmt: skip


def soak(minutes: float = 30.0) -> Drill:
    """What the load is half of is measured on another system: nothing comes before the load here, no burst either."""
    bars = (_LOST, Bar("reserved when idle", "reserved_in_the_end", "=", 0))
    growth = {"worker 1 rss": 2.0, "api 1 rss": 2.0, "redis keys": 5.0, "redis memory": 5.0}  # the load is random
    grown = tuple(
        Bar(f"{name} growth %", f"load/growth_percent/{name}", "<=", percent) for name, percent in growth.items()
    )
    peak = replace(_PEAK, clients=16, seconds=(10.0, 2.0))
    load = Load(of_peak=0.5, fault=looks.growth((60 * minutes, 20.0)))
    shape = Shape(settings=_SHORT_LIVED)
    return Drill(
        "soak", "half of the capacity for 30 min, from a cold start",
        "RSS +2 % at most after 5 min, Redis flat, nothing reserved when idle",
        (
            Part(shape=shape, steps=(peak,), bars=()),
            # In less than nine minutes all there is to see is how things fill up.
            Part(only="full", shape=shape, steps=(load, drained), bars=(*bars, *(grown if minutes >= 9 else ()))),
            Part(only="quick", shape=shape, steps=(load, drained), bars=bars),
        ),
    )  # fmt: skip


_ALL = (
    Drill("kill-worker", "kill -9 one of two workers that holds requests, at random times",
          "0 lost, 0 twice, 0 wrong, added p99 <= 3 s", (
        # Far below what one worker can do: little may pile up while both are away.
        Part(shape=_TWO_WORKERS,
             steps=(calm, Load(per_s=60.0, fault=Repeated(kills.kill_holder, (100, 2), (0.4, 3.2), _ENOUGH))),
             bars=(*NOTHING_LOST, Bar("added p99 ms", "added_p99_ms", "<=", 3000))),)),
    Drill("kill-series", "kill -9 one of two workers every 1.5 s, 20 times, while 32 clients wait",
          "0 lost, 0 twice, 0 wrong, longest <= 4 s", (
        Part(shape=_TWO_WORKERS, steps=(calm, Load(clients=32, fault=Repeated(kills.kill_worker, (20, 4), (1.5, 1.5)))),
             bars=(*NOTHING_LOST, Bar("longest ms", "max_ms", "<=", 4000))),)),
    Drill("every-command", "kill -9 a worker and an API replica at every command of a request to Redis",
          "every point recovers", (
        Part(shape=Shape(proxied="worker 1"), steps=(every_command.die_at_every_command,), bars=()),
        Part(shape=Shape(num_apis=2, proxied="api 1"), steps=(every_command.die_at_every_command,),
             bars=(*NOTHING_LOST, Bar("points", "num_points", ">=", 1),
                   Bar("points not reached", "not_reached", "=", []))),)),
    Drill("kill-api", "kill -9 an API replica; its clients send again to another with the same Idempotency-Key",
          "same answer, engine ran once", (
        Part(shape=_TWO_APIS,
             steps=(calm,
                    Load(clients=32, habits=Habits(is_keyed=True),
                         fault=Repeated(kills.kill_replica, (50, 2), (0.0, 0.3), _ENOUGH)),
                    kills.ask_again),
             bars=(*NOTHING_LOST, Bar("requests sent again", "load/sent_again", ">=", 1),
                   Bar("told otherwise when asked again", "told_otherwise", "=", 0),
                   Bar("engine runs more than requests", "runs_more", "=", 0))),)),
    Drill("drop-subscriber", "cut the API's subscription while answers are published",
          "0 lost, added p99 <= 250 ms", (
        # The next subscription comes after 20 ms and looks up all who wait.
        Part(steps=(calm, Load(per_s=100.0, fault=Repeated(kills.cut_subscription, (1000, 40), (0.03, 0.07)))),
             bars=(*NOTHING_LOST, Bar("added p99 ms", "added_p99_ms", "<=", 250))),)),
    Drill("kill-redis", "kill -9 redis-server under load and start it again",
          "0 lost, answers flow again <= 2 s after it is up", (
        Part(steps=(calm, Load(per_s=100.0, fault=Repeated(kills.kill_redis, (50, 2), (0.3, 2.0)))),
             bars=(*NOTHING_LOST, Bar("answers flow again after s", "load/silence_longest_s", "<=", 2.0))),)),
    Drill("kill-primary", "kill -9 the primary of a Redis with a replica and three sentinels under load",
          "0 lost, answers flow again <= 8 s after the kill", (
        Part(shape=_WATCHED, steps=(calm, Load(per_s=60.0, fault=Repeated(kills.kill_primary, (20, 1), (0.5, 2.0)))),
             bars=(*NOTHING_LOST, Bar("silent after a kill s", "load/silence_longest_s", "<=", 8.0))),)),
    Drill("overload", "offer ten times what the engine can do",
          "goodput >= 95 % of peak, accepted p99 <= 2x, refusals p99 <= 25 ms, bound exact", (
        # So slow that neither the clients nor the API are the limit.
        Part(shape=Shape(num_apis=4, settings=_BOUNDED, slowed_to_per_s=100.0),
             steps=(replace(_PEAK, clients=_BOUND, seconds=(20.0, 2.0)),
                    Load(name="high", of_peak=0.9, seconds=(30.0, 2.0), habits=ONCE, is_counted=False),
                    Load(name="over", of_peak=10.0, seconds=(60.0, 3.0), habits=ONCE, honest=(503,)),
                    drained,
                    # Twice as many as the queue holds, at once, into an empty one.
                    Load(name="burst", clients=2 * _BOUND, requests=2 * _BOUND, is_counted=False,
                         habits=Habits(returns=1))),
             bars=(_LOST, Bar("goodput per s", "over/per_s", ">=", 0.95, of="peak/per_s"),
                   Bar("accepted p99 ms", "over/p99_ms", "<=", 2.0, of="high/p99_ms"),
                   Bar("refusals p99 ms", "over/refusals_p99_ms", "<=", 25),
                   Bar("most reserved requests", "most_reserved_requests", "<=", _BOUND),
                   Bar("most reserved tokens", "most_reserved_tokens", "<=", _BOUNDED.max_queue_tokens),
                   Bar("admitted at first retry", "burst/admitted_share", ">=", 0.9))),)),
    Drill("refusals", "1,200 clients where the queue holds 128 requests; half of the time they heed Retry-After",
          "0 lost, refusals p99 <= 100 ms, beside those who do not wait goodput >= 80 % of peak", (
        # The replica is the bottleneck: what it spends on refusals it cannot spend on answers. What the first wave
        # waits for its refusals is a figure apart: 1,200 requests at one moment.
        Part(shape=Shape(settings=replace(_BOUNDED, api_processes="1")),
             steps=(calm, Load(name="peak", clients=_BOUND, seconds=(30.0, 3.0), habits=_RUDE),
                    Load(name="polite", clients=(1200, 300), seconds=(30.0, 3.0), habits=Habits(addresses=_ADDRESSES)),
                    Load(name="rude", clients=(1200, 300), seconds=(30.0, 3.0), habits=_RUDE, honest=(503,),
                         is_counted=False)),
             bars=(*NOTHING_LOST, Bar("lost of those who do not wait", "rude/lost", "=", 0),
                   Bar("refusals p99 ms", "polite/refusals_p99_ms", "<=", 100),
                   Bar("goodput per s", "rude/per_s", ">=", 0.8, of="peak/per_s"),
                   Bar("most reserved requests", "most_reserved_requests", "<=", _BOUND))),)),
    Drill("fill-memory", "send asynchronous batches and texts of blanks without end into a Redis of 64 MiB",
          "0 lost and 0 refused of those who wait, Redis never full, all drained", (
        # What the flood must leave those who wait carries 25/s that each stay for 60 s.
        Part(shape=Shape(settings=replace(_SHORT_LIVED, redis_memory_mb=_MEMORY_MB)),
             steps=(Load(per_s=10.0, fault=looks.memory((60.0, 8.0)), beside=(_BATCHES, _BLANKS)), drained),
             bars=(_LOST, _REFUSED,
                   Bar("most memory of Redis", "load/most_redis_bytes", "<=", _MEMORY_MB * 2**20),
                   Bar("flood accepted", "flood/statuses/202", ">=", 1),
                   Bar("flood refused", "flood/refused", ">=", 1),
                   Bar("waiting in the end", "waiting_in_the_end", "=", 0))),)),
    Drill("greedy-client", "one client sends 25 asynchronous batches a second, others wait for their answers",
          "others' p50 <= 2x calm, 0 of theirs refused", (
        Part(shape=Shape(settings=_SHORT_LIVED),
             steps=(calm, Load(name="calm", clients=8, seconds=(30.0, 3.0), habits=_OTHERS, is_counted=False),
                    # 22 kB/s: far more than one worker corrects.
                    Load(name="beside", clients=8, seconds=(30.0, 3.0), habits=_OTHERS,
                         beside=(replace(_BATCHES, clients=0, per_s=25.0, connections=4),)),
                    drained),
             bars=(_LOST, _REFUSED, Bar("flood accepted", "flood/statuses/202", ">=", 1),
                   Bar("flood refused for its share", "flood/statuses/429", ">=", 1),
                   Bar("others' p50 ms", "beside/p50_ms", "<=", 2.0, of="calm/p50_ms"))),)),
    Drill("attacks", "slow texts, headers and bodies, idle connections, a log that nobody reads; in turns with calm",
          "0 lost, /readyz 200, slowest <= 100 ms over calm, p99 <= 2x calm",
          (under_attack.part((3, 2), (5.0, 20.0), "full"), under_attack.part((1, 1), (1.0, 1.0), "quick"))),
    Drill("clients-leave", "hang up, half while queued and half while running",
          "all free within 500 ms, others answered", (_leaving("full", 1000, 50), _leaving("quick", 100, 10))),
    Drill("rolling-restart", "SIGTERM and replace 2 API replicas and 2 workers, one after the other",
          "0 failed", (
        # Clients go on to the other replica as a balancer does.
        Part(shape=_TWO_OF_EACH,
             steps=(calm, Load(per_s=100.0, fault=Repeated(kills.restart_all, (19, 1), (0.0, 0.1), _ENOUGH))),
             bars=(*NOTHING_LOST, _REFUSED)),)),
    Drill("poison", "one request of a batch of 65 kills every worker that computes it",
          "given up after <= 5 crashes, 64 neighbours answered <= 15 s", (
        # With the batch, with its group, and three by itself.
        Part(shape=Shape(worker_command=POISONED), num_questions=65,
             steps=(calm, kills.take_worker_away,
                    Load(clients=65, requests=65, questions=kills.with_poison, fault=kills.start_until_over,
                         honest=(502,))),
             bars=(*NOTHING_LOST, Bar("neighbours answered", "load/statuses/200", "=", 64),
                   Bar("poison given up", "load/statuses/502", "=", 1),
                   Bar("crashes", "load/crashes", "<=", 5), Bar("longest ms", "max_ms", "<=", 15_000))),)),
    Drill("probes", "ask /healthz and /readyz under load and overload, and stop a worker",
          "p99 <= 25 ms at 0.8 load, <= 1 s in overload; 503 within 3 s, 200 within 1 s", (
        Part(probed_every_s=0.02,
             steps=(replace(_PEAK, clients=16, seconds=(10.0, 2.0)),
                    Load(of_peak=0.8, seconds=(30.0, 2.0), habits=ONCE, is_counted=False),
                    Load(name="over", of_peak=10.0, seconds=(20.0, 2.0), habits=ONCE, honest=(503, 504)),
                    drained, kills.stop_worker),
             bars=(Bar("healthz not 200", "probes/healthz_not_200", "=", 0),
                   Bar("readyz not 200 under load", "probes/load/not_200", "=", 0),
                   Bar("probes p99 ms", "probes/load/p99_ms", "<=", 25),
                   Bar("slowest probe in overload ms", "probes/over/max_ms", "<=", 1000),
                   Bar("readyz 503 after s", "unready_after_s", "<=", 3.0),
                   Bar("readyz 200 after s", "ready_after_s", "<=", 1.0))),)),
    Drill("faults", "turn on each fault of --break, overload, kill each kind of process, fill Redis; a monitor watches",
          "its alert raised in time and cleared, /readyz says why nothing is answered",
          tuple(fault.part() for fault in faults.FAULTS)),
    soak(),
)  # fmt: skip
DRILLS = {drill.name: drill for drill in _ALL}
