"""The effect of a source of chance: when trainings diverge, by how much; table and figure."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rlregress.report import tables


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The effect of one source of chance.

    Attributes:
        runs: number of trainings.
        parted: environment steps of the first checkpoint at which weights differ; None: at none.
        distinct: number of different weights at the last checkpoint.
        steps: environment steps of the checkpoints.
        score_mean, score_deviation, value_mean, value_deviation: statistics of each checkpoint over
            the trainings; deviations are those of a population, as in the paper.
    """

    runs: int
    parted: int | None
    distinct: int
    steps: list[int]
    score_mean: list[float]
    score_deviation: list[float]
    value_mean: list[float]
    value_deviation: list[float]


#: the group in which nothing is varied
ALL_FIXED = "deterministic"
#: the group in which the number of threads of torch is varied
THREADS = "threads"
#: groups that may have no effect: an environment may draw nothing, and threads may add in the same
#: order
_MAY_HAVE_NO_EFFECT = (ALL_FIXED, "environment", THREADS)


@dataclass(frozen=True)
class Checkpoint:
    """An agent in the middle of its training.

    Attributes:
        steps: environment steps done.
        weights: SHA-256 of all parameters, those of the target network among them.
        score: mean return from the start sequences.
        value: mean maximum Q of the held-out states.
    """

    steps: int
    weights: str
    score: float
    value: float


#: the trainings of a group, each a list of checkpoints
Runs = Sequence[Sequence[Checkpoint]]


def _compute_deviations(numbers: np.ndarray) -> list[float]:
    # by rounding, the mean of equal numbers may differ from them, and their deviation from 0
    deviations: list[float] = np.where(np.ptp(numbers, axis=1) == 0.0, 0.0, numbers.std(1)).tolist()
    return deviations


def compute_spread_of_runs(runs: Runs) -> Spread:
    """Return the spread of the trainings of one group, which have the same checkpoints."""
    columns = list(zip(*runs, strict=True))
    weights = [len({point.weights for point in column}) for column in columns]
    scores = np.array([[point.score for point in column] for column in columns])
    values = np.array([[point.value for point in column] for column in columns])
    steps = [column[0].steps for column in columns]
    return Spread(
        runs=len(runs),
        parted=next((at for at, n in zip(steps, weights, strict=True) if n > 1), None),
        distinct=weights[-1],
        steps=steps,
        score_mean=scores.mean(1).tolist(),
        score_deviation=_compute_deviations(scores),
        value_mean=values.mean(1).tolist(),
        value_deviation=_compute_deviations(values),
    )


def describe_unexpected_spreads(framework: str, groups: Mapping[str, Spread]) -> list[str]:
    """Describe each unexpected effect: of nothing varied, or none of a varied source of chance."""
    lines = []
    for group, group_spread in groups.items():
        if group == ALL_FIXED and group_spread.parted is not None:
            lines.append(
                f"{framework}: with everything held, {group_spread.runs} trainings have "
                f"{group_spread.distinct} different weights, first after {group_spread.parted} "
                "steps; expected the same weights in all"
            )
        if group not in _MAY_HAVE_NO_EFFECT and group_spread.parted is None:
            lines.append(
                f"{framework}: another seed of {group} does not change the weights; expected other "
                "weights: this suite does not seed the generator that the framework draws from"
            )
    return lines


def make_table_of_spreads(spreads: Mapping[str, Mapping[str, Spread]]) -> list[str]:
    """Return a Markdown table: a row for each framework and group, of the last checkpoint."""
    head = (
        "framework", "varied", "runs", "weights", "score", "deviation", "mean maximum Q",
        "deviation",
    )  # fmt: skip
    rows = [
        [
            framework, "nothing" if group == ALL_FIXED else group, spread.runs,
            "identical" if spread.parted is None
            else f"{spread.distinct} different, from step {spread.parted} on",
            f"{spread.score_mean[-1]:.3g}", f"{spread.score_deviation[-1]:.3g}",
            f"{spread.value_mean[-1]:.4g}", f"{spread.value_deviation[-1]:.3g}",
        ]
        for framework, groups in spreads.items()
        for group, spread in groups.items()
    ]  # fmt: skip
    return [
        *tables.format_markdown_head(*head),
        *(tables.format_markdown_row(*row) for row in rows),
    ]


def draw_spreads(framework: str, groups: Mapping[str, Spread]) -> str:
    """Draw figure 1 of the paper as SVG: a column for each group, scores above maximum Q.

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
            area = np.subtract(mean, deviation), np.add(mean, deviation)
            cell.fill_between(spread.steps, *area, color=color, alpha=0.25, linewidth=0)
            cell.plot(spread.steps, mean, color=color)
            if column == 0:
                cell.set_ylabel(name, fontsize="small")
        cells[0][column].set_title(group, fontsize="small")
        cells[1][column].set_xlabel("environment steps", fontsize="small")
    page.suptitle(framework, fontsize="medium")
    drawing = io.StringIO()
    page.savefig(drawing, format="svg", metadata={"Date": None})
    return drawing.getvalue()
