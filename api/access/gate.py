"""Lets requests in that have a key, or the session of one.

`Authorization: Bearer <key>` is for programs, the cookie for pages. A cookie is sent by the browser itself, so with it
the page that asks must be our own: SameSite alone would let in other ports and names of the same site.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from werkzeug.http import dump_cookie, parse_cookie

from api.access.keys import KeyFile
from api.access.sessions import SESSION_S, MemoryStore, RedisStore, Sessions, key_id_of
from api.http.replies import Reply, json_reply
from scheduler.accounts import Account
from scheduler.errors import Unauthorized
from scheduler.settings import Settings
from worker.mailbox.protocol import ApiMailbox

COOKIE = "miniserve_session"
_MAX_COOKIE_CHARACTERS = 4096
# Pages and their files, what probes and programs read before they have a key, and what looks at the key itself.
OPEN_ROUTES = frozenset(
    """
    none / /docs /openapi.json /healthz /readyz /ops /static/<name> /session /v2/check /v2/languages
    """.split()
)


class Gate:
    """Any thread may ask."""

    def __init__(self, keys: KeyFile, mailbox: ApiMailbox) -> None:
        self.keys = keys
        ask = getattr(mailbox, "ask", None)  # of one over Redis
        self._sessions = Sessions(MemoryStore() if ask is None else RedisStore(ask))

    @classmethod
    def of(cls, mailbox: ApiMailbox, settings: Settings) -> Gate:
        """Raises KeyFileFault."""
        keys = KeyFile(settings.api_keys_file)
        keys.watch()
        return cls(keys, mailbox)

    def admit(self, environ: Mapping[str, Any], api_key: str = "") -> Account:
        """Whose request it is. `api_key`: of a form that has one. Raises Unauthorized, NotReady."""
        key = bearer_of(environ) or api_key
        if key:
            account = self.keys.account_of(key)
        elif token := _token(environ):
            if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
                _check_origin(environ)
            account = self.keys.account_of_id(key_id_of(token))  # first: who makes up ids costs Redis nothing
            if account is not None and not self._sessions.holds(token):
                account = None
        else:
            field = ", or in the field apiKey" if environ.get("PATH_INFO") == "/v2/check" else ""
            raise Unauthorized(f"This server asks for an API key: send it as Authorization: Bearer <key>{field}.")
        if account is None:
            what = "API key" if key else "session"
            raise Unauthorized(f"The {what} is not valid, or not any more; ask the operator for a key.")
        return account

    def begin_session(self, environ: Mapping[str, Any]) -> Reply:
        """POST /session: exchange a key for a cookie. Raises Unauthorized, NotReady."""
        _check_origin(environ)
        key = bearer_of(environ)
        account = self.keys.account_of(key)
        if account is None and key:
            raise Unauthorized("This key is not valid, or not any more; ask the operator for one.")
        if account is None:
            raise Unauthorized("Send an API key as Authorization: Bearer <key>; the answer has a cookie for it.")
        cookie = _cookie(environ, self._sessions.begin(self.keys.id_of(key)), SESSION_S)
        return json_reply({"name": account.name, "expires_s": SESSION_S}, 200, ("Set-Cookie", cookie))

    def end_session(self, environ: Mapping[str, Any]) -> Reply:
        """DELETE /session. Raises Unauthorized, NotReady."""
        _check_origin(environ)
        token = _token(environ)
        if self.keys.account_of_id(key_id_of(token)) is not None:
            self._sessions.end(token)
        return json_reply({"status": "ended"}, 200, ("Set-Cookie", _cookie(environ, "", 0)))


def bearer_of(environ: Mapping[str, Any]) -> str:
    """The key of the header; '' without."""
    scheme, _, key = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _token(environ: Mapping[str, Any]) -> str:
    header = environ.get("HTTP_COOKIE", "")
    if COOKIE not in header or len(header) > _MAX_COOKIE_CHARACTERS:
        return ""
    return parse_cookie(header).get(COOKIE, "")


def _check_origin(environ: Mapping[str, Any]) -> None:
    """Raises Unauthorized for a page of another site. Programs send no Origin."""
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin.partition("://")[2].lower() != environ.get("HTTP_HOST", "").lower():
        raise Unauthorized("A page of another site may not use this session.")


def _cookie(environ: Mapping[str, Any], token: str, max_age_s: int) -> str:
    """Browsers say by Origin whether they came by TLS; a proxy in front of us may have ended it."""
    is_secure = environ.get("HTTP_ORIGIN", "").startswith("https://")
    about = {"max_age": max_age_s, "httponly": True, "samesite": "Strict", "secure": is_secure}
    return dump_cookie(COOKIE, token, **about)
