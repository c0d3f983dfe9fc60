"""Verdicts on speed and memory of a training from stored and new processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ThroughputVerdict:
    """The verdict on one quantity of throughput, measured in stored and in new processes.

    Attributes:
        verdict: holds, regressed, improved or inconclusive.
        reason: a sentence for the reader.
        stored_processes, new_processes: m and n.
        stored_mean, stored_sd, new_mean: sample statistics, in the quantity's unit.
        change: mean(new) - mean(stored), as a share of mean(stored).
        interval: nominal 95 % Welch interval of ``change``, uncorrected, or None.
        adjusted_worse, adjusted_better: Holm's p-values of the two directions; nan: not tested.
        alpha: probability of one or more false ``regressed`` in the session.
        hypotheses: quantities judged together.
        visible: the smallest change for the worse that is detected with 80 % power, as a share of
            mean(stored); None: none is.
    """

    verdict: str
    reason: str
    stored_processes: int
    new_processes: int
    stored_mean: float
    stored_sd: float
    new_mean: float
    change: float
    interval: tuple[float, float] | None
    adjusted_worse: float
    adjusted_better: float
    alpha: float
    hypotheses: int
    visible: float | None
