"""Three real Redis with a real worker each, and replicas that know all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.access.keys import new_key
from ops.run.embedded_redis import EmbeddedRedis
from scheduler.shards import MARK_DIGITS, mark_of
from tests.integration.test_live_view import events, viewer
from tests.recorded_requests import counts
from tests.running_system import ApiProcess, all_at_once, post_json, post_sentence, send, wait_until
from tests.sharded_system import NUM, Clients, home_of, mark_in, metric, post, redis_servers, sharded_system


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[EmbeddedRedis]]:
    with redis_servers(tmp_path_factory.mktemp("shards")) as servers:
        yield servers


@pytest.fixture(scope="module")
def replicas(servers: list[EmbeddedRedis]) -> Iterator[list[ApiProcess]]:
    with sharded_system(servers) as replicas:
        yield replicas


def test_requests_go_to_all_shards_and_any_replica_finds_them_by_their_ids(
    servers: list[EmbeddedRedis], replicas: list[ApiProcess]
) -> None:
    one, other = replicas

    replies = [post_sentence(one.url, f"He goed home {number} times.") for number in range(40)]

    assert {reply.status for reply in replies} == {200}
    assert {mark_in(reply) for reply in replies} == {mark_of(server.url) for server in servers}
    for reply in replies[:9]:
        path = f"/requests/{reply.body['request_id']}"
        assert send(other.url, "GET", path).body == reply.body
        wait_until(lambda path=path: send(other.url, "GET", f"{path}/trace").body.get("is_complete"), 5, "the trace")


def test_an_asynchronous_request_is_answered_and_one_that_nobody_knows_is_not_found(replicas: list[ApiProcess]) -> None:
    one, other = replicas
    accepted = post(one, Prefer="respond-async")

    assert accepted.status == 202
    wait_until(lambda: send(other.url, "GET", accepted.headers["Location"]).status == 200, 10, "the answer")
    assert send(other.url, "DELETE", accepted.headers["Location"]).body["status"] == "done"
    for request_id in ("f" * 32, accepted.body["request_id"][:MARK_DIGITS] + "0" * 28, "x"):
        assert send(one.url, "GET", f"/requests/{request_id}").status == 404


def test_a_key_is_one_request_whichever_replica_it_is_sent_to(
    servers: list[EmbeddedRedis], replicas: list[ApiProcess]
) -> None:
    before = sum(counts(server.url).get("accepted", 0) for server in servers)

    for number in range(6):
        replies = [post(replica, **{"Idempotency-Key": f"key {number}"}) for replica in replicas * 2]
        assert [reply.status for reply in replies] == [200] * 4
        assert len({reply.body["request_id"] for reply in replies}) == 1

    assert sum(counts(server.url)["accepted"] for server in servers) - before == 6 * 2  # two sentences each
    other = send(replicas[1].url, "POST", "/correct", b'{"sentence": "Other."}',
                 {"Content-Type": "application/json", "Idempotency-Key": "key 0"})  # fmt: skip
    assert (other.status, other.body["type"].rpartition(":")[2]) == (409, "idempotency-conflict")


def test_a_learner_is_counted_in_one_place_and_each_answer_once(replicas: list[ApiProcess]) -> None:
    one, other = replicas
    for number in range(8):
        assert post(replicas[number % 2], "anna").status == 200  # whichever shard answers
        kept = post(replicas[number % 2], "bea", **{"Idempotency-Key": "bea's"})
        assert send(other.url, "GET", f"/requests/{kept.body['request_id']}").status == 200
    later = post(one, "cleo", Prefer="respond-async").headers["Location"]
    wait_until(lambda: send(other.url, "GET", later).status == 200, 10, "the answer")
    assert send(one.url, "GET", later).status == 200

    for learner_id, number in (("anna", 8), ("bea", 1), ("cleo", 1)):
        path = f"/learners/{learner_id}"
        wait_until(lambda path=path: send(one.url, "GET", path).status == 200, 5, learner_id)
        wait_until(lambda path=path, n=number: send(one.url, "GET", path).body["corrections"] == n, 5, learner_id)
        assert send(other.url, "GET", path).body["corrections"] == number
    assert send(one.url, "DELETE", "/learners/anna").status == 200
    assert send(other.url, "GET", "/learners/anna").status == 404


def test_the_edits_of_a_text_are_streamed(replicas: list[ApiProcess]) -> None:
    for replica in replicas * 2:
        reply = post(replica, Accept="text/event-stream")

        assert (reply.status, reply.body.count("event: edit"), reply.body.count("event: done")) == (200, 2, 1)


def test_metrics_are_the_sums_and_name_each_shard(servers: list[EmbeddedRedis], replicas: list[ApiProcess]) -> None:
    post_json(replicas[0].url, "/correct/batch", {"sentences": ["He goed home."] * 30})
    accepted = sum(counts(server.url)["accepted"] for server in servers)

    for replica in replicas:
        wait_until(lambda replica=replica: metric(replica, "requests_accepted_total") == accepted, 5, "all accepted")
        assert (metric(replica, "workers"), metric(replica, "api_replicas")) == (NUM, 2)
        assert send(replica.url, "GET", "/metrics").body.count("miniserve_shard_up{shard=") == NUM


def test_the_live_view_shows_the_workers_of_all_shards(replicas: list[ApiProcess]) -> None:
    with viewer(replicas[0].url) as response, Clients(replicas[1].url, 6):
        workers: set[object] = set()
        for name, document in events(response):
            workers |= {document["worker"]} if name == "batch" else set()
            if len(workers) == NUM:
                break

    assert len(workers) == NUM


@pytest.mark.usefixtures("replicas")  # and their workers
def test_the_limit_of_an_api_key_holds_over_all_shards_and_replicas(
    servers: list[EmbeddedRedis], tmp_path: Path
) -> None:
    key, line = new_key("ada")
    (tmp_path / "keys").write_text(f"{line} requests_per_s=0.01\n")
    urls, options = ",".join(server.url for server in servers), ("--api-keys-file", str(tmp_path / "keys"))
    with all_at_once(ApiProcess(urls, *options), ApiProcess(urls, *options)) as replicas:
        for replica in replicas:
            replica.wait_until_ready()
        replies = [post(replica, Authorization=f"Bearer {key}") for replica in replicas * 6]

    assert sorted(reply.status for reply in replies) == [200] + [429] * 11


def test_what_was_accepted_before_there_was_a_list_is_found_and_known_by_its_key(
    servers: list[EmbeddedRedis], replicas: list[ApiProcess]
) -> None:
    home = servers[0]
    keyed = next(key for key in map(str, range(100)) if home_of(key, servers) == mark_of(home.url))
    with ApiProcess(home.url) as before:
        before.wait_until_ready()
        first = post(before, **{"Idempotency-Key": keyed})

    assert first.status == 200
    for replica in replicas:
        assert post(replica, **{"Idempotency-Key": keyed}).body == first.body
        assert send(replica.url, "GET", f"/requests/{first.body['request_id']}").body == first.body
        assert send(replica.url, "DELETE", f"/requests/{first.body['request_id']}").body["status"] == "done"
