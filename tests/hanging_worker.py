"""A real worker whose loop hangs from SIGUSR1 to SIGUSR2 while its process and its heartbeat go on."""

from __future__ import annotations

import os
import signal
import time

from api.grammar.tokenizer import Tokenizer
from ops.run.faults import Fault
from scheduler.settings import Settings
from worker import process

_is_hanging = False


def hang(*_: object) -> None:
    """A signal's handler runs in the thread of the loop."""
    global _is_hanging
    _is_hanging = True
    while _is_hanging:
        time.sleep(0.01)


def go_on(*_: object) -> None:
    global _is_hanging
    _is_hanging = False


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, hang)
    signal.signal(signal.SIGUSR2, go_on)
    settings = Settings.from_env(os.environ)
    process.serve(settings, Tokenizer.load().fingerprint, Fault().worker)
