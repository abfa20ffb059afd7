"""Posting alerts to a webhook, in a thread of its own: the caller never waits for the other side.

Payloads go out one after the other, each at least once: an answer that is lost makes it go out again, with the same
`id`. What the other side refuses for good (4xx) is given up at once, all else after the last attempt, and the log says
so. The URL may be a secret: nothing here ever shows more of it than where it leads.
"""

from __future__ import annotations

import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

from scheduler.web_urls import hide_secret

logger = logging.getLogger(__name__)

TIMEOUT_S = 5.0
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0)  # before each further attempt
MOST_WAITING = 100
_WORTH_ANOTHER = (408, 425, 429)  # of 4xx


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A POST that is sent elsewhere arrives there as a GET, without its payload."""

    def redirect_request(self, *_: object) -> None:
        return None


class Webhook:
    """Posts what it is given, in a thread that ends with the process."""

    def __init__(self, url: str, pauses_s: Sequence[float] = PAUSES_S, most_waiting: int = MOST_WAITING) -> None:
        self._url, self._pauses_s = url, pauses_s
        self._waiting: Queue[Mapping[str, Any]] = Queue(most_waiting)
        self._closing = threading.Event()
        self._opener = urllib.request.build_opener(_NoRedirects)
        threading.Thread(target=self._run, name="webhook", daemon=True).start()

    def post(self, payload: Mapping[str, Any]) -> None:
        """Returns at once. Beyond the bound the oldest is given up: the newest says how things stand."""
        if self._waiting.full():
            with suppress(Empty):
                self._end(self._waiting.get_nowait(), f"{self._waiting.maxsize} newer ones wait")
        self._waiting.put_nowait(payload)

    def close(self, patience_s: float) -> None:
        """What waits is tried once more, for so long at most."""
        self._closing.set()
        with self._waiting.all_tasks_done:
            self._waiting.all_tasks_done.wait_for(lambda: not self._waiting.unfinished_tasks, patience_s)
        if number := self._waiting.unfinished_tasks:
            logger.warning("alerts not posted", extra={"webhook": hide_secret(self._url), "number": number})

    def _run(self) -> None:
        while True:
            payload, why_not = self._waiting.get(), ""
            for pause_s in (*self._pauses_s, 0.0):
                is_over, why_not = self._send(json.dumps(payload).encode())
                if is_over or self._closing.wait(pause_s):
                    break
            self._end(payload, why_not)

    def _send(self, body: bytes) -> tuple[bool, str]:
        """Whether no other attempt would help, and what went wrong; of an exception, whose text may hold the URL, the
        type."""
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        try:
            self._opener.open(request, timeout=TIMEOUT_S).close()
            return True, ""
        except urllib.error.HTTPError as error:
            error.close()
            return 400 <= error.code < 500 and error.code not in _WORTH_ANOTHER, f"it answers {error.code}"
        except Exception as error:  # whatever it is, the alerts after this one go out
            reason = getattr(error, "reason", error)
            return False, type(reason if isinstance(reason, Exception) else error).__name__

    def _end(self, payload: Mapping[str, Any], why_not: str) -> None:
        """It is posted, or given up."""
        if why_not:
            about = {"alert": payload.get("alert"), "status": payload.get("status"), "reason": why_not}
            logger.error("alert not posted", extra={"webhook": hide_secret(self._url), **about})
        self._waiting.task_done()
