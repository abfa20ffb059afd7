"""The description of the API says what the API does: routes, answers, problems, limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from api.grammar.correction import NoteCode
from api.grammar.reasons import Reason
from api.http.handler import OPEN_ROUTES
from api.http.incoming import MAX_DEADLINE_MS, MAX_KEY_CHARACTERS, MAX_REQUEST_ID_CHARACTERS
from api.languagetool.form import AUTO, LANGUAGES, NAMES, CheckForm
from api.learners.routes import document_of
from api.openapi.routes import description
from api.service.body import MAX_LEARNER_ID_CHARACTERS, BatchBody, CorrectionBody, check_learner_id, check_sentence
from scheduler import errors
from scheduler.errors import InvalidRequest
from scheduler.messages import MAX_SENTENCES
from tests.fake_mailbox import check
from tests.generate.tables import concrete

# For browsers, not for programs.
PAGES = {"/", "/docs", "/openapi.json", "/static/<name>", "/ops", "/ops/events"}


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    return client.get("/openapi.json").get_json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_has_the_routes_of_the_application_and_no_other(
    client: FlaskClient, document: dict[str, Any]
) -> None:
    rules = [rule for rule in client.application.url_map.iter_rules() if rule.rule not in PAGES]
    paths = [(re.sub(r"<\w+:", "<", rule.rule), rule.methods - {"HEAD", "OPTIONS"}) for rule in rules]
    routes = {(method, path) for path, methods in paths for method in methods}

    described = {(method, re.sub(r"{(\w+)}", r"<\1>", path)) for method, path, _ in operations(document)}

    assert described == routes, "describe each in api/openapi.yaml, or name a page in PAGES above"


def test_every_problem_has_an_example_with_its_status_and_title(document: dict[str, Any]) -> None:
    known = {error.slug: error for error in concrete(errors.ServingError)}
    examples = {slug: one["value"] for slug, one in document["components"]["examples"].items()}

    assert set(examples) == set(known), "an example for each in api/openapi.yaml"
    for slug, example in examples.items():
        assert (example["status"], example["title"]) == (known[slug].status, known[slug].title)
        assert example["type"].endswith(f":{slug}")
        assert set(example) <= set(document["components"]["schemas"]["Problem"]["properties"])


def test_every_slug_of_the_routes_is_of_the_status_that_it_stands_at(document: dict[str, Any]) -> None:
    components = document["components"]

    for _, path, operation in operations(document):
        for status, answer in operation["responses"].items():
            answer = components["responses"][answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
            for slug in answer["content"].get("application/problem+json", {}).get("examples", {}):
                assert components["examples"][slug]["value"]["status"] == int(status), (path, slug)
                assert f"`{slug}`" in answer["description"], (path, slug)
            assert ("Retry-After" in answer["headers"]) == (status in ("202", "429", "503")), (path, status)


def test_what_is_open_without_a_key_is_described_as_open(document: dict[str, Any]) -> None:
    described = {path for _, path, operation in operations(document) if operation.get("security") == []}

    assert described == {path for path in OPEN_ROUTES & set(document["paths"]) if path != "/v2/check"}


def test_an_answer_is_described_to_its_last_member(client: FlaskClient, document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    closed = {
        name: {"additionalProperties": False} | one if "properties" in one else one for name, one in schemas.items()
    }
    answers = {
        "Correction": client.post("/correct", json={"sentence": "He goed home"}),
        "BatchAnswer": client.post("/correct/batch", json={"sentences": ["He goed", ""]}, headers={"X-Trace": "1"}),
        "Ready": client.get("/readyz"),
        "CheckAnswer": check(client, "He goed home. " + "word " * 65),
    }
    told = {name: answer.get_json() for name, answer in answers.items()}
    told["Learner"] = document_of("anna", {"since": "1", "corrections": "1", "n:habit": "1", "at:habit": "1"})

    for name, found in told.items():
        schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": closed}}
        Draft202012Validator(schema).validate(json.loads(json.dumps(found)))


@pytest.mark.parametrize("model", [CorrectionBody, BatchBody, CheckForm])
def test_the_schema_of_a_body_is_that_of_the_model_that_checks_it(model: type) -> None:
    """It may say more of a member: what is checked beside its type, and what it is for."""
    schema, checked = description()["components"]["schemas"][model.__name__], TypeAdapter(model).json_schema()
    if model is CheckForm:
        checked["properties"] = {name: checked["properties"][field] for name, field in NAMES.items()}

    assert (set(schema["properties"]), schema["required"]) == (set(checked["properties"]), checked["required"])
    for name, member in checked["properties"].items():
        said = {key: value for key, value in member.items() if key != "title" and value != {}}
        assert said.items() <= schema["properties"][name].items(), name


def test_the_limits_are_those_of_the_checks_beside_the_models(document: dict[str, Any]) -> None:
    schemas, parameters = document["components"]["schemas"], document["components"]["parameters"]
    header = {name: parameters[name]["schema"] for name in ("X-Request-ID", "X-Deadline-Ms", "Idempotency-Key")}

    assert schemas["BatchBody"]["properties"]["sentences"]["maxItems"] == MAX_SENTENCES
    assert schemas["CheckForm"]["properties"]["language"]["enum"] == [*LANGUAGES, AUTO]
    assert parameters["learner_id"]["schema"]["maxLength"] == MAX_LEARNER_ID_CHARACTERS
    assert header["X-Request-ID"]["maxLength"] == MAX_REQUEST_ID_CHARACTERS
    assert (header["X-Deadline-Ms"]["minimum"], header["X-Deadline-Ms"]["maximum"]) == (1, MAX_DEADLINE_MS)
    assert header["Idempotency-Key"]["maxLength"] == MAX_KEY_CHARACTERS
    for kind in (Reason, NoteCode):
        assert schemas[kind.__name__]["enum"] == [one.value for one in kind]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\t\n", "a", " a ", "a\x00b", "\x85", "\x7f", "\u00a0", "caf\u00e9", "\U0001f600", "a\r\nb", "\x0b"],
)
def test_the_patterns_are_those_of_the_checks(text: str) -> None:
    properties = description()["components"]["schemas"]["CorrectionBody"]["properties"]

    for name, checks in (("sentence", check_sentence), ("learner_id", check_learner_id)):
        schema = properties[name]
        fits = len(text) >= schema["minLength"] and re.search(schema["pattern"], text) is not None
        try:
            checks(text)
        except InvalidRequest:
            assert not fits, name
        else:
            assert fits, name
