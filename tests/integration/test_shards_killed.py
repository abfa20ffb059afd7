"""Shards that die, or have no worker: what waits there, what comes, and whom it costs what."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from api.access.keys import new_key
from ops.run import embedded_redis
from scheduler.shards import mark_of
from tests.running_system import ApiProcess, post_json, real_worker, send, wait_until
from tests.sharded_system import (
    NUM,
    Clients,
    assert_not_ready,
    home_of,
    kill,
    mark_in,
    metric,
    num_queued,
    num_workers,
    post,
    redis_servers,
    sharded_system,
)

ANSWERED = 'request_success_total{finished_reason="stop"}'


def test_a_shard_that_is_killed_under_load_costs_no_client_its_answer_and_is_used_again(tmp_path: Path) -> None:
    with redis_servers(tmp_path) as servers, sharded_system(servers) as (one, _):
        with Clients(one.url, 12) as clients:
            wait_until(lambda: len(clients.replies) > 100, 20, "a load")
            gone, before = servers[1], metric(one, ANSWERED)

            kill(gone)
            wait_until(lambda: num_workers(one) == NUM - 1, 10, "its worker missed")
            number = len(clients.replies)
            wait_until(lambda: len(clients.replies) > number + 200, 20, "answers of the others")

            assert mark_of(gone.url) not in {mark_in(reply) for reply in clients.replies[number + 50 :]}
            page = send(one.url, "GET", "/metrics").body
            assert f'miniserve_shard_up{{shard="127.0.0.1:{gone.port}/0"}} 0.0' in page
            assert metric(one, ANSWERED) >= before
            keyed = next(key for key in map(str, range(100)) if home_of(key, servers) == mark_of(gone.url))
            reply = post(one, **{"Idempotency-Key": keyed})
            assert_not_ready(reply)
            assert "Idempotency-Key" in reply.body["detail"]

            servers[1] = embedded_redis.start(gone.directory, gone.port)
            wait_until(lambda: mark_of(gone.url) in {mark_in(one) for one in clients.replies[-50:]}, 20, "it is used")
        assert {reply.status for reply in clients.replies} == {200}

        for server in servers:
            kill(server)
        wait_until(lambda: one.readiness() == 503, 10, "no shard is left")
        assert_not_ready(post(one))


def test_what_waits_at_a_shard_that_goes_away_is_begun_again_on_others(tmp_path: Path) -> None:
    """No worker runs where it waits: it would be answered there nevermore."""
    texts = {"sentences": ["He goed home.", "", "She have left. They was late.", "He goed away."]}
    with redis_servers(tmp_path) as servers, ApiProcess(",".join(server.url for server in servers)) as api:
        wait_until(lambda: api.readiness() == 503, 10, "an answer")
        with ThreadPoolExecutor() as pool:
            batch = pool.submit(post_json, api.url, "/correct/batch", texts)
            wait_until(lambda: any(map(num_queued, servers)), 10, "the batch in a queue")
            first = next(filter(num_queued, servers))
            wait_until(lambda: num_queued(first) == 4, 10, "all of it")
            others = [server for server in servers if server is not first]
            texts_alone = [pool.submit(post, api) for _ in range(6)]

            kill(first)
            with real_worker(others[0].url), real_worker(others[1].url):
                replies = [one.result() for one in (batch, *texts_alone)]

    assert [reply.status for reply in replies] == [200] * 7
    assert [result.get("corrected") for result in replies[0].body["results"]] == [
        "He went home.", None, "She has left. They were late.", "He went away.",
    ]  # fmt: skip
    assert {mark_in(reply) for reply in replies[1:]} <= {mark_of(server.url) for server in others}


def test_a_key_with_a_limit_is_served_although_the_shard_that_counts_it_has_no_worker(tmp_path: Path) -> None:
    lines = [new_key(f"name-{number}") for number in range(8)]  # some are at home at each shard
    (tmp_path / "keys").write_text("".join(f"{line} requests_per_s=100\n" for _, line in lines))
    with redis_servers(tmp_path) as servers, real_worker(servers[2].url):
        urls = ",".join(server.url for server in servers)
        with ApiProcess(urls, "--api-keys-file", str(tmp_path / "keys")) as api:
            wait_until(lambda: num_workers(api) == 1, 40, "a worker")
            replies = [post(api, Authorization=f"Bearer {key}") for key, _ in lines]

    assert [reply.status for reply in replies] == [200] * 8
    assert {mark_in(reply) for reply in replies} == {mark_of(servers[2].url)}
