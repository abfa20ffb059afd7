"""The Mini-GPT in PyTorch: the twin that is trained, whose weights the NumPy worker runs.

    x = tok_emb[t] + pos_emb[p] + word_emb[w]
    x = x + attention(LN(x));  x = x + relu(LN(x) @ w_in)**2 @ w_out        for every layer
    logits = LN(x) @ tok_emb.T                                              LN has a gain and no bias

Tokens of the prompt attend to each other both ways, output tokens causally. The detection head (is this prompt token
part of a mistake, and of which kind?) speeds up training and is left out at export. Matrices are stored (in, out).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from api.grammar.edit_script import REASONS
from miniserve_training.model.batches import Batch

NORM_EPSILON = 1e-5
DETECTION_WEIGHT = 0.5  # beside the loss of the output tokens
TRAINING_ONLY = ("detection",)  # parameters that no weights file holds


@dataclass(frozen=True, slots=True)
class TwinConfig:
    """The shape of the model; the defaults are the one that ships."""

    vocab_size: int = 3072
    num_layers: int = 6
    num_heads: int = 4
    width: int = 128
    num_positions: int = 160
    num_word_rows: int = 65  # word number + 1; row 0 is "no word"


@dataclass(frozen=True, slots=True)
class Losses:
    """Means over their tokens."""

    output: Tensor
    detection: Tensor

    @property
    def total(self) -> Tensor:
        return self.output + DETECTION_WEIGHT * self.detection


class _SquaredRelu(torch.autograd.Function):
    """relu(x)**2; by hand because autograd takes three passes over the widest activations where two do."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        rectified = functional.relu(x)
        ctx.save_for_backward(rectified)
        return rectified * rectified

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor) -> Tensor:
        (rectified,) = ctx.saved_tensors
        return torch.addcmul(grad.new_zeros(()), grad, rectified, value=2.0)


class Layer(nn.Module):
    """One pre-norm transformer layer without biases."""

    def __init__(self, config: TwinConfig) -> None:
        super().__init__()
        C = config.width
        self.num_heads = config.num_heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(C)), nn.Parameter(torch.ones(C))
        self.wq, self.wk, self.wv, self.wo = (nn.Parameter(torch.empty(C, C)) for _ in range(4))
        self.w_in, self.w_out = nn.Parameter(torch.empty(C, 4 * C)), nn.Parameter(torch.empty(4 * C, C))
        for matrix in (self.wq, self.wk, self.wv, self.w_in):
            nn.init.normal_(matrix, std=0.02)
        for matrix in (self.wo, self.w_out):  # what is added to the residual starts small, the more so the deeper
            nn.init.normal_(matrix, std=0.02 / (2 * config.num_layers) ** 0.5)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self._attend(_normalize(x, self.norm1), mask)
        return x + _SquaredRelu.apply(_normalize(x, self.norm2) @ self.w_in) @ self.w_out

    def _attend(self, x: Tensor, mask: Tensor) -> Tensor:
        B, T, C = x.shape
        qkv = x @ torch.cat((self.wq, self.wk, self.wv), dim=1)  # (B, T, 3C)
        q, k, v = qkv.view(B, T, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        # By hand: PyTorch's own attention takes half as long again here, and its backward pass in bfloat16 eight times.
        scores = (q @ k.mT).float() * q.shape[-1] ** -0.5 + mask  # (B, H, T, T)
        mixed = torch.softmax(scores, dim=-1).to(v.dtype) @ v
        return mixed.transpose(1, 2).reshape(B, T, C) @ self.wo


class Twin(nn.Module):
    """The whole model; `state_dict` carries the canonical names of the weights file."""

    def __init__(self, config: TwinConfig) -> None:
        super().__init__()
        self.config = config
        self.tok_emb = nn.Parameter(torch.empty(config.vocab_size, config.width).normal_(std=0.02))
        self.pos_emb = nn.Parameter(torch.empty(config.num_positions, config.width).normal_(std=0.02))
        self.word_emb = nn.Parameter(torch.empty(config.num_word_rows, config.width).normal_(std=0.02))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
        self.norm_f = nn.Parameter(torch.ones(config.width))
        self.detection = nn.Parameter(torch.zeros(config.width, 1 + len(REASONS)))

    def hidden(self, tokens: Tensor, word_numbers: Tensor, prompt_lengths: Tensor) -> Tensor:
        """Last hidden states, normalized: (B, T, C). Rows may be padded at the end; padding is never attended to."""
        T = tokens.shape[1]
        x = functional.embedding(tokens, self.tok_emb) + self.pos_emb[:T]
        x = x + functional.embedding(word_numbers, self.word_emb)
        mask = attention_mask(T, prompt_lengths)
        for layer in self.layers:
            x = layer(x, mask)
        return _normalize(x, self.norm_f)

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits for hidden states of any leading shape."""
        return hidden @ self.tok_emb.T

    def losses(self, batch: Batch) -> Losses:
        """Output and detection loss of a training batch."""
        return self.losses_of(self.hidden(batch.tokens, batch.word_numbers, batch.prompt_lengths), batch)

    def losses_of(self, hidden: Tensor, batch: Batch) -> Losses:
        """The same from the batch's hidden states."""
        hidden, targets, labels = hidden.flatten(0, 1), batch.targets.flatten(), batch.labels.flatten()
        wanted, labelled = batch.target_places, batch.label_places
        output = functional.cross_entropy(self.logits(hidden[wanted]), targets[wanted])
        detection = functional.cross_entropy(hidden[labelled] @ self.detection, labels[labelled])
        return Losses(output, detection)


def attention_mask(T: int, prompt_lengths: Tensor) -> Tensor:
    """(B, 1, T, T), 0 where a query may look and -inf elsewhere: the whole prompt, and what came before itself."""
    positions = torch.arange(T, device=prompt_lengths.device)
    causal = positions[None, :] <= positions[:, None]  # (T, T): key <= query
    in_prompt = positions[None, :] < prompt_lengths[:, None]  # (B, T)
    # A padded query sees its own past only; a real one never sees padding, which lies behind it and outside the prompt.
    may_look = causal[None] | in_prompt[:, None, :]
    return torch.zeros(may_look.shape, device=may_look.device).masked_fill_(~may_look, float("-inf"))[:, None]


def _normalize(x: Tensor, gain: Tensor) -> Tensor:
    return functional.layer_norm(x, gain.shape, gain, None, NORM_EPSILON)
