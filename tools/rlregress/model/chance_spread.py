"""What one source of chance does to trainings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What one source of chance causes.

    Attributes:
        runs: number of trainings.
        parted: environment steps of the first checkpoint at which weights differ; None: at none.
        distinct: different weights among the trainings at the last checkpoint.
        steps: of the checkpoints.
        score_mean, score_deviation, value_mean, value_deviation: of each checkpoint, over the
            trainings; deviations are those of a population, as in the paper.
    """

    runs: int
    parted: int | None
    distinct: int
    steps: list[int]
    score_mean: list[float]
    score_deviation: list[float]
    value_mean: list[float]
    value_deviation: list[float]
