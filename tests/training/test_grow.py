"""Layers added to weights change nothing until they are trained: needs `pip install .[train]`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from ops.training.model.export import write_weights
from ops.training.model.golden import CONFIG, random_twin
from ops.training.model.grow import grown
from ops.training.model.twin import Twin
from ops.training.tools import training
from worker.model.weights import load_weights

TOKENS, WORDS, LENGTH = torch.tensor([[7, 8, 9, 2, 70]]), torch.tensor([[1, 2, 3, 0, 0]]), torch.tensor([4])


def hidden(twin: Twin) -> torch.Tensor:
    return twin.hidden(TOKENS, WORDS, LENGTH)


def test_a_grown_model_computes_the_same_bit_for_bit() -> None:
    twin = random_twin(torch.Generator().manual_seed(3))

    for num_layers in (2, 3, 4):
        larger = grown(twin, num_layers)
        assert len(larger.layers) == num_layers
        assert torch.equal(hidden(larger), hidden(twin))


def test_a_new_layer_is_a_copy_of_the_one_below_without_its_outputs() -> None:
    twin = random_twin(torch.Generator().manual_seed(3))

    _, new, second, _ = grown(twin, 4).layers

    assert torch.equal(new.wq, twin.layers[0].wq) and torch.equal(new.w_in, twin.layers[0].w_in)
    assert not new.wo.any() and not new.w_out.any()
    assert torch.equal(second.wo, twin.layers[1].wo)


@pytest.mark.parametrize("num_layers", [1, 5])
def test_a_model_neither_shrinks_nor_more_than_doubles(num_layers: int) -> None:
    with pytest.raises(ValueError, match="2 layers grow to 2 to 4"):
        grown(Twin(CONFIG), num_layers)


def test_the_command_writes_weights_that_the_worker_loads(tmp_path: Path) -> None:
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    twin = Twin(replace(CONFIG, num_positions=160, num_word_rows=65))
    write_weights(twin, old, "0" * 16, 1.5, json.dumps({"examples": 7}))

    result = CliRunner().invoke(training, ["grow", str(old), str(new), "--layers", "3"])

    assert result.exit_code == 0
    config = load_weights(new).config
    assert (config.num_layers, config.eos_bias) == (3, 1.5)
