"""The same corrector behind other servers: `python -m ops.bench.peer_servers mosec|litserve WORKERS PORT`.

Runs in an environment of its own, with the packages of `miniserve[peers]`. Both collect up to 32 requests for at most
5 ms. Their answers are those of `POST /correct`, without what miniserve has around them: a queue that outlives the
process, deadlines, metrics, a line of log for each request.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import litserve
import mosec

from api.http.replies import answer_text
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings

_MAX_BATCH = 32
_MAX_WAIT_MS = 5


class MosecCorrector(mosec.Worker):
    """One process of Mosec's."""

    def __init__(self) -> None:
        self._corrector = OfflineCorrector.load(Settings.from_env({}))

    def forward(self, data: list[dict[str, Any]]) -> list[str]:
        return [answer_text(one) for one in _corrected(self._corrector, data)]

    def serialize(self, data: str) -> bytes:
        return data.encode()


class LitServeCorrector(litserve.LitAPI):
    """One process of LitServe's; its batches are lists as they come, and go."""

    def setup(self, device: str) -> None:
        self._corrector = OfflineCorrector.load(Settings.from_env({}))

    def batch(self, inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return inputs

    def predict(self, x: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [json.loads(answer_text(one)) for one in _corrected(self._corrector, x)]

    def unbatch(self, output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return output


def _corrected(corrector: OfflineCorrector, bodies: list[dict[str, Any]]) -> list[Any]:
    return corrector.correct([body["sentence"] for body in bodies])


def _serve_mosec(workers: int, port: int) -> None:
    sys.argv = ["mosec", "--address", "127.0.0.1", "--port", str(port)]  # it reads them itself
    server = mosec.Server()
    server.append_worker(MosecCorrector, num=workers, max_batch_size=_MAX_BATCH, max_wait_time=_MAX_WAIT_MS)
    server.run()


def _serve_litserve(workers: int, port: int) -> None:
    api = LitServeCorrector(max_batch_size=_MAX_BATCH, batch_timeout=_MAX_WAIT_MS / 1000)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=workers, restart_workers=True)
    server.run(host="127.0.0.1", port=port, generate_client_file=False, log_level="warning", access_log=False)


if __name__ == "__main__":
    {"mosec": _serve_mosec, "litserve": _serve_litserve}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))
