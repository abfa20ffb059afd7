"""`miniserve chaos`: fault drills against systems it starts itself, with real processes that are really killed.

| concern | module |
|---|---|
| all drills as data: systems, loads, faults, bars | catalogue, with under_attack and faults for the two longest |
| what a drill is, and how it is held; its figures and what is asked of them | drill, figures |
| options, the table, the file | command |
| Redis, replicas and workers that can be killed | system, fleet (a Redis that sentinels watch) |
| faults, and what is compared afterwards | kills, every_command with proxy, rude_clients |
| what is looked at meanwhile | conservation (nothing accepted vanishes), probing, looks |
| a slow worker, a worker that dies of one sentence | workers |

docs/reliability.md says what is promised, and what was measured.
"""
