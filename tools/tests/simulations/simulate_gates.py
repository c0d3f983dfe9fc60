"""Measure the gates: false alarms, power and runs, with Monte Carlo errors.

    python -m tools.tests.simulations.simulate_gates --cells 8 72 --new 5 20 --gates 2000
    python -m tools.tests.simulations.simulate_gates --beside

Every row simulates whole sessions, the sequential gate and the gates of fixed size on the same
returns, of the laws of ``laws.py``, or resampled from the stored runs. The p-values, Holm's
adjustment and the looks are the gate's own functions. To save time, Monte Carlo arrangements,
shared by the sessions of a chunk, replace most enumeration: 2000, and the gate's own numbers where
the p-value is small (Besag and Clifford 1991).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rlregress.check import baseline_runs
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity, compute_returns_scale
from rlregress.verdicts.family import adjust_by_holm, combine_mid_p_values
from rlregress.verdicts.looks import SEQUENTIAL_LOOKS, Looks, make_single_look
from rlregress.verdicts.permutation import (
    FEW_DRAWS,
    FEW_EXTREME,
    MORE_DRAWS,
    compute_permutation_p_values,
)
from tools.tests.simulations.laws import LAWS, Law, resampled

#: Sessions that are drawn and judged at once.
_CHUNK = 20
#: Up to this many arrangements all are enumerated.
_MOST_EXACT = 7_000
_FIRST_DRAWS = 2_000
#: A p-value below this one, of a drop or a gain, is found again with the gate's own draws, first
#: and second.
_SMALL = 0.02
#: Cells of a group.
_GROUP = 8
#: how often one call draws which cell has which law
_ORDERS = 50
#: Standard deviation over runs of the logarithm of a critic's error; 25 short runs of PPO have 0.06
#: to 0.11, cell by cell.
_CRITIC_SD = 0.1
#: Standard deviation over runs of a training return, as a share of its mean; short runs have 0.06
#: to 0.19, cell by cell.
_TRAINING_SD = 0.12
#: Factors by which the errors of critics grow.
GROWTHS = (1.1, 1.2)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Change:
    """A change of the first group of a session.

    Attributes:
        drop: share of the scale that every return loses.
        collapsed: share of the new seeds that lose all of the scale.
    """

    drop: float = 0.0
    collapsed: float = 0.0

    def __str__(self) -> str:
        """In words."""
        if self.collapsed:
            return f"{self.collapsed:.0%} of the seeds collapse"
        return f"{self.drop:.0%} drop" if self.drop else "nothing"


NOTHING = Change()
CHANGES = (Change(0.1), Change(0.2), Change(0.5), Change(collapsed=0.2))


@dataclass(frozen=True)
class Evidence:
    """P-values and effects of sessions of G groups of C cells, for each of K numbers of new runs.

    Attributes:
        seeds: the numbers of new runs [K].
        drop, drop_mid, gain, gain_mid: p-values [K, S, G, C].
        effect: as a share of the scale [K, S, G, C].
    """

    seeds: tuple[int, ...]
    drop: FloatArray
    drop_mid: FloatArray
    gain: FloatArray
    gain_mid: FloatArray
    effect: FloatArray


@dataclass(frozen=True)
class Rejections:
    """The rejections of a gate in many sessions.

    Attributes:
        cell_drop, cell_gain: rejected cells [S, G, C].
        group_drop, group_gain: rejected groups [S, G].
        runs: new runs of each cell that were used [S, G, C].
    """

    cell_drop: BoolArray
    cell_gain: BoolArray
    group_drop: BoolArray
    group_gain: BoolArray
    runs: NDArray[np.int64]


@dataclass(frozen=True)
class Measured:
    """Shares of simulated sessions (or cells), each with its Monte Carlo standard error.

    Attributes:
        false_alarm: sessions with ``regressed`` in a cell or group where nothing dropped.
        false_gain: sessions with ``improved`` in such a cell or group.
        group_detected: sessions in which the first group is ``regressed``.
        cell_detected: cells of the first group that are ``regressed``.
        runs: new runs per cell where nothing dropped.
    """

    false_alarm: tuple[float, float]
    false_gain: tuple[float, float]
    group_detected: tuple[float, float]
    cell_detected: tuple[float, float]
    runs: tuple[float, float]


def draw_session(
    rng: np.random.Generator,
    sessions: int,
    groups: int,
    m: int,
    n: int,
    change: Change = NOTHING,
    laws: Sequence[Law] = tuple(LAWS.values()),
) -> tuple[FloatArray, FloatArray]:
    """Return stored [sessions, groups, 8, m] and new [..., n] returns; the first group changes.

    Cells have the laws in turn, in an order that is drawn anew for every fiftieth of the sessions.
    """
    stored = np.empty((sessions, groups, _GROUP, m))
    new = np.empty((sessions, groups, _GROUP, n))
    for part in np.array_split(np.arange(sessions), min(sessions, _ORDERS)):
        order = rng.permutation(len(laws))
        for group in range(groups):
            drop = change.drop if group == 0 else 0.0
            for cell in range(_GROUP):
                law = laws[order[(group * _GROUP + cell) % len(laws)]]
                stored[part, group, cell] = law(rng, (len(part), m), 0.0)
                new[part, group, cell] = law(rng, (len(part), n), drop)
    if change.collapsed:
        collapsed = rng.random(new[:, 0].shape) < change.collapsed
        new[:, 0] = np.where(collapsed, stored[:, 0].mean(axis=-1, keepdims=True) - 1.0, new[:, 0])
    return stored, new


def draw_secondary(
    rng: np.random.Generator,
    stored: FloatArray,
    new: FloatArray,
    quantity: Quantity,
    correlation: float,
    change: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return a second number of the same runs, normal; that of the first group loses ``change``.

    Args:
        stored, new: returns [sessions, groups, 8, m] and [..., n], of one law in each cell.
        quantity: training returns, about 1, or critics: minus the logarithm of their errors.
        correlation: of a run's return and this number, -1 to 1.
    """
    middle = stored.mean(axis=(0, 3), keepdims=True)
    spread = stored.std(axis=(0, 3), keepdims=True)
    # few sessions of a cell that is always at its ceiling
    spread = np.where(spread > 0, spread, 1.0)
    mean, sd = (0.0, _CRITIC_SD) if quantity is CRITIC else (1.0, _TRAINING_SD)
    samples = []
    for returns in (stored, new):
        standardised = (returns - middle) / spread
        own = rng.standard_normal(returns.shape)
        samples.append(
            mean + sd * (correlation * standardised + math.sqrt(1 - correlation**2) * own)
        )
    samples[1][:, 0] -= change
    return samples[0], samples[1]


