"""Workers that serve in one of two pools: `prefill` reads prompts, `decode` goes on from there.

| concern | module |
|---|---|
| the policy of a decode worker | scheduler/pools |
| what travels between them: bytes with a version and a checksum | handoff |
| a worker of each role: its engine, its counts, and its end of the mailbox | prefill, decode |
| how a request moves from one to the other | worker/queue/lua: hand_over |

What was read waits in a queue of its own, which a decode worker drains as any worker drains the first one. So leases,
recovery, deadlines and cancellation are those of any worker (docs/operations.md). A worker of role `all` imports none
of this.
"""
