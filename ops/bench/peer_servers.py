"""The same corrector behind Mosec: `python -m ops.bench.peer_servers WORKERS PORT`.

Runs in an environment of its own, with the packages of `miniserve[peers]`. It collects up to 32 requests for at most
5 ms. Its answers are those of `POST /correct`, without what miniserve has around them: a queue that outlives the
process, deadlines, metrics, a line of log for each request.
"""

from __future__ import annotations

import sys
from typing import Any

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
        corrected: list[Any] = self._corrector.correct([body["sentence"] for body in data])
        return [answer_text(one) for one in corrected]

    def serialize(self, data: str) -> bytes:
        return data.encode()


def _serve(workers: int, port: int) -> None:
    sys.argv = ["mosec", "--address", "127.0.0.1", "--port", str(port)]  # it reads them itself
    server = mosec.Server()
    server.append_worker(MosecCorrector, num=workers, max_batch_size=_MAX_BATCH, max_wait_time=_MAX_WAIT_MS)
    server.run()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
