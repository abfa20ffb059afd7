"""Many processes and forks on one queue."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from redis import Redis

PUSH_UNTIL_REFUSED = """
    import sys
    from scheduler.errors import QueueFull
    from tests.mailbox_house import SubmittingMailbox, a_request
    from worker.queue.connection import Address
    from worker.queue.protocol import MailboxLimits

    url, name = sys.argv[1:]
    api, num_accepted, num_refused = SubmittingMailbox(Address(url), MailboxLimits(max_requests=100)), 0, 0
    for number in range(200):
        try:
            api.submit(a_request(f"{name}-{number}"))
            num_accepted += 1
        except QueueFull:
            num_refused += 1
    print(num_accepted, num_refused)
"""


def start_python(program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_words(process: subprocess.Popen[str]) -> list[str]:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output.split()


def test_four_processes_never_overshoot_the_bound(redis_url: str) -> None:
    processes = [start_python(PUSH_UNTIL_REFUSED, redis_url, f"p{number}") for number in range(4)]

    counts = [tuple(map(int, read_words(process))) for process in processes]

    assert sum(accepted for accepted, _ in counts) == 100
    assert sum(refused for _, refused in counts) == 700
    assert Redis.from_url(redis_url).llen("rq:queue:correct") == 100
