"""The fixed-size gate: stored runs of a cell against a fixed number of new ones.

Two errors, both stated with every verdict. *False alarm*: ``regressed`` somewhere although nothing
changed; its probability over the whole session is at most alpha (Holm over all cells and groups).
``improved`` is a second family with an alpha of its own. *Miss*: ``holds`` although returns
dropped; each verdict names the smallest drop that this test sees with 80 % power, and where that
exceeds the drop that matters the verdict is ``inconclusive``, not ``holds``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rlregress.errors import UserError
from rlregress.verdicts import ceiling
from rlregress.verdicts.effect import scale_of, welch_interval
from rlregress.verdicts.family import holm, stouffer
from rlregress.verdicts.outcome import (
    HOLDS,
    INCONCLUSIVE,
    CellSample,
    CellVerdict,
    GroupVerdict,
    Rules,
    Verdicts,
    worst_verdict,
)
from rlregress.verdicts.permutation import (
    PermutationP,
    content_generator,
    could_fail,
    permutation_p,
)
from rlregress.verdicts.power import smallest_group_drop
from rlregress.verdicts.rules import decide, reasons_against, visible_drop

__all__ = [
    "CellSample",
    "CellVerdict",
    "GroupVerdict",
    "Rules",
    "Verdicts",
    "judge_cells",
    "worst_verdict",
]

FloatArray = NDArray[np.float64]


def judge_cells(
    cells: Mapping[str, CellSample],
    alpha: float = 0.05,
    floor: float = 0.05,
    must_see: float = 0.5,
    min_stored: int = 5,
    max_failed_share: float = 0.2,
    confidence: float = 0.95,
    seed: int = 0,
) -> Verdicts:
    """Judge every cell and every group of at least two tested cells.

    A cell whose seeds are so few that no data could give p < alpha is not part of the family, so
    it costs the others no power (Tarone 1990).

    Args:
        cells: cell name -> CellSample.
        alpha, floor, must_see, min_stored, max_failed_share, confidence, seed: see ``Rules``.

    Raises:
        UserError: a level outside (0, 1), a negative count, or a worst return that is not finite.
    """
    rules = Rules(alpha, floor, must_see, min_stored, max_failed_share, confidence, seed)
    if not (0 < alpha < 1 and 0 < confidence < 1):
        raise UserError(f"alpha {alpha} and confidence {confidence} must lie between 0 and 1.")
    runs = {name: _runs(name, cell) for name, cell in cells.items()}
    p = {
        name: permutation_p(stored, new, content_generator(stored, new, seed=seed))
        for name, (stored, new, _) in runs.items()
        if could_fail(len(stored), len(new), alpha)
    }
    members: dict[str, list[str]] = defaultdict(list)
    for name in sorted(p):
        if cells[name].group:
            members[cells[name].group].append(name)
    groups = {group: names for group, names in members.items() if len(names) >= 2}
    p_drop = _family(p, groups, "drop")
    p_gain = _family(p, groups, "gain")
    adjusted_drop, adjusted_gain = holm(p_drop), holm(p_gain)

    def of(key: tuple[str, str]) -> tuple[float, float, float, float]:
        tables = (p_drop, p_gain, adjusted_drop, adjusted_gain)
        a, b, c, d = (table.get(key, math.nan) for table in tables)
        return a, b, c, d

    hypotheses = len(p_drop)
    judged = {
        name: _judge_cell(cells[name], *runs[name], of(("cell", name)), hypotheses, rules)
        for name in cells
    }
    return Verdicts(
        judged,
        {
            group: _judge_group({name: judged[name] for name in names}, runs,
                                of(("group", group)), hypotheses, rules)
            for group, names in groups.items()
        },
        alpha,
        hypotheses,
    )  # fmt: skip


def _runs(name: str, cell: CellSample) -> tuple[FloatArray, FloatArray, int]:
    """Sorted stored [m] and new [n] returns with failures filled in, and the failed new runs."""
    stored = np.asarray(cell.stored, dtype=np.float64).ravel()
    new = np.asarray(cell.new, dtype=np.float64).ravel()
    if cell.failed < 0 or (cell.worst is not None and not math.isfinite(cell.worst)):
        raise UserError(
            f"cell {name} has {cell.failed} failed runs and a worst return of {cell.worst}: "
            "expected a count of at least 0 and a finite return."
        )
    new = np.concatenate([new, np.full(cell.failed, np.nan)])
    pooled = np.concatenate([stored, new])
    finite = pooled[np.isfinite(pooled)]
    if len(finite) < len(pooled) and cell.worst is None:
        raise UserError(
            f"cell {name} has {len(pooled) - len(finite)} failed runs and no worst return: give "
            "the environment's worst recorded return, which a failed run counts as."
        )
    worst = min([*finite.tolist(), *([] if cell.worst is None else [cell.worst])], default=0.0)
    failed = int(np.count_nonzero(~np.isfinite(new)))
    return (
        np.sort(np.where(np.isfinite(stored), stored, worst)),
        np.sort(np.where(np.isfinite(new), new, worst)),
        failed,
    )


def _family(
    p: Mapping[str, PermutationP], groups: Mapping[str, Sequence[str]], side: str
) -> dict[tuple[str, str], float]:
    """P-values of one side by ("cell", name) and ("group", name)."""
    family = {("cell", name): float(getattr(value, side)) for name, value in p.items()}
    for group, names in groups.items():
        mid = [float(getattr(p[name], side + "_mid")) for name in names]
        family["group", group] = float(stouffer(mid))
    return family


def _judge_cell(
    cell: CellSample,
    stored: FloatArray,
    new: FloatArray,
    failed: int,
    p: tuple[float, float, float, float],
    hypotheses: int,
    rules: Rules,
) -> CellVerdict:
    m, n = len(stored), len(new)
    before = float(stored.mean()) if m else math.nan
    after = float(new.mean()) if n else math.nan
    scale = scale_of(stored) if m else math.nan
    fraction = (after - before) / scale
    visible = (
        visible_drop(stored, n, hypotheses, rules.alpha)
        if m >= 2 and n and not math.isnan(p[0])
        else None
    )
    verdict, reason = decide(fraction, p, rules)
    if not verdict:
        against = reasons_against(stored, n, failed, fraction, visible, hypotheses, rules)
        verdict = INCONCLUSIVE if against else HOLDS
        if visible is not None:
            share = f"{visible:.4g} ({visible / scale:.0%})"
            against.append(f"the smallest drop seen with 80 % power is {share}")
        reason = "; ".join([reason, *against]) + "."
    return CellVerdict(
        verdict=verdict,
        reason=reason,
        group=cell.group,
        stored_seeds=m,
        new_seeds=n,
        failed=failed,
        stored_mean=before,
        stored_sd=float(stored.std(ddof=1)) if m > 1 else math.nan,
        new_mean=after,
        scale=scale,
        effect=after - before,
        effect_fraction=fraction,
        interval=welch_interval(stored, new, rules.confidence),
        p_drop=p[0],
        p_gain=p[1],
        adjusted_drop=p[2],
        adjusted_gain=p[3],
        alpha=rules.alpha,
        hypotheses=hypotheses,
        visible_drop=visible,
        visible_fraction=None if visible is None else visible / scale,
    )


def _judge_group(
    judged: Mapping[str, CellVerdict],
    runs: Mapping[str, tuple[FloatArray, FloatArray, int]],
    p: tuple[float, float, float, float],
    hypotheses: int,
    rules: Rules,
) -> GroupVerdict:
    cells = list(judged.values())
    fraction = float(np.mean([cell.effect_fraction for cell in cells]))
    spreads = [
        math.nan if ceiling.at_ceiling(runs[name][0]) else cell.stored_sd / cell.scale
        for name, cell in judged.items()
    ]
    seeds = [(cell.stored_seeds, cell.new_seeds) for cell in cells]
    seen = smallest_group_drop(seeds, spreads, hypotheses, rules.alpha)
    visible = seen if math.isfinite(seen) else None
    verdict, reason = decide(fraction, p, rules)
    if not verdict:
        against = []
        failed, total = sum(cell.failed for cell in cells), sum(n for _, n in seeds)
        if failed / total > rules.max_failed_share:
            against.append(f"{failed} of {total} new runs failed")
        if any(m < rules.min_stored for m, _ in seeds):
            against.append(f"a cell has fewer than {rules.min_stored} stored seeds")
        if fraction < -rules.must_see:
            against.append(f"the mean changed by {fraction:+.0%}, too few seeds to reject it")
        if visible is None:
            against.append("no common drop can be seen with 80 % power")
        elif visible > rules.must_see:
            against.append(f"a common drop of {rules.must_see:.0%} could be missed")
        verdict = INCONCLUSIVE if against else HOLDS
        if visible is not None:
            against.append(f"the smallest common drop seen with 80 % power is {visible:.0%}")
        reason = "; ".join([reason, *against]) + "."
    return GroupVerdict(
        verdict, reason, tuple(judged), fraction, *p, rules.alpha, hypotheses, visible
    )
