"""What a pilot study finds: what each way to judge a run costs."""

from __future__ import annotations

from dataclasses import dataclass

#: measure -> what it is, in the words of a table.
MEASURES = {
    "final": "mean return of the last evaluation",
    "late": "mean of the evaluations in the last third",
    "area": "mean of all evaluations: the area under the learning curve",
    "training": "mean return of the training episodes that ended in the last third",
    "training area": "mean return of all training episodes, by steps",
    "critic": "error of the critic after the training, its logarithm",
}


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a measure costs in one cell.

    Attributes:
        steps: environment steps of a run.
        minutes: CPU minutes of a run.
        unchanged: mean and standard deviation of the number over runs of the unchanged framework.
        drop: CPU minutes until a common drop of 20 % is seen, or an error of the critic 1.2 times
            as large; inf: it is not.
        faults: fault -> CPU minutes until it is seen as a loss, which a gate calls ``regressed``.
        gains: fault -> the same as a gain, ``improved``: it passes.
    """

    measure: str
    steps: int
    minutes: float
    unchanged: tuple[float, float]
    drop: float
    faults: dict[str, float]
    gains: dict[str, float]
