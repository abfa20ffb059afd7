"""Lets requests in that have an API key: in the header `Authorization`, or in the field `apiKey` of an editor form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import g, request

from api.access.keys import KeyFile
from api.http.app import Api
from scheduler.accounts import Account
from scheduler.errors import Unauthorized

# Pages and their files, what probes and programs read before they have a key, and what looks at the key itself.
OPEN_ROUTES = frozenset(
    "none / /docs /openapi.json /healthz /readyz /ops /static/<name> /v2/check /v2/languages".split()
)


def add_access(app: Api) -> None:
    """Where the settings name a file of keys, nearly all routes ask for one. Raises KeyFileFault."""
    if not app.settings.api_keys_file:
        return
    keys = KeyFile(app.settings.api_keys_file)
    keys.watch()

    def admit(environ: Mapping[str, Any], api_key: str = "") -> Account:
        """Whose request it is. `api_key`: of a form that has one. Any thread may ask. Raises Unauthorized."""
        key = bearer_of(environ) or api_key
        if not key:
            field = ", or in the field apiKey" if environ.get("PATH_INFO") == "/v2/check" else ""
            raise Unauthorized(f"This server asks for an API key: send it as Authorization: Bearer <key>{field}.")
        if (account := keys.account_of(key)) is None:
            raise Unauthorized("The API key is not valid, or not any more; ask the operator for a key.")
        return account

    app.corrections.admit = admit

    @app.before_request
    def check_key() -> None:
        if g.exchange.route not in OPEN_ROUTES:
            g.exchange.account = admit(request.environ)


def bearer_of(environ: Mapping[str, Any]) -> str:
    """The key of the header; '' without."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
