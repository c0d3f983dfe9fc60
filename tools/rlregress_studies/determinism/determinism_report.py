"""``rlregress study determinism``: the table, the figure of the paper."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from rlregress.reporting import tables
from rlregress_studies.determinism.chance import HELD, Spread

#: framework's title -> group -> what its source of chance causes
Found = Mapping[str, Mapping[str, Spread]]

_HEAD = (
    "framework", "varied", "runs", "weights", "score", "deviation", "mean maximum Q", "deviation",
)  # fmt: skip


def weights(found: Spread) -> str:
    """Whether the trainings of a group end with the same weights, and from when on they differ."""
    if found.parted is None:
        return "identical"
    return f"{found.distinct} different, from step {found.parted} on"


def table(found: Found) -> list[str]:
    """Return a Markdown table: a row for each framework and group, of the last checkpoint."""
    rows = [
        [
            framework, "nothing" if group == HELD else group, str(spread.runs), weights(spread),
            f"{spread.score_mean[-1]:.3g}", f"{spread.score_deviation[-1]:.3g}",
            f"{spread.value_mean[-1]:.4g}", f"{spread.value_deviation[-1]:.3g}",
        ]
        for framework, groups in found.items()
        for group, spread in groups.items()
    ]  # fmt: skip
    return [*tables.head(*_HEAD), *(tables.row(*row) for row in rows)]


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
