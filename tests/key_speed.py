"""Measures how soon a key that left the file is refused by two replicas: `python -m tests.key_speed`.

The figures are in docs/benchmarks.md.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path

from api.access.keys import new_key
from ops.run import embedded_redis
from tests.running_system import ApiProcess, all_at_once, send, wait_until

NUM_TIMES = 20


def main() -> None:
    key, line = new_key("school")
    asked = {"Authorization": f"Bearer {key}"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "keys")
        path.write_text(line)
        redis = embedded_redis.start(Path(folder), embedded_redis.free_port())
        replicas = [ApiProcess(redis.url, "--api-keys-file", str(path)) for _ in range(2)]
        took_s = []

        def wait_for(status: int) -> None:
            for one in replicas:
                wait_until(lambda one=one: send(one.url, "DELETE", "/requests/x", None, asked).status == status, 10, "")

        with all_at_once(*replicas):
            for _ in range(NUM_TIMES):
                path.write_text(line)
                wait_for(404)
                time.sleep(random.random())  # at any moment between two looks
                path.write_text("")
                began_s = time.monotonic()
                wait_for(401)
                took_s.append(time.monotonic() - began_s)
        redis.stop()
    print(f"refused by both of {len(replicas)} replicas, {NUM_TIMES} times: median {statistics.median(took_s):.2f} s, "
          f"longest {max(took_s):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
