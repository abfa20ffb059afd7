"""Entry point of `miniserve api`: gunicorn with one worker of the mode's kind, configured in code.

The listening socket is bound here, so that a port in use is one clear line and exit status 1 at once. Everything that
talks to Redis is made in the worker, after gevent has patched the standard library; so is the model, where the mode
has it in this process: the caller hands in how to make it, for nothing in this package knows a model. SIGTERM or
Ctrl-C: no new connections, waiting requests are answered for up to `grace_s`, exit status 0.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import math
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from flask import Flask
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger

from api.open_files import allow_connections
from scheduler.settings import Settings, hide_password
from scheduler.trace_context import SpanSink
from worker.mailbox.protocol import ApiMailbox

if TYPE_CHECKING:
    from api.corrector import Corrector

# A waiting request costs a greenlet and a socket; the queue's bound refuses work long before this one does.
MAX_CONNECTIONS = 4096
KEEPALIVE_S = 75  # longer than the idle time of common balancers, so that they never reuse a connection just closed
_BACKLOG = 2048
_WORKER_CLASSES = {
    "continuous": "api.gevent_worker.ApiWorker",
    "static": "api.gevent_worker.ApiWorker",
    "threaded": "api.local_workers.ThreadedApiWorker",
    "sync": "api.local_workers.SyncApiWorker",
}
_HANDLER_THREADS = 256  # of mode threaded: requests at once; the others wait for a thread
_PR_SET_PDEATHSIG = 1
_MEMORY_DIRECTORY = Path("/dev/shm")

MakeCorrector = Callable[[Settings], "Corrector"]
MakeSpans = Callable[[Settings], SpanSink | None]

logger = structlog.get_logger(__name__)


def serve(settings: Settings, make_corrector: MakeCorrector, make_spans: MakeSpans = lambda _: None) -> None:
    """Serve until told to stop; ends in SystemExit, with 1 and a line on standard error if the port is not free.

    `make_corrector` is called in the worker process: `queue_corrector`, or one that has the model beside it; so is
    `make_spans`.
    """
    listener = bind(settings.host, settings.port)
    allow_connections(MAX_CONNECTIONS)
    _Server(settings, listener, make_corrector, make_spans).run()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or SystemExit with the reason."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by every connection: head and body go out in two writes, and the second must not wait for an ACK.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name no host can have
        code, what = getattr(error, "errno", None), getattr(error, "strerror", None) or "no such host"
        option = "--port" if code in (errno.EADDRINUSE, errno.EACCES) else "--host"
        reason = f"cannot listen on {host}:{port} ({what}): choose another with {option}"
        raise SystemExit(f"miniserve api: {reason}") from None
    return listener


def queue_corrector(settings: Settings) -> Corrector:
    """Over the queue at `settings.redis_url`; connects with the first request."""
    # Imported here, in the worker: redis imported before gevent patches would keep the blocking socket module.
    from api.agent import Agent
    from api.corrector import QueueCorrector
    from worker.mailbox import redis_api_mailbox

    mailbox = redis_api_mailbox(settings)
    threading.Thread(target=_warn_if_unreachable, args=(mailbox, settings), daemon=True).start()
    return QueueCorrector(Agent.load(), mailbox, settings)


def _warn_if_unreachable(mailbox: ApiMailbox, settings: Settings) -> None:
    if not mailbox.status().redis_ok:
        told = "the Redis of --redis-url does not answer; POST /correct says 503 until it does"
        logger.warning(told, redis_url=hide_password(settings.redis_url))


class _Server(BaseApplication):
    """gunicorn's application object: where it asks for its settings and for the WSGI callable."""

    def __init__(
        self, settings: Settings, listener: socket.socket, make_corrector: MakeCorrector, make_spans: MakeSpans
    ) -> None:
        self._settings = settings
        self._make_corrector = make_corrector
        self._make_spans = make_spans
        self._listener = listener
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config().items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        from api.app import create_app

        return create_app(self._make_corrector(self._settings), self._settings, self._make_spans(self._settings))

    def _config(self) -> dict[str, Any]:
        return {
            "bind": f"fd://{self._listener.detach()}",
            "worker_class": _WORKER_CLASSES[self._settings.mode],
            "workers": 1,
            "threads": _HANDLER_THREADS if self._settings.mode == "threaded" else 1,
            "worker_connections": MAX_CONNECTIONS,
            "backlog": _BACKLOG,
            "keepalive": KEEPALIVE_S,
            # The worker spends grace_s on waiting requests and 2.3 s on telling the rest, and Redis what it counted.
            "graceful_timeout": math.ceil(self._settings.grace_s) + 3,
            "worker_tmp_dir": str(_MEMORY_DIRECTORY) if os.access(_MEMORY_DIRECTORY, os.W_OK) else None,
            "control_socket_disable": True,
            "logger_class": _RootLogger,
            "loglevel": "warning",
            "post_fork": _die_with_master,
            "post_worker_init": self._announce,
        }

    def _announce(self, worker: Any) -> None:
        logger.info("api is listening", host=self._settings.host, port=self._settings.port, pid=os.getpid())


class _RootLogger(Logger):
    """gunicorn's messages go to the root logger, whose handler the command line has configured."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True
        self.error_log.setLevel(logging.WARNING)


def _die_with_master(arbiter: Arbiter, worker: Any) -> None:
    """A worker whose master was killed would hold the port for nobody."""
    with contextlib.suppress(OSError, AttributeError):  # not on Linux: gunicorn's own check takes a second longer
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != arbiter.pid:  # it died before the line above
        os._exit(1)
