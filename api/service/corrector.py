"""The way of a request from its texts to its answer: texts become sequences, the queue runs them, outputs become
corrections. What is wrong with one text of a batch, or becomes of it, is said in its place.

Any worker on the same queue may run a sequence. The HTTP handlers know this class and its mailbox.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from api.grammar.correction import Correction
from api.grammar.drafts import Draft, TextDraft
from api.grammar.pipeline import TextPipeline
from api.service import problems
from api.service.body import BatchBody, Body, CorrectionBody
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, QueueFull, ServingError, ShuttingDown
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_SENTENCES, MAX_TOTAL_TOKENS, Completion, CorrectionRequest
from scheduler.settings import Settings
from worker.queue.api_mailbox import ApiMailbox, answer_of

Drafts = Sequence[TextDraft | ServingError]  # one for each text; or why it was refused
BatchOutcome = Sequence[Correction | ServingError]  # one for each text, in order
Share = tuple[TextDraft, Sequence[Draft]]  # of a text in a portion
Content = dict[str, Any]
MOST_KEPT = 512  # sentences of a kept request, which are queued at once
# Characters of a long text, and how many of them a process corrects at once: each takes up to 30 MB, for its edits.
LONG, MOST_LONG = 40_000, 64
_IN_PARTS = "Send the text in parts, or try again later."


class Portion(NamedTuple):
    """Sentences of a request that are in the queue together."""

    exchange: Exchange
    shares: Sequence[Share]


class Corrector:
    """Corrects by way of a mailbox, in an event loop."""

    def __init__(self, pipeline: TextPipeline, mailbox: ApiMailbox, settings: Settings) -> None:
        self.mailbox = mailbox
        self.pipeline = pipeline
        self.timeout_s = settings.request_timeout_s
        in_tokens = max(1, settings.max_queue_tokens // MAX_TOTAL_TOKENS)
        self._most_at_once = min(MAX_SENTENCES, settings.max_queue_requests, in_tokens)
        self._num_long = 0

    async def correct(self, exchange: Exchange, body: Body) -> Correction | BatchOutcome:
        """Wait for all answers. Raises what concerns all texts."""
        exchange.limit_wait(self.timeout_s)
        size = body.num_characters
        drafts = await in_turn(size, self.drafts_of, body)
        async with aclosing(self.portions(exchange, drafts, size, body)) as portions:
            async for portion in portions:
                await self.finish(portion, size)
                if isinstance(body, CorrectionBody):
                    _check_pace(exchange, portion)
        return await in_turn(size, self.outcome_of, body, drafts)

    def drafts_of(self, body: Body) -> Drafts:
        """One for each text. Raises what is wrong with the one text of a request."""
        if isinstance(body, CorrectionBody):
            return [self.pipeline.prepare_text(body.sentence, body.min_confidence, body.offsets, body.level)]
        texts = self.pipeline.in_steps(enumerate(body.sentences, start=1))
        return [self._draft_of(number, text, body) for number, text in texts]

    def _draft_of(self, number: int, text: str | ServingError, body: BatchBody) -> TextDraft | ServingError:
        """Why a text was refused takes the place of its draft."""
        if isinstance(text, ServingError):
            return text
        try:
            draft = self.pipeline.prepare_text(text, body.min_confidence, body.offsets, body.level)
        except ServingError as error:
            return error
        draft.name = f"-{number}"
        return draft

    async def portions(
        self, exchange: Exchange, drafts: Drafts, num_characters: int, body: Body | None = None
    ) -> AsyncGenerator[Portion]:
        """Queue the sentences of texts, portion by portion, and yield each portion; it is to be answered then.

        The sentences of a kept request are one portion. Raises why the first portion is refused. A later one waits for
        room, and where that takes too long its texts fail. A text that has failed is not read any further.
        """
        most = MOST_KEPT + 1 if exchange.is_kept else self._most_at_once
        shares, part = _shares(drafts, most), None
        is_long = num_characters > LONG
        if is_long and self._num_long >= MOST_LONG:
            exchange.is_shed = True
            raise QueueFull(f"{MOST_LONG} long texts are corrected in this process already; try again.", 1.0)
        self._num_long += is_long
        try:
            while (share := await in_turn(num_characters, next, shares, None)) is not None:
                part = exchange if part is None else exchange.further()
                self.make_ready(part, share)
                if body is not None and exchange.is_kept:
                    _check_kept(exchange, body)
                    await in_turn(num_characters, note_content, exchange, body, drafts)
                try:
                    failure = await self._enqueue(part)
                    if failure is None:
                        yield Portion(part, share)
                    for draft, _ in share:
                        draft.failure = draft.failure or failure
                finally:
                    if part is not exchange:
                        exchange.add(part)
                if len(part.requests) < most:  # there are no others
                    break
        finally:
            self._num_long -= is_long

    def make_ready(self, part: Exchange, shares: Sequence[Share]) -> None:
        """The sentences are then to be enqueued, by the id of their text, and their number where it has several."""
        part.tokenizer_fingerprint = fingerprint = self.pipeline.tokenizer_fingerprint
        if part.account is not None:
            part.limits = part.account.limits
        requests: list[CorrectionRequest] = []
        for draft, sentences in shares:
            text_id, first = part.request_id + draft.name, draft.num_taken - len(sentences) + 1
            for number, sentence in enumerate(sentences, first):
                job_id, prompt = text_id if draft.is_alone else f"{text_id}-{number}", sentence.prompt
                about = prompt.token_ids, prompt.word_numbers, MAX_OUTPUT_TOKENS, fingerprint
                requests.append(CorrectionRequest(job_id, *about))
        part.requests, part.may_be_known = tuple(requests), part.is_further or bool(part.key)
        part.prompt_tokens = sum([len(request.prompt_ids) for request in requests])

    async def _enqueue(self, part: Exchange) -> ServingError | None:
        """Return why there was no room for a later portion in all of its time."""
        wait_s = 0.0
        while True:
            try:
                if wait_s:
                    await self.mailbox.pause(part, wait_s)
                part.within_s, part.sent_s = part.left_s(), time.perf_counter()
                await self.mailbox.enqueue(part)
                return None
            except (DeadlineExceeded, Overloaded) as error:
                if not part.is_further or isinstance(error, ShuttingDown):  # another replica has time for all of it
                    raise
                wait_s = error.retry_after_s if isinstance(error, Overloaded) else math.inf
                if wait_s >= part.left_s():
                    return _failure(part, error)

    async def finish(self, portion: Portion, num_characters: int) -> None:
        """Wait for the answers of a portion, and note them. Raises what concerns all texts."""
        part, shares = portion
        job_ids, ends = [request.request_id for request in part.requests], []
        try:
            for draft, own in shares:
                ends.append(await self._ends_of(part, draft, job_ids[: len(own)]))
                del job_ids[: len(own)]
        except BaseException:
            self.mailbox.abandon(part)
            raise
        await in_turn(num_characters, self.note, shares, ends)

    async def _ends_of(self, part: Exchange, draft: TextDraft, job_ids: list[str]) -> Sequence[Completion | None]:
        """The answers for sentences of a text; None for those that are not there where it has failed."""
        try:
            answers = await self.mailbox.wait(part, job_ids)
        except ServingError as error:
            if _concerns_all(part, error):
                raise
            draft.failure = _failure(part, error)
            ends = [answer_of(part.outcomes.get(job_id)) for job_id in job_ids]
            part.note_answers([end for end in ends if end is not None])
            return ends
        part.note_answers(answers)
        return answers

    def note(self, shares: Sequence[Share], ends: Iterable[Sequence[Completion | None]]) -> None:
        """Add the answers for a portion to its texts."""
        for (draft, sentences), own in zip(shares, ends, strict=True):
            answers = [(one, end.output_ids) for one, end in zip(sentences, own, strict=True) if end is not None]
            self.pipeline.add_answers(draft, answers)

    def outcome_of(self, body: Body, drafts: Drafts) -> Correction | BatchOutcome:
        """Of a batch all, else the one. Raises it where it is an error."""
        if isinstance(body, BatchBody):
            return list(self._outcomes(drafts))
        (draft,) = drafts
        return self.conclude(draft)

    def _outcomes(self, drafts: Drafts) -> Iterator[Correction | ServingError]:
        for draft in self.pipeline.in_steps(drafts):
            try:
                yield self.conclude(draft)
            except ServingError as error:
                yield error

    def conclude(self, draft: TextDraft | ServingError) -> Correction:
        """The answer for a text, whichever way it goes out. Raises why it has none."""
        if isinstance(draft, ServingError):
            raise draft
        if draft.failure is not None:
            raise draft.failure
        return self.pipeline.conclude_text(draft)


def _shares(drafts: Drafts, most: int) -> Iterator[Sequence[Share]]:
    """Portions of at most so many sentences: texts, each with those of its sentences that are in the portion."""
    shares: list[Share] = []
    room = most
    for draft in drafts:
        while isinstance(draft, TextDraft) and draft.failure is None:
            if sentences := draft.take(room):
                shares.append((draft, sentences))
            room -= len(sentences)
            if room:
                break  # all of the text is taken
            yield shares
            shares, room = [], most
    if shares:
        yield shares


def _check_pace(exchange: Exchange, portion: Portion) -> None:
    """Raises DeadlineExceeded once a text will not be ready in its time: nobody would read the rest of the answer."""
    ((draft, _),), allowed_s = portion.shares, exchange.allowed_s or 0.0
    if draft.failure is not None:  # it ends at once
        return
    last, spent_s = draft.parts[-1], allowed_s - exchange.left_s()
    num_read = max(1, last.start + len(last.sentence))  # of a text of zero-width characters nothing is left
    expected_s = spent_s * len(draft.reading.text) / num_read
    if spent_s > allowed_s / 4 and expected_s > allowed_s * 1.25:
        raise DeadlineExceeded(f"The text would take some {expected_s:.0f} s, and has {allowed_s:g} s. {_IN_PARTS}")


def _check_kept(exchange: Exchange, body: Body) -> None:
    """Raises InvalidRequest: the queue takes all of a kept request at once, or none."""
    if len(exchange.requests) <= MOST_KEPT:
        return
    field = "sentences" if isinstance(body, BatchBody) else "sentence"
    what = f"`{field}` holds more than {MOST_KEPT} sentences, the most with `Prefer: respond-async` or an"
    raise InvalidRequest(field, f"{what} `Idempotency-Key`. Send it in parts, or without them and wait for the answer.")


def _failure(part: Exchange, error: ServingError) -> ServingError:
    """The failure of a text in words that fit a later portion."""
    if not part.is_further or not isinstance(error, DeadlineExceeded):
        return error
    return DeadlineExceeded(f"The time was over after {part.allowed_s or 0:g} s. {_IN_PARTS}")


def content_of(body: Body, drafts: Drafts) -> Content:
    """What is kept of a request: its texts, but of a refused one in a batch the refusal only."""
    if isinstance(body, CorrectionBody):
        content: Content = {"sentence": body.sentence}
    else:
        texts = zip(body.sentences, drafts, strict=True)
        refused = ServingError
        content = {"items": [problems.problem(draft) if isinstance(draft, refused) else text for text, draft in texts]}
    content["learner_id"] = body.learner_id
    if body.min_confidence:
        content["min_confidence"] = body.min_confidence
    if body.offsets != "codepoints":
        content["offsets"] = body.offsets
    if body.level != "quiet":
        content["level"] = body.level
    return content


def note_content(exchange: Exchange, body: Body, drafts: Drafts) -> None:
    """What any replica needs to give the answer later."""
    content = content_of(body, drafts)
    # Digests are compared only under a key, which is of one account.
    exchange.digest = hashlib.blake2b(problems.to_json(content).encode(), digest_size=16).hexdigest()
    if exchange.account is not None:  # nobody else may fetch its answer
        content["account"] = exchange.account.name
    exchange.document = problems.to_json(content)


def learner_of(learner_id: str, account: str) -> str:
    """Return the name under which a learner is counted: a digest, another one for each account."""
    return hashlib.blake2b(learner_id.encode(), key=account.encode(), digest_size=16).hexdigest()


def _concerns_all(exchange: Exchange, error: ServingError) -> bool:
    """Whether the failure of one text is that of the whole request: nobody waits any more, or the queue refused it."""
    if isinstance(error, ShuttingDown):
        return True
    if isinstance(error, (Overloaded, DeadlineExceeded)) and not exchange.accepted_s:
        return True  # the refusal of a single sentence comes while it is waited for
    return exchange.has_left
