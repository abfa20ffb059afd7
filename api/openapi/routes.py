"""GET /openapi.json and GET /docs, both from api/openapi.yaml.

The file is read when somebody first asks for either: most processes are never asked.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from api.http.app import Api, Services
from api.http.incoming import IncomingRequest
from api.http.replies import JSON, Reply
from api.openapi.page import docs_page
from api.pages.files import page_reply
from api.service.exchange import Exchange
from api.service.problems import to_json
from api.service.threads import PAGES, in_thread
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
    async def show_openapi(_: Exchange, request: IncomingRequest) -> Reply:
        return page_reply(request, await in_thread(document, pool=PAGES), JSON)

    @app.get("/docs")
    async def show_docs(_: Exchange, request: IncomingRequest) -> Reply:
        return page_reply(request, await in_thread(page, pool=PAGES), "text/html; charset=utf-8")
