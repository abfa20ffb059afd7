"""GET and DELETE /requests/<id>, and `Prefer: respond-async`: requests that the queue keeps.

They are begun without a wait, found again by their id, and cancelled, each through any replica.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import aclosing
from itertools import islice
from typing import Any

from werkzeug.http import parse_list_header

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import Reply, json_reply, outcome_reply
from api.service.body import BatchBody, Body, CorrectionBody
from api.service.corrector import BatchOutcome, learner_of
from api.service.exchange import Account, Exchange
from api.service.problems import TYPE_PREFIX
from api.service.threads import in_thread, in_turn
from scheduler.errors import InvalidRequest, NotFound, SentenceTooLong, ServingError
from scheduler.messages import Completion, FinishReason
from worker.queue.api_mailbox import completion_of
from worker.queue.connection import script
from worker.queue.formats import is_request_id
from worker.queue.protocol import KEPT_TTL_S, CancelResult, ReplyMode
from worker.queue.redis_observer import Found, Phase, phase_of

_FOR_ALL = ""  # in place of the channel of an API process


class KeptRequests:
    """Those of the queue, of whichever replica."""

    def __init__(self, services: Services) -> None:
        self._corrector, self._queue, self._observer = services.corrector, services.queue, services.observer

    async def start(self, exchange: Exchange, body: Body) -> Correction | BatchOutcome | Phase:
        """Submit the request and wait for nothing. Raises a ServingError."""
        exchange.limit_wait(KEPT_TTL_S)
        exchange.manner = ReplyMode.ASYNC
        drafts = await in_turn(body.num_characters, self._corrector.drafts_of, body)
        async with aclosing(self._corrector.portions(exchange, drafts, body.num_characters, body)) as portions:
            if await anext(portions, None) is None:  # no sentence of any text can be read
                return self._corrector.outcome_of(body, drafts)
        return await self.find(exchange.request_id, exchange) if exchange.is_joined else Phase.QUEUED

    async def find(self, request_id: str, exchange: Exchange) -> Correction | BatchOutcome | Phase:
        """What became of a request. Raises NotFound, and the error that the request itself ended in."""
        found = await self._found(request_id, exchange)
        phase = phase_of([job.state for job in found.jobs])
        if phase is not None:
            return phase
        await self._count_tokens(exchange, request_id, found)
        return await in_thread(self._outcome, exchange, found)

    def _outcome(self, exchange: Exchange, found: Found) -> Correction | BatchOutcome:
        body = body_of(exchange, found.content)
        drafts = self._corrector.drafts_of(body)
        shares = [(draft, draft.take()) for draft in drafts if isinstance(draft, TextDraft)]
        if sum(len(sentences) for _, sentences in shares) != len(found.jobs):
            raise NotFound("The request was taken by another version of this server; send it again.")
        ends = [job.state for job in found.jobs if not isinstance(job.state, Phase)]  # all
        exchange.note_times([end for end in ends if isinstance(end, Completion)])
        rest = iter(ends)
        for draft, sentences in shares:
            own = [*islice(rest, len(sentences))]
            try:
                self._corrector.note([(draft, sentences)], [[*map(completion_of, own)]])
            except ServingError as error:
                draft.failure = error
        return self._corrector.outcome_of(body, drafts)

    async def cancel(self, request_id: str, exchange: Exchange) -> CancelResult:
        """End what has no answer yet, for all who wait for it. Raises NotFound, NotReady."""
        jobs = (await self._found(request_id, exchange)).jobs
        results: set[CancelResult] = set()
        if open_ids := [job.job_id for job in jobs if isinstance(job.state, Phase)]:
            ended = await self._queue.ask(script("cancel", _FOR_ALL, FinishReason.CANCELLED.value, *open_ids))
            results |= {CancelResult(each.decode()) for each in ended}
        if any(isinstance(job.state, Completion) and job.state.finish_reason is FinishReason.CANCELLED for job in jobs):
            results.add(CancelResult.CANCELLED)
        order = (CancelResult.CANCELLING, CancelResult.CANCELLED, CancelResult.DONE)
        return min(results, key=order.index, default=CancelResult.DONE)

    async def _count_tokens(self, exchange: Exchange, request_id: str, found: Found) -> None:
        """Of an asynchronous request nobody has counted those of its answers before they are asked for."""
        if exchange.account is not None and await self._observer.is_first(request_id):
            ends = [job.state for job in found.jobs if isinstance(job.state, Completion)]
            exchange.more_tokens = sum([len(completion.output_ids) for completion in ends])

    async def _found(self, request_id: str, exchange: Exchange) -> Found:
        found, fingerprint = await self._observer.find(request_id), self._corrector.pipeline.tokenizer_fingerprint
        if found is None or not _is_own(found, exchange.account) or found.tokenizer_fingerprint != fingerprint:
            raise NotFound(
                "No request with this id is kept. Those with `Prefer: respond-async` or an `Idempotency-Key` are, for "
                "ten minutes; the answers of others are given once."
            )
        return found


def _is_own(found: Found, account: Account | None) -> bool:
    """Another's is not found. Where no keys are asked for, every request belongs to whoever knows its id."""
    return account is None or found.content.get("account") == account.name


