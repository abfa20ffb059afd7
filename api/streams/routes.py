"""POST /correct as server-sent events (WHATWG HTML, 9.2): the edits of a text as they are decoded.

They are `edit` for each, then `done` with the JSON answer, or `problem`. Comments keep idle connections open, and show
that a client has left.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import aclosing
from typing import cast

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from api.grammar.correction import Correction, Edit, edit_as_sent, in_units
from api.grammar.drafts import Draft, TextDraft
from api.grammar.pipeline import TextPipeline
from api.grammar.reading import Reading
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.lines import EVENT_HEADERS, NOTHING_NEW, event_of
from api.http.replies import EVENTS, JSON, Reply, correction_text, edit_text, internal_error
from api.service import problems
from api.service.body import Body, CorrectionBody
from api.service.corrector import Corrector, Portion
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import ServingError
from scheduler.messages import Completion
from worker.queue.api_mailbox import HEARTBEAT_S, State
from worker.queue.protocol import ReplyMode


def add(app: Api, services: Services) -> None:
    """Answer clients that prefer events to JSON."""
    corrector = services.corrector

    def way(exchange: Exchange, request: IncomingRequest, body: Body) -> Awaitable[Reply] | None:
        accept = request.headers.get("accept", "")
        if not isinstance(body, CorrectionBody) or EVENTS not in accept.lower() or _preferred(accept) != EVENTS:
            return None
        return reply(exchange, body)

    async def reply(exchange: Exchange, body: CorrectionBody) -> Reply:
        exchange.limit_wait(corrector.timeout_s)
        exchange.manner = ReplyMode.FOLLOW
        size = body.num_characters
        (draft,) = await in_turn(size, corrector.drafts_of, body)
        portions = corrector.portions(exchange, [draft], size, body)
        first = await anext(portions, None)  # a refusal has its own status
        exchange.is_stream = True
        news = _news(corrector, cast(TextDraft, draft), size, first, portions)  # one text that is not refused
        return Reply(events(exchange, news, size), 200, [*EVENT_HEADERS])

    async def events(
        exchange: Exchange, news: AsyncGenerator[Edit | Correction | None], size: int
    ) -> AsyncGenerator[bytes]:
        """Closing them, once they have begun, abandons the request."""
        end: Correction | ServingError | None = None
        try:
            async with aclosing(news) as found:
                async for event in found:
                    if isinstance(event, Correction):
                        end = event
                        about = event, exchange.request_id, corrector.pipeline.in_steps
                        yield event_of("done", await in_turn(size, correction_text, *about))
                    else:
                        yield NOTHING_NEW if event is None else event_of("edit", edit_text(event))
        except Exception as error:  # the status line is sent already, so the problem is the last event
            end = error if isinstance(error, ServingError) else internal_error(error, exchange.request_id)
            yield event_of("problem", problems.to_json(problems.problem(end, exchange.request_id)))
        finally:
            end = None if exchange.has_left else end
            app.note_outcome(exchange, end)
            services.recorder.finish_stream(exchange, end)

    app.ways.append(way)


def _preferred(accept: str) -> str | None:
    return parse_accept_header(accept, MIMEAccept).best_match([JSON, EVENTS])


async def _news(
    corrector: Corrector, draft: TextDraft, size: int, portion: Portion | None, portions: AsyncGenerator[Portion]
) -> AsyncGenerator[Edit | Correction | None]:
    """The edits of a portion, and of those after it, as they are decoded; then the correction. None: nothing new."""
    sent_s = time.monotonic()
    async with aclosing(portions):
        while portion is not None:
            stream = EditStream(corrector.pipeline, draft.reading, portion.shares[0][1])
            async with aclosing(corrector.mailbox.follow(portion.exchange)) as states:
                async for outputs in states:
                    edits = await in_turn(size, stream.new_edits, outputs)
                    if edits or time.monotonic() - sent_s >= HEARTBEAT_S:
                        for edit in edits or (None,):
                            yield edit
                        sent_s = time.monotonic()
            answers = [each for each in outputs if isinstance(each, Completion)]  # all of them by now
            portion.exchange.note_answers(answers)
            await in_turn(size, corrector.note, portion.shares, [answers])
            portion = await anext(portions, None)
    yield await in_turn(size, corrector.conclude, draft)


class EditStream:
    """The edits of sentences of a text in the order in which they become certain, each once."""

    def __init__(self, pipeline: TextPipeline, reading: Reading, sentences: Sequence[Draft]) -> None:
        self._pipeline = pipeline
        self._reading = reading
        self._sentences = sentences
        self._outputs: Sequence[State] = [()] * len(sentences)
        self._num_sent = [0] * len(sentences)

    def new_edits(self, outputs: Sequence[State]) -> list[Edit]:
        """The edits that are certain now and were not before. `outputs`: of each sentence what is decoded so far."""
        new = []
        parts = enumerate(zip(self._sentences, outputs, self._outputs, strict=True))
        changed = [(at, sentence, output) for at, (sentence, output, known) in parts if output is not known]
        for at, sentence, output in self._pipeline.in_steps(changed):
            if isinstance(output, Completion):
                edits = self._pipeline.part(sentence, output.output_ids).edits
            else:
                edits = self._pipeline.certain_edits(sentence, output)
            new += [edit_as_sent(self._reading, sentence.start, edit) for edit in edits[self._num_sent[at] :]]
            self._num_sent[at] = max(len(edits), self._num_sent[at])
        self._outputs = outputs
        to_unit = self._reading.to_unit
        return new if to_unit is None else [in_units(edit, to_unit) for edit in new]
