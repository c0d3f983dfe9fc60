"""The runs of a cell, and verdicts on new runs by stored runs or a published band."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rlregress.model.quantities import RETURNS
from rlregress.model.verdict import find_worst_verdict


@dataclass(frozen=True, kw_only=True)
class Band:
    """The published mean and half width of a cell's returns, and their standard deviation.

    Attributes:
        mean: published mean return.
        half: published half width.
        seeds: number of published seeds.
        rounding: half a unit of the last printed digit.
        sd: sample standard deviation (divisor seeds - 1) of one run's return.
        sd_low, sd_high: the range of ``sd`` that rounds to the printed half width.
    """

    mean: float
    half: float
    seeds: int
    rounding: float
    sd: float
    sd_low: float
    sd_high: float


@dataclass(frozen=True, kw_only=True)
class CellVerdict:
    """The verdict on the runs of one cell. Returns are in the environment's own units.

    For a critic, minus the logarithm of its error takes the place of a return.

    Attributes:
        verdict: holds, regressed, improved, moved or inconclusive.
        reason: sentences for the reader.
        group: name of the group.
        stored_seeds, new_seeds: numbers of stored runs (m) and new runs (n), with failed ones.
        failed: failed new runs.
        stored_mean, stored_sd, new_mean: sample statistics; nan without runs. For other quantities
            than returns, only runs with a number count, also for effect and interval.
        scale: denominator of the fractions (see ``quantities.compute_returns_scale``).
        effect, effect_fraction: mean(new) - mean(stored), in returns and as a share.
        interval: Welch interval of the effect, at nominal ``Rules.confidence``; None: no spread.
        p_drop, adjusted_drop: permutation p-value over all looks so far
            (``Looks.combine_p_values_of_looks``), and Holm's; nan if the cell could not be tested.
        p_gain, adjusted_gain: the same for a gain, at the first look; for two-sided quantities, for
            a change.
        alpha, hypotheses: family-wise level, and number of cells and groups judged together.
        visible_drop, visible_fraction: smallest drop detected with 80 % power at the stored spread
            with all looks; None: no drop is, or too many new runs have no number.
        look: the deciding look, from 1.
        looks: new seeds in all at each look.
        quantity: name of the judged quantity.
        stored_middle, new_middle: interquartile means; they only describe.
        improvement: share of the pairs of a stored and a new run in which the new one is larger; it
            only describes.
    """

    verdict: str
    reason: str
    group: str
    stored_seeds: int
    new_seeds: int
    failed: int
    stored_mean: float
    stored_sd: float
    new_mean: float
    scale: float
    effect: float
    effect_fraction: float
    interval: tuple[float, float] | None
    p_drop: float
    p_gain: float
    adjusted_drop: float
    adjusted_gain: float
    alpha: float
    hypotheses: int
    visible_drop: float | None
    visible_fraction: float | None
    look: int
    looks: tuple[int, ...]
    quantity: str = RETURNS.name
    stored_middle: float = math.nan
    new_middle: float = math.nan
    improvement: float = math.nan


@dataclass(frozen=True, kw_only=True)
class GroupVerdict:
    """The common verdict on the cells of one group; attributes as in ``CellVerdict``.

    ``effect_fraction`` is the mean over cells, and ``interval`` its interval. ``new_seeds`` counts
    the runs of all cells. ``visible_fraction`` is the common drop, the same share in every cell,
    that the pooled test detects with 80 % power.
    """

    verdict: str
    reason: str
    cells: tuple[str, ...]
    new_seeds: int
    effect_fraction: float
    interval: tuple[float, float] | None
    p_drop: float
    p_gain: float
    adjusted_drop: float
    adjusted_gain: float
    alpha: float
    hypotheses: int
    visible_fraction: float | None
    look: int
    looks: tuple[int, ...]
    quantity: str = RETURNS.name


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """The verdicts of one session, by cell name and by group name."""

    cells: Mapping[str, CellVerdict]
    groups: Mapping[str, GroupVerdict]
    alpha: float
    hypotheses: int

    @property
    def verdict(self) -> str:
        """The worst verdict of the session."""
        cells = [cell.verdict for cell in self.cells.values()]
        return find_worst_verdict(cells + [group.verdict for group in self.groups.values()])


@dataclass(frozen=True, kw_only=True)
class BandVerdict:
    """The verdict on new runs against a published band.

    Attributes:
        verdict: holds, regressed, improved or inconclusive.
        effect: new mean minus published mean, in returns.
        interval: pooled t interval of the effect at 1 - alpha, not corrected for the family;
            None without spread.
        new_seeds: number of new runs (n).
        p, adjusted_p: two-sided p-values, before and after Holm's correction.
        alpha, hypotheses: family-wise level and size of the family.
        visible_drop: drop detected with 80 % power, in returns; None: none is, or it is unknown.
        reason: one or two sentences for the reader.
    """

    verdict: str
    effect: float
    interval: tuple[float, float] | None
    new_seeds: int
    p: float
    adjusted_p: float
    alpha: float
    hypotheses: int
    visible_drop: float | None
    reason: str


Verdict = CellVerdict | GroupVerdict | BandVerdict


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """One run of a cell, as reports show it.

    Attributes:
        numbers: name of a quantity (``model/quantities.py``) -> its value; NaN if it has none.
        curve: (steps, mean return) of the training episodes that ended in each twentieth.
        failure: error of a failed run; empty: it did not fail.
    """

    seed: int
    numbers: Mapping[str, float]
    curve: Sequence[Sequence[float]] = ()
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class CellRuns:
    """The runs of one cell, by seed.

    Attributes:
        band: the published band, if the cell is judged by one.
        versions, machine: of the stored runs; empty if there are none.
    """

    stored: tuple[ReportedRun, ...]
    new: tuple[ReportedRun, ...]
    band: Band | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
