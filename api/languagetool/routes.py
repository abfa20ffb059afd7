"""POST /v2/check and GET /v2/languages: the routes of LanguageTool's HTTP API, over the corrector of POST /correct.

A document may be as long as the body may be. It is cut into sentences here, and they go to the queue in batches, one
after the other, so that a long document takes no more of the queue at once than a batch does.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

from flask import Blueprint, g, request

from api.access.gate import bearer_of
from api.batch.body import BatchBody
from api.batch.corrector import BatchOutcome, correct_batch
from api.grammar.pipeline import MAX_CHARACTERS, MAX_TEXT_CHARACTERS
from api.grammar.sentences import find_sentences
from api.http import request_input
from api.http.app import Api
from api.http.large_documents import fragments_of, large_reply
from api.http.replies import Reply, error_reply, json_reply
from api.languagetool.answer import Answer
from api.languagetool.form import LANGUAGES, parse_form
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from scheduler.errors import DeadlineExceeded, InvalidRequest, RateLimited, SentenceTooLong, ServingError
from scheduler.messages import MAX_SENTENCES, Timings
from worker.mailbox.waiters import Patience

Sentence = tuple[int, str]  # where it begins in the plain text, and itself
FORM_STATUSES = {InvalidRequest.status: 400}  # LanguageTool's clients know no 422


def add_languagetool(app: Api, corrector: Corrector) -> None:
    """Add the two routes. Their errors are lines of text, as LanguageTool's."""
    routes = Blueprint("languagetool", __name__)
    routes.register_error_handler(Exception, _error_reply)

    @routes.post("/v2/check")
    def check() -> Reply:
        environ, exchange = request.environ, g.exchange
        endpoint, admit = app.corrections, app.corrections.admit
        if admit is not None and bearer_of(environ):
            exchange.account = admit(environ)
        endpoint.shed_load(exchange, environ)
        body = request_input.read_body(environ, app.settings.max_body_bytes)
        form = parse_form(body, environ.get("CONTENT_TYPE", ""), corrector.pause)
        if admit is not None and exchange.account is None:
            exchange.account = admit(environ, form.api_key)
            endpoint.shed_load(exchange, environ)  # now that it is known whose it is
        answer = Answer(form.document(corrector.pause), form)
        app.recorder.begin_job(exchange, environ.get("HTTP_TRACEPARENT"))
        if answer.is_english and form.looks_at_sentences:
            timeout_s, asked_s = app.settings.request_timeout_s, request_input.deadline_s(environ)
            exchange.has_left = request_input.hang_up_detector(environ)
            exchange.within_s = timeout_s if asked_s is None else min(asked_s, timeout_s)
            _check(corrector, exchange, answer)
        exchange.is_answer = True
        return large_reply(fragments_of(answer.members(), corrector.pause), corrector.pause)

    @routes.get("/v2/languages")
    def languages() -> Reply:
        return json_reply([{"name": name, "code": code[:2], "longCode": code} for code, name in LANGUAGES.items()])

    app.register_blueprint(routes)


def _check(corrector: Corrector, whole: Exchange, answer: Answer) -> None:
    """Add the sentences of the document to the answer until it is full. Raises a ServingError where one has no outcome.

    The first batch runs under the id of the HTTP request, the others under ids of their own; their sums go into its
    exchange.
    """
    within_s = whole.within_s or 0.0
    until_s = time.monotonic() + within_s
    for number, batch in enumerate(_batches(corrector, answer.document.plain)):
        if answer.is_full:
            answer.is_cut = True
            return
        exchange = whole
        if number:
            exchange = Exchange(secrets.token_hex(16), time.perf_counter(), whole.route, whole.correlation_id)
            exchange.account, exchange.client, exchange.has_left = whole.account, whole.client, whole.has_left
        if time.monotonic() >= until_s:
            raise DeadlineExceeded(f"Not all was checked within {within_s:g} s. Send the document in parts.")
        texts = [SentenceTooLong(len(text.split())) if len(text) > MAX_CHARACTERS else text for _, text in batch]
        exchange.until_s = until_s
        outcomes = _outcomes(
            corrector, exchange, BatchBody(sentences=texts, learner_id=None, min_confidence=0.0), is_first=not number
        )
        if number:
            _add(whole, exchange)
        for (start, sentence), outcome in corrector.pipeline.in_steps(zip(batch, outcomes, strict=True)):
            if isinstance(outcome, ServingError) and not isinstance(outcome, (SentenceTooLong, InvalidRequest)):
                raise outcome
            answer.add(start, sentence, outcome)


def _outcomes(corrector: Corrector, exchange: Exchange, body: BatchBody, is_first: bool) -> BatchOutcome:
    """Correct one batch. Only the first may be refused by the limit of a key: the others wait for their turn."""
    until_s = exchange.until_s
    while True:
        exchange.within_s = until_s - time.monotonic()
        try:
            return correct_batch(corrector, exchange, body)
        except RateLimited as error:
            if is_first or error.retry_after_s >= until_s - time.monotonic():
                raise
            with suppress(DeadlineExceeded):
                Patience(error.retry_after_s, exchange.has_left).wait(threading.Event())


def _batches(corrector: Corrector, text: str) -> Iterator[list[Sentence]]:
    """The sentences in order, as many at once as a request may hold."""
    batch: list[Sentence] = []
    num_sentences = num_characters = 0
    for start, sentence in _sentences(corrector, text):
        # By itself a sentence may be cut once more: what came after it is not there to speak against it.
        is_read = len(sentence) <= MAX_CHARACTERS
        num_cut = len(find_sentences(sentence, MAX_SENTENCES, corrector.pause)) if is_read else 0
        size = len(sentence) if num_cut else 0
        if num_sentences + num_cut > MAX_SENTENCES or num_characters + size > MAX_TEXT_CHARACTERS:
            yield batch
            batch, num_sentences, num_characters = [], 0, 0
        batch.append((start, sentence))
        num_sentences, num_characters = num_sentences + num_cut, num_characters + size
    if batch:
        yield batch


def _sentences(corrector: Corrector, text: str) -> Iterator[Sentence]:
    """Cut a few at a time, so that others go first in between. The last of them may go on, so it is found again."""
    at = 0
    while places := find_sentences(text[at:], MAX_SENTENCES, corrector.pause):
        is_last = len(places) <= MAX_SENTENCES
        for start, end in places if is_last else places[:-1]:
            yield at + start, text[at + start : at + end]
        if is_last:
            return
        at += places[-1][0]
        corrector.pause()


def _add(whole: Exchange, part: Exchange) -> None:
    """The batches run one after the other, so that their times add up."""
    whole.prompt_tokens += part.prompt_tokens
    whole.output_tokens += part.output_tokens
    one, other = whole.timings, part.timings
    whole.timings = Timings(one.queue_s + other.queue_s, one.prefill_s + other.prefill_s, one.decode_s + other.decode_s)
    whole.answered_s = part.answered_s


def _error_reply(error: Exception) -> Reply:
    """A line of text, with the status and the headers that the problem document would have."""
    reply = error_reply(g.exchange, error)
    assert isinstance(reply.body, bytes)
    body = f"Error: {json.loads(reply.body)['detail']}".encode()
    kept = [header for header in reply.headers if header[0] not in ("Content-Type", "Content-Length")]
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), *kept]
    return Reply(body, FORM_STATUSES.get(reply.status, reply.status), headers)
