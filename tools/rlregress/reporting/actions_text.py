"""``rlregress study actions``: the thesis' figure 14, and its numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rlregress.model.executed_actions import HIGH, LOW, Actions

_BINS = 60


def _at_bounds(actions: Actions) -> float:
    return float(np.mean((actions.executed <= LOW) | (actions.executed >= HIGH)))


def lines(found: Sequence[Actions]) -> Iterator[str]:
    """One line for each framework and mean."""
    for actions in found:
        yield (
            f"{actions.framework}, mean {actions.mean:g}, variance {actions.variance:g}: "
            f"{len(actions.executed)} actions of mean {actions.executed.mean():.3f} and deviation "
            f"{actions.executed.std():.3f}, {_at_bounds(actions):.1%} at a bound; deterministic "
            f"{actions.deterministic:.3f}"
        )


def as_plain(found: Sequence[Actions]) -> list[dict[str, Any]]:
    """As plain data: what is drawn, in numbers."""
    return [
        {
            "framework": actions.framework,
            "mean": actions.mean,
            "variance": actions.variance,
            "actions": len(actions.executed),
            "executed_mean": float(actions.executed.mean()),
            "executed_deviation": float(actions.executed.std()),
            "share_at_bounds": _at_bounds(actions),
            "deterministic": actions.deterministic,
            "histogram": np.histogram(actions.executed, _BINS, (LOW, HIGH))[0].tolist(),
        }
        for actions in found
    ]


def figure(found: Sequence[Actions]) -> str:
    """Figure 14 of the thesis as SVG: a row for each framework, a column for each mean."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(actions.framework for actions in found))
    columns = list(dict.fromkeys(actions.mean for actions in found))
    page = Figure(figsize=(4.0 * len(columns), 2.4 * len(rows)), layout="constrained")
    cells = page.subplots(len(rows), len(columns), squeeze=False, sharex=True)
    for row in found:
        cell = cells[rows.index(row.framework)][columns.index(row.mean)]
        cell.hist(row.executed, _BINS, range=(LOW, HIGH), density=True, color="#8fb8de")
        cell.axvline(row.executed.mean(), ymax=0.35, color="#1b3a5c", label="mean")
        cell.axvline(row.deterministic, color="#b03a2e", ls="--", label="deterministic action")
        cell.set_title(
            f"{row.framework}: mean {row.mean:g}, variance {row.variance:g}", fontsize="small"
        )
        cell.set_yticks([])
    for cell in cells[-1]:
        cell.set_xlabel("executed action", fontsize="small")
    cells[0][0].legend(fontsize="x-small")
    drawn = io.StringIO()
    page.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
