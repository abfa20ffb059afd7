"""GET /openapi.json and GET /docs, both from api/openapi.yaml.

The file is read when somebody first asks for either: most processes are never asked.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from api.http.app import Api
from api.http.replies import JSON, Reply
from api.openapi.page import docs_page
from api.pages.files import PageFile
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
    def described() -> PageFile:
        return PageFile.of(to_json(description()).encode(), JSON)

    @cache
    def page() -> PageFile:
        return PageFile.of(docs_page(description(), asks_for_key), "text/html; charset=utf-8")

    @app.get("/openapi.json")
    def show_openapi() -> Reply:
        return described().reply()

    @app.get("/docs")
    def show_docs() -> Reply:
        return page().reply()
