"""The table of the API's operations: what each takes and what it may answer. `document.py` makes OpenAPI of it.

A new route gets its row here; a test compares the table with the routes of the application.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from api.access.gate import OPEN_ROUTES
from api.batch.body import BatchBody
from api.http.replies import EVENTS, JSON
from api.http.schema import CorrectionBody
from api.languagetool.form import MEDIA_TYPE as FORM
from api.languagetool.form import CheckForm
from api.openapi import models

TEXT = "text/plain"
FORM_ROUTE = "/v2/check"
FORM_FIELDS: dict[str, Any] = CheckForm.model_json_schema()["properties"]
GOED = {"sentence": "He goed to school"}
_CLIENT_HEADERS = ("X-Request-ID", "X-Deadline-Ms", "traceparent")
_OF_EVERY = ("invalid-header", "internal-error")
_OF_A_BODY = ("malformed-json", "body-too-large", "unsupported-media-type", "invalid-request")
_OF_THE_QUEUE = ("rate-limited", "queue-full", "not-ready", "shutting-down")
_OF_AN_ANSWER = ("cancelled", "removed-by-operator", "request-failed", "deadline-exceeded")
_EVENTS = """\
event: edit
data: {"start": 3, "end": 7, "original": "goed", "replacement": "went", "reason": "irregular_past", ...}

