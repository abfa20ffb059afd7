"""Makes the OpenAPI document: schemas from the models, the rest from the table of operations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api.http import problems
from api.http.replies import JSON
from api.http.request_input import MAX_DEADLINE_MS, MAX_KEY_CHARACTERS, MAX_REQUEST_ID_CHARACTERS
from api.http.schema import MAX_LEARNER_ID_CHARACTERS
from api.languagetool.routes import FORM_STATUSES
from api.openapi.models import Problem
from api.openapi.operations import FORM_FIELDS, GROUPS, TEXT, Answer, Operation
from api.openapi.problem_examples import STATUSES, TITLES, examples
from api.version import package_version

Json = dict[str, Any]
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")  # in a path of Flask's
_SCHEMAS = "#/components/schemas/{model}"
_ABOUT = """\
Corrects the verb forms of English sentences and says why.

An error is a problem document (RFC 9457): its `type` ends with a slug that never changes, its `detail` says what to do.
After 429 and 503, `Retry-After` says when to come again; with an `Idempotency-Key` a request can be sent again safely.
A path takes other methods with 405 `method-not-allowed`; `OPTIONS` names those that it takes.
"""
_PARAMETERS: dict[str, Json] = {
    "X-Request-ID": {
        "description": "An id of yours, echoed and written to the logs; not necessarily unique.",
        "schema": {"type": "string", "maxLength": MAX_REQUEST_ID_CHARACTERS, "pattern": "^[ -~]*$"},
    },
    "X-Deadline-Ms": {
        "description": "How long the answer is of use, in ms.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_DEADLINE_MS},
    },
    "Idempotency-Key": {
        "description": "Requests with the same key and body get the same answer: take a new UUID for each new request.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "pattern": "^[ -~]+$"},
    },
    "Prefer": {
        "description": "`respond-async`: do not wait; `Location` is where the answer will be.",
        "schema": {"type": "string", "examples": ["respond-async"]},
    },
    "traceparent": {
        "description": "W3C Trace Context; a malformed one is ignored.",
        "schema": {"type": "string"},
    },
    "format": {
        "in": "query",
        "description": "`text` draws it for the terminal; without it `Accept` decides.",
        "schema": {"enum": ["json", "text"]},
    },
    "request_id": {
        "in": "path",
        "required": True,
        "description": "The `request_id` of an answer.",
        "schema": {"type": "string", "minLength": 1},
        "example": "1345054c67ba1a4be2bc74a0ab958794",
    },
    "learner_id": {
        "in": "path",
        "required": True,
        "description": "The `learner_id` of a request.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_LEARNER_ID_CHARACTERS},
        "example": "5f0c3d1e",
    },
}  # fmt: skip
_PARAMETERS |= {name: {"in": "query", "schema": schema} for name, schema in FORM_FIELDS.items()}
_HEADERS: dict[str, Json] = {
    "X-Request-ID": {"required": True, "description": "Yours, or the id of the request.", "schema": {"type": "string"}},
    "Server-Timing": {
        "required": True,
        "description": "`queue`, `prefill`, `decode` and `total`, in ms.",
        "schema": {"type": "string"},
        "example": "queue;dur=0.9, prefill;dur=1.8, decode;dur=7.9, total;dur=13.4",
    },
    "Retry-After": {"required": True, "description": "Seconds.", "schema": {"type": "integer", "minimum": 1}},
    "Location": {"description": "Where the answer will be.", "schema": {"type": "string"}},
    "Preference-Applied": {"schema": {"const": "respond-async"}},
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
}
_SECURITY: dict[str, Json] = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key, where the server has a file of them."},
}


def openapi() -> Json:
    """The document. It takes some ms to make, so that it is made once."""
    operations = [operation for group in GROUPS.values() for operation in group]
    paths: dict[str, Json] = {}
    for tag, group in GROUPS.items():
        for operation in group:
            path = _VARIABLE.sub(r"{\1}", operation.path)
            paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, tag)
    return {
        "openapi": "3.1.1",
        "info": {"title": "miniserve", "version": package_version(), "description": _ABOUT, "license": {"name": "MIT"}},
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {}],
        "tags": [{"name": tag} for tag in GROUPS],
        "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "parameters": {name: {"name": name, "in": "header"} | about for name, about in _PARAMETERS.items()},
            "headers": _HEADERS,
            "securitySchemes": _SECURITY,
            "examples": examples(),
        },
    }


def _operation(operation: Operation, tag: str) -> Json:
    names = [*_VARIABLE.findall(operation.path), *operation.query, *operation.headers]
    made: Json = {
        "tags": [tag],
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in names],
        "responses": _responses(operation),
    }
    if not operation.takes_key:
        made["security"] = []
    if operation.description:
        made["description"] = operation.description
    if operation.body:
        content = {"schema": _reference(operation.body.model), "example": operation.body.example}
        made["requestBody"] = {"required": True, "content": {operation.body.media_type: content}}
    return made


def _responses(operation: Operation) -> Json:
    found = {str(status): _answer(answer, operation) for status, answer in operation.answers.items()}
    by_status: dict[int, list[str]] = {}
    for slug in operation.all_problems:
        statuses = FORM_STATUSES if operation.problems_are_lines else {}
        status = STATUSES[slug]
        by_status.setdefault(statuses.get(status, status), []).append(slug)
    for status, slugs in sorted(by_status.items()):
        found[str(status)] = _problem(slugs, operation)
    return found


def _answer(answer: Answer, operation: Operation) -> Json:
    content: Json = {}
    if answer.models:
        one = [_reference(model) for model in answer.models]
        schema = one[0] if len(one) == 1 else {"anyOf": one}
        content[JSON] = {"schema": {"type": "array", "items": schema} if answer.is_list else schema}
    for media_type, example in answer.texts.items():
        content[media_type] = {"schema": {"type": "string"}, "example": example}
    return {"description": answer.description, "headers": _headers(answer.headers, operation), "content": content}


def _problem(slugs: list[str], operation: Operation) -> Json:
    names = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}.get(STATUSES[slugs[0]], ())
    if operation.problems_are_lines:
        content: Json = {TEXT: {"schema": {"type": "string", "pattern": "^Error: "}, "example": "Error: ..."}}
    else:
        shown = {slug: {"$ref": f"#/components/examples/{slug}"} for slug in slugs}
        content = {problems.MEDIA_TYPE: {"schema": _reference(Problem), "examples": shown}}
    description = " ".join(f"`{slug}`: {TITLES[slug]}." for slug in slugs)
    return {"description": description, "headers": _headers(names, operation), "content": content}


def _headers(names: Iterable[str], operation: Operation) -> Json:
    always = ("X-Request-ID", "Server-Timing") if operation.has_timing else ("X-Request-ID",)
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*names, *always)}


def _schemas(operations: Iterable[Operation]) -> Json:
    """Return the schemas of all models that the operations name, and of those inside them."""
    taken = {operation.body.model for operation in operations if operation.body}
    given = {model for operation in operations for answer in operation.answers.values() for model in answer.models}
    wanted = [(model, "validation") for model in sorted(taken | given | {Problem}, key=lambda model: model.__name__)]
    _, found = models_json_schema(wanted, ref_template=_SCHEMAS)  # type: ignore[arg-type]  # a literal
    schemas: Json = found["$defs"]
    return schemas


def _reference(model: type[BaseModel]) -> Json:
    return {"$ref": _SCHEMAS.format(model=model.__name__)}
