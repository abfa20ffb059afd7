"""Scores and misses of an evaluation, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from math import sqrt
from pathlib import Path

from ops.evaluation.scores import ReasonScores, Result, Scores
from ops.tables import table

_SHARES = ("exact", "tagged", "false_positives", "precision", "recall", "f05", "calibration_error")


def as_document(scores: Scores) -> dict[str, object]:
    """Shares and counts; by reason only those that the file or the corrector names."""
    counts = [spec.name for spec in fields(scores) if spec.name.startswith("num_")]
    reasons = {
        reason.value: {"recall": one.recall, "precision": one.precision} | asdict(one)
        for reason, one in scores.reasons.items()
        if not one.is_empty()
    }
    return {name: getattr(scores, name) for name in (*_SHARES, *counts)} | {
        "kinds": {name: {"f05": one.f05} | asdict(one) for name, one in scores.kinds.items()}, "reasons": reasons,
        "confidences": _by_confidence(scores),
    }  # fmt: skip


def _by_confidence(scores: Scores) -> list[tuple[float, int, int]]:
    """The mean confidence, how many edits, and how many right ones, by tenths."""
    tenths = [one for _, one in sorted(scores.confidences.items())]
    return [(round(one.confidence / one.num_made, 3), one.num_made, one.num_right) for one in tenths]


def format_table(scores: Scores) -> str:
    """Each share with its counts."""
    rows = [
        ("exact match", scores.exact, scores.num_exact, scores.num_wrong, "wrong sentences"),
        ("exact, reasons right", scores.tagged, scores.num_tagged, scores.num_with_reasons, "wrong sentences"),
        ("false positives", scores.false_positives, scores.num_false_positives, scores.num_clean, "clean sentences"),
        ("precision", scores.precision, scores.num_right_edits, scores.num_edits, "edits made"),
        ("recall", scores.recall, scores.num_right_edits, scores.num_gold_edits, "edits wanted"),
    ]
    shares = [
        (name, f"{share:.1%}", f"{count} of {total} {of}, 95 %: {_interval(count, total)}")
        for name, share, count, total, of in rows
        if total
    ]
    shares.append(("F0.5", f"{scores.f05:.1%}", ""))
    shares.append(
        ("calibration error", f"{scores.calibration_error:.3f}", "confidence against the share that is right")
    )
    shares.append(("malformed outputs", f"{scores.num_malformed_outputs}", ""))
    if scores.num_refused:
        shares.append(("refused", f"{scores.num_refused}", "sentences over the limits, counted as unchanged"))
    named = [_reason_row(reason.value, one) for reason, one in scores.reasons.items() if not one.is_empty()]
    headings = ("by reason", ">mistakes mended", ">edits right", ">on clean text")
    by_reason = ["", table(headings, named)] if named else []
    kinds = [(name, *_reason_row(name, one)[1:3], f"{one.f05:.1%}") for name, one in sorted(scores.kinds.items())]
    by_reason += ["", table(("by kind of verb error", ">mended", ">edits right", ">F0.5"), kinds)] if kinds else []
    shown = [(f"{each:g}", f"{right}/{made} {right / made:.1%}") for each, made, right in _by_confidence(scores)]
    by_confidence = ["", table(("confidence", ">edits right"), shown)] if shown else []
    return "\n".join([table(("", ">", ""), shares), *by_reason, *by_confidence])


def draw_reliability(scores: Scores, path: Path) -> None:
    """The share of edits that are right against their confidence. Needs matplotlib."""
    from ops.bench.figures import COLOURS, figure

    rows = _by_confidence(scores)
    with figure(path, f"{sum(made for _, made, _ in rows)} edits by their confidence", width=5.5) as axes:
        axes.plot([0, 1], [0, 1], color=COLOURS["text"], linewidth=0.8, linestyle=":")
        for confidence, made, right in rows:
            low, high = _wilson(right, made)
            axes.plot([confidence] * 2, [low, high], color=COLOURS["idle"], linewidth=3)
            axes.plot(confidence, right / made, "o", color=COLOURS["static"])
            axes.annotate(str(made), (confidence, high), ha="center", va="bottom", fontsize=7)
        axes.set(xlabel="confidence", ylabel="share of the edits that are right", xlim=(0, 1), ylim=(0, 1.05))


def _interval(count: int, total: int) -> str:
    """Where the share of all such sentences lies in 19 of 20 samples (Wilson, 1927)."""
    return " to ".join(f"{100 * end:.1f}" for end in _wilson(count, total))


def _wilson(count: int, total: int) -> tuple[float, float]:
    z, share = 1.96, count / total
    centre, spread = share + z * z / (2 * total), z * sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    low, high = ((centre + sign * spread) / (1 + z * z / total) for sign in (-1, 1))
    return max(0.0, low), high  # without a count the lower is a rounding error


def _reason_row(name: str, one: ReasonScores) -> tuple[str, ...]:
    pairs = ((one.num_mended, one.num_wanted), (one.num_right, one.num_made))
    cells = [f"{count}/{total} {count / total:.1%}" if total else "-" for count, total in pairs]
    return (name, *cells, f"{one.num_false or '-'}")


def format_misses(results: Iterable[Result], kinds: Iterable[str]) -> Iterator[str]:
    """The misses of these kinds: `wrong` sentences not mended exactly, clean ones `changed`."""
    wanted = set(kinds)
    for result in results:
        if result.is_miss and ("changed" if result.item.is_clean else "wrong") in wanted:
            yield _miss(result)


def _miss(result: Result) -> str:
    item, answer = result.item, result.answer
    made = ", ".join(edit.reason.value for edit in answer.edits)
    ours = "refused" if answer.is_refused else answer.corrected if made else "no change"
    lines = [f"sentence  {item.sentence}", f"ours      {ours}" + (f"   [{made}]" if made else "")]
    if not item.is_clean:
        reasons = ", ".join(reason.value for reason in item.reasons or ())
        lines.append(f"wanted    {item.corrected}" + (f"   [{reasons}]" if reasons else ""))
    return "\n".join([*lines, ""])
