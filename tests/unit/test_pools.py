"""Two pools in one process: what one engine has read, another goes on with, as if one had done all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scheduler.messages import Delivery
from scheduler.pools import Handed
from tests.unit.small_model import answers, random_weights, request
from tests.unit.two_engines import decode, handed_over, plain, prefill, read
from worker.pools.handoff import HandoffError, pack, unpack, weights_digest

DIGEST = bytes(range(16))
READ_AGAIN = "a prompt is read again"
REQUESTS = [request(f"r{i}", 3 + 2 * i, 1 + i % 9) for i in range(50)]


def test_two_engines_write_what_one_writes(caplog: pytest.LogCaptureFixture) -> None:
    expected = {name: one.output_ids for name, one in answers(plain(), *REQUESTS).items()}

    ended, prompts = read(REQUESTS, prefill())
    second = decode()
    for delivery in handed_over(REQUESTS, prompts):
        assert second.accept(delivery) is None
    found = ended | answers(second)

    assert {name: one.output_ids for name, one in found.items()} == expected
    assert len(prompts) > 30 and READ_AGAIN not in caplog.messages


def test_a_prompt_that_was_read_leaves_at_once_and_is_read_again_where_it_comes_back() -> None:
    reader = prefill()
    requests = [request(f"r{i}", 100, 32) for i in range(20)]  # 15 of them fit at once

    for _ in range(2):
        _, prompts = read(requests, reader)

        assert [one.request_id for one in prompts] == [one.request_id for one in requests]
        assert reader.progress() == reader.policy.held_ids() == []
        assert (reader.due_in_s(), reader.model.arena.num_free) == (None, 2048)


def test_an_answer_counts_the_time_since_its_acceptance_on_both_sides() -> None:
    """Two clocks that have nothing to do with each other; 4 s went by on the way."""
    one = request("r", 10, 3)
    reader = prefill(lambda: 100.0)
    reader.accept(Delivery(one, 1, waited_s=2.0))
    reader.step()
    (prompt,) = reader.progress()
    second = decode(lambda: 5000.0)

    second.accept(Delivery(one, 1, waited_s=6.0, handed=prompt.handoff))
    timings = answers(second)["r"].timings

    assert timings.queue_s == pytest.approx(2.0)
    assert timings.prefill_s == pytest.approx(0.0, abs=1e-6)
    assert timings.decode_s == pytest.approx(4.0)


@pytest.mark.parametrize("lost", ["empty", "cut", "torn", "torn at its end", "no sums", "forged", "other weights"])
def test_a_prompt_is_read_again_where_its_handoff_cannot_be_used(lost: str, caplog: pytest.LogCaptureFixture) -> None:
    one, seed = request("r", 10, 8), int(lost == "other weights")
    whole, second = plain(seed), decode(seed=seed)
    expected = answers(whole, one)["r"].output_ids
    raw = read([one], prefill())[1][0].handoff
    digest, layers = weights_digest(random_weights()), second.model.arena.layers
    whole_one = unpack(raw, digest, (len(layers), 10, layers.shape[2]))
    handoff = {
        "empty": b"", "cut": raw[:-4], "torn": raw[:4] + bytes([raw[4] ^ 1]) + raw[5:],
        "torn at its end": raw[:-1] + bytes([raw[-1] ^ 1]),
        "no sums": b"ABCD" + raw[4:], "forged": pack(replace(whole_one, first_id=4000), digest), "other weights": raw,
    }  # fmt: skip

    second.accept(Delivery(one, 1, 0.0, handed=handoff[lost]))

    assert answers(second)["r"].output_ids == expected
    assert caplog.messages == [READ_AGAIN]


def a_handed(num_tokens: int = 3) -> Handed:
    kv = np.arange(2 * num_tokens * 8, dtype=np.float32).reshape(2, num_tokens, 8)
    return Handed(4097, 0.25, 0.001, kv, [1.5, -0.25, 9.0, 12.0])


@pytest.mark.parametrize("shape", [(2, 4, 8), (1, 3, 8), (2, 3, 16)])
def test_bytes_of_another_prompt_or_model_are_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(HandoffError, match="are expected"):
        unpack(pack(a_handed(), DIGEST), DIGEST, shape)


def test_weights_and_their_calibration_are_told_apart() -> None:
    weights = random_weights()
    other = replace(weights, config=replace(weights.config, long_calibration=(1.0, 0.0)))

    assert len({weights_digest(one) for one in (weights, other, random_weights(1))}) == 3
    assert weights_digest(weights) == weights_digest(random_weights())
