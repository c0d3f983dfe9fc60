"""What goes into a verdict and what comes out: samples, rules, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.model.quantities import RETURNS, Quantity
from rlregress.model.verdict import worst_verdict

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """What a verdict depends on besides the returns.

    Attributes:
        alpha: probability of one or more false ``regressed`` in the session, if nothing changed.
        floor: a rejected difference below this share of the scale is no regression.
        must_see: ``holds`` needs a smallest visible drop of at most this share of the scale.
        min_stored: stored seeds that a baseline needs for ``holds``.
        max_failed_share: above this share of failed new runs a cell cannot hold.
        confidence: nominal coverage of the intervals.
        seed: of the Monte Carlo arrangements, together with the returns themselves.
    """

    alpha: float = 0.05
    floor: float = 0.05
    must_see: float = 0.5
    min_stored: int = 5
    max_failed_share: float = 0.2
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class CellSample:
    """The runs of one cell, by their returns or by another quantity.

    Attributes:
        stored: final returns of the stored runs [m].
        new: final returns of the new runs that finished [n - failed]; in the order of their seeds
            where there are several looks.
        failed: new runs that crashed. Values in ``stored`` and ``new`` that are not finite are
            failed runs as well.
        group: name of the (framework, algorithm) group, "" for none.
        worst: the environment's worst recorded return, which a failed run counts as (or the worst
            return of this cell, if that is lower); needed only where a run failed.
        quantity: what the numbers are. Of anything but returns, a value that is not finite is
            that of a run that has none: it counts as the mean of the others, which is no evidence
            for anything.
    """

    stored: Sequence[float] | FloatArray
    new: Sequence[float] | FloatArray
    failed: int = 0
    group: str = ""
    worst: float | None = None
    quantity: Quantity = RETURNS


@dataclass(frozen=True)
class CellVerdict:
    """What the runs of one cell say. Returns are in the environment's own units.

    Of a critic, the numbers in the place of returns are minus the logarithm of its error.

    Attributes:
        verdict: holds, regressed, improved, moved or inconclusive.
        reason: sentences for the reader.
        group: name of the group.
        stored_seeds, new_seeds: m and n, failed runs included.
        failed: failed new runs.
        stored_mean, stored_sd, new_mean: sample statistics; nan without runs. Of anything but
            returns, of the runs that have a number; effect and interval too.
        scale: what the fractions are shares of (see ``effect.scale_of``).
        effect, effect_fraction: mean(new) - mean(stored), in returns and as a share.
        interval: Welch interval of the effect, at nominal ``Rules.confidence``; None: no spread.
        p_drop, adjusted_drop: permutation p-value, over all looks so far (``Looks.spent``), and
            Holm's; nan where the cell could not be tested.
        p_gain, adjusted_gain: the same upwards, of the first look; of what is judged both ways,
            of a change.
        alpha, hypotheses: family-wise level, and cells and groups judged together.
        visible_drop, visible_fraction: smallest drop seen with 80 % power at the stored spread,
            with all of the looks; None: no drop is, or too many new runs have no number.
        look: the look, from 1, that decided.
        looks: new seeds in all at each look.
        quantity: name of what was judged.
        stored_middle, new_middle: interquartile means, and improvement: share of the pairs of a
            stored and a new run in which the new one has more. They describe and decide nothing.
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


@dataclass(frozen=True)
class GroupVerdict:
    """What the cells of one group say together; attributes as in ``CellVerdict``.

    ``effect_fraction`` is the mean over cells, ``interval`` that of it; ``new_seeds`` are those of
    all cells together; ``visible_fraction`` is the drop, the same share in every cell, that the
    pooled test sees with 80 % power.
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


@dataclass(frozen=True)
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
        return worst_verdict(cells + [group.verdict for group in self.groups.values()])