def evidence_of(
    stored: FloatArray,
    new: FloatArray,
    seeds: Sequence[int],
    rng: np.random.Generator,
    quantity: Quantity = RETURNS,
) -> Evidence:
    """Return the evidence of the first ``seeds[k]`` new runs, for each k."""
    shape, m = stored.shape[:-1], stored.shape[-1]
    before = stored.reshape(-1, m)
    mean = stored.mean(axis=-1)
    scale = np.maximum(np.abs(mean), stored.std(axis=-1, ddof=1))
    if quantity is CRITIC:
        scale = np.ones(shape)
    values: list[list[FloatArray]] = [[], [], [], [], []]
    for n in seeds:
        after = new[..., :n]
        for kind_values, p_value in zip(
            values, _p_values(before, after.reshape(-1, n), rng), strict=False
        ):
            kind_values.append(p_value.reshape(shape))
        values[4].append((after.mean(axis=-1) - mean) / scale)
    drop, drop_mid, gain, gain_mid, effect = map(np.stack, values)
    return Evidence(tuple(seeds), drop, drop_mid, gain, gain_mid, effect)


def _p_values(before: FloatArray, after: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Drop, its mid-p, gain, its mid-p, of rows of stored and new returns [4, R]."""
    first = compute_permutation_p_values(before, after, rng, _FIRST_DRAWS, _MOST_EXACT)
    values = np.array([first.drop, first.drop_mid, first.gain, first.gain_mid])
    if first.exact:
        return values
    for draws, limit in ((FEW_DRAWS, _SMALL), (MORE_DRAWS, FEW_EXTREME / FEW_DRAWS)):
        small = np.flatnonzero(np.minimum(values[0], values[2]) < limit)
        if len(small):
            drawn_again = compute_permutation_p_values(
                before[small], after[small], rng, draws, _MOST_EXACT
            )
            values[:, small] = [
                drawn_again.drop,
                drawn_again.drop_mid,
                drawn_again.gain,
                drawn_again.gain_mid,
            ]
    return values


def join_evidence(evidence: Sequence[Evidence]) -> Evidence:
    """The evidence of Q quantities of the same G groups, one after another [K, S, Q G, C]."""
    joined = (
        np.concatenate([getattr(part, name) for part in evidence], axis=2)
        for name in ("drop", "drop_mid", "gain", "gain_mid", "effect")
    )
    return Evidence(evidence[0].seeds, *joined)


def judge_sessions(
    evidence: Evidence,
    looks: Looks,
    alpha: float = 0.05,
    floor: float = 0.05,
    quantities: Sequence[Quantity] = (RETURNS,),
) -> Rejections:
    """Return the rejections of ``sequential.judge_cells_and_groups``, for many sessions at once.

    Args:
        quantities: whose groups follow each other in the evidence; the runs of a cell are those
            that any of them asks for.
    """
    shape = evidence.drop.shape[1:]
    groups = shape[1] // len(quantities)
    weights = np.repeat([quantity.share for quantity in quantities], groups)
    first = evidence.seeds.index(looks.run_counts[0])
    cell_gain, group_gain = _rejected(
        evidence.gain[first],
        combine_mid_p_values(evidence.gain_mid[first]),
        evidence.effect[first],
        evidence.effect[first].mean(axis=-1),
        alpha,
        floor,
        weights,
    )
    open_cell, open_group = np.ones(shape, dtype=bool), np.ones(shape[:2], dtype=bool)
    cell_drop, group_drop = ~open_cell, ~open_group
    runs = np.zeros(shape, dtype=np.int64)
    mid, effect, cell_p = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
    group_effect, group_p = np.zeros(shape[:2]), np.full(shape[:2], np.inf)
    for look, (n, weight) in enumerate(zip(looks.run_counts, looks.weights, strict=True)):
        at = evidence.seeds.index(n)
        runs[open_cell] = n
        mid = np.where(open_cell, evidence.drop_mid[at], mid)
        effect = np.where(open_cell, evidence.effect[at], effect)
        p = np.where(open_cell, evidence.drop[at], np.inf)
        cell_p = np.minimum(cell_p, p / weight)
        pooled = np.where(open_group, combine_mid_p_values(mid), np.inf)
        group_p = np.minimum(group_p, pooled / weight)
        group_effect = np.where(open_group, effect.mean(axis=-1), group_effect)
        cell_now, group_now = _rejected(
            cell_p, group_p, -effect, -group_effect, alpha, floor, weights
        )
        cell_drop, group_drop = cell_drop | cell_now, group_drop | group_now
        open_cell, open_group = open_cell & ~cell_drop, open_group & ~group_drop
        if look < len(looks.accept_cell):
            open_group &= pooled <= looks.accept_group[look]
            stays_open = (open_group | group_drop)[..., None]
            open_cell &= (p <= looks.accept_cell[look]) | stays_open
    runs = runs.reshape(shape[0], len(quantities), groups, shape[2]).max(axis=1)
    return Rejections(cell_drop, cell_gain, group_drop, group_gain, runs)


def _rejected(
    cell_p: FloatArray,
    group_p: FloatArray,
    cell_effect: FloatArray,
    group_effect: FloatArray,
    alpha: float,
    floor: float,
    weights: FloatArray,
) -> tuple[BoolArray, BoolArray]:
    """Cells [S, G, C] and groups [S, G] that Holm rejects, with an effect above the floor.

    Args:
        weights: of the hypotheses of each group [G].
    """
    sessions = len(cell_p)
    family = np.concatenate([cell_p.reshape(sessions, -1), group_p], axis=1)
    family_weights = np.concatenate([np.repeat(weights, cell_p.shape[2]), weights])
    rejected = adjust_by_holm(np.minimum(family, 1.0), family_weights) < alpha
    count = math.prod(cell_p.shape[1:])
    cells = rejected[:, :count].reshape(cell_p.shape) & (cell_effect > floor)
    return cells, rejected[:, count:] & (group_effect > floor)


def _share(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error over sessions [S]; never an error of 0 from all-equal ones."""
    share = float(np.mean(values))
    spread = max(float(np.std(values)), 1 / math.sqrt(len(values)))
    return share, spread / math.sqrt(len(values))


def measure(
    cells: int,
    m: int,
    plans: Sequence[Looks],
    change: Change,
    gates: int,
    alpha: float = 0.05,
    seed: int = 0,
    laws: Sequence[Law] = tuple(LAWS.values()),
) -> list[Measured]:
    """Simulate ``gates`` sessions of ``cells`` cells in groups of eight; one result per plan."""
    groups = cells // _GROUP
    seeds = sorted({n for looks in plans for n in looks.run_counts})
    rng = np.random.default_rng(
        [seed, cells, m, len(laws), round(1000 * change.drop), round(1000 * change.collapsed)]
    )
    changed = 0 if change == NOTHING else 1  # groups in which something changed
    values: list[list[list[float]]] = [[[], [], [], [], []] for _ in plans]
    for start in range(0, gates, _CHUNK):
        sessions = min(_CHUNK, gates - start)
        stored, new = draw_session(rng, sessions, groups, m, seeds[-1], change, laws)
        evidence = evidence_of(stored, new, seeds, rng)
        for looks, plan_values in zip(plans, values, strict=True):
            judged = judge_sessions(evidence, looks, alpha)
            same = slice(changed, None)
            rings = judged.cell_drop[:, same].any(axis=(1, 2)) | judged.group_drop[:, same].any(1)
            gains = judged.cell_gain[:, same].any(axis=(1, 2)) | judged.group_gain[:, same].any(1)
            plan_values[0].extend(rings.astype(float))
            plan_values[1].extend(gains.astype(float))
            plan_values[2].extend(judged.group_drop[:, 0].astype(float))
            plan_values[3].extend(judged.cell_drop[:, 0].mean(axis=1))
            healthy = judged.runs[:, same].reshape(sessions, -1)
            # without another group, the runs are those of the one that changed
            plan_values[4].extend((healthy if healthy.size else judged.runs[:, 0]).mean(axis=1))
    return [Measured(*map(_share, plan_values)) for plan_values in values]


#: of a group and of its cells: the share that is ``regressed``, and its Monte Carlo error
DetectedShare = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class SecondaryRates:
    """A gate that judges other numbers of a run beside its return; each with its Monte Carlo error.

    Attributes:
        false_alarm: sessions with ``regressed`` anywhere although nothing changed.
        false_gain: the same of ``improved``.
        runs: new runs per cell where nothing changed.
        detectable_drop: of the group and of the cells that lose 20 % of their returns, by these.
        training_detected: of those that lose 20 % of their training returns, by these; if judged.
        growth_detected: of those whose critics' errors grow, each factor; if judged.
    """

    false_alarm: tuple[float, float]
    false_gain: tuple[float, float]
    runs: tuple[float, float]
    detectable_drop: DetectedShare
    training_detected: DetectedShare | None
    growth_detected: tuple[DetectedShare, ...]


def measure_secondary(
    cells: int,
    m: int,
    quantities: Sequence[Quantity],
    correlation: float,
    gates: int,
    drop_gates: int,
    alpha: float = 0.05,
    seed: int = 0,
    looks: Looks = SEQUENTIAL_LOOKS,
) -> SecondaryRates:
    """Simulate sessions of ``cells`` cells in groups of eight, of which ``quantities`` are judged.

    Args:
        quantities: returns first.
        correlation: of a run's return and its training return, and minus that of its critic.
    """
    groups = cells // _GROUP

    def judged(sessions: int, changed: Mapping[Quantity, float]) -> Iterator[Rejections]:
        drop = Change(changed.get(RETURNS, 0.0))
        # the same returns whatever is judged beside them
        rng = np.random.default_rng([seed, cells, m, round(1000 * drop.drop)])
        own = np.random.default_rng([seed, cells, m, round(1000 * sum(changed.values()))])
        for start in range(0, sessions, _CHUNK):
            size = min(_CHUNK, sessions - start)
            stored, new = draw_session(rng, size, groups, m, looks.max_runs, drop)
            evidence = [evidence_of(stored, new, looks.run_counts, rng)]
            for measured in quantities[1:]:
                goes = -correlation if measured is CRITIC else correlation
                pair = draw_secondary(own, stored, new, measured, goes, changed.get(measured, 0.0))
                evidence.append(evidence_of(*pair, looks.run_counts, own, measured))
            yield judge_sessions(join_evidence(evidence), looks, alpha, quantities=quantities)

    rings: list[float] = []
    gains: list[float] = []
    runs: list[float] = []
    for measured in judged(gates, {}):
        rings.extend(
            (measured.cell_drop.any(axis=(1, 2)) | measured.group_drop.any(axis=1)).astype(float)
        )
        gains.extend(
            (measured.cell_gain.any(axis=(1, 2)) | measured.group_gain.any(axis=1)).astype(float)
        )
        runs.extend(measured.runs.mean(axis=(1, 2)))

    def detected_share(quantity: Quantity, change: float) -> DetectedShare:
        group = quantities.index(quantity) * groups
        group_shares: list[float] = []
        cell_shares: list[float] = []
        for measured in judged(drop_gates, {quantity: change}):
            group_shares.extend(measured.group_drop[:, group].astype(float))
            cell_shares.extend(measured.cell_drop[:, group].mean(axis=1))
        return _share(group_shares), _share(cell_shares)

    grown = [detected_share(CRITIC, math.log(by)) for by in GROWTHS if CRITIC in quantities]
    training = detected_share(TRAINING, 0.2) if TRAINING in quantities else None
    shares = (_share(rings), _share(gains), _share(runs))
    return SecondaryRates(*shares, detected_share(RETURNS, 0.2), training, tuple(grown))


#: what is judged, and the correlation of the numbers of a run
_SECONDARY = (
    ("returns", (RETURNS,), 0.0),
    ("and critics, independent", (RETURNS, CRITIC), 0.0),
    ("and critics, -0.8", (RETURNS, CRITIC), 0.8),
    ("and training, critics, independent", (RETURNS, TRAINING, CRITIC), 0.0),
    ("and training, critics, 0.8, -0.8", (RETURNS, TRAINING, CRITIC), 0.8),
)


def _secondary_table(options: argparse.Namespace) -> None:
    heads = ["cells", "stored", "judged", "runs", "false `regressed`", "false `improved`"]
    heads += ["20% drop: group / cell", "in training: group / cell"]
    heads += [f"error x{by:g}: group / cell" for by in GROWTHS]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for cells in options.cells:
        for m in options.stored:
            for name, quantities, correlation in _SECONDARY:
                sizes = (options.gates, options.drop_gates, options.alpha, options.seed)
                measured = measure_secondary(cells, m, quantities, correlation, *sizes)
                row = [str(cells), str(m), name, f"{measured.runs[0]:.1f}"]
                row += [_text(measured.false_alarm), _text(measured.false_gain)]
                for result in (
                    measured.detectable_drop,
                    measured.training_detected,
                    *(measured.growth_detected or [None] * 2),
                ):
                    row.append(" / ".join(map(_text, result)) if result is not None else "-")
                print("| " + " | ".join(row) + " |", flush=True)


def _text(value: tuple[float, float]) -> str:
    return f"{value[0]:.3f} ± {value[1]:.3f}"


def main(
    arguments: Sequence[str] | None = None,
    sources: Mapping[str, Sequence[Law]] = MappingProxyType({"laws": tuple(LAWS.values())}),
) -> None:
    """Print the table as Markdown.

    Args:
        sources: name -> laws that the cells of a session take turns in.
    """
    parser = argparse.ArgumentParser(description="Simulate whole gates; print a table.")
    parser.add_argument("--cells", type=int, nargs="+", default=[8, 72], help="multiples of 8")
    parser.add_argument("--stored", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--new", type=int, nargs="+", default=[5, 10, 20], help="of fixed gates")
    parser.add_argument("--gates", type=int, default=2000, help="sessions where nothing changed")
    parser.add_argument("--drop-gates", type=int, default=300, help="sessions with a change")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--beside",
        action="store_true",
        help="training returns and critics judged too, by the sequential gate, on the laws",
    )
    options = parser.parse_args(arguments)
    if any(cells < _GROUP or cells % _GROUP for cells in options.cells):
        parser.error(f"--cells must be multiples of {_GROUP}")
    if options.beside:
        _secondary_table(options)
        return
    plans = {"sequential": SEQUENTIAL_LOOKS} | {
        f"fixed {n}": make_single_look(n) for n in options.new
    }
    heads = ["returns", "cells", "stored", "gate", "runs", "false `regressed`", "false `improved`"]
    heads += [f"{change}: group / cell" for change in CHANGES]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))

    for source, laws in sources.items():
        for cells in options.cells:
            for m in options.stored:
                common = (options.alpha, options.seed, laws)
                looks = list(plans.values())
                same = measure(cells, m, looks, NOTHING, options.gates, *common)
                changed = [
                    measure(cells, m, looks, change, options.drop_gates, *common)
                    for change in CHANGES
                ]
                for row, name in enumerate(plans):
                    measured = same[row]
                    columns = [source, str(cells), str(m), name, f"{measured.runs[0]:.1f}"]
                    columns += [_text(measured.false_alarm), _text(measured.false_gain)]
                    columns += [f"{_text(c.group_detected)} / {_text(c.cell_detected)}" for c in
                             (measured[row] for measured in changed)]  # fmt: skip
                    print("| " + " | ".join(columns) + " |", flush=True)


def stored_laws() -> list[Law]:
    """Return one law for each cell of ``baselines/returns``: its runs, drawn with replacement."""
    returns = [np.array(stored.returns) for stored in baseline_runs.load_all_baselines()]
    return [resampled(values / compute_returns_scale(values)) for values in returns]


if __name__ == "__main__":
    main(sources={"laws": tuple(LAWS.values()), "stored runs": stored_laws()})
