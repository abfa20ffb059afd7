"""/v2/check and /v2/languages: the routes of LanguageTool's HTTP API, over the corrector of POST /correct.

A document may be as long as the body may be. It is cut into sentences here, and they go to the queue in batches, one
after the other, so that a long document takes no more of the queue at once than a batch does.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from werkzeug.sansio.utils import get_host

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.grammar.pipeline import MAX_TEXT_CHARACTERS
from api.grammar.reading import read
from api.grammar.sentences import find_sentences
from api.http.app import Api, Services
from api.http.incoming import IncomingRequest, bearer_of, deadline_s
from api.http.replies import Reply, json_reply
from api.languagetool.answer import Answer
from api.languagetool.form import LANGUAGES, parse_form
from api.service.corrector import Corrector, num_sentences_of
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, QueueFull, ServingError, ShuttingDown
from scheduler.messages import MAX_SENTENCES, Timings

Sentence = tuple[int, str, TextDraft | ServingError]  # where it begins in the plain text
_BASE = re.compile("^/+v2/+")
_ENDS = (DeadlineExceeded, Overloaded)  # failures that the rest of a document would meet, too
MOST_DOCUMENTS = 256  # that a process checks at once: each may take some megabytes


def add(app: Api, services: Services) -> None:
    """Add the two routes, and lines of text for the errors of every path below /v2."""
    max_bytes = services.settings.max_body_bytes
    checked: set[Exchange] = set()  # now
    app.begins.append(_merge_slashes)
    app.ends.append(_as_line)

    @app.route("/v2/check", methods=["GET", "POST"])
    async def check(exchange: Exchange, request: IncomingRequest) -> Reply:
        if key := bearer_of(request.headers):
            exchange.account = services.admit(key)
        app.shed_load(exchange, request)
        body, query = await request.read_body(max_bytes), request.query
        form = await in_turn(len(body) + len(query), parse_form, query, body)
        if exchange.account is None:
            exchange.account = services.admit(form.api_key)
            if exchange.account is not None:
                app.shed_load(exchange, request)  # now that it is known whose it is
        if len(checked) >= MOST_DOCUMENTS:
            raise QueueFull(f"{MOST_DOCUMENTS} documents are checked in this process already; try again.", 1.0)
        checked.add(exchange)
        try:
            answer = await in_turn(len(body) + len(query), lambda: Answer(form.document(), form))
            exchange.is_read = True
            if answer.is_english and form.mode != "textLevelOnly":
                exchange.allowed_s = deadline_s(request.headers)
                exchange.limit_wait(services.settings.request_timeout_s)
                await _check(services.corrector, exchange, answer)
            exchange.is_answer = True
            return answer.reply()
        finally:
            checked.discard(exchange)

    @app.get("/v2/languages")
    async def languages(_: Exchange, __: IncomingRequest) -> Reply:
        return json_reply([{"name": name, "code": code[:2], "longCode": code} for code, name in LANGUAGES.items()])


def _merge_slashes(_: Exchange, request: IncomingRequest) -> None:
    """Clients append `/check` to a base URL that may end with a slash."""
    if "//" in request.path:
        request.path = _BASE.sub("/v2/", request.path)


def _as_line(_: Exchange, request: IncomingRequest, reply: Reply) -> Reply:
    """An error below /v2 is a line of text, as LanguageTool's, with the status and the headers of the problem."""
    if reply.status < 400 or not _BASE.match(request.path):
        return reply
    is_lost = reply.status == 404
    line = f"Error: {'There is nothing at this path.' if is_lost else json.loads(reply.body)['detail']}"
    if reply.status in (404, 405):
        scheme = "https" if request.headers.get("x-forwarded-proto") == "https" else "http"
        host = get_host(scheme, request.headers.get("host"))  # empty for a name that could be none
        base = f"{scheme}://{host}/v2" if host else "/v2"
        line += f" The base URL of this API is {base}; texts go to POST {base}/check."
    body = line.encode()
    about = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    status = 400 if reply.status == InvalidRequest.status else reply.status  # these clients know no 422
    return Reply(body, status, about + reply.headers[2:])