event: done
data: {"corrected": "He went to school", "explanation": "...", "edits": [...], "language": {...}, "notes": [], ...}
"""


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries."""

    model: type[BaseModel]
    example: dict[str, Any]
    media_type: str = JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request may get: a model's JSON, or a text. More than one model: any of them."""

    description: str
    models: tuple[type[BaseModel], ...] = ()
    texts: dict[str, str] = field(default_factory=dict)  # an example by media type
    headers: tuple[str, ...] = ()
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path, which is written as Flask writes it."""

    method: str
    path: str
    name: str
    summary: str
    answers: dict[int, Answer]
    description: str = ""
    headers: tuple[str, ...] = ("X-Request-ID",)
    query: tuple[str, ...] = ()
    body: Body | None = None
    problems: tuple[str, ...] = ()  # slugs, besides those of every operation
    has_timing: bool = True  # probes are answered before anything is timed
    problems_are_lines: bool = False

    @property
    def takes_key(self) -> bool:
        """Whether it asks for an API key where the server has a file of them."""
        return self.path not in OPEN_ROUTES or self.path == FORM_ROUTE

    @property
    def all_problems(self) -> tuple[str, ...]:
        keys = ("unauthorized",) if self.takes_key else ()
        return tuple(dict.fromkeys((*self.problems, *keys, *_OF_EVERY)))


_PENDING = Answer("There is no answer yet.", (models.Pending,), headers=("Retry-After",))
_ACCEPTED = Answer(
    "Accepted, with `Prefer: respond-async`.",
    (models.Pending,),
    headers=("Location", "Preference-Applied", "Retry-After"),
)
CORRECTIONS = (
    Operation(
        "POST",
        "/correct",
        "correct",
        "Correct a sentence, or a text of several",
        {
            200: Answer("The corrected text; or, with `Accept: text/event-stream`, each edit as it is decoded: events "
                        "`edit` (an Edit), at the end `done` (a Correction) or `problem` (a Problem).",
                        (models.Correction,), {EVENTS: _EVENTS}),
            202: _ACCEPTED,
        },
        "At most 64 sentences of 64 words. Unknown members of the body are ignored.",
        (*_CLIENT_HEADERS, "Idempotency-Key", "Prefer"),
        body=Body(CorrectionBody, GOED),
        problems=(*_OF_A_BODY, "sentence-too-long", "idempotency-conflict", *_OF_THE_QUEUE, *_OF_AN_ANSWER),
    ),
    Operation(
        "POST",
        "/correct/batch",
        "correctBatch",
        "Correct many texts at once",
        {200: Answer("One result for each text, in order.", (models.BatchAnswer,)), 202: _ACCEPTED},
        "At most 64 texts, and 64 sentences in all. The queue takes all of them or none.",
        (*_CLIENT_HEADERS, "Idempotency-Key", "Prefer"),
        body=Body(BatchBody, {"sentences": ["He goed to school", "They was late"]}),
        problems=(*_OF_A_BODY, "idempotency-conflict", *_OF_THE_QUEUE, *_OF_AN_ANSWER),
    ),
)  # fmt: skip
KEPT = (
    Operation(
        "GET",
        "/requests/<request_id>",
        "findRequest",
        "Fetch the answer of a request",
        {200: Answer("Its answer.", (models.Correction, models.BatchAnswer)), 202: _PENDING},
        "Any replica knows it: for a minute, for ten if it was asynchronous or had an `Idempotency-Key`. "
        "With API keys a request is known to the account alone that sent it.",
        problems=("not-found", "not-ready", "shutting-down", *_OF_AN_ANSWER),
    ),
    Operation(
        "DELETE",
        "/requests/<request_id>",
        "cancelRequest",
        "Cancel a request, for all clients that wait for it",
        {200: Answer("What became of it.", (models.Cancellation,))},
        problems=("not-found", "not-ready", "shutting-down"),
    ),
    Operation(
        "GET",
        "/requests/<request_id>/trace",
        "traceRequest",
        "See where the time of a request went",
        {200: Answer("The waterfall.", (models.Trace,), {TEXT: "received  0.00  0.04"}), 202: _PENDING},
        query=("format",),
        problems=("not-found", "invalid-request", "not-ready", "shutting-down"),
    ),
)
_CHECK: dict[str, Any] = {
    "path": FORM_ROUTE,
    "answers": {200: Answer("What was found.", (models.CheckAnswer,))},
    "headers": _CLIENT_HEADERS,
    "problems": (*_OF_A_BODY, *_OF_THE_QUEUE, *_OF_AN_ANSWER),
    "problems_are_lines": True,
}
EDITORS = (
    Operation(
        method="POST",
        name="check",
        summary="Check a document for an editor, as LanguageTool's HTTP API does",
        description="A sentence that is too long is skipped and marked. The form is read whatever its media type says, "
        "and fields may stand in the query. Errors are lines of text.",
        body=Body(CheckForm, {"text": "He goed to school", "language": "en-US"}, FORM),
        **_CHECK,
    ),
    Operation(
        method="GET",
        name="checkQuery",
        summary="Check a short document that stands in the query",
        description="For older clients: a query ends up in the logs of proxies, and a line has at most 8,190 bytes.",
        query=tuple(FORM_FIELDS),
        **_CHECK,
    ),
    Operation(
        "GET",
        "/v2/languages",
        "listLanguages",
        "List the languages that can be checked",
        {200: Answer("English and its variants.", (models.Language,), is_list=True)},
        problems_are_lines=True,
    ),
)
_LEARNER = "/learners/<path:learner_id>"
LEARNERS = (
    Operation(
        "GET",
        _LEARNER,
        "findLearner",
        "See what a learner often gets wrong",
        {200: Answer("Counts by reason and verb.", (models.Learner,))},
        "Of the answers that were given with this `learner_id` in the last 90 days, under the same API key.",
        problems=("not-found", "invalid-request", "not-ready", "shutting-down"),
    ),
    Operation(
        "DELETE",
        _LEARNER,
        "forgetLearner",
        "Forget a learner",
        {200: Answer("It is forgotten.", (models.Forgotten,))},
        problems=("invalid-request", "not-ready", "shutting-down"),
    ),
)
SYSTEM = (
    Operation(
        "GET",
        "/healthz",
        "isAlive",
        "Whether the process lives",
        {200: Answer("It does.", (models.Alive,))},
        has_timing=False,
    ),
    Operation(
        "GET",
        "/readyz",
        "isReady",
        "Whether requests are answered",
        {200: Answer("They are.", (models.Ready,))},
        problems=("not-ready", "shutting-down"),
        has_timing=False,
    ),
    Operation(
        "GET",
        "/metrics",
        "readMetrics",
        "Metrics of the whole system, for Prometheus",
        {200: Answer("The Prometheus text format.", texts={TEXT: "miniserve_num_requests_running 3.0\n"})},
        problems=("not-ready", "shutting-down"),
    ),
)
GROUPS = {
    "Corrections": CORRECTIONS, "Requests": KEPT, "Editors": EDITORS, "Learners": LEARNERS, "System": SYSTEM,
}  # fmt: skip
