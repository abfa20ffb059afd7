"""What `miniserve doctor` looks at on a machine before any server: packages, model, its kernels, temporary files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions, version

import redis

from miniserve import PACKAGES, REMEDY, foreign_package
from ops.run import kernels
from ops.run.model_facts import read_model_facts
from ops.run.temporary_files import NAME_ONE, NO_FOLDER, temporary_fault
from worker.model.weights import DEFAULT_PATH, digest, load_weights
from worker.queue.redis_py import client_fault

_OURS = "miniserve"  # the name of our distribution


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, what is so, and what to do where that is wrong."""

    check: str
    found: str
    remedy: str = ""  # empty: all is well

    @property
    def row(self) -> tuple[str, str, str]:
        return "FAULT" if self.remedy else "ok", self.check, ": ".join(filter(None, [self.found, self.remedy]))


def looks_at_machine() -> Iterator[Finding]:
    yield _packages()
    yield _redis_py()
    yield _event_loop()
    yield (model := _model())
    if not model.remedy:
        yield _kernels()
    yield _temporary()


def _packages() -> Finding:
    """The command itself has looked whether the packages are ours; here, whether anybody else owns their files."""
    owners = packages_distributions()
    shared = {f"`{name}` is also of {owner}" for name in PACKAGES for owner in owners.get(name, ()) if owner != _OURS}
    if fault := foreign_package() or ", ".join(sorted(shared)):
        return Finding("packages", fault, REMEDY)
    return Finding("packages", f"{', '.join(PACKAGES)} are ours")


def _redis_py() -> Finding:
    found, _, remedy = client_fault().partition(": ")
    return Finding("redis-py", found or redis.__version__, remedy)


def _event_loop() -> Finding:
    """The API serves with uvloop wherever it can be imported; without it answers are the same."""
    try:
        import uvloop
    except ImportError:
        return Finding("event loop", "asyncio serves; `pip install uvloop` makes a request cheaper")
    return Finding("event loop", f"uvloop {version(uvloop.__name__)} serves")


def _model() -> Finding:
    stated = DEFAULT_PATH.with_suffix(".sha256")
    try:
        facts, found = read_model_facts(), digest(DEFAULT_PATH)
        wanted = stated.read_text().split()[0]
    except (OSError, ValueError, IndexError) as error:
        return Finding("model", f"cannot be read ({error})", "install miniserve again")
    if found != wanted:
        return Finding(
            "model", f"sha256 {found[:16]}..., {stated.name} states {wanted[:16]}...", "install miniserve again"
        )
    return Finding("model", f"{facts.num_parameters / 1e6:.2f} M parameters, sha256 {found[:16]}... as shipped")


def _kernels() -> Finding:
    """Whether a sentence gets the same answer alone and in a batch."""
    found = kernels.check_batch_invariance(load_weights(DEFAULT_PATH))
    return Finding("matrix kernels", found, kernels.REMEDY if found is kernels.BatchInvariance.TOKENS_DIFFER else "")


def _temporary() -> Finding:
    if fault := temporary_fault():
        return Finding("temporary files", f"{NO_FOLDER} ({fault})", NAME_ONE)
    return Finding("temporary files", tempfile.gettempdir())
