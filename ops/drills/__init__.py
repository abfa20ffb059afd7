"""`miniserve chaos`: fault drills against systems it starts itself, with real processes that are really killed.

| concern | module |
|---|---|
| Redis, replicas and workers that can be killed | system |
| clients that keep at it | traffic |
| counting commands between a process and Redis | proxy |
| nothing accepted vanishes | conservation |
| what a drill is, and what it finds | drill |
| the drills on faults | killed_workers, killed_apis, every_command, redis_faults, leaving |
| the drills on rude clients | under_attack, greedy_clients, rude_clients |
| the drills on load, probes and predictions | overload, refusals, probing, alerts, waits, soak |
| what the drill on alerts has seen, and who gets its alerts | course, inbox |
| workers of the drills | poisoned_worker, slow_worker, random_model |
| all of them by name | catalogue |
| options, the tables, the file | command, table |

docs/reliability.md says what is promised, and what was measured.
"""
