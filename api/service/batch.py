"""Corrects many texts as one request. What is wrong with one text, or becomes of it, is said in its place.

A request that is kept may be of one text, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.grammar.pipeline import MAX_TEXT_CHARACTERS
from api.service import problems
from api.service.body import CorrectionBody, RequestOptions, check_sentence, members_of
from api.service.corrector import Corrector, options_of, text_of
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServingError, ShuttingDown
from scheduler.messages import MAX_SENTENCES, CorrectionRequest
from worker.queue.api_mailbox import ApiMailbox, completion_of
from worker.queue.protocol import Outcome

Drafts = Sequence[TextDraft | ServingError]  # one for each text; or why it was refused
BatchOutcome = Sequence[Correction | ServingError]  # one for each text, in order
Content = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class BatchBody(RequestOptions):
    """The body of POST /correct/batch."""

    sentences: list[Any]  # of each item that cannot be a text the refusal


def parse_batch(raw: bytes) -> BatchBody:
    """Raises as `parse_body`, but what is wrong with one item takes the place of that item."""
    members = members_of(raw, "sentences")
    if not 1 <= (number := len(members["sentences"])) <= MAX_SENTENCES:
        found = f"`sentences` has {number:,} items; allowed are 1 to {MAX_SENTENCES}."
        raise InvalidRequest("sentences", found)
    members["sentences"] = list(map(_checked_item, count(), members["sentences"]))
    return BatchBody(**members)


def _checked_item(index: int, item: Any) -> str | InvalidRequest:
    if not isinstance(item, str):
        return InvalidRequest("sentences", f"`sentences[{index}]` has the wrong type; each must be a string.")
    try:
        check_sentence(item)
    except InvalidRequest as error:
        return error
    return item


async def correct_batch(corrector: Corrector, exchange: Exchange, body: BatchBody) -> BatchOutcome:
    """Wait for all answers. Raises what concerns all texts."""
    exchange.limit_wait(corrector.timeout_s)
    drafts = await in_turn(num_characters_of(body), drafts_of, corrector, body)
    ends = await ends_of(corrector, exchange, drafts, content_of(body, drafts))
    return await in_turn(num_characters_of(body), list, outcomes_of(corrector, drafts, ends))


async def ends_of(corrector: Corrector, exchange: Exchange, drafts: Drafts, content: Content) -> list[Outcome]:
    """What becomes of each sentence of all texts. Raises what concerns all texts. The wait has begun."""
    make_ready(corrector, exchange, drafts, content)
    ends: list[Outcome] = []
    if not exchange.requests:
        return ends
    mailbox = corrector.mailbox
    await enqueue(mailbox, exchange)
    job_ids = iter([request.request_id for request in exchange.requests])
    try:
        for size in filter(None, map(num_sentences_of, drafts)):
            try:
                completions = await mailbox.wait(exchange, list(islice(job_ids, size)))
                exchange.note_answers(completions)
                ends += completions
            except ServingError as error:
                if _concerns_all(exchange, error):
                    raise
                ends += [error] * size
    finally:
        mailbox.abandon(exchange)
    return ends


def num_characters_of(body: CorrectionBody | BatchBody) -> int:
    """Of all its texts."""
    texts = [body.sentence] if isinstance(body, CorrectionBody) else body.sentences
    return sum([len(text) for text in texts if isinstance(text, str)])


def drafts_of(corrector: Corrector, body: CorrectionBody | BatchBody) -> list[TextDraft | ServingError]:
    """One for each text. Raises what is wrong with the whole request, and so with its one text."""
    if isinstance(body, CorrectionBody):
        return [corrector.pipeline.prepare_text(body.sentence, body.min_confidence)]
    texts = body.sentences
    num_characters = num_characters_of(body)
    if num_characters > MAX_TEXT_CHARACTERS:  # first: splitting takes time
        raise _too_much(f"have {num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read.")
    drafts = [draft_of(corrector, text, body.min_confidence) for text in corrector.pipeline.in_steps(texts)]
    num_sentences = sum(map(num_sentences_of, drafts))
    if num_sentences > MAX_SENTENCES:
        raise _too_much(f"hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once.")
    return drafts


def draft_of(corrector: Corrector, text: str | ServingError, min_confidence: float = 0.0) -> TextDraft | ServingError:
    """Why a text was refused takes the place of its draft."""
    if isinstance(text, ServingError):
        return text
    try:
        return corrector.pipeline.prepare_text(text, min_confidence)
    except ServingError as error:
        return error


def num_sentences_of(draft: TextDraft | ServingError) -> int:
    """Of a refused text none is read."""
    return len(draft.sentences) if isinstance(draft, TextDraft) else 0


def content_of(body: CorrectionBody | BatchBody, drafts: Drafts) -> Content:
    """What is kept of a request: its texts, but of a refused one in a batch the refusal only."""
    if isinstance(body, CorrectionBody):
        return text_of(body)
    texts = zip(body.sentences, drafts, strict=True)
    items = [problems.problem(draft) if isinstance(draft, ServingError) else text for text, draft in texts]
    return {"items": items} | options_of(body)


def make_ready(corrector: Corrector, exchange: Exchange, drafts: Drafts, content: Content) -> None:
    """The sentences of all texts are then to be enqueued."""
    requests: list[CorrectionRequest] = []
    for number, draft in enumerate(drafts, start=1):
        answer_id = exchange.request_id if "sentence" in content else f"{exchange.request_id}-{number}"
        if isinstance(draft, TextDraft):
            requests += corrector.requests_of(draft, answer_id)
    if requests:  # a batch in which every text is refused is not recorded: no bound would apply to it
        corrector.make_ready(exchange, content, requests)


async def enqueue(mailbox: ApiMailbox, exchange: Exchange) -> None:
    """Give the sentences of all texts to the queue."""
    try:
        await mailbox.enqueue(exchange)
    except InvalidRequest as error:
        raise InvalidRequest("sentences", str(error)) from None


def outcome_of(
    body: CorrectionBody | BatchBody, outcomes: Iterable[Correction | ServingError]
) -> Correction | BatchOutcome:
    """Of a batch all, else the one. Raises it where it is an error."""
    found = list(outcomes)
    if isinstance(body, BatchBody):
        return found
    if isinstance(found[0], ServingError):
        raise found[0]
    return found[0]


def outcomes_of(corrector: Corrector, drafts: Drafts, ends: Iterable[Outcome]) -> Iterator[Correction | ServingError]:
    """One for each text. `ends`: what became of each sentence, in order."""
    rest = iter(ends)
    for draft in corrector.pipeline.in_steps(drafts):
        if isinstance(draft, ServingError):
            yield draft
            continue
        try:
            yield corrector.conclude(draft, list(map(completion_of, list(islice(rest, len(draft.sentences))))))
        except ServingError as error:
            yield error


def _concerns_all(exchange: Exchange, error: ServingError) -> bool:
    """Whether the failure of one text is that of the whole batch: nobody waits any more, or the queue refused it."""
    if isinstance(error, ShuttingDown):
        return True
    if isinstance(error, (Overloaded, DeadlineExceeded)) and not exchange.accepted_s:
        return True  # the refusal of a single sentence comes while it is waited for
    return exchange.has_left


def _too_much(found: str) -> InvalidRequest:
    return InvalidRequest("sentences", f"The items of `sentences` {found} Send them in parts.")
