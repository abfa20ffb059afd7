"""Little's law by stage of a whole system under a steady load: it adds up, and names what was made slow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from scheduler.capacity.measure import goals_of, measure, measure_pools
from scheduler.capacity.observed import Observed
from scheduler.capacity.stages import busiest, stages_of
from scheduler.settings import Settings
from tests.exposed_metrics import families_of
from tests.running_system import RunningSystem, post_json, post_sentence, send, wait_until
from worker.queue.redis_observer import SystemReader
from worker.queue.redis_py import connect

NUM_SENTENCES = 150
SENTENCE = "Yesterday he goed to school and she have two cats"
TEXTS = {  # of three sentences each
    "/correct": {"sentence": f"{SENTENCE}. He goed. They was late."},
    "/correct/batch": {"sentences": ["He goed.", "She have it. I seen it."]},
}
WITHIN = 0.03


def observed_after(system: RunningSystem, num_sentences: int) -> Observed:
    """Once worker and replica have reported so many."""
    seen: list[Observed] = []

    def is_reported() -> bool:
        seen[:] = [reader.observe()]
        counted = seen[0].totals.get("stage:answered", 0), seen[0].totals.get("iteration:requests", 0)
        return min(counted) >= num_sentences

    with closing(SystemReader(connect(system.redis_url))) as reader:
        wait_until(is_reported, 20, "the counts of all sentences")
    return seen[0]


@pytest.mark.parametrize(
    ("options", "pool", "stage"),
    [
        (("--break", "blocking-call"), "api", "tokenize"),  # each request holds the API for 20 ms
        (("--break", "bypassed-scheduler"), "worker", "decode"),  # one sentence at a time
        (("--prefill-workers", "1", "--decode-workers", "1", "--max-slots", "1"), "decode", "decode"),
    ],
    ids=["a-slow-api", "a-slow-worker", "a-narrow-pool"],
)
def test_the_stages_add_up_to_the_whole_and_name_what_is_slow(options: tuple[str, ...], pool: str, stage: str) -> None:
    with RunningSystem(*options) as system:
        with ThreadPoolExecutor(8) as clients:
            replies = list(clients.map(lambda _: post_sentence(system.url, SENTENCE), range(NUM_SENTENCES)))
        assert {reply.status for reply in replies} == {200}
        seen = observed_after(system, NUM_SENTENCES)

    goals = goals_of(Settings())
    found = stages_of(seen, measure(seen, goals), measure_pools(seen, goals))

    assert sum(each.time_s for each in found.each) == pytest.approx(found.whole_s, rel=WITHIN)
    named, used = busiest(found.each)
    assert (named.pool, named.name) == (pool, stage), found
    assert used > 0
    (handoff,) = (each for each in found.each if each.name == "hand-off")
    assert (handoff.time_s > 0) == (pool == "decode")


def test_texts_of_several_sentences_add_up_too(system: RunningSystem) -> None:
    before = observed_after(system, 0)
    for _ in range(20):
        for path, body in TEXTS.items():
            assert post_json(system.url, path, body).status == 200

    seen = observed_after(system, int(before.totals.get("stage:answered", 0)) + 20 * 6)

    def since(field: str) -> float:
        return seen.totals[field] - before.totals.get(field, 0.0)

    ours = sum(since(f"stage:{name}") for name in ("tokenize", "deliver"))
    workers = sum(since(f"iteration:{name}") for name in ("queue_s", "prefill_s", "decode_s"))
    assert ours + workers == pytest.approx(since("stage:whole"), rel=WITHIN)
    assert since("stage:answered") == 120


def test_metrics_have_each_stage_with_its_pool(system: RunningSystem) -> None:
    families = families_of(send(system.url, "GET", "/metrics").body.encode())

    labels = [sample.labels for sample in families["miniserve_stage_time_seconds"].samples]
    assert {each["stage"]: each["pool"] for each in labels} == {
        "tokenize": "api", "queue": "redis", "prefill": "worker", "hand-off": "redis", "decode": "worker",
        "deliver": "api",
    }  # fmt: skip
