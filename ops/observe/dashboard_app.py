"""rq-dashboard as this project runs it: it reads JSON alone, changes nothing from another site, and shows no markup.

rq-dashboard 0.9 unpickles what it finds in Redis, which runs code, although its `--json` is set; a page of any other
site can post to it; and its pages insert job fields as HTML. Its blueprint is served here by an application that closes
all three. What grows when it is read is cut. `create_app` replaces RQ's default serializer and its zlib in the whole
process, so only `miniserve dashboard` calls it.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import re
import secrets
import zlib
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import rq.job
import rq.results
import rq_dashboard
from flask import Flask, Response, abort, g, request
from flask.templating import DispatchingJinjaLoader
from redis import Redis, RedisError
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import DefaultSerializer
from rq_dashboard import web

UNREADABLE = "not JSON, so not shown"
_MAX_BYTES = 2 * 65_536  # of an unpacked field, twice what a worker reads; a page has many jobs
_WRITES = ("delete_job_view", "empty_queue", "compact_queue")  # RQ's compacting takes a live queue apart, too
# Underscore compiles its templates, which is what 'unsafe-eval' is for; a script needs the nonce of its page.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{}' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may come in. An empty password lets everybody in."""

    username: str = ""
    password: str = ""
    host_names: tuple[str, ...] = ()  # further than localhost and addresses

    def knows_host(self, host: str) -> bool:
        """A page of a foreign name that resolves to this machine (DNS rebinding) sends that name."""
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name == "localhost" or name in self.host_names or _is_address(name)

    def lets_in(self, username: str, password: str) -> bool:
        return hmac.compare_digest(f"{username}:{password}".encode(), f"{self.username}:{self.password}".encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def create_app(client: Redis, shown_url: str, access: Access) -> Flask:
    """`shown_url` names the Redis on the pages, without its password."""
    DefaultSerializer.dumps, DefaultSerializer.loads = _dumps, _loads
    bounded = SimpleNamespace(compress=zlib.compress, decompress=_decompress, error=zlib.error)
    vars(rq.job)["zlib"] = vars(rq.results)["zlib"] = bounded
    web.config.serializer = DefaultSerializer
    web.from_url = lambda *_, **__: (None, client)
    web.serialize_current_job = _current_job
    app = _Dashboard(rq_dashboard.__name__)
    vars(app)["redis_conn"] = client
    app.config |= {"RQ_DASHBOARD_REDIS_URL": [shown_url], "RQ_DASHBOARD_DISABLE_DELETE": True}
    app.before_request(lambda: _refusal(access))
    app.register_blueprint(web.blueprint)
    app.context_processor(lambda: {"nonce": _nonce()})
    app.after_request(_protect)
    app.register_error_handler(RedisError, lambda _: ("Redis does not answer.", 503))
    for error in (NoSuchJobError, LookupError):
        app.register_error_handler(error, lambda _: ("There is no such job or page.", 404))
    return app


def _dumps(value: Any) -> bytes:
    return json.dumps(value).encode()


def _loads(data: bytes) -> Any:
    """Never raises: one job that holds something else must not empty the page of all others."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return UNREADABLE


def _decompress(packed: bytes) -> bytes:
    """Decompress as zlib does, but stop where the result would be long."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, _MAX_BYTES)
    return data if unpacking.eof else data.decode(errors="ignore").encode()


def _current_job(job: Job | None) -> dict[str, Any] | str:
    """Describe a job as rq-dashboard does, without the call, which it would have to read from `data`."""
    if job is None:
        return "idle"
    about = {"job_id": job.id, "description": job.description, "created_at": web.serialize_date(job.created_at)}
    return about | {"call_string": job.description}


def _refusal(access: Access) -> Response | dict[str, str] | None:
    if not access.knows_host(request.host):
        return Response("This name is not served here: see miniserve dashboard --help, --dashboard-hosts.", 403)
    given = request.authorization
    if access.password and not (given and access.lets_in(given.username or "", given.password or "")):
        return Response("Please log in.", 401, {"WWW-Authenticate": 'Basic realm="miniserve"'})
    if request.url_rule is None or "POST" not in (request.url_rule.methods or ()):
        return None
    if request.method != "POST":
        abort(405)
    # Browsers send the origin with every POST. One that is missing comes from a program, or is hidden on purpose.
    if urlsplit(request.headers.get("Origin", "")).netloc != request.host:
        return Response("A change must come from a page of this dashboard: its Origin is another, or none.", 403)
    return {"status": "DISABLED"} if (request.endpoint or "").rpartition(".")[2] in _WRITES else None


def _nonce() -> str:
    if "nonce" not in g:
        g.nonce = secrets.token_urlsafe(16)
    return g.nonce


def _protect(response: Response) -> Response:
    response.headers.update(_HEADERS | {"Content-Security-Policy": _POLICY.format(_nonce())})
    return response


class _Dashboard(Flask):
    def create_global_jinja_loader(self) -> DispatchingJinjaLoader:
        return _InertTemplates(self)

    def select_jinja_autoescape(self, filename: str | None) -> bool:
        return True  # the scripts, too: they quote the name of the queue


class _InertTemplates(DispatchingJinjaLoader):
    """The blueprint's templates, whose scripts insert every value as text."""

    def get_source(self, environment: Any, template: str) -> tuple[str, str | None, Any]:
        source, name, is_fresh = super().get_source(environment, template)
        return inert(source), name, is_fresh


def inert(template: str) -> str:
    """`<%=` of Underscore inserts HTML, `<%-` text; the two fields that are escaped already would be so twice."""
    template = re.sub(r"\$\('<div/>'\)\.text\((.+?)\)\.html\(\)", r"\1", template).replace("<%=", "<%-")
    template = template.replace("'{{ queue.name }}'", "{{ queue.name|tojson }}")
    template = re.sub(r"(\{% if registry_name == 'queued') (%\}\s*<a )", r"\1 and enable_delete \2", template)
    return template.replace("<script type=", '<script nonce="{{ nonce }}" type=')