def body_of(exchange: Exchange, content: Mapping[str, Any]) -> Body:
    """The body that a submission has kept, for an exchange that asks for its answer."""
    if content.get("learner_id") is not None:
        exchange.learner = learner_of(content["learner_id"], content.get("account", ""))
    options = {name: content[name] for name in ("min_confidence", "offsets", "level") if name in content}
    if "sentence" in content:
        return CorrectionBody(sentence=content["sentence"], **options)
    texts = [item if isinstance(item, str) else _refusal_of(item) for item in content["items"]]
    return BatchBody(sentences=texts, **options)


def _refusal_of(document: dict[str, Any]) -> ServingError:
    """The refusal of a text from the document that `problem` made of it."""
    if document["type"] == TYPE_PREFIX + SentenceTooLong.slug:
        return SentenceTooLong(document["num_words"], document.get("num_tokens"))
    return InvalidRequest(document["field"], document["detail"])


def add(app: Api, services: Services) -> None:
    """Add the two routes, and let POST /correct answer at once."""
    kept = KeptRequests(services)

    def way(exchange: Exchange, request: IncomingRequest, body: Body) -> Awaitable[Reply] | None:
        return start(exchange, body) if _prefers_async(request.headers.get("prefer", "")) else None

    async def start(exchange: Exchange, body: Body) -> Reply:
        outcome = await kept.start(exchange, body)
        app.note_outcome(exchange, outcome)
        reply = _reply(outcome, exchange.request_id)
        if not isinstance(outcome, Phase):
            return reply
        location = ("Location", f"/requests/{exchange.request_id}")
        reply.headers.extend([location, ("Preference-Applied", "respond-async")])
        return reply

    app.ways.append(way)

    @app.get("/requests/<request_id>")
    async def find(exchange: Exchange, request: IncomingRequest, request_id: str) -> Reply:
        _name(exchange, request_id)
        exchange.client = app.client_of(exchange.account, request)
        outcome = await kept.find(request_id, exchange)
        app.note_outcome(exchange, outcome, is_first=False)
        return (
            _reply(outcome, request_id) if isinstance(outcome, Phase) else await in_thread(_reply, outcome, request_id)
        )

    @app.delete("/requests/<request_id>")
    async def cancel(exchange: Exchange, _: IncomingRequest, request_id: str) -> Reply:
        _name(exchange, request_id)
        return json_reply({"request_id": request_id, "status": (await kept.cancel(request_id, exchange)).name.lower()})


def _name(exchange: Exchange, request_id: str) -> None:
    """Logs and problems are to name the request that is asked about, not the one that asks."""
    if is_request_id(request_id):
        exchange.request_id = request_id


def _prefers_async(header: str) -> bool:
    """Whether Prefer (RFC 7240) names respond-async; other preferences are ignored."""
    preferences = parse_list_header(header.lower()) if header else ()
    return any(preference.partition(";")[0].strip() == "respond-async" for preference in preferences)


def _reply(outcome: Correction | BatchOutcome | Phase, request_id: str) -> Reply:
    if isinstance(outcome, Phase):
        return json_reply({"request_id": request_id, "status": outcome.value}, 202, ("Retry-After", "1"))
    return outcome_reply(outcome, request_id)
