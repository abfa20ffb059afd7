"""Samples where a `miniserve api` or `miniserve worker` spends CPU time; `ops.bench.profile` puts it on PYTHONPATH.

The kernel's profiling timer counts the CPU time of the process, not the time of day: a thread that sleeps, or waits for
a core, is not sampled for it. Each sample adds a line for every thread that ran since the last one: the microseconds
that it used, then its frames from the innermost outwards. Frames are `file:function`.
"""

import atexit
import os
import signal
import sys
import time
from _thread import get_ident
from contextlib import suppress
from importlib import import_module

_EVERY_S = 0.005  # of CPU time; the kernel rounds it up to its tick
_FOLDER = os.environ.get("PROFILE_FOLDER")
_COUNTING = (  # what PROFILE_WITHOUT_METRICS=1 switches off; a name that is gone is an error
    (("scheduler.observations",), "Observations", ("note_iteration", "note_held")),
    (("api.telemetry.recorder",), "RequestRecorder", ("finish", "finish_stream")),
)


class _Sampler:
    def __init__(self) -> None:
        path = os.path.join(_FOLDER, f"{os.getpid()}.samples")
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._used_s: dict[int, float] = {}  # CPU seconds of each thread at the last sample

    def __call__(self, _: int, interrupted: object) -> None:
        lines = []
        for ident, frame in sys._current_frames().items():
            used_s = time.clock_gettime(time.pthread_getcpuclockid(ident))
            us = 1e6 * (used_s - self._used_s.get(ident, used_s))
            self._used_s[ident] = used_s
            if us > 0:
                frames = interrupted if ident == get_ident() else frame
                lines.append(f"{us:.0f};{_stack(frames)}\n")
        os.write(self._file, "".join(lines).encode())


def _stack(frame: object) -> str:
    names = []
    while frame is not None:
        code = frame.f_code
        names.append(f"{code.co_filename}:{code.co_qualname}{_batch(frame)}")
        frame = frame.f_back
    return ";".join(names)


def _batch(frame: object) -> str:
    """How many sequences an iteration prefills and decodes: the stack alone does not tell the two apart."""
    plan = frame.f_locals.get("plan") if frame.f_code.co_name == "step" else None
    return f"[{len(plan.prefills)}+{len(plan.decodes)}]" if plan is not None else ""


def _start() -> None:
    signal.signal(signal.SIGPROF, _Sampler())
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)  # Python takes the handler away before it ends


def _count_nothing() -> None:
    try:
        for modules, owner, methods in _COUNTING:
            owner = getattr(_first(modules), owner)
            for method in methods:
                getattr(owner, method)
                setattr(owner, method, lambda *_, **__: None)
    except (ImportError, AttributeError) as error:
        raise SystemExit(f"PROFILE_WITHOUT_METRICS: {error}") from None  # anything else would only be printed


def _first(modules: tuple[str, ...]) -> object:
    for name in modules:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise ImportError(f"there is no {' or '.join(modules)}")


if _FOLDER and {"api", "worker"} & set(sys.orig_argv):
    os.register_at_fork(after_in_child=_start)  # gunicorn's processes: timers do not survive a fork
    _start()
    if os.environ.get("PROFILE_WITHOUT_METRICS"):
        _count_nothing()
