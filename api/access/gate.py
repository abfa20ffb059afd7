"""Lets requests in that have an API key: in the header `Authorization`, or in the field `apiKey` of an editor form."""

from __future__ import annotations

from collections.abc import Callable

from flask import g, request

from api.access.keys import KeyFile
from api.http.app import Api
from api.http.request_input import bearer_of
from api.services import Services
from scheduler.accounts import Account
from scheduler.errors import Unauthorized
from scheduler.settings import Settings

# Pages and their files, what probes and programs read before they have a key, and what looks at the key itself.
OPEN_ROUTES = frozenset(
    "none / /docs /openapi.json /healthz /readyz /ops /static/<name> /v2/check /v2/languages".split()
)


def admit_of(settings: Settings) -> Callable[[str], Account | None]:
    """Where the settings name a file of keys, requests need one. Raises KeyFileFault."""
    if not settings.api_keys_file:
        return lambda _: None
    keys = KeyFile(settings.api_keys_file)
    keys.watch()

    def admit(key: str) -> Account:
        if not key:
            how = "send it as Authorization: Bearer <key>, or in the form of an editor as apiKey"
            raise Unauthorized(f"This server asks for an API key: {how}.")
        if (account := keys.account_of(key)) is None:
            raise Unauthorized("The API key is not valid, or not any more; ask the operator for a key.")
        return account

    return admit


def add(app: Api, services: Services) -> None:
    """Nearly all of Flask's routes ask who comes."""

    @app.before_request
    def check_key() -> None:
        if g.exchange.route not in OPEN_ROUTES:
            g.exchange.account = services.admit(bearer_of(request.environ))
