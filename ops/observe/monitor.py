"""`miniserve monitor`: looks at the whole system four times a second and says when an alert is raised or cleared.

It says so in the log and to a webhook; how it stands at any time is in `miniserve top` and GET /metrics. Alerts live
here: a second monitor would send every alert twice, and a restarted one sends again what is still wrong.
"""

from __future__ import annotations

import faulthandler
import logging
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from ops.observe.webhook import Webhook
from ops.options import PROCESS_SETTINGS, check_redis, with_settings
from ops.run.supervisor import Signals
from scheduler.capacity.alerts import Alerts, Change
from scheduler.capacity.measure import measure
from scheduler.capacity.observed import Observed
from scheduler.capacity.rules import Severity
from scheduler.settings import Settings
from scheduler.urls import hide_password
from scheduler.web_urls import hide_secret
from worker.queue.protocol import MailboxDown

logger = logging.getLogger(__name__)

EVERY_S = 0.25  # a dead worker counts as live for 2.5 s; its alert is due within 3
LONGEST_LOOK_S = 30.0  # one takes milliseconds, and up to four seconds where Redis hangs
_LAST_POSTS_S = 1.0
PAYLOAD_VERSION = 1
_LOGGED = ("alert", "severity", "value", "limit", "sentence", "runbook")  # of a payload


@click.command()
@with_settings(*PROCESS_SETTINGS["monitor"], is_redis_required=True)
def monitor(settings: Settings) -> None:
    """Watch the system, and report to the log and a webhook when an alert is raised or cleared.

    Run exactly one for a system: a second duplicates every alert. No request depends on it. docs/operations.md says
    what each alert means and what to do. The URL of a webhook is often secret: set it by its variable, because `ps`
    shows options.
    """
    from ops.run import logs
    from worker.queue.connection import Address
    from worker.queue.redis_observer import SystemReader

    logs.never_wait_for_readers()
    logs.configure(settings, "monitor")
    check_redis(settings)
    raise SystemExit(run(settings, SystemReader(Address(settings.redis_url)).observe))


def run(settings: Settings, observe: Callable[[], Observed]) -> int:
    """Watch until SIGTERM or SIGINT; return the exit status."""
    webhook = Webhook(settings.alert_webhook) if settings.alert_webhook else None
    watch = Watch(observe, settings, webhook.post if webhook is not None else lambda _: None)
    where = hide_secret(settings.alert_webhook) if webhook is not None else None
    about = {"redis": hide_password(settings.redis_url), "slo_ms": settings.slo_ms, "webhook": where}
    logger.info("watching", extra=about)
    with Signals() as signals:
        while not signals.num_stops:
            started_s = time.monotonic()
            # Who hangs ends with a traceback, and is started again.
            faulthandler.dump_traceback_later(LONGEST_LOOK_S, exit=True, file=2)
            watch.look(started_s)
            signals.wait(started_s + EVERY_S - time.monotonic())
    faulthandler.cancel_dump_traceback_later()
    if webhook is not None:
        webhook.close(_LAST_POSTS_S)
    logger.info("stopped")
    return 0


class Watch:
    """One look after the other; reports what has changed."""

    def __init__(
        self, observe: Callable[[], Observed], settings: Settings, post: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """`observe` raises MailboxDown where Redis does not answer."""
        self._observe = observe
        self._settings = settings
        self._post = post
        self._alerts = Alerts(settings)

    def look(self, now: float) -> None:
        """`now` of a monotonic clock."""
        observed, capacity = None, None
        try:
            observed = self._observe()
            capacity = measure(observed, self._settings)
        except MailboxDown:
            pass  # that is an alert, too
        for change in self._alerts.evaluate(observed, capacity, now):
            self._report(change)

    def _report(self, change: Change) -> None:
        payload = payload_of(change, datetime.now(UTC))
        is_error = change.is_raised and change.rule.severity is Severity.CRITICAL
        level = logging.ERROR if is_error else logging.WARNING
        logger.log(level, f"alert {payload['status']}", extra={name: payload[name] for name in _LOGGED})
        self._post(payload)


def payload_of(change: Change, now: datetime) -> dict[str, Any]:
    """What a webhook gets; docs/operations.md says what each field is. Chat services show `text`."""
    rule, status = change.rule, "raised" if change.is_raised else "cleared"
    about = f"{change.sentence} See {rule.runbook}." if change.is_raised else change.sentence
    return {
        "version": PAYLOAD_VERSION,
        "id": secrets.token_hex(8),
        "text": f"miniserve {rule.severity.value} {status}: {rule.name}. {about}",
        "status": status,
        "alert": rule.name,
        "severity": rule.severity.value,
        "sentence": change.sentence,
        "value": round(change.value, 4),
        "limit": rule.bars.raise_above,
        "held_s": round(change.held_s, 1),
        "at": now.isoformat(timespec="milliseconds"),
        "host": socket.gethostname(),
        "runbook": rule.runbook,
    }
