"""GET /openapi.json and GET /docs: made when a server starts, and sent like files."""

from __future__ import annotations

from api.http.app import Api
from api.http.problems import to_json
from api.http.replies import JSON, Reply
from api.openapi.document import openapi
from api.openapi.page import docs_page
from api.pages.files import PageFile


def add_openapi(app: Api) -> None:
    """Add the two routes to an application."""
    document = openapi()
    described = PageFile.of(to_json(document).encode(), JSON)
    page = PageFile.of(docs_page(document, bool(app.settings.api_keys_file)), "text/html; charset=utf-8")

    @app.get("/openapi.json")
    def show_openapi() -> Reply:
        return described.reply()

    @app.get("/docs")
    def show_docs() -> Reply:
        return page.reply()
