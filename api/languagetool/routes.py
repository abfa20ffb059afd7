"""/v2/check and /v2/languages: the routes of LanguageTool's HTTP API, over the corrector of POST /correct.

A document may be as long as the body may be. It is cut into sentences here, and they go to the queue in batches, one
after the other, so that a long document takes no more of the queue at once than a batch does.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from flask import Response, g, request

from api.grammar.drafts import TextDraft
from api.grammar.pipeline import MAX_TEXT_CHARACTERS
from api.grammar.reading import read
from api.grammar.sentences import find_sentences
from api.http import request_input
from api.http.app import Api
from api.http.replies import Reply, json_reply
from api.languagetool.answer import Answer
from api.languagetool.form import LANGUAGES, parse_form
from api.service import problems
from api.service.batch import BatchOutcome, correct_drafts, draft_of, num_sentences_of
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from api.services import Services
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServingError, ShuttingDown
from scheduler.messages import MAX_SENTENCES, Timings

Sentence = tuple[int, str, TextDraft | ServingError]  # where it begins in the plain text
_FORM_STATUSES = {InvalidRequest.status: 400}  # LanguageTool's clients know no 422
_BASE = re.compile("^/+v2/+")
_ENDS = (DeadlineExceeded, Overloaded)  # failures that the rest of a document would meet, too


def add(app: Api, services: Services) -> None:
    """Add the two routes, and lines of text for the errors of every path below /v2."""
    flask = app.wsgi_app

    def merge_slashes(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Clients append `/check` to a base URL that may end with a slash."""
        environ["PATH_INFO"] = _BASE.sub("/v2/", environ["PATH_INFO"])
        return flask(environ, start_response)

    app.wsgi_app = merge_slashes
    app.after_request(_as_line)
    app.body_paths.append(r"/check/?$")

    @app.route("/v2/check", methods=["GET", "POST"])
    def check() -> Reply:
        environ, exchange = request.environ, g.exchange
        endpoint = app.corrections
        if key := request_input.bearer_of(environ):
            exchange.account = services.admit(key)
        endpoint.shed_load(exchange, environ)
        body = request_input.read_body(environ, services.settings.max_body_bytes)
        query = environ.get("QUERY_STRING", "").encode("latin-1")
        form = parse_form(query, body)
        if exchange.account is None:
            exchange.account = services.admit(form.api_key)
            if exchange.account is not None:
                endpoint.shed_load(exchange, environ)  # now that it is known whose it is
        answer = Answer(form.document(), form)
        exchange.is_read = True
        if answer.is_english and form.mode != "textLevelOnly":
            exchange.when_left = request_input.when_left(environ)
            exchange.allowed_s = request_input.deadline_s(environ)
            exchange.limit_wait(services.settings.request_timeout_s)
            _check(services, exchange, answer)
        exchange.is_answer = True
        return answer.reply()

    @app.get("/v2/languages")
    def languages() -> Reply:
        return json_reply([{"name": name, "code": code[:2], "longCode": code} for code, name in LANGUAGES.items()])


def _as_line(response: Response) -> Response:
    """An error below /v2 is a line of text, as LanguageTool's, with the status and the headers of the problem."""
    if response.mimetype != problems.MEDIA_TYPE or not request.path.startswith("/v2/"):
        return response
    is_lost = response.status_code == 404
    line = f"Error: {'There is nothing at this path.' if is_lost else response.get_json()['detail']}"
    if response.status_code in (404, 405):
        scheme = "https" if request.headers.get("X-Forwarded-Proto") == "https" else request.scheme
        base = f"{scheme}://{request.host}/v2" if request.host else "/v2"  # of a name that could be one
        line += f" The base URL of this API is {base}; texts go to POST {base}/check."
    response.status_code = _FORM_STATUSES.get(response.status_code, response.status_code)
    response.data, response.content_type = line, "text/plain; charset=utf-8"
    return response


def _check(services: Services, whole: Exchange, answer: Answer) -> None:
    """Add the sentences of the document to the answer until it is full, or the time is over.

    The first batch runs under the id of the HTTP request, the others under ids of their own; their sums go into its
    exchange. Raises the ServingError that left nothing to answer.
    """
    for number, batch in enumerate(_batches(services.corrector, answer.document.plain)):
        if answer.is_full or isinstance(answer.failure, _ENDS):
            answer.is_cut = True
            break
        exchange = whole
        if number:
            unused = {"requests": (), "prompt_tokens": 0, "output_tokens": 0, "timings": Timings()}
            exchange = replace(whole, request_id=secrets.token_hex(16), **unused)
        outcomes = _outcomes(services.corrector, exchange, batch, is_first=not number)
        if number:
            _add(whole, exchange)
        for (start, sentence, _), outcome in services.corrector.pipeline.in_steps(zip(batch, outcomes, strict=True)):
            answer.add(start, sentence, outcome)
    if isinstance(answer.failure, DeadlineExceeded) and not whole.left_s():
        remedy = "Send the document in parts, or try again later."
        answer.failure = DeadlineExceeded(f"The time was over after {whole.allowed_s:g} s. {remedy}")
    if answer.failure and not answer.has_checked:
        raise answer.failure


def _outcomes(corrector: Corrector, exchange: Exchange, batch: list[Sentence], is_first: bool) -> BatchOutcome:
    """Correct one batch. Only the first may be refused by the limit of a key: the others wait for their turn."""
    while True:
        try:
            return correct_drafts(corrector, exchange, [draft for _, _, draft in batch], {})
        except ShuttingDown:
            raise  # another replica has the time for all of it
        except (DeadlineExceeded, Overloaded) as error:
            retry_after_s = getattr(error, "retry_after_s", math.inf)
            if is_first or retry_after_s >= exchange.left_s():
                return [error] * len(batch)  # the answer has what was checked before
            corrector.mailbox.call(corrector.mailbox.pause(exchange, retry_after_s))


def _batches(corrector: Corrector, text: str) -> Iterator[list[Sentence]]:
    """The sentences in order, as many at once as a request may hold."""
    batch: list[Sentence] = []
    num_sentences = num_characters = 0
    pause = corrector.pipeline.pause
    reading = read(text, pause)
    for read_start, read_end in find_sentences(reading.text, pause):
        start, end = reading.place(read_start), reading.end(read_end)
        # By itself a sentence may be cut once more: what came after it is not there to speak against it.
        sentence = start, text[start:end], draft_of(corrector, text[start:end])
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
