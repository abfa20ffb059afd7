"""What a request keeps in memory at its peak is a bounded multiple of the longest body, whatever it holds."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

import api.languagetool.answer as answer_module
from tests.loop_holds import BODY_BYTES, REQUESTS, run, site

MOST_TIMES = 40
MOST_TIMES_OF_EDITS = 120  # 23,000 of them, three times as many as the model can make of the longest text
SHARES = {  # of the longest body, for what takes long
    "an editor's sentences": 8, "an editor's parts": 1, "an editor's emoji": 1, "an editor's empty parts": 1,
    "objects": 1, "sentences": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def app() -> Any:
    app = site(lambda: None)
    run(app, REQUESTS["sentences"](BODY_BYTES))  # what is loaded with the first request
    return app


@pytest.mark.parametrize("name", SHARES)
def test_no_request_takes_more_memory_than_a_multiple_of_its_body(
    name: str, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = SHARES[name]
    monkeypatch.setattr(answer_module, "MOST_BYTES", answer_module.MOST_BYTES // share)
    builder = REQUESTS[name](BODY_BYTES // share)

    gc.collect()
    tracemalloc.start()
    try:
        run(app, builder)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes <= (MOST_TIMES_OF_EDITS if name == "sentences" else MOST_TIMES) * BODY_BYTES // share
