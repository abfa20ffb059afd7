"""All drills, in the order of the table in docs/reliability.md."""

from __future__ import annotations

from ops.drills import kills
from ops.drills.alerts import alerts, waits
from ops.drills.drill import Bar, Drill, UnderLoad, at_least, at_most, equal
from ops.drills.every_command import every_command
from ops.drills.faults import faults
from ops.drills.greedy_clients import fill_memory, greedy_client
from ops.drills.leaving import clients_leave, poison
from ops.drills.overload import overload, refusals
from ops.drills.probing import probes
from ops.drills.soak import soak
from ops.drills.system import Shape
from ops.drills.traffic import Habits
from ops.drills.under_attack import attacks

_TWO_WORKERS, _TWO_APIS = Shape(num_workers=2), Shape(num_apis=2)
_TWO_OF_EACH = Shape(num_workers=2, num_apis=2)
_WATCHED = Shape(num_workers=2, num_apis=2, is_watched=True)

_ALL = (
    Drill("kill-worker", "kill -9 one of two workers that holds requests, at random times",
          "0 lost, 0 twice, 0 wrong, added p99 <= 3 s",
          # Far below what one worker can do: little may pile up while both are away.
          UnderLoad(shape=_TWO_WORKERS, rate_per_s=60.0, fault=kills.kill_holders,
                    bars=(Bar("added p99 ms", "added_p99_ms", at_most, 3000),))),
    Drill("kill-series", "kill -9 one of two workers every 1.5 s, 20 times, while 32 clients wait",
          "0 lost, 0 twice, 0 wrong, longest <= 4 s",
          UnderLoad(shape=_TWO_WORKERS, num_clients=32, fault=kills.kill_series,
                    bars=(Bar("longest ms", "max_ms", at_most, 4000),))),
    Drill("every-command", "kill -9 a worker and an API replica at every command of a request to Redis",
          "every point recovers", every_command),
    Drill("kill-api", "kill -9 an API replica; its clients send again to another with the same Idempotency-Key",
          "same answer, engine ran once",
          UnderLoad(shape=_TWO_APIS, num_clients=32, habits=Habits(is_keyed=True), fault=kills.kill_replicas,
                    afterwards=kills.sent_again,
                    bars=(Bar("requests sent again", "sent_again", at_least, 1),
                          Bar("told otherwise when asked again", "told_otherwise", equal, 0),
                          Bar("engine runs more than requests", "runs_more", equal, 0)))),
    Drill("drop-subscriber", "cut the API's subscription while answers are published",
          "0 lost, added p99 <= 250 ms",
          # The next subscription comes after 20 ms and looks up all who wait.
          UnderLoad(rate_per_s=100.0, fault=kills.cut_subscriptions,
                    bars=(Bar("added p99 ms", "added_p99_ms", at_most, 250),))),
    Drill("kill-redis", "kill -9 redis-server under load and start it again",
          "0 lost, answers flow again <= 2 s after it is up",
          UnderLoad(rate_per_s=100.0, fault=kills.kill_redis,
                    bars=(Bar("answers flow again after s", "silence_longest_s", at_most, 2.0),))),
    Drill("kill-primary", "kill -9 the primary of a Redis with a replica and three sentinels under load",
          "0 lost, answers flow again <= 8 s after the kill",
          UnderLoad(shape=_WATCHED, rate_per_s=60.0, fault=kills.kill_primary,
                    bars=(Bar("silent after a kill s", "silence_longest_s", at_most, 8.0),))),
    Drill("overload", "offer ten times what the engine can do",
          "goodput >= 95 % of peak, accepted p99 <= 2x, refusals p99 <= 25 ms, bound exact", overload),
    Drill("refusals", "1,200 clients where the queue holds 128 requests; half of the time they heed Retry-After",
          "0 lost, refusals p99 <= 100 ms, beside those who do not wait goodput >= 80 % of peak", refusals),
    Drill("fill-memory", "send asynchronous batches and texts of blanks without end into a Redis of 64 MiB",
          "0 lost and 0 refused of those who wait, Redis never full, all drained", fill_memory),
    Drill("greedy-client", "one client sends 25 asynchronous batches a second, others wait for their answers",
          "others' p50 <= 2x calm, 0 of theirs refused", greedy_client),
    Drill("attacks", "slow texts, headers and bodies, idle connections, a log that nobody reads; in turns with calm",
          "0 lost, /readyz 200, slowest <= 100 ms over calm, p99 <= 2x calm", attacks),
    Drill("clients-leave", "hang up, half while queued and half while running",
          "all free within 500 ms, others answered", clients_leave),
    Drill("rolling-restart", "SIGTERM and replace 2 API replicas and 2 workers, one after the other",
          "0 failed",
          # Clients go on to the other replica as a balancer does.
          UnderLoad(shape=_TWO_OF_EACH, rate_per_s=100.0, fault=kills.restart_all, afterwards=kills.went_elsewhere,
                    bars=(Bar("refused", "refused", equal, 0),))),
    Drill("poison", "one request of a batch of 65 kills every worker that computes it",
          "given up after <= 5 crashes, 64 neighbours answered <= 15 s", poison),
    Drill("probes", "ask /healthz and /readyz under load and overload, and stop a worker",
          "p99 <= 25 ms at 0.8 load, <= 1 s in overload; 503 within 3 s, 200 within 1 s", probes),
    Drill("alerts", "raise the load from 0.3 to 1.3 of capacity and lower it; a monitor watches",
          "raised before p95 doubles, waits predicted within 20 %, all clear", alerts),
    Drill("faults", "turn on every fault of --break, kill every kind of process, fill Redis; a monitor watches",
          "its alert raised in time and cleared, /readyz says why nothing is answered", faults),
    Drill("waits", "send 0.5, 0.8 and 0.95 of the peak and compare predicted waits with measured ones",
          "within 20, 20 and 35 %", waits),
    Drill("soak", "half of the capacity for 30 min, from a cold start",
          "RSS +2 % at most after 5 min, Redis flat, nothing reserved when idle", soak),
)  # fmt: skip
DRILLS = {drill.name: drill for drill in _ALL}
