"""Asking the mailbox how it is, without being held up by a Redis that hangs."""

from __future__ import annotations

import threading

from worker.mailbox.protocol import ApiMailbox, MailboxStatus


class Probe:
    """Asks the mailbox for its status in a thread of its own, one at a time: a hung Redis holds up one thread."""

    def __init__(self, mailbox: ApiMailbox, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._pending: _Asking | None = None

    def status(self) -> MailboxStatus | None:
        """None if there is no answer in time."""
        with self._lock:
            if self._pending is None or self._pending.done.is_set():
                self._pending = _Asking(self._mailbox)
            asking = self._pending
        return asking.answer if asking.done.wait(self.timeout_s) else None


class _Asking:
    """One question on its way."""

    def __init__(self, mailbox: ApiMailbox) -> None:
        self.done = threading.Event()
        self.answer: MailboxStatus | None = None
        threading.Thread(target=self._ask, args=(mailbox,), name="readiness", daemon=True).start()

    def _ask(self, mailbox: ApiMailbox) -> None:
        try:
            self.answer = mailbox.status()
        finally:
            self.done.set()
