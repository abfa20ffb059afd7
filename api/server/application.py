"""Entry point of `miniserve api`: gunicorn, which starts the processes that serve, configured in code.

The listening socket is bound here, so that a port in use is one clear line and exit status 1 at once. Everything that
talks to Redis is made in those processes; so is the model, where the mode has no queue: the caller hands in how to
make it, for nothing in this package knows a model. SIGTERM or Ctrl-C: no new connections, waiting requests are answered
for up to `grace_s`, exit status 0.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.base import Worker

from api.server.connections import allow_connections
from api.telemetry.line_writer import STDERR
from scheduler.settings import AUTO, Settings
from scheduler.urls import hide_password

try:
    from uvloop import new_event_loop
except ImportError:  # no wheel and no compiler
    from asyncio import new_event_loop  # type: ignore[assignment]

if TYPE_CHECKING:
    from api.server.serving import Serving
    from api.service.corrector import Corrector

    MakeCorrector = Callable[[Settings], Corrector]

# A waiting request costs a task and a socket; the queue's bound refuses work long before this one does.
MAX_CONNECTIONS = 4096
_BACKLOG = 2048
_MEMORY_DIRECTORY = Path("/dev/shm")
_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
_MAX_AUTO_PROCESSES = 4


logger = logging.getLogger(__name__)


def serve(settings: Settings, make_corrector: MakeCorrector) -> None:
    """Serve until a stop signal; ends in SystemExit, with 1 and a line on standard error if the port is not free.

    `make_corrector` is called in each process that serves: `queue_corrector`, or one that has the model in the process.
    """
    listeners = [bind(settings.host, settings.port)]
    if (number := num_processes(settings)) > 1:
        listeners[0].close()  # it has shown that nobody else has the port: sockets that share one would not notice
        listeners = [bind(settings.host, settings.port, is_shared=True) for _ in range(number)]
    allow_connections(MAX_CONNECTIONS)

    def load() -> Serving:
        from api.server.serving import Serving
        from api.site import create_site

        return Serving(create_site(make_corrector(settings), settings), MAX_CONNECTIONS)

    Server(_config(settings, listeners), load).run()


def num_processes(settings: Settings) -> int:
    """How many processes serve the port.

    With `auto` API processes get the cores that the workers leave: one takes half of a worker's CPU for a request. More
    than two a worker would wait for the worker, and each process costs 75 MB and four questions a second.
    """
    if not settings.uses_queue:
        return 1  # the model is in the process
    if settings.api_processes != AUTO:
        return int(settings.api_processes)
    return max(1, min(_num_cores() - settings.workers, 2 * settings.workers, _MAX_AUTO_PROCESSES))


def _num_cores() -> int:
    """The cores that this process may use, by its affinity and by the limit of its container (cgroup v2)."""
    num_allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota_us, period_us = _CPU_LIMIT.read_text().split()
        return min(num_allowed, max(1, int(quota_us) // int(period_us)))
    except (OSError, ValueError):  # no such file, or "max"
        return num_allowed


def bind(host: str, port: int, is_shared: bool = False) -> socket.socket:
    """A listening socket, or SystemExit with the reason. Connections are spread over the sockets that share a port."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        # Inherited by every connection: the events of a stream are small writes, which must not wait for an ACK.
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
    """The corrector over the queue at `settings.redis_url`; it connects with the first request."""
    from api.grammar.pipeline import TextPipeline
    from api.server.serving import let_others_go_first
    from api.service.corrector import Corrector
    from worker.queue.api_end import RedisApiMailbox
    from worker.queue.connection import Address, start_fault
    from worker.queue.protocol import MailboxLimits

    if fault := start_fault(settings.redis_url):
        logger.critical(f"cannot start: {fault}", extra={"redis_url": hide_password(settings.redis_url)})
        raise SystemExit(Arbiter.WORKER_BOOT_ERROR)
    mailbox = RedisApiMailbox(Address(settings.redis_url), MailboxLimits.from_settings(settings))
    return Corrector(TextPipeline.load(let_others_go_first, settings.strictness), mailbox, settings)


class Server(BaseApplication):
    """gunicorn's application object, which gives it its settings and what is served."""

    def __init__(self, config: dict[str, Any], load: Callable[[], Any]) -> None:
        self._config = config
        self.load = load
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._config.items():
            self.cfg.set(name, value)


def _config(settings: Settings, listeners: Sequence[socket.socket]) -> dict[str, Any]:
    return {
        "bind": [f"fd://{listener.detach()}" for listener in listeners],
        "worker_class": ApiWorker,
        "workers": len(listeners),
        "backlog": _BACKLOG,
        # The worker spends grace_s on waiting requests, and 2.3 s on 503s for the rest and its last report.
        "graceful_timeout": math.ceil(settings.grace_s) + 3,
        "worker_tmp_dir": str(_MEMORY_DIRECTORY) if os.access(_MEMORY_DIRECTORY, os.W_OK) else None,
        "control_socket_disable": True,
        "logger_class": _RootLogger,
        "loglevel": "warning",
        "pre_fork": _give_listener,
        "post_fork": _close_others,
    }


class ApiWorker(Worker):
    """One process that serves, with one event loop; its application is a `Serving`."""

    def run(self) -> None:
        signal.set_wakeup_fd(-1)  # gunicorn's; the event loop has its own
        if not self.alive:
            return
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self.wsgi.serve(self.sockets, self._look_at_master))
        except Exception:
            logger.critical("the event loop failed, and this process ends", exc_info=True)
            STDERR.drain()
            os._exit(os.EX_SOFTWARE)  # at once, whatever its threads do; gunicorn starts another

    def _look_at_master(self) -> None:
        self.notify()
        if os.getppid() != self.ppid:  # it was killed, and the port would be held for nobody
            os._exit(1)


class _RootLogger(Logger):
    """Sends gunicorn's messages to the root logger, whose handler the command line has configured."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _give_listener(arbiter: Arbiter, worker: Any) -> None:
    """Each process accepts from a listener of its own; that of a dead one, with its backlog, goes to its successor.
    While SIGHUP replaces the processes, each shares the listener of one that ends.

    With one listener for all, the process that wakes up first takes most of the connections: 45 of 64, once 16 of 16.
    """
    taken = [listener for other in arbiter.WORKERS.values() for listener in other.sockets]
    worker.sockets = [min(arbiter.LISTENERS, key=taken.count)]


def _close_others(arbiter: Arbiter, worker: Any) -> None:
    """One that stays open in this process would take connections that nobody accepts."""
    for listener in arbiter.LISTENERS:
        if listener not in worker.sockets:
            listener.sock.close()
