"""``rlregress study actions``: the thesis' figure 14, and its numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlregress.model.actions import HIGH, LOW, Actions

_BINS = 60


def _at_bounds(actions: Actions) -> float:
    return float(np.mean((actions.executed <= LOW) | (actions.executed >= HIGH)))


def lines(found: Sequence[Actions]) -> Iterator[str]:
    """One line for each framework and mean."""
    for each in found:
        yield (
            f"{each.framework}, mean {each.mean:g}, variance {each.variance:g}: "
            f"{len(each.executed)} actions of mean {each.executed.mean():.3f} and deviation "
            f"{each.executed.std():.3f}, {_at_bounds(each):.1%} at a bound; deterministic "
            f"{each.deterministic:.3f}"
        )


def as_plain(found: Sequence[Actions]) -> list[dict[str, Any]]:
    """As plain data: what is drawn, in numbers."""
    return [
        {
            "framework": each.framework,
            "mean": each.mean,
            "variance": each.variance,
            "actions": len(each.executed),
            "executed_mean": float(each.executed.mean()),
            "executed_deviation": float(each.executed.std()),
            "share_at_bounds": _at_bounds(each),
            "deterministic": each.deterministic,
            "histogram": np.histogram(each.executed, _BINS, (LOW, HIGH))[0].tolist(),
        }
        for each in found
    ]


def figure(found: Sequence[Actions]) -> str:
    """Figure 14 of the thesis as SVG: a row for each framework, a column for each mean."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(each.framework for each in found))
    columns = list(dict.fromkeys(each.mean for each in found))
    page = Figure(figsize=(4.0 * len(columns), 2.4 * len(rows)), layout="constrained")
    cells = page.subplots(len(rows), len(columns), squeeze=False, sharex=True)
    for each in found:
        cell = cells[rows.index(each.framework)][columns.index(each.mean)]
        cell.hist(each.executed, _BINS, range=(LOW, HIGH), density=True, color="#8fb8de")
        cell.axvline(each.executed.mean(), ymax=0.35, color="#1b3a5c", label="mean")
        cell.axvline(each.deterministic, color="#b03a2e", ls="--", label="deterministic action")
        cell.set_title(
            f"{each.framework}: mean {each.mean:g}, variance {each.variance:g}", fontsize="small"
        )
        cell.set_yticks([])
    for cell in cells[-1]:
        cell.set_xlabel("executed action", fontsize="small")
    cells[0][0].legend(fontsize="x-small")
    drawn = io.StringIO()
    page.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
