"""Many processes and forks on one queue."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from tests.mailbox_house import AMPLE, RedisHouse, a_request, an_answer, eventually, ids_of, take
from worker.queue import api_listener

PUSH_UNTIL_REFUSED = """
    import sys
    from scheduler.errors import QueueFull
    from tests.mailbox_house import SubmittingMailbox, a_request
    from worker.queue.redis_py import connect
    from worker.queue.protocol import MailboxLimits

    url, name = sys.argv[1:]
    api, num_accepted, num_refused = SubmittingMailbox(connect(url), MailboxLimits(max_requests=100)), 0, 0
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


def test_a_request_lives_on_while_another_process_waits_for_it(
    house: RedisHouse, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_listener, "POLL_S", 3600.0)
    one, other, worker = house.api(), house.api(), house.worker()  # two API processes, as far as Redis can tell
    mine, theirs = one.submit(a_request("a")), other.submit(a_request("a"))
    client = Redis.from_url(redis_url)

    first = client.hget("rq:job:a", "reply_to")
    one.abandon(mine)
    eventually(lambda: client.hget("rq:job:a", "reply_to") != first)
    assert take(worker) == ["a"]
    worker.exchange([an_answer("a")], AMPLE)

    assert other.wait(theirs) == an_answer("a")


def test_many_threads_share_one_connection_and_one_subscription(house: RedisHouse, redis_url: str) -> None:
    num_threads = 32
    api, worker, client = house.api(), house.worker(), Redis.from_url(redis_url)
    api.status()
    num_connections = len(client.client_list())

    def ask(number: int) -> str:
        return api.wait(api.submit(a_request(f"r{number}"))).request_id

    with ThreadPoolExecutor(num_threads) as pool:
        futures = [pool.submit(ask, number) for number in range(num_threads * 4)]
        answers = []
        while not all(future.done() for future in futures):
            answers = [an_answer(i) for i in ids_of(worker.exchange(answers, AMPLE, wait_s=0.02))]

    assert {future.result() for future in futures} == {f"r{number}" for number in range(num_threads * 4)}
    assert len(client.client_list()) <= num_connections + 1  # the worker's own line, opened late
    api.submit(a_request("last"))
    assert client.pubsub_numsub(client.hget("rq:job:last", "ticket").split()[0])[0][1] == 1
