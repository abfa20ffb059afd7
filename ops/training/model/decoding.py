"""Greedy decoding with the twin, for scores during training and for tuning the bias of <eos>.

It recomputes the whole sequence for every token, which is slow and leaves nothing to get wrong; serving is the
worker's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from api.grammar.edit_script import EOS_ID
from api.grammar.tokenizer import Prompt
from ops.training.model.twin import Twin
from scheduler.messages import MAX_OUTPUT_TOKENS

_ROWS_PER_BATCH = 128


@dataclass(frozen=True, slots=True)
class Decoded:
    """The best output that changes something, and by how much the model prefers it to changing nothing."""

    changed_ids: tuple[int, ...]
    margin: float  # logit of its first token minus that of <eos>

    def at(self, eos_bias: float) -> tuple[int, ...]:
        """The output with this constant added to the first <eos> logit."""
        return self.changed_ids if self.margin > eos_bias else (EOS_ID,)


@torch.no_grad()
def decode(twin: Twin, prompts: Sequence[Prompt], device: str = "cpu") -> list[Decoded]:
    """One result per prompt, in order."""
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index].token_ids))
    decoded: dict[int, Decoded] = {}
    for start in range(0, len(order), _ROWS_PER_BATCH):
        rows = order[start : start + _ROWS_PER_BATCH]
        decoded |= zip(rows, _decode_rows(twin, [prompts[row] for row in rows], device), strict=True)
    return [decoded[index] for index in range(len(prompts))]


def _decode_rows(twin: Twin, prompts: list[Prompt], device: str) -> list[Decoded]:
    B, P = len(prompts), max(len(prompt.token_ids) for prompt in prompts)
    tokens, word_numbers = torch.zeros(2, B, P + MAX_OUTPUT_TOKENS, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        tokens[row, : len(prompt.token_ids)] = torch.tensor(prompt.token_ids)
        word_numbers[row, : len(prompt.word_numbers)] = torch.tensor(prompt.word_numbers)
    prompt_lengths = torch.tensor([len(prompt.token_ids) for prompt in prompts])
    tokens, word_numbers, prompt_lengths = tokens.to(device), word_numbers.to(device), prompt_lengths.to(device)
    logits = _next_logits(twin, tokens, word_numbers, prompt_lengths, prompt_lengths)
    eos_logits = logits[:, EOS_ID].clone()
    logits[:, EOS_ID] = float("-inf")
    best, chosen = logits.max(dim=1)
    outputs = [[int(token)] for token in chosen]
    active = torch.arange(B, device=device)
    for step in range(MAX_OUTPUT_TOKENS - 1):
        tokens[active, prompt_lengths[active] + step] = chosen
        lengths = prompt_lengths[active]
        chosen = _next_logits(twin, tokens[active], word_numbers[active], lengths, lengths + step + 1).argmax(dim=1)
        for row, token in zip(active.tolist(), chosen.tolist(), strict=True):
            outputs[row].append(token)
        active, chosen = active[chosen != EOS_ID], chosen[chosen != EOS_ID]
        if not len(active):
            break
    margins = (best - eos_logits).tolist()
    return [Decoded(tuple(output), margin) for output, margin in zip(outputs, margins, strict=True)]


def _next_logits(twin: Twin, tokens: Tensor, word_numbers: Tensor, prompt_lengths: Tensor, lengths: Tensor) -> Tensor:
    T = int(lengths.max())
    hidden = twin.hidden(tokens[:, :T], word_numbers[:, :T], prompt_lengths)
    return twin.logits(hidden[torch.arange(len(lengths), device=lengths.device), lengths - 1]).float()
