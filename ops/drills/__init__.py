"""`miniserve chaos`: fault drills against systems it starts itself, with real processes that are really killed.

| concern | module |
|---|---|
| Redis, replicas and workers that can be killed | system, fleet (a Redis that sentinels watch) |
| clients that keep at it | traffic |
| what a drill is, as data or as a function, and what it finds | drill |
| all of them by name | catalogue |
| options, the tables, the file | command |
| the faults that kill, cut and restart | kills |
| single commands, single requests | every_command with proxy, leaving |
| rude clients | under_attack with rude_clients, greedy_clients |
| load, probes, predictions, alerts | overload, probing, alerts, faults with inbox, soak |
| nothing accepted vanishes | conservation |
| a slow worker, a worker that dies of one sentence | workers |

docs/reliability.md says what is promised, and what was measured.
"""
