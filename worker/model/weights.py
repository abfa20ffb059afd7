"""Reading the weights: checked against their fingerprint, folded and cut into blocks for the forward pass.

The file holds the parameters as they were trained (layout: docs/model-card.md). What the forward pass wants differs:

* Folding. Layer-norm gains, times sqrt(C), go into the matrices behind them, 1/sqrt(D) into the query matrix, and
  everything that writes to the residual stream is centred over the width, so that the stream has mean zero and a layer
  norm is a dot product, a square root and a divide. Exact to float32 rounding.
* Blocks. OpenBLAS repacks a weight matrix at every call, which costs more than the product itself at the few rows of a
  decode batch. Blocks of 64 columns keep each product small enough for its kernel that does not pack.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from scheduler.messages import ID_BITS
from worker.model.memory import BLOCK_COLUMNS, allocate

DEFAULT_PATH = Path(__file__).parents[1] / "mini-gpt.safetensors"
MAX_MULTIPLY_ADDS = 1_000_000  # per product: the last size for which OpenBLAS does not repack


class WeightsError(RuntimeError):
    """The weights cannot be used; the message says what does not match and what to do."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shape of a Mini-GPT, and how often it is right."""

    vocab_size: int
    num_layers: int
    num_heads: int
    width: int
    num_positions: int
    num_word_rows: int
    # The log-odds that an edit is right, a + b * its certainty: (a, b) by the token id of its tag, and what a long
    # sentence adds to both.
    calibration: dict[str, tuple[float, float]] = field(default_factory=dict)
    long_calibration: tuple[float, float] = (0.0, 0.0)


class BlockedMatrix:
    """A weight matrix (K, N) cut into column blocks (N / 64, K, 64)."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.num_inputs, self.num_outputs = matrix.shape
        if self.num_outputs % BLOCK_COLUMNS:
            raise WeightsError(f"a matrix has {self.num_outputs} columns; blocks need a multiple of {BLOCK_COLUMNS}")
        blocks = matrix.reshape(self.num_inputs, -1, BLOCK_COLUMNS).transpose(1, 0, 2)
        self.blocks = np.ascontiguousarray(blocks, dtype=np.float32)
        self.max_rows = MAX_MULTIPLY_ADDS // (self.num_inputs * BLOCK_COLUMNS)


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One folded block. `qkv` is wq | wk | wv; the last layer uses `q` and `kv`, on different rows."""

    qkv: BlockedMatrix
    q: BlockedMatrix
    kv: BlockedMatrix
    wo: BlockedMatrix
    w_in: BlockedMatrix
    w_out: BlockedMatrix


@dataclass(frozen=True, slots=True)
class Weights:
    """Everything the forward pass reads, folded."""

    config: ModelConfig
    tokenizer_fingerprint: str
    tok_emb: np.ndarray  # (V, C), centred
    pos_emb: np.ndarray  # (P, C), centred
    word_emb: np.ndarray  # (W, C), centred
    layers: tuple[LayerWeights, ...]
    unembedding: BlockedMatrix  # (C, V): the final gain folded into the transposed embedding


def load_weights(path: Path = DEFAULT_PATH, tokenizer_fingerprint: str | None = None) -> Weights:
    """Raises WeightsError if the file is missing, damaged or made for another config or tokenizer."""
    tensors, metadata = _read(path)
    try:
        config = ModelConfig(**json.loads(metadata["config"]))
        made_with = metadata["tokenizer"]
        expected = fingerprint(config, made_with)
        found = metadata["fingerprint"]
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path.name}: its metadata is not of this version ({error!r}); export it again") from error
    if found != expected:
        raise WeightsError(f"{path.name}: fingerprint {found}, its config gives {expected}; export it again")
    if tokenizer_fingerprint not in (None, made_with):
        raise WeightsError(
            f"{path.name} was trained with tokenizer {made_with}, this installation has {tokenizer_fingerprint}; "
            "install weights and tokenizer of one version"
        )
    return fold(tensors, config, made_with)


