"""The PyTorch twin: needs `pip install .[train]`, so it is no part of `make test`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from api.grammar.edit_script import EOS_ID
from api.grammar.tokenizer import Prompt
from ops.training.model.batches import Batch, Encoded, collate, to_tensors
from ops.training.model.decoding import decode
from ops.training.model.golden import CONFIG, PATH, golden_arrays, random_twin
from ops.training.model.muon import Muon, orthogonalize
from ops.training.model.twin import Twin

PROMPTS = (
    Prompt((70, 5, 9, 2), (1, 2, 3, 0), (), ()),
    Prompt((11, 12, 70, 80, 90, 13, 2), (1, 2, 2, 3, 4, 5, 0), (), ()),
)


@pytest.fixture
def twin() -> Twin:
    return random_twin(torch.Generator().manual_seed(3))


def test_the_golden_file_is_what_the_script_writes():
    with np.load(PATH) as file:
        written = dict(file)

    fresh = golden_arrays()

    assert written.keys() == fresh.keys()
    for name, array in fresh.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(written[name], array, rtol=1e-4, atol=1e-4)
        else:
            assert np.array_equal(written[name], array), name


def test_padding_does_not_change_the_answer(twin):
    together = decode(twin, PROMPTS)

    alone = [decode(twin, [prompt])[0] for prompt in PROMPTS]

    assert [each.changed_ids for each in together] == [each.changed_ids for each in alone]
    assert [each.margin for each in together] == pytest.approx([each.margin for each in alone], abs=1e-4)


def test_a_prompt_sees_all_of_itself_and_nothing_of_the_output(twin):
    tokens = torch.tensor([[7, 8, 9, 2, 70, 80]])
    words = torch.tensor([[1, 2, 3, 0, 0, 0]])
    length = torch.tensor([4])
    before = twin.hidden(tokens, words, length)

    last_prompt_token = tokens.clone().index_put_((torch.tensor([0]), torch.tensor([2])), torch.tensor(50))
    last_output_token = tokens.clone().index_put_((torch.tensor([0]), torch.tensor([5])), torch.tensor(50))

    assert not torch.allclose(twin.hidden(last_prompt_token, words, length)[0, 0], before[0, 0])
    assert torch.allclose(twin.hidden(last_output_token, words, length)[0, :5], before[0, :5], atol=1e-5)


def test_the_bias_decides_between_the_best_change_and_none(twin):
    (result,) = decode(twin, PROMPTS[:1])

    assert result.at(result.margin - 1) == result.changed_ids
    assert result.at(result.margin + 1) == (EOS_ID,)


def test_orthogonal_updates_have_singular_values_near_one():
    matrices = torch.randn(3, 16, 64, generator=torch.Generator().manual_seed(1))

    for shape in (matrices, matrices.mT):
        values = torch.linalg.svdvals(orthogonalize(shape))

        assert values.min() > 0.5 and values.max() < 1.5


def test_muon_moves_every_matrix_against_its_gradient():
    matrix = torch.nn.Parameter(torch.zeros(8, 4))
    matrix.grad = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))

    Muon([matrix], lr=0.1).step()

    assert (matrix * matrix.grad).sum() < 0


def test_a_twin_learns_a_batch_by_heart():
    torch.manual_seed(0)
    twin = Twin(CONFIG)
    rows = [Encoded(prompt.token_ids, prompt.word_numbers, (60 + index, 70, 1), (0,) * len(prompt.token_ids))
            for index, prompt in enumerate(PROMPTS)]  # fmt: skip
    batch: Batch = to_tensors(collate(rows), "cpu")
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-2)

    for _ in range(60):
        twin.losses(batch).total.backward()
        optimizer.step()
        optimizer.zero_grad()

    assert twin.losses(batch).output < 0.05
    assert [each.changed_ids for each in decode(twin, PROMPTS)] == [(60, 70, 1), (61, 70, 1)]
