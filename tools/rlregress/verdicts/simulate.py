"""Measure the fixed-size gate: false alarms and power, with Monte Carlo errors.

    python -m rlregress.verdicts.simulate --cells 8 72 --stored 10 20 --new 5 10 --gates 2000

Every row simulates whole sessions on the laws of ``laws.py``. The p-values, Holm's adjustment and
the floor are the gate's own functions. To save time, 20 000 Monte Carlo arrangements, shared by
the sessions of a chunk, replace enumeration where there are more than 60 000 arrangements.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.verdicts.family import holm_adjust, stouffer
from rlregress.verdicts.laws import LAWS
from rlregress.verdicts.permutation import permutation_p_rows

#: Sessions that are drawn and judged at once.
_CHUNK = 20
_MOST_EXACT = 60_000


@dataclass(frozen=True)
class Measured:
    """Shares of simulated sessions (or cells), each with its Monte Carlo standard error.

    Attributes:
        false_alarm: sessions with ``regressed`` in a cell or group where nothing dropped.
        false_gain: sessions with ``improved`` in such a cell or group.
        group_seen: sessions in which the dropping group is ``regressed``.
        cell_seen: cells of the dropping group that are ``regressed``.
    """

    false_alarm: tuple[float, float]
    false_gain: tuple[float, float]
    group_seen: tuple[float, float]
    cell_seen: tuple[float, float]


def draw_session(
    rng: np.random.Generator, sessions: int, groups: int, m: int, n: int, drop: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stored [sessions, groups, 8, m] and new [..., n] returns; the first group drops."""
    stored = np.stack([law(rng, (sessions, groups, m), 0.0) for law in LAWS.values()], axis=2)
    new = np.stack([law(rng, (sessions, groups, n), 0.0) for law in LAWS.values()], axis=2)
    if drop > 0:
        new[:, 0] = np.stack([law(rng, (sessions, n), drop) for law in LAWS.values()], axis=1)
    return stored, new


def judge_sessions(
    stored: NDArray[np.float64],
    new: NDArray[np.float64],
    rng: np.random.Generator,
    alpha: float = 0.05,
    floor: float = 0.05,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """What ``fixed.judge_cells`` rejects, for many sessions at once.

    Returns:
        cell drops and gains [sessions, groups, 8], group drops and gains [sessions, groups].
    """
    sessions, groups, size, m = stored.shape
    shape = (sessions, groups, size)
    p = permutation_p_rows(
        stored.reshape(-1, m), new.reshape(-1, new.shape[-1]), rng, most_exact=_MOST_EXACT
    )
    mean = stored.mean(axis=-1)
    scale = np.maximum(np.abs(mean), stored.std(axis=-1, ddof=1))
    effect = (new.mean(axis=-1) - mean) / scale
    found = []
    for single, mid, sign in ((p.drop, p.drop_mid, -1), (p.gain, p.gain_mid, 1)):
        cells = np.asarray(single).reshape(shape)
        pooled = stouffer(np.asarray(mid).reshape(shape))
        family = np.concatenate([cells.reshape(sessions, -1), pooled], axis=1)
        rejected = holm_adjust(family) < alpha
        found.append(rejected[:, : groups * size].reshape(shape) & (sign * effect > floor))
        found.append(rejected[:, groups * size :] & (sign * effect.mean(axis=-1) > floor))
    cell_drop, group_drop, cell_gain, group_gain = found
    return cell_drop, cell_gain, group_drop, group_gain


def _share(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    """Mean and its standard error over sessions [S]; never an error of 0 from all-equal ones."""
    share = float(np.mean(values))
    spread = max(float(np.std(values)), 1 / math.sqrt(len(values)))
    return share, spread / math.sqrt(len(values))


def measure(
    cells: int, m: int, n: int, drop: float, gates: int, alpha: float = 0.05, seed: int = 0
) -> Measured:
    """Simulate ``gates`` sessions of ``cells`` cells in groups of eight."""
    groups = cells // len(LAWS)
    rng = np.random.default_rng([seed, cells, m, n, round(1000 * drop)])
    alarm: list[float] = []
    gain: list[float] = []
    group_seen: list[float] = []
    cell_seen: list[float] = []
    for start in range(0, gates, _CHUNK):
        stored, new = draw_session(rng, min(_CHUNK, gates - start), groups, m, n, drop)
        cell_drop, cell_gain, group_drop, group_gain = judge_sessions(stored, new, rng, alpha)
        same = slice(1 if drop > 0 else 0, None)  # groups in which nothing changed
        rings = cell_drop[:, same].any(axis=(1, 2)) | group_drop[:, same].any(axis=1)
        gains = cell_gain[:, same].any(axis=(1, 2)) | group_gain[:, same].any(axis=1)
        alarm.extend(rings.astype(float))
        gain.extend(gains.astype(float))
        group_seen.extend(group_drop[:, 0].astype(float))
        cell_seen.extend(cell_drop[:, 0].mean(axis=1))
    return Measured(_share(alarm), _share(gain), _share(group_seen), _share(cell_seen))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m rlregress.verdicts.simulate")
    parser.add_argument("--cells", type=int, nargs="+", default=[8, 72], help="multiples of 8")
    parser.add_argument("--stored", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--new", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--gates", type=int, default=2000, help="sessions where nothing changed")
    parser.add_argument("--drop-gates", type=int, default=500, help="sessions with a drop")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if any(cells < len(LAWS) or cells % len(LAWS) for cells in options.cells):
        parser.error(f"--cells must be multiples of {len(LAWS)}")
    print(
        "| cells | stored | new | false `regressed` | false `improved` "
        "| 20 % drop: group / cell | 50 % drop: group / cell |\n|---|---|---|---|---|---|---|"
    )

    def text(value: tuple[float, float]) -> str:
        return f"{value[0]:.3f} ± {value[1]:.3f}"

    for cells in options.cells:
        for m in options.stored:
            for n in options.new:
                same = measure(cells, m, n, 0.0, options.gates, options.alpha, options.seed)
                drops = [
                    measure(cells, m, n, drop, options.drop_gates, options.alpha, options.seed)
                    for drop in (0.2, 0.5)
                ]
                row = [str(cells), str(m), str(n), text(same.false_alarm), text(same.false_gain)]
                row += [f"{text(d.group_seen)} / {text(d.cell_seen)}" for d in drops]
                print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
