"""Corrects many texts as one request. What is wrong with one text, or becomes of it, is said in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from api.batch.body import BatchBody
from api.grammar.correction import Correction
from api.grammar.pipeline import MAX_TEXT_CHARACTERS, TextDraft
from api.http import problems
from api.service.corrector import Corrector, options_of
from api.service.exchange import Exchange
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServingError, ShuttingDown
from scheduler.messages import MAX_SENTENCES, Completion, CorrectionRequest
from worker.mailbox.protocol import ReplyMode, Submission

Drafts = Sequence[TextDraft | ServingError]  # one for each text; or why it was refused
BatchOutcome = Sequence[Correction | ServingError]  # one for each text, in order
Part = TypeVar("Part")


def correct_batch(corrector: Corrector, exchange: Exchange, body: BatchBody) -> BatchOutcome:
    """Wait for all answers. Raises what concerns all texts."""
    exchange.limit_wait(corrector.timeout_s)
    drafts = drafts_of(corrector, body)
    wanted = submit_batch(corrector, exchange, body, drafts)

    def complete(requests: Sequence[CorrectionRequest]) -> list[Completion]:
        return corrector.wait(exchange, wanted, [request.request_id for request in requests]) if requests else []

    outcomes: list[Correction | ServingError] = []
    try:
        for outcome in outcomes_of(corrector, drafts, wanted.requests, complete):
            if isinstance(outcome, ServingError) and _concerns_all(exchange, wanted, outcome):
                raise outcome
            outcomes.append(outcome)
    except BaseException:
        corrector.mailbox.abandon(wanted)
        raise
    exchange.request_id = wanted.request_id
    return outcomes


def drafts_of(corrector: Corrector, body: BatchBody) -> list[TextDraft | ServingError]:
    """One for each text. Raises what is wrong with the whole batch."""
    texts = body.sentences
    num_characters = sum(len(text) for text in texts if isinstance(text, str))
    if num_characters > MAX_TEXT_CHARACTERS:  # first: splitting takes time
        raise _too_much(f"have {num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read.")
    drafts = [_draft(corrector, text, body.min_confidence) for text in corrector.pipeline.in_steps(texts)]
    num_sentences = sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft))
    if num_sentences > MAX_SENTENCES:
        raise _too_much(f"hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once.")
    return drafts


def submit_batch(
    corrector: Corrector, exchange: Exchange, body: BatchBody, drafts: Drafts, mode: ReplyMode = ReplyMode.WAIT
) -> Submission:
    """Give the sentences of all texts to the queue. Of a refused text it keeps the refusal only."""
    requests: list[CorrectionRequest] = []
    for number, draft in enumerate(drafts, start=1):
        if isinstance(draft, TextDraft):
            requests += corrector.requests_of(exchange, draft, f"{exchange.request_id}-{number}")
    if not requests:  # a batch in which every text is refused is not recorded: no bound would apply to it
        return Submission(exchange.request_id)
    texts = zip(body.sentences, drafts, strict=True)
    items = [problems.problem(draft) if isinstance(draft, ServingError) else text for text, draft in texts]
    try:
        return corrector.enqueue(exchange, {"items": items} | options_of(body), requests, mode)
    except InvalidRequest as error:
        raise InvalidRequest("sentences", str(error)) from None


def outcomes_of(
    corrector: Corrector,
    drafts: Drafts,
    parts: Iterable[Part],
    complete: Callable[[Sequence[Part]], Sequence[Completion]],
) -> Iterator[Correction | ServingError]:
    """One for each text. There is one part for each sentence; `complete` turns those of a text into completions."""
    rest = iter(parts)
    for draft in corrector.pipeline.in_steps(drafts):
        try:
            if isinstance(draft, ServingError):
                raise draft
            yield corrector.conclude(draft, complete(tuple(islice(rest, len(draft.sentences)))))
        except ServingError as error:
            yield error


def _draft(corrector: Corrector, text: str | ServingError, min_confidence: float) -> TextDraft | ServingError:
    if isinstance(text, ServingError):
        return text
    try:
        return corrector.pipeline.prepare_text(text, min_confidence)
    except ServingError as error:
        return error


def _concerns_all(exchange: Exchange, wanted: Submission, error: ServingError) -> bool:
    """Whether the failure of one text is that of the whole batch: nobody waits any more, or the queue refused it."""
    if isinstance(error, ShuttingDown):
        return True
    if isinstance(error, (Overloaded, DeadlineExceeded)) and not wanted.accepted_s:
        return True  # the refusal of a single sentence comes while it is waited for
    return exchange.has_left is not None and exchange.has_left()


def _too_much(found: str) -> InvalidRequest:
    return InvalidRequest("sentences", f"The items of `sentences` {found} Send them in parts.")
