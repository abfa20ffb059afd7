"""What things cost on a machine, in seconds of CPU: the file that `miniserve calibrate` writes and `plan` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import click
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from scheduler.observations import DECODE_WORK

DEFAULT_FILE = Path("calibration.json")
SHIPPED = Path(__file__).with_name("calibration.json")  # of the machine that the documents name
VERSION: Final = 2
_CHECKED = ConfigDict(extra="forbid")
Seconds = Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]


class CostsError(click.UsageError):
    """The file cannot be used, and why."""


@dataclass(frozen=True, slots=True, config=_CHECKED)
class WorkerCost:
    """An iteration of a worker, with its exchange with Redis: a + c w, as in `scheduler.capacity`."""

    iteration_s: Seconds
    unit_s: Seconds  # each prompt token, and DECODE_WORK times it a sequence that decodes

    def seconds(self, prompt_tokens: float, num_decodes: float) -> float:
        return self.iteration_s + self.unit_s * (prompt_tokens + DECODE_WORK * num_decodes)


@dataclass(frozen=True, slots=True, config=_CHECKED)
class StageCost:
    """A process that serves one thing after the other, while it has much to do: it then sleeps and wakes less often."""

    request_s: Seconds
    sentence_s: Seconds  # each sentence of the request

    def of_request(self, num_sentences: float) -> float:
        return self.request_s + self.sentence_s * num_sentences


@dataclass(frozen=True, slots=True, config=_CHECKED)
class Calibration:
    """One machine."""

    version: Literal[2]
    machine: str
    commit: str
    date: str
    worker: WorkerCost
    api: StageCost
    redis: StageCost
    hop_s: Seconds  # until a process that was woken runs


_ADAPTER = TypeAdapter(Calibration)


def read(path: Path) -> Calibration:
    """Raises CostsError, which names the fault and the remedy."""
    remedy = f"run `miniserve calibrate --save {path}`"
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise CostsError(f"{path} cannot be read ({error.strerror}): {remedy}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        problem = f"{place}: {first['msg']}, not {str(first['input'])[:40]!r}"
        raise CostsError(f"{path} is no calibration of version {VERSION} ({problem}): {remedy}") from None


def write(path: Path, calibration: Calibration) -> None:
    path.write_bytes(_ADAPTER.dump_json(calibration, indent=2) + b"\n")
