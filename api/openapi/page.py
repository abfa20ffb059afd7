"""The page that shows the OpenAPI document to people: made once, plain HTML, with a form to try each operation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

Json = dict[str, Any]
_TEMPLATE = Path(__file__).parent / "docs.html"
_LIMITS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


def docs_page(document: Json, asks_for_key: bool) -> bytes:
    """The page; it loads /static/docs.css and /static/docs.js. `asks_for_key`: it has a field for one."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "marked": _marked, "tojson_text": _json_text, "parameter_row": _parameter_row, "member_rows": _member_rows,
    }  # fmt: skip
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    operations = list(_operations(document))
    return template.render(document=document, operations=operations, asks_for_key=asks_for_key).encode()


def _operations(document: Json) -> Iterator[Json]:
    """List all paths, each with its method, its path, and its parameters and answers in full."""
    kinds = document["components"]

    def resolved(one: Json, kind: str) -> Json:
        found: Json = kinds[kind][one["$ref"].rpartition("/")[2]] if "$ref" in one else one
        return found

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = [resolved(one, "parameters") for one in operation.get("parameters", ())]
            answers = {status: resolved(one, "responses") for status, one in operation["responses"].items()}
            yield operation | {"method": method.upper(), "path": path, "named": named, "responses": answers}


def _parameter_row(parameter: Json, type_of: Callable[[Json], Markup]) -> tuple[object, ...]:
    name = Markup("<code>{}</code>").format(parameter["name"])
    kind = Markup("{}, {}").format(type_of(parameter["schema"]), parameter["in"])
    return name, kind, _meaning(parameter, parameter["schema"])


def _member_rows(schema: Json, type_of: Callable[[Json], Markup]) -> Iterator[tuple[object, ...]]:
    required = schema.get("required", ())
    for name, member in schema["properties"].items():
        shown = Markup("<code>{}</code>{}").format(name, "" if name in required else " (optional)")
        yield shown, type_of(member), _meaning(member, member)


def _meaning(about: Json, schema: Json) -> Markup:
    limits = ", ".join(f"`{name}` {schema[name]:,}" for name in _LIMITS if name in schema)
    return _marked(" ".join(part for part in (about.get("description", ""), limits) if part))


def _marked(text: str) -> Markup:
    """Text with code between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
