"""The twin in PyTorch, its batches and its optimizer."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

from api.grammar.edit_script import EOS_ID, REASONS, ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from miniserve_training.model.batches import NO_TARGET, batch_stream, collate, cut_batches, encode_example, to_tensors
from miniserve_training.model.golden import CONFIG, PATH, golden_arrays, random_twin
from miniserve_training.model.muon import Muon, orthogonalize
from miniserve_training.model.progress import FINAL_RATE, WARM_UP_STEPS, Progress
from miniserve_training.model.trainer import Trainer
from miniserve_training.model.twin import Twin
from miniserve_training.options import TrainOptions
from miniserve_training.text.maker import Example

GOED = Example("He goed home.", "He went home.", (ScriptEdit(1, 1, "went", Reason.PAST_IRREG),), "test")
CLEAN = Example("She has a red car and a blue house.", "She has a red car and a blue house.", (), "test")
TOO_LONG = Example("go " * 65, "go " * 65, (), "test")
TOKENIZER = Tokenizer.load()


def test_the_tokens_of_a_mistake_are_labelled_with_its_reason() -> None:
    encoded = encode_example(TOKENIZER, GOED)

    label = 1 + REASONS.index(Reason.PAST_IRREG)
    assert encoded.labels == (0, label, label, *[0] * (len(encoded.prompt) - 3))  # go|ed
    assert encode_example(TOKENIZER, TOO_LONG) is None


def test_every_output_token_is_predicted_from_the_one_before() -> None:
    rows = [encode_example(TOKENIZER, example) for example in (GOED, CLEAN)]

    batch = collate(rows)

    for row, (tokens, targets) in zip(rows, zip(batch.tokens, batch.targets, strict=True), strict=True):
        start = len(row.prompt) - 1
        assert tuple(targets[targets != NO_TARGET]) == row.output
        assert tuple(tokens[start + 1 : len(row)]) == row.output[:-1]
        assert tuple(np.flatnonzero(targets != NO_TARGET)) == tuple(range(start, len(row)))
    assert batch.targets[1].max() == EOS_ID


def test_a_batch_stays_within_its_tokens_loses_no_example_and_follows_its_seed() -> None:
    encoded = [encode_example(TOKENIZER, example) for example in [GOED, CLEAN] * 50]
    batches = cut_batches(encoded, 90, random.Random(0))

    assert all(batch.tokens.size <= 90 for batch in batches)
    assert sum(map(len, batches)) == 100
    one, same, other = (
        [batch.tokens.tolist() for batch in batch_stream([GOED, CLEAN] * 30, TOKENIZER, 90, random.Random(seed))]
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_the_golden_file_is_what_the_script_writes() -> None:
    with np.load(PATH, allow_pickle=False) as file:
        written = dict(file)

    fresh = golden_arrays()

    assert written.keys() == fresh.keys()
    for name, array in fresh.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(written[name], array, rtol=1e-4, atol=1e-4)
        else:
            assert np.array_equal(written[name], array), name


def test_a_prompt_sees_all_of_itself_and_nothing_of_the_output() -> None:
    twin = random_twin(torch.Generator().manual_seed(3))
    tokens, words, length = torch.tensor([[7, 8, 9, 2, 70, 80]]), torch.tensor([[1, 2, 3, 0, 0, 0]]), torch.tensor([4])
    before = twin.hidden(tokens, words, length)

    def changed(at: int) -> torch.Tensor:
        other = tokens.clone()
        other[0, at] = 50
        return twin.hidden(other, words, length)

    assert not torch.allclose(changed(2)[0, 0], before[0, 0])
    assert torch.allclose(changed(5)[0, :5], before[0, :5], atol=1e-5)


def test_muon_steps_against_the_gradient_equally_far_in_every_direction() -> None:
    matrices = torch.randn(3, 16, 64, generator=torch.Generator().manual_seed(1))
    matrix = torch.nn.Parameter(torch.zeros(16, 64))
    matrix.grad = matrices[0].clone()

    Muon([matrix], lr=0.1).step()

    assert (matrix * matrix.grad).sum() < 0
    for shape in (matrices, matrices.mT):
        values = torch.linalg.svdvals(orthogonalize(shape))
        assert values.min() > 0.5 and values.max() < 1.5


@pytest.mark.parametrize("top_rate", [1.0, 0.3])
def test_the_rates_rise_to_their_top_and_come_down_to_a_small_share_of_it(top_rate: float) -> None:
    options = TrainOptions((), PATH, examples=1000, top_rate=top_rate)

    scales = [Progress(steps, examples).rate_scale(options) for steps, examples in
              [(0, 0), (WARM_UP_STEPS, 0), (WARM_UP_STEPS, 500), (WARM_UP_STEPS, 1000)]]  # fmt: skip

    middle = (1 + FINAL_RATE) / 2
    assert scales == pytest.approx([top_rate / WARM_UP_STEPS, top_rate, top_rate * middle, top_rate * FINAL_RATE])


def trainer_of(**others: object) -> Trainer:
    return Trainer(
        TrainOptions((), PATH, examples=100_000, device="cpu", **others), Twin(replace(CONFIG, vocab_size=3072))
    )


def test_a_trainer_learns_a_batch_by_heart_and_its_average_follows() -> None:
    torch.manual_seed(0)
    trainer, batch = trainer_of(), collate([encode_example(TOKENIZER, example) for example in (GOED, CLEAN)])

    losses = [float(trainer.step(batch)[0]) for _ in range(300)]

    assert losses[-1] < 0.05 < losses[0]
    assert trainer.average.module.losses(to_tensors(batch, "cpu")).output.item() < 0.3
    assert trainer.progress.examples == 600 and trainer.progress.tokens > 600
