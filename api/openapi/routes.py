"""GET /openapi.json and GET /docs, both from api/openapi.yaml.

The file is read when somebody first asks for either: most processes are never asked.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from flask import Response

from api.http.app import Api
from api.http.replies import JSON
from api.openapi.page import docs_page
from api.pages.files import page_reply
from api.service.problems import to_json
from api.services import Services
from api.version import package_version

_DESCRIPTION = Path(__file__).parents[1] / "openapi.yaml"


@cache
def description() -> dict[str, Any]:
    """The document, with the version of this package."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # 18 ms instead of 110
    document: dict[str, Any] = yaml.load(_DESCRIPTION.read_text(encoding="utf-8"), loader)
    document["info"]["version"] = package_version()
    return document


def add(app: Api, services: Services) -> None:
    """Add the two routes to an application."""
    asks_for_key = bool(services.settings.api_keys_file)

    @cache
    def document() -> bytes:
        return to_json(description()).encode()

    @cache
    def page() -> bytes:
        return docs_page(description(), asks_for_key)

    @app.get("/openapi.json")
    def show_openapi() -> Response:
        return page_reply(document(), JSON)

    @app.get("/docs")
    def show_docs() -> Response:
        return page_reply(page(), "text/html; charset=utf-8")
