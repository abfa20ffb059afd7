"""The twin in PyTorch, its batches and its optimizer."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from api.grammar.edit_script import EOS_ID, REASONS, ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from miniserve_training.model.batches import NO_TARGET, batch_stream, collate, cut_batches, encode_example, to_tensors
from miniserve_training.model.muon import Muon, orthogonalize
from miniserve_training.model.progress import FINAL_RATE, WARM_UP_STEPS, Progress
from miniserve_training.model.trainer import Trainer
from miniserve_training.model.twin import TRAINING_ONLY, Twin, TwinConfig
from miniserve_training.options import TrainOptions
from miniserve_training.text.maker import Example
from worker.model.forward import MiniGPT, PackedBatch
from worker.model.weights import ModelConfig, fold

GOED = Example("He goed home.", "He went home.", (ScriptEdit(1, 1, "went", Reason.PAST_IRREG),), "test")
CLEAN = Example("She has a red car and a blue house.", "She has a red car and a blue house.", (), "test")
TOO_LONG = Example("go " * 65, "go " * 65, (), "test")
TOKENIZER = Tokenizer.load()
CONFIG = TwinConfig(vocab_size=97, num_layers=2, num_heads=4, width=64, num_positions=40, num_word_rows=12)


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


def random_twin(seed: int) -> Twin:
    """Weights large enough that attention is far from even and no part of the model is negligible."""
    twin, generator = Twin(CONFIG), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, param in twin.named_parameters():
            noise = torch.randn(param.shape, generator=generator)
            param.copy_(1 + 0.3 * noise if "norm" in name else 0.2 * noise)
    return twin.eval()


@pytest.mark.parametrize(("num_prompt", "num_output"), [(3, 2), (9, 5), (17, 12)])
def test_the_model_of_the_engine_gives_the_logits_of_its_twin(num_prompt: int, num_output: int) -> None:
    twin, rng = random_twin(20), np.random.default_rng(num_prompt)
    tensors = {name: each.numpy() for name, each in twin.state_dict().items() if name not in TRAINING_ONLY}
    model = MiniGPT(fold(tensors, ModelConfig(**asdict(CONFIG)), ""), kv_budget_tokens=64)
    rows, lengths = np.arange(num_prompt + num_output), np.array([num_prompt])
    tokens, words = rng.integers(CONFIG.vocab_size, size=len(rows)), rng.integers(CONFIG.num_word_rows, size=len(rows))
    words[num_prompt:] = 0
    with torch.no_grad():
        hidden = twin.hidden(torch.tensor(tokens)[None], torch.tensor(words)[None], torch.tensor(lengths))
        expected = twin.logits(hidden[0, num_prompt - 1 :]).numpy()

    prompt = rows[:num_prompt]
    batches = [PackedBatch(tokens[prompt], prompt, words[prompt], prompt, lengths, prompt[None], lengths)]
    for at in rows[num_prompt:]:
        one, no_prompt = slice(at, at + 1), np.zeros(0, dtype=np.intp)
        seen = rows[None, : at + 1]
        batches.append(PackedBatch(tokens[one], rows[one], words[one], rows[one], no_prompt, seen, rows[one] + 1))

    found = np.array([model.forward(batch)[0] for batch in batches])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_prompt_sees_all_of_itself_and_nothing_of_the_output() -> None:
    twin = random_twin(3)
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
    options = TrainOptions((), Path(), examples=1000, top_rate=top_rate)

    scales = [Progress(steps, examples).rate_scale(options) for steps, examples in
              [(0, 0), (WARM_UP_STEPS, 0), (WARM_UP_STEPS, 500), (WARM_UP_STEPS, 1000)]]  # fmt: skip

    middle = (1 + FINAL_RATE) / 2
    assert scales == pytest.approx([top_rate / WARM_UP_STEPS, top_rate, top_rate * middle, top_rate * FINAL_RATE])


def trainer_of(**others: object) -> Trainer:
    return Trainer(
        TrainOptions((), Path(), examples=100_000, device="cpu", **others), Twin(replace(CONFIG, vocab_size=3072))
    )


def test_a_trainer_learns_a_batch_by_heart_and_its_average_follows() -> None:
    torch.manual_seed(0)
    trainer, batch = trainer_of(), collate([encode_example(TOKENIZER, example) for example in (GOED, CLEAN)])

    losses = [float(trainer.step(batch)[0]) for _ in range(300)]

    assert losses[-1] < 0.05 < losses[0]
    assert trainer.average.module.losses(to_tensors(batch, "cpu")).output.item() < 0.3
    assert trainer.progress.examples == 600 and trainer.progress.tokens > 600
