"""What requests are like: for each text the tokens of its sentences, and of the answers that the model gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from statistics import fmean
from time import monotonic

from scheduler.errors import ServingError
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest, Delivery
from scheduler.settings import Settings


@dataclass(frozen=True, slots=True)
class SentenceSize:
    """In tokens."""

    prompt: int
    output: int


Text = tuple[SentenceSize, ...]


@dataclass(frozen=True, slots=True)
class Mix:
    """Requests are these texts, each as frequent as the others."""

    texts: tuple[Text, ...]

    @property
    def sentences(self) -> list[SentenceSize]:
        return [one for text in self.texts for one in text]

    @property
    def sentences_per_text(self) -> float:
        return len(self.sentences) / len(self.texts)

    @property
    def mean(self) -> tuple[float, float]:
        """Prompt and output tokens of a sentence."""
        return fmean(one.prompt for one in self.sentences), fmean(one.output for one in self.sentences)


def requests_of(texts: Sequence[str]) -> list[list[CorrectionRequest]]:
    """Those of each text, without the texts that the server would refuse."""
    from api.grammar.pipeline import TextPipeline

    pipeline, numbers = TextPipeline.load(), count()
    requests = []
    for text in texts:
        with suppress(ServingError):
            drafts = pipeline.prepare_text(text).sentences
            requests.append([
                CorrectionRequest(
                    str(next(numbers)), draft.prompt.token_ids, draft.prompt.word_numbers, MAX_OUTPUT_TOKENS,
                    pipeline.tokenizer_fingerprint,
                )
                for draft in drafts
            ])  # fmt: skip
    return requests


def mix_of(texts: Sequence[str]) -> Mix:
    """As the shipped model answers them, without the texts that the server would refuse."""
    from worker.engine import new_engine
    from worker.model.weights import load_weights

    requests, engine = requests_of(texts), new_engine(load_weights(), Settings(), monotonic)
    for request in chain.from_iterable(requests):
        engine.accept(Delivery(request, attempt=1, waited_s=0.0))
    lengths: dict[str, int] = {}
    while engine.policy.has_work:
        lengths |= {completion.request_id: len(completion.output_ids) for completion in engine.step()}
    return Mix(
        tuple(tuple(SentenceSize(len(one.prompt_ids), lengths[one.request_id]) for one in text) for text in requests)
    )
