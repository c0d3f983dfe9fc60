"""Change points in many histories at once: what changed, from which night on, at one error rate.

A history is one number a night: the mean return of a cell's new runs, say. If nothing changed, its
nights are exchangeable, and so are the nights of all histories together: what a night has in common
for several cells moves with it. So the nights are permuted, the same way in every history, and the
largest statistic of all histories is compared with those of the permutations (Westfall and Young
1993, single-step maxT). That controls the probability of one or more false changes on a page of
healthy histories, whatever the law of the returns and however they depend on each other within a
night. Between nights they must not: where consecutive nights resemble each other, as of a machine
that becomes slower, the rate is higher; ``resemblance`` measures it.

The statistic of a history is the largest standardised difference between the nights before and
after, over all nights at which it could have changed (max-CUSUM). Where a history changed it is
divided there, and the parts are tested again with the share of the error rate that the divided
histories had (binary segmentation; shares as in Meinshausen 2008).

Nights of different strata (machine, protocol) are not compared: each is taken less the mean of its
stratum, and permuted with nights of its stratum only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

#: A change leaves so many nights on each side.
LEAST_NIGHTS = 3
#: Permutations of the first test, which is that of all histories.
DRAWS = 999
#: Below this error rate parts of a history are not divided further.
_LEAST_ALPHA = 1e-6
#: Numbers that are permuted at once.
_AT_ONCE = 1_000_000
#: The share of confidence sets of a change that hold it, and the drop of the likelihood ratio that
#: bounds them: P(x <= c) = (1 - exp(-c / 2))^2 (Bai 1997, Hansen 2000).
CONFIDENCE = 0.95
_LIKELY = -2 * math.log(1 - math.sqrt(CONFIDENCE))
#: z of 80 % power
_POWER = NormalDist().inv_cdf(0.8)


@dataclass(frozen=True)
class History:
    """One number a night.

    Attributes:
        nights: numbers of the nights [T], rising; the same number is the same night in every
            history.
        values: finite [T].
        strata: [T]; only nights of one stratum are compared.
    """

    nights: IntArray
    values: FloatArray
    strata: IntArray

    def part(self, begin: int, end: int) -> History:
        """Its nights from ``begin`` up to ``end`` and without it, by place."""
        of = slice(begin, end)
        return History(self.nights[of], self.values[of], self.strata[of])


@dataclass(frozen=True)
class Change:
    """A level that changed.

    Attributes:
        first: place, in the history, of the first night of the new level.
        earliest, latest: the same, of the 95 % confidence set.
        effect: new level minus old level, in the unit of the values.
        p: adjusted for all histories that were tested with it.
    """

    first: int
    earliest: int
    latest: int
    effect: float
    p: float


@dataclass(frozen=True)
class Found:
    """What is found in one history.

    Attributes:
        changes: by night.
        tested: whether it has enough nights; needed: how many it needs.
        visible: smallest change, begun half-way, that is detected with 80 % power; nan if none is.
        resemblance: z of the correlation of consecutive nights, changes taken out.
    """

    changes: tuple[Change, ...]
    tested: bool
    needed: int
    visible: float
    resemblance: float


def nights_needed(histories: int, alpha: float) -> int:
    """So few nights can never show a change in one of so many histories."""
    nights = 2 * LEAST_NIGHTS
    while 2 / math.comb(nights, nights // 2) > alpha / histories:
        nights += 1
    return nights


class _Weights:
    """How the nights after each place differ from the others, strata taken out.

    Attributes:
        candidates: places [K] of nights that may be the first of a new level.
        information: [K]; the variance of the difference is that of a night over it.
    """

    def __init__(self, strata: IntArray) -> None:
        nights = len(strata)
        information = np.zeros(nights)
        for stratum in np.unique(strata):
            here = strata == stratum
            before = np.concatenate([[0], np.cumsum(here)[:-1]])
            count = before[-1] + here[-1]
            information += before * (count - before) / count
        least = LEAST_NIGHTS * (1 - LEAST_NIGHTS / nights) - 1e-9 if nights else 0.0
        places = np.arange(nights)
        inside = (places >= LEAST_NIGHTS) & (places <= nights - LEAST_NIGHTS)
        self.candidates: IntArray = np.flatnonzero(inside & (information >= least))
        self.information = information[self.candidates]


def _centred(values: FloatArray, strata: IntArray) -> FloatArray:
    """Values [T] less the mean of their stratum."""
    _, number = np.unique(strata, return_inverse=True)
    means = np.bincount(number, values) / np.bincount(number)
    return np.asarray(values - means[number])


def _statistics(history: History, weights: _Weights) -> FloatArray:
    """Standardised difference at each candidate [K], in units of the values; positive: a drop."""
    sums = np.cumsum(_centred(history.values, history.strata))
    return np.asarray(sums[weights.candidates - 1] / np.sqrt(weights.information))


def _orders(rng: np.random.Generator, nights: int, draws: int) -> Iterator[IntArray]:
    """Random orders of all nights, in pieces [b, nights]."""
    at_once = max(1, min(draws, _AT_ONCE // max(nights, 1)))
    for begin in range(0, draws, at_once):
        count = min(at_once, draws - begin)
        yield np.argsort(rng.random((count, nights), dtype=np.float32), axis=1)


def _permuted(order: IntArray, history: History, nights: int) -> IntArray:
    """For each order [b, nights] the places [b, T] that the values of a history are taken from."""
    local = np.full(nights, -1)
    local[history.nights] = np.arange(len(history.nights))
    taken = np.empty((len(order), len(history.nights)), dtype=np.intp)
    for stratum in np.unique(history.strata):
        places = np.flatnonzero(history.strata == stratum)
        here = np.zeros(nights, dtype=bool)
        here[history.nights[places]] = True
        taken[:, places] = local[order[here[order]].reshape(len(order), -1)]
    return taken


def _largest(
    histories: Sequence[History], rng: np.random.Generator, draws: int
) -> NDArray[np.float32]:
    """The largest statistic of each history [draws + 1, H]: as observed, then permuted."""
    nights = 1 + max(int(history.nights[-1]) for history in histories)
    patterns: dict[tuple[bytes, bytes], list[int]] = {}
    for number, history in enumerate(histories):
        key = (history.nights.tobytes(), history.strata.tobytes())
        patterns.setdefault(key, []).append(number)
    prepared: list[tuple[History, list[int], NDArray[np.float32], Any, Any]] = []
    largest = np.zeros((draws + 1, len(histories)), dtype=np.float32)
    for members in patterns.values():
        weights = _Weights(histories[members[0]].strata)
        columns = np.empty((len(histories[members[0]].nights), len(members)), dtype=np.float32)
        for column, number in enumerate(members):
            values = _centred(histories[number].values, histories[number].strata)
            spread = float(values.std())
            columns[:, column] = values / spread if spread > 0 else 0.0
        scale = (1 / np.sqrt(weights.information)).astype(np.float32)[:, None]
        before = weights.candidates - 1
        prepared.append((histories[members[0]], members, columns, scale, before))
        if len(before):
            sums = np.cumsum(columns, axis=0)[before] * scale
            largest[0, members] = np.abs(sums).max(axis=0)
    row = 1
    for order in _orders(rng, nights, draws):
        for history, members, columns, scale, before in prepared:
            if not len(before):
                continue
            first, last = before[0], before[-1] + 1
            every = len(before) == last - first
            taken = _permuted(order, history, nights)
            for number, places in enumerate(taken):
                sums = columns[places]
                np.cumsum(sums, axis=0, out=sums)
                kept = sums[first:last] if every else sums[before]
                kept *= scale
                largest[row + number, members] = np.maximum(kept.max(axis=0), -kept.min(axis=0))
        row += len(order)
    return largest


def _interval(history: History, weights: _Weights) -> tuple[int, int, int, float]:
    """Place of the change, of the ends of its confidence set, and the effect."""
    statistics = _statistics(history, weights)
    best = int(np.argmax(np.abs(statistics)))
    first = int(weights.candidates[best])
    information = float(weights.information[best])
    effect = -float(statistics[best]) / math.sqrt(information)
    residual = float((_centred(history.values, history.strata) ** 2).sum() - statistics[best] ** 2)
    freedom = max(len(history.values) - len(np.unique(history.strata)) - 1, 1)
    lost = statistics[best] ** 2 - statistics**2
    likely = weights.candidates[lost <= _LIKELY * max(residual, 0.0) / freedom + 1e-12]
    return first, int(likely.min()), int(likely.max()), effect


def _change(history: History, begin: int, end: int, p: float) -> Change:
    """The change in a part of a history, whose places it is told in."""
    part = history.part(begin, end)
    first, earliest, latest, effect = _interval(part, _Weights(part.strata))
    return Change(begin + first, begin + earliest, begin + latest, effect, p)


def _refined(history: History, found: Mapping[int, float]) -> list[Change]:
    """The changes, each dated again between its neighbours.

    Args:
        found: place -> p, as dated when there were fewer neighbours.
    """
    places = [0, *sorted(found), len(history.values)]
    return [
        _change(history, before, after, found[place])
        for before, place, after in zip(places, places[1:-1], places[2:], strict=False)
    ]


def _without(history: History, changes: Sequence[Change]) -> FloatArray:
    """The values less the mean of their level and stratum."""
    level = np.searchsorted([change.first for change in changes], np.arange(len(history.values)),
                            side="right")  # fmt: skip
    return _centred(history.values, history.strata * (len(changes) + 1) + level)


def _resemblance(rest: FloatArray) -> float:
    total = float((rest**2).sum())
    if total <= 1e-18 or len(rest) < 2 * LEAST_NIGHTS:
        return 0.0
    correlation = float((rest[1:] * rest[:-1]).sum()) / total
    # what is left of levels is by -1/T less alike than the nights are
    return (correlation + 1 / len(rest)) * math.sqrt(len(rest))


def find(
    histories: Mapping[str, History], alpha: float = 0.05, draws: int = DRAWS, seed: int = 0
) -> dict[str, Found]:
    """The changes of every history.

    Args:
        alpha: probability of one or more changes on a page of histories in which nothing changed.
        draws: permutations of the first test.

    Returns:
        By the names of ``histories``.
    """
    needed = nights_needed(max(len(histories), 1), alpha)
    names = [name for name, history in histories.items() if len(history.values) >= needed]
    rng = np.random.default_rng(seed)
    splits: dict[str, dict[int, float]] = {name: {} for name in histories}
    critical: dict[str, float] = {}
    parts = [(name, 0, len(histories[name].values)) for name in names]
    share = alpha
    while parts and share >= _LEAST_ALPHA:
        count = max(draws, math.ceil(2 / share))
        largest = _largest([histories[name].part(*of) for name, *of in parts], rng, count)
        middle, spread = largest.mean(axis=0), largest.std(axis=0)
        largest = (largest - middle) / np.where(spread > 0, spread, 1.0)
        most = largest.max(axis=1)
        p = (most[:, None] >= largest[0] - 1e-6).mean(axis=0)
        if not critical:
            allowed = float(np.quantile(most, 1 - alpha))
            critical = {
                name: float(middle[number] + allowed * spread[number])
                for number, (name, _, _) in enumerate(parts)
            }
        changed = [
            (part, float(p[number]))
            for number, part in enumerate(parts)
            if p[number] <= share and spread[number] > 0
        ]
        share *= len(changed) / len(parts)
        parts = []
        for (name, begin, end), of in changed:
            change = _change(histories[name], begin, end, of)
            splits[name][change.first] = of
            parts += [
                (name, *ends)
                for ends in ((begin, change.first), (change.first, end))
                if ends[1] - ends[0] >= 2 * LEAST_NIGHTS
            ]
    made = {}
    for name, history in histories.items():
        changes = tuple(_refined(history, splits[name]))
        rest = _without(history, changes)
        visible = math.nan
        if name in critical and len(at := _Weights(history.strata).information):
            visible = float(rest.std() * (critical[name] + _POWER) / math.sqrt(at.max()))
        made[name] = Found(changes, name in critical, needed, visible, _resemblance(rest))
    return made