def fingerprint(config: ModelConfig, tokenizer_fingerprint: str) -> str:
    """Ties weights to their config and tokenizer: the first 16 hex digits of a SHA-256."""
    canonical = json.dumps(asdict(config), sort_keys=True) + tokenizer_fingerprint
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def fold(tensors: dict[str, np.ndarray], config: ModelConfig, tokenizer_fingerprint: str) -> Weights:
    """Trained parameters to forward-pass weights. Raises WeightsError where a tensor is missing or misshapen."""
    _check_shapes(tensors, config)
    head_scale = (config.width / config.num_heads) ** -0.5
    layers = tuple(_fold_layer(tensors, f"layers.{i}.", head_scale) for i in range(config.num_layers))
    words = (tensors["tok_emb"] * _gain(tensors["norm_f"])).T
    # Zero columns up to a multiple of the block; the model cuts them off again.
    unembedding = BlockedMatrix(np.pad(words, ((0, 0), (0, -words.shape[1] % BLOCK_COLUMNS))))
    _put_side_by_side([*(getattr(layer, name) for layer in layers for name in LayerWeights.__slots__), unembedding])
    return Weights(
        config=config,
        tokenizer_fingerprint=tokenizer_fingerprint,
        tok_emb=_centred(tensors["tok_emb"]),
        pos_emb=_centred(tensors["pos_emb"]),
        word_emb=_centred(tensors["word_emb"]),
        layers=layers,
        unembedding=unembedding,
    )


def _fold_layer(tensors: dict[str, np.ndarray], prefix: str, head_scale: float) -> LayerWeights:
    gain1, gain2 = _gain(tensors[prefix + "norm1"])[:, None], _gain(tensors[prefix + "norm2"])[:, None]
    q = gain1 * tensors[prefix + "wq"] * head_scale
    kv = gain1 * np.concatenate([tensors[prefix + "wk"], tensors[prefix + "wv"]], axis=1)
    return LayerWeights(
        qkv=BlockedMatrix(np.concatenate([q, kv], axis=1)),
        q=BlockedMatrix(q),
        kv=BlockedMatrix(kv),
        wo=BlockedMatrix(_centred(tensors[prefix + "wo"])),
        w_in=BlockedMatrix(gain2 * tensors[prefix + "w_in"]),
        w_out=BlockedMatrix(_centred(tensors[prefix + "w_out"])),
    )


def _put_side_by_side(matrices: list[BlockedMatrix]) -> None:
    """Copy them into one piece of memory, which is large enough for huge pages."""
    memory, start = allocate(sum(matrix.blocks.size for matrix in matrices)), 0
    for matrix in matrices:
        blocks = memory[start : start + matrix.blocks.size].reshape(matrix.blocks.shape)
        blocks[...] = matrix.blocks
        matrix.blocks = blocks
        start += blocks.size


def _gain(norm: np.ndarray) -> np.ndarray:
    """Multiply by the root of the width, which the forward pass leaves out of its layer norm."""
    return norm * np.float32(len(norm) ** 0.5)


def _centred(matrix: np.ndarray) -> np.ndarray:
    return matrix - matrix.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)


def digest(path: Path) -> str:
    """The SHA-256 of a file, as the .sha256 file next to the weights states it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the tensors, and what the file says of them."""
    stated = path.with_suffix(".sha256")
    try:
        if stated.is_file() and digest(path) != stated.read_text().split()[0]:
            raise WeightsError(f"{path.name} is not the file that {stated.name} states: install or export it again")
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"cannot read the weights {path}: {error}") from error


def _check_shapes(tensors: dict[str, np.ndarray], config: ModelConfig) -> None:
    if config.vocab_size > 1 << ID_BITS:
        found = f"the vocabulary has {config.vocab_size:,} tokens"
        raise WeightsError(f"{found}; an output id can name {1 << ID_BITS:,}: train with a smaller one")
    for name, shape in expected_shapes(config).items():
        if name not in tensors:
            raise WeightsError(f"the weights lack the tensor {name}; export them again")
        if tensors[name].shape != shape:
            raise WeightsError(f"tensor {name} has shape {tensors[name].shape}; the config asks for {shape}")


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor of the file and its shape."""
    width = config.width
    shapes: dict[str, tuple[int, ...]] = {
        "tok_emb": (config.vocab_size, width), "pos_emb": (config.num_positions, width),
        "word_emb": (config.num_word_rows, width), "norm_f": (width,),
    }  # fmt: skip
    for i in range(config.num_layers):
        shapes |= {f"layers.{i}.{name}": (width, width) for name in ("wq", "wk", "wv", "wo")}
        shapes |= {f"layers.{i}.norm1": (width,), f"layers.{i}.norm2": (width,)}
        shapes |= {f"layers.{i}.w_in": (width, 4 * width), f"layers.{i}.w_out": (4 * width, width)}
    return shapes