async def _check(corrector: Corrector, whole: Exchange, answer: Answer) -> None:
    """Add the sentences of the document to the answer until it is full, or the time is over.

    The first batch runs under the id of the HTTP request, the others under ids of their own; their sums go into its
    exchange. Raises the ServingError that left nothing to answer.
    """
    size, batches, unsent = len(answer.document.plain), _batches(corrector, answer.document.plain), replace(whole)

    def add(batch: list[Sentence], outcomes: Iterable[Correction | ServingError]) -> None:
        for (start, sentence, _), outcome in zip(batch, outcomes, strict=True):
            answer.add(start, sentence, outcome)

    for number in count():
        if (batch := await in_turn(size, next, batches, None)) is None:
            break
        if answer.is_full or isinstance(answer.failure, _ENDS):
            answer.is_cut = True
            break
        exchange = replace(unsent, request_id=secrets.token_hex(16) if number else whole.request_id)
        outcomes = await _outcomes(corrector, exchange, batch, is_first=not number)
        _add(whole, exchange)
        await in_turn(size, add, batch, outcomes)
    if isinstance(answer.failure, DeadlineExceeded) and not whole.left_s():
        remedy = "Send the document in parts, or try again later."
        answer.failure = DeadlineExceeded(f"The time was over after {whole.allowed_s:g} s. {remedy}")
    if answer.failure and not answer.has_checked:
        raise answer.failure


async def _outcomes(
    corrector: Corrector, exchange: Exchange, batch: list[Sentence], is_first: bool
) -> Iterable[Correction | ServingError]:
    """Correct one batch. Only the first may be refused by the limit of a key: the others wait for their turn."""
    drafts = [draft for _, _, draft in batch]
    while True:
        try:
            corrector.make_ready(exchange, drafts)
            return corrector.outcomes_of(drafts, await corrector.ends_of(exchange, drafts))
        except ShuttingDown:
            raise  # another replica has the time for all of it
        except (DeadlineExceeded, Overloaded) as error:
            retry_after_s = getattr(error, "retry_after_s", math.inf)
            if is_first or retry_after_s >= exchange.left_s():
                return [error] * len(batch)  # the answer has what was checked before
            await corrector.mailbox.pause(exchange, retry_after_s)


def _batches(corrector: Corrector, text: str) -> Iterator[list[Sentence]]:
    """The sentences in order, as many at once as a request may hold."""
    batch: list[Sentence] = []
    num_sentences = num_characters = 0
    pause = corrector.pipeline.pause
    reading = read(text, pause)
    for read_start, read_end in find_sentences(reading.text, pause):
        start, end = reading.place(read_start), reading.end(read_end)
        # By itself a sentence may be cut once more: what came after it is not there to speak against it.
        sentence = start, text[start:end], corrector.draft_of(text[start:end])
        num_cut = num_sentences_of(sentence[2])
        size = end - start if num_cut else 0
        if num_sentences + num_cut > MAX_SENTENCES or num_characters + size > MAX_TEXT_CHARACTERS:
            yield batch
            batch, num_sentences, num_characters = [], 0, 0
        batch.append(sentence)
        num_sentences, num_characters = num_sentences + num_cut, num_characters + size
    if batch:
        yield batch


def _add(whole: Exchange, part: Exchange) -> None:
    """The batches run one after the other, so that their times add up."""
    if part.accepted_s:  # else the queue has refused it
        whole.prompt_tokens += part.prompt_tokens
        whole.output_tokens += part.output_tokens
        whole.requests, whole.accepted_s = whole.requests or part.requests, whole.accepted_s or part.accepted_s
    one, other = whole.timings, part.timings
    whole.timings = Timings(one.queue_s + other.queue_s, one.prefill_s + other.prefill_s, one.decode_s + other.decode_s)
