"""What requests are like: for each text the tokens of its sentences, and of the answers that the model gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
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
SizedRequest = tuple[CorrectionRequest, int]  # a request, and how many tokens the model answers


@dataclass(frozen=True, slots=True)
class Mix:
    """Requests are these texts, each as frequent as the others."""

    texts: tuple[Text, ...]

    @property
    def sentences_per_text(self) -> float:
        return sum(map(len, self.texts)) / len(self.texts)

    @property
    def mean(self) -> tuple[float, float]:
        """Prompt and output tokens of a sentence."""
        sentences = [one for text in self.texts for one in text]
        totals = (sum(one.prompt for one in sentences), sum(one.output for one in sentences))
        return totals[0] / len(sentences), totals[1] / len(sentences)


def mix_of(texts: Sequence[str]) -> Mix:
    """As the shipped model answers them, without the texts that the server would refuse."""
    return Mix(
        tuple(
            tuple(SentenceSize(len(request.prompt_ids), length) for request, length in text)
            for text in sized_texts(texts)
        )
    )


def sized_texts(texts: Sequence[str]) -> list[list[SizedRequest]]:
    """The requests of each text that the server takes, with the length of the answer that the shipped model gives."""
    from api.grammar.pipeline import TextPipeline
    from worker.engine import load_engine

    pipeline = TextPipeline.load()
    engine = load_engine(Settings(), pipeline.tokenizer_fingerprint, monotonic)
    requests: list[list[CorrectionRequest]] = []
    num_requests = 0
    for text in texts:
        try:
            drafts = pipeline.prepare_text(text).sentences
        except ServingError:
            continue
        requests.append([])
        for draft in drafts:
            prompt, name = draft.prompt, str(num_requests)
            num_requests += 1
            request = CorrectionRequest(
                name, prompt.token_ids, prompt.word_numbers, MAX_OUTPUT_TOKENS, pipeline.tokenizer_fingerprint
            )
            requests[-1].append(request)
            engine.accept(Delivery(request, attempt=1, waited_s=0.0))
    lengths: dict[str, int] = {}
    while engine.policy.has_work:
        lengths |= {completion.request_id: len(completion.output_ids) for completion in engine.step()}
    return [[(request, lengths[request.request_id]) for request in one] for one in requests]


def sized_sentences(texts: Sequence[str]) -> list[SizedRequest]:
    """Those of all texts, one after the other."""
    return [one for text in sized_texts(texts) for one in text]


@cache
def prompt_of(num_tokens: int) -> tuple[int, ...]:
    """Token ids that nobody reads."""
    return (0,) * num_tokens
