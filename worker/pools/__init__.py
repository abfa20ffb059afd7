"""Workers that serve in one of two pools: `prefill` reads prompts, `decode` goes on from there.

| concern | module |
|---|---|
| the policies of both roles | scheduler/pools |
| what travels between them: bytes with a version and a checksum | handoff |
| a worker of each role: its engine, its counts, and its end of the mailbox | prefill, decode |
| how a request moves from one to the other | worker/queue/lua: offer, take_over |

The request stays the prefill worker's until a decode worker takes it over, in one script. So leases, recovery,
deadlines and cancellation are those of any worker (docs/pools.md). A worker of role `all` imports none of this.
"""
