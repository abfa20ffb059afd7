"""One `miniserve eval`: the files, the product, the results, and their report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import click

from ops.training.evaluation.items import Item, read_items
from ops.training.evaluation.product import ProductCorrector
from ops.training.evaluation.report import as_document, format_misses, format_table
from ops.training.evaluation.scores import Result, Scores, evaluate, score
from scheduler.settings import Settings
from worker.model.weights import Weights

_LONG = 1_000  # sentences, some seconds


class EvaluationRun:
    """All files are read before the first sentence is corrected, so that a bad line shows at once."""

    def __init__(self, corrector: ProductCorrector, items: dict[Path, list[Item]]) -> None:
        self._corrector = corrector
        self._items = items
        self._results: dict[Path, list[Result]] = {}

    @classmethod
    def load(cls, settings: Settings, files: Sequence[Path], weights: Weights | None = None) -> EvaluationRun:
        """Raises WeightsError, and ValueError for a file with a bad line or without any."""
        items = {path: read_items(path) for path in files}
        for path, found in items.items():
            if not found:
                raise ValueError(f"{path} holds no sentence to score; write at least one line")
        return cls(ProductCorrector(settings, weights), items)

    def correct(self, progress: TextIO) -> None:
        """Correct everything; on a terminal a bar shows how far it is."""
        num_items = sum(map(len, self._items.values()))
        is_hidden = num_items < _LONG or not progress.isatty()
        with click.progressbar(length=num_items, label="sentences", file=progress, hidden=is_hidden) as bar:
            for path, items in self._items.items():
                self._results[path] = list(_counted(evaluate(items, self._corrector), bar.update))

    @property
    def results(self) -> Iterator[Result]:
        """Those of all files."""
        return chain.from_iterable(self._results.values())

    def as_document(self) -> dict[str, object]:
        """The scores over all files; of several files also those of each."""
        document = {"strictness": self._corrector.strictness} | as_document(self._all_scores())
        if len(self._results) > 1:
            document["files"] = {str(path): as_document(score(found)) for path, found in self._results.items()}
        return document

    def format(self, kinds: Sequence[str]) -> str:
        """The same for people, with the misses of these kinds before the table of their file."""
        parts = [f"strictness {self._corrector.strictness:g}\n"]
        for path, results in self._results.items():
            parts += [f"{path}\n"] if len(self._results) > 1 else []
            parts += [*format_misses(results, kinds), format_table(score(results)) + "\n"]
        if len(self._results) > 1:
            parts += ["all files\n", format_table(self._all_scores()) + "\n"]
        return "\n".join(parts).rstrip("\n")

    def _all_scores(self) -> Scores:
        total = Scores()
        for results in self._results.values():
            total.join(score(results))
        return total


def _counted(results: Iterable[Result], count: object) -> Iterator[Result]:
    for result in results:
        count(1)
        yield result
