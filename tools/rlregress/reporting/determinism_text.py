"""``rlregress study determinism``: the table, and the figure of the paper."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from rlregress.model.chance_spread import Spread
from rlregress.reporting import tables

#: framework's title -> group -> what its source of chance causes
Found = Mapping[str, Mapping[str, Spread]]

#: the group in which nothing is varied
HELD = "deterministic"
_HEAD = (
    "framework", "varied", "runs", "weights", "score", "deviation", "mean maximum Q", "deviation",
)  # fmt: skip


def weights(found: Spread) -> str:
    """Whether the trainings of a group end with the same weights, and from when on they differ."""
    if found.parted is None:
        return "identical"
    return f"{found.distinct} different, from step {found.parted} on"


def cells(found: Found) -> tuple[tuple[str, ...], list[list[str]]]:
    """Heads, and a row for each framework and group, of the last checkpoint."""
    return _HEAD, [
        [
            framework, "nothing" if group == HELD else group, str(spread.runs), weights(spread),
            f"{spread.score_mean[-1]:.3g}", f"{spread.score_deviation[-1]:.3g}",
            f"{spread.value_mean[-1]:.4g}", f"{spread.value_deviation[-1]:.3g}",
        ]
        for framework, groups in found.items()
        for group, spread in groups.items()
    ]  # fmt: skip


def table(found: Found) -> list[str]:
    """The same in Markdown."""
    head, rows = cells(found)
    return [*tables.head(*head), *(tables.row(*row) for row in rows)]


def sources(by_framework: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Who draws what, and what the framework does not let one control."""
    for framework, drawn in by_framework.items():
        for source, words in drawn.items():
            yield f"- {framework}, {source}: {words}"


def figure(framework: str, groups: Mapping[str, Spread]) -> str:
    """Figure 1 of the paper as SVG: a column for each group, score above and maximum Q below.

    The line is the mean of the trainings, the area one population standard deviation around it.
    """
    from matplotlib.figure import Figure

    page = Figure(figsize=(2.6 * len(groups), 4.6), layout="constrained")
    cells = page.subplots(2, len(groups), squeeze=False, sharex=True, sharey="row")
    for column, (group, spread) in enumerate(groups.items()):
        rows = (
            ("score", spread.score_mean, spread.score_deviation, "#1b3a5c"),
            ("mean maximum Q", spread.value_mean, spread.value_deviation, "#b03a2e"),
        )
        for row, (name, mean, deviation, color) in enumerate(rows):
            cell = cells[row][column]
            low = [m - d for m, d in zip(mean, deviation, strict=True)]
            high = [m + d for m, d in zip(mean, deviation, strict=True)]
            cell.fill_between(spread.steps, low, high, color=color, alpha=0.25, linewidth=0)
            cell.plot(spread.steps, mean, color=color)
            if column == 0:
                cell.set_ylabel(name, fontsize="small")
        cells[0][column].set_title(group, fontsize="small")
        cells[1][column].set_xlabel("environment steps", fontsize="small")
    page.suptitle(framework, fontsize="medium")
    drawn = io.StringIO()
    page.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def as_plain(
    plan: Mapping[str, Any],
    found: Found,
    drawn: Mapping[str, Mapping[str, str]],
    absent: Mapping[str, str],
    wrong: list[str],
) -> dict[str, Any]:
    """As plain data: the plan, what was found, who was not checked and why."""
    return {
        "plan": dict(plan),
        "frameworks": {
            framework: {
                "sources": dict(drawn[framework]),
                "groups": {group: vars(spread) for group, spread in groups.items()},
            }
            for framework, groups in found.items()
        },
        "not_asked": dict(absent),
        "wrong": wrong,
    }
