"""Sizing as a calculation: the batching policies that serve, on a virtual clock, with costs measured on this machine.

| concern | module |
|---|---|
| what things cost: a checked file | costs |
| time that passes only in the calculation, and cores that processes share | clock |
| the whole system on it: clients, replicas, Redis, a queue, workers | service, queue, worker |
| what is asked for | mix; ops/load says when |
| measuring this machine: `miniserve calibrate` | calibrate |
| the smallest system that keeps a goal: `miniserve plan` | sizing, report, command |
"""
