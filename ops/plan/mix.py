"""What requests are like: for each text the tokens of its sentences, and of the answers that the model gives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from time import monotonic

from api.grammar.pipeline import TextPipeline
from ops.run import offline
from scheduler.errors import ServingError
from scheduler.messages import CorrectionRequest
from scheduler.settings import Settings
from worker.engine import new_engine
from worker.model.weights import load_weights


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
    pipeline, requests = TextPipeline.load(), []
    for number, text in enumerate(texts):
        with suppress(ServingError):
            requests.append(offline.requests_of(pipeline, pipeline.prepare_text(text).take(), str(number)))
    return requests


def mix_of(texts: Sequence[str]) -> Mix:
    """As the shipped model answers them, without the texts that the server would refuse."""
    requests, engine = requests_of(texts), new_engine(load_weights(), Settings(), monotonic)
    ended = offline.run_all(engine, chain.from_iterable(requests))
    return Mix(
        tuple(
            tuple(SentenceSize(len(one.prompt_ids), len(ended[one.request_id].output_ids)) for one in text)
            for text in requests
        )
    )
