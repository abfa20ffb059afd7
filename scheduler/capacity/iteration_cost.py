"""What an iteration costs, learnt from those that ran: fixed + prompt x tokens read + decode x decode steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

_LEAST_NOISE = 1e-6  # of E[t^2]: even data without noise do not separate what never varied
_FAINT = (
    1e-9  # share by which a cost per token is made dearer: what it and a fixed cost explain alike is taken for fixed
)

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class IterationCost:
    """Seconds; none is negative."""

    fixed_s: float = 0.0
    prompt_s: float = 0.0  # for each prompt token
    decode_s: float = 0.0  # for each sequence that decodes

    def seconds(self, prompt_tokens: float, decodes: float) -> float:
        return self.fixed_s + self.prompt_s * prompt_tokens + self.decode_s * decodes


def fit_cost(sums: Mapping[str, float]) -> IterationCost:
    """Least squares without negative costs (Lawson & Hanson, Solving Least Squares Problems, 1974, ch. 23).

    A light load hardly shows what a second decode step adds to an iteration. So a step is taken to cost about as much
    as a prompt token, give or take as much again: a ridge (Hoerl & Kennard, Technometrics 12, 1970) of weight noise
    variance / slope^2, which loses its say as the data gain theirs.
    """
    n, t, tt = (max(0.0, sums.get(name, 0.0)) for name in ("n", "t", "tt"))
    if n < 1 or t <= 0:
        return IterationCost()
    pp, dd, pd = sums.get("pp", 0.0), sums.get("dd", 0.0), sums.get("pd", 0.0)
    p, d = sums.get("p", 0.0), sums.get("d", 0.0)
    moments = [[n, p, d], [p, pp * (1 + _FAINT), pd], [d, pd, dd * (1 + _FAINT)]]
    targets = [t, sums.get("pt", 0.0), sums.get("dt", 0.0)]
    tokens = [[n, p + d], [p + d, (pp + 2 * pd + dd) * (1 + _FAINT)]]
    _, slope = _least_squares(tokens, [t, targets[1] + targets[2]])
    noise = max(_LEAST_NOISE * tt, tt + _loss(moments, targets, _least_squares(moments, targets))) / n
    ridge = noise / slope**2 if slope**2 > 0 else 0.0
    for row, column, sign in ((1, 1, 1), (2, 2, 1), (1, 2, -1), (2, 1, -1)):
        moments[row][column] += sign * ridge
    return IterationCost(*_least_squares(moments, targets))


def _least_squares(moments: Matrix, targets: list[float]) -> list[float]:
    """The best of all solutions in which some unknowns are 0 and none is negative: there are at most seven."""
    return min(_candidates(moments, targets), key=lambda found: _loss(moments, targets, found))


def _candidates(moments: Matrix, targets: list[float]) -> Iterator[list[float]]:
    yield [max(0.0, targets[0] / moments[0][0]), *[0.0] * (len(targets) - 1)]
    for size in range(1, len(targets) + 1):
        for free in combinations(range(len(targets)), size):
            found = _solve([[moments[i][j] for j in free] for i in free], [targets[i] for i in free])
            if found and min(found) >= 0:
                yield [found[free.index(i)] if i in free else 0.0 for i in range(len(targets))]


def _loss(moments: Matrix, targets: list[float], found: list[float]) -> float:
    """Sum of squares, less that of the times themselves."""
    at = range(len(found))
    return sum(found[i] * (sum(moments[i][j] * found[j] for j in at) - 2 * targets[i]) for i in at)


def _solve(matrix: Matrix, right: list[float]) -> list[float] | None:
    """Gauss without pivoting: the matrix is symmetric and positive, or there is no solution to speak of."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for at, pivot in enumerate(rows):
        if pivot[at] <= 1e-12 * matrix[at][at] or matrix[at][at] <= 0:
            return None
        for other in rows[at + 1 :]:
            factor = other[at] / pivot[at]
            for column in range(at, len(other)):
                other[column] -= factor * pivot[column]
    found: list[float] = []
    for at in reversed(range(len(rows))):
        known = sum(rows[at][at + 1 + i] * value for i, value in enumerate(found))
        found.insert(0, (rows[at][-1] - known) / rows[at][at])
    return found
