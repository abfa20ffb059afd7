"""/v2/check and /v2/languages: the routes of LanguageTool's HTTP API, over the corrector of POST /correct.

Where a part of a document cannot be checked in time, the answer has the rest, and says so.
"""

from __future__ import annotations

import json
import re
from contextlib import aclosing

from werkzeug.sansio.utils import get_host

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest, bearer_of, deadline_s
from api.http.replies import Reply, json_reply
from api.languagetool.answer import Answer
from api.languagetool.form import LANGUAGES, parse_form
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from api.service.threads import in_turn
from scheduler.errors import DeadlineExceeded, InvalidRequest, Overloaded

_BASE = re.compile("^/+v2/+")
_ENDS = (DeadlineExceeded, Overloaded)  # failures that the rest of a document would meet, too


def add(app: Api, services: Services) -> None:
    """Add the two routes, and lines of text for the errors of every path below /v2."""
    max_bytes = services.settings.max_body_bytes
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
        answer = await in_turn(len(body) + len(query), lambda: Answer(form.document(), form))
        exchange.is_read = True
        if answer.is_english and form.mode != "textLevelOnly":
            exchange.allowed_s = deadline_s(request.headers)
            exchange.limit_wait(services.settings.request_timeout_s)
            await _check(services.corrector, exchange, answer)
        exchange.is_answer = True
        return answer.reply()

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


async def _check(corrector: Corrector, exchange: Exchange, answer: Answer) -> None:
    """Add the sentences of the document to the answer until it is full, or the time is over.

    Raises the ServingError that left nothing to answer.
    """
    size = len(answer.document.plain)
    draft = await in_turn(size, corrector.pipeline.prepare_document, answer.document.plain, answer.level)
    async with aclosing(corrector.portions(exchange, [draft], size)) as portions:
        async for portion in portions:
            await corrector.finish(portion, size)
            await in_turn(size, answer.add, draft)
            if answer.is_full:
                answer.is_cut = bool(await in_turn(size, draft.take, 1))
                break
            if not isinstance(draft.failure, _ENDS):
                draft.failure = None  # the other sentences are checked
    await in_turn(size, answer.add, draft)
    if answer.failure and not answer.has_checked:
        raise answer.failure
