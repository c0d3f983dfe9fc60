"""Measure ``rlregress trend``: false alarms, how well a drop is dated, what it takes.

    python -m tools.tests.simulations.simulate_changes --nights 20 100 --pages 1000
    python -m tools.tests.simulations.simulate_changes --nights 1000 --drop 0.3 --from 700

A page holds the histories of all cells, of the laws of ``laws.py`` in turn, with new runs every
night. Without a drop the table says how many pages name a change. With one, of the first cell or of
the first ``--common`` cells, how far from its first night it is dated, how often the interval holds
that night, and how many pages name a change that is none: in another cell, or a second one.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlregress.studies.trend.change_points import DRAWS, Found, History, find
from tools.tests.simulations.laws import LAWS

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Page:
    """What is simulated.

    Attributes:
        runs: new runs of each cell a night; looks: at most so many times as many, where the first
            have a mean below the law's, as a sequential gate has it.
        drop: share of the mean that is lost from night ``begin`` on by the first ``common`` cells.
        alike: correlation of consecutive nights, as of machines that drift; 0: none.
    """

    nights: int
    cells: int = 72
    runs: int = 5
    looks: int = 1
    drop: float = 0.0
    begin: int = 0
    common: int = 1
    alike: float = 0.0


def means(page: Page, rng: np.random.Generator, first_law: int = 0) -> FloatArray:
    """Mean return of each night and cell [nights, cells]; the laws begin with number first_law."""
    names = list(LAWS)
    made = np.empty((page.nights, page.cells))
    for cell in range(page.cells):
        law = LAWS[names[(first_law + cell) % len(names)]]
        drawn = law(rng, (page.nights, page.runs * page.looks), 0.0)
        if page.drop and cell < page.common:
            shape = (page.nights - page.begin, page.runs * page.looks)
            drawn[page.begin :] = law(rng, shape, page.drop)
        made[:, cell] = drawn[:, : page.runs].mean(axis=1)
        more = made[:, cell] < 1.0
        made[more, cell] = drawn[more].mean(axis=1)
        if page.alike:
            for night in range(1, page.nights):
                made[night, cell] += page.alike * (made[night - 1, cell] - 1.0)
    return made


def histories(of: FloatArray) -> dict[str, History]:
    """Nights of one stratum, by name of the cell."""
    nights = np.arange(len(of))
    same = np.zeros(len(of), dtype=np.intp)
    return {str(cell): History(nights, of[:, cell], same) for cell in range(of.shape[1])}


@dataclass(frozen=True)
class Measured:
    """Over simulated pages.

    Attributes:
        false: pages that name a change that is none.
        seen: share of the dropped cells in which it is named.
        error: nights between the drop and its date, of each that was seen.
        held: share of those whose interval holds the night of the drop.
        seconds: CPU seconds of a page.
    """

    false: float
    seen: float
    error: NDArray[np.int64]
    held: float
    seconds: float


def measure(
    page: Page, pages: int, alpha: float = 0.05, draws: int = DRAWS, seed: int = 0
) -> Measured:
    """Simulate so many pages; their laws begin with each in turn."""
    rng = np.random.default_rng([seed, page.nights, page.cells, page.begin, page.common])
    dropped = [str(cell) for cell in range(page.common)] if page.drop else []
    false, detected, error, held = 0, 0, [], []
    began = time.process_time()
    for number in range(pages):
        given = histories(means(page, rng, number))
        found = find(given, alpha, draws, seed=number)
        wrong = any(of.changes for name, of in found.items() if name not in dropped)
        for name in dropped:
            nearest = _nearest(found[name], page.begin)
            wrong = wrong or len(found[name].changes) > 1
            if nearest is not None:
                of = found[name].changes[nearest]
                detected += 1
                error.append(of.first - page.begin)
                held.append(of.earliest <= page.begin <= of.latest)
        false += wrong
    seconds = (time.process_time() - began) / pages
    return Measured(
        false / pages,
        detected / (pages * len(dropped)) if dropped else math.nan,
        np.asarray(error, dtype=np.int64),
        float(np.mean(held)) if held else math.nan,
        seconds,
    )


def _nearest(found: Found, night: int) -> int | None:
    """The place, among its changes, of the one that is nearest to a night."""
    places = range(len(found.changes))
    return min(places, key=lambda place: abs(found.changes[place].first - night), default=None)


def row(page: Page, measured: Measured, pages: int) -> list[str]:
    """One line of the table."""
    error = math.sqrt(max(measured.false * (1 - measured.false), 1 / pages) / pages)
    columns = [
        str(page.nights),
        f"{page.cells} x {page.runs}" + (f" to {page.runs * page.looks}" * (page.looks > 1)),
        f"{page.drop:.0%} of {page.common} from night {page.begin}" if page.drop else "nothing",
        f"{page.alike:g}",
        f"{measured.false:.3f} ± {error:.3f}",
    ]
    if not len(measured.error):
        return [*columns, "-" if math.isnan(measured.seen) else "0 %", "-", "-",
                f"{measured.seconds:.2f}"]  # fmt: skip
    off = np.abs(measured.error)
    return [
        *columns,
        f"{measured.seen:.1%}",
        f"{np.mean(off == 0):.0%}, {np.mean(off <= 1):.0%}, {np.mean(off <= 3):.0%}, "
        f"{np.mean(off <= 7):.0%}; {off.max()}",
        f"{measured.held:.1%}",
        f"{measured.seconds:.2f}",
    ]


HEADS = (
    "nights", "cells x runs", "what happened", "alike", "pages with a false change", "drops seen",
    "dated within 0, 1, 3, 7 nights; most", "held by the interval", "CPU s a page",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tools.tests.simulations.simulate_changes")
    parser.add_argument("--nights", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--cells", type=int, default=72)
    parser.add_argument("--runs", type=int, nargs="+", default=[5], help="of a cell each night")
    parser.add_argument("--looks", type=int, default=1, help="of a night, as a sequential gate")
    parser.add_argument("--drop", type=float, nargs="+", default=[0.0])
    parser.add_argument("--from", dest="begin", type=int, default=0, help="night of the drop")
    parser.add_argument("--common", type=int, nargs="+", default=[1], help="cells that drop")
    parser.add_argument("--alike", type=float, default=0.0, help="correlation of nights")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for nights, runs, drop, common in itertools.product(
        given.nights, given.runs, given.drop, given.common
    ):
        page = Page(nights, given.cells, runs, given.looks, drop, given.begin, common, given.alike)
        measured = measure(page, given.pages, given.alpha, given.draws, given.seed)
        print("| " + " | ".join(row(page, measured, given.pages)) + " |", flush=True)


if __name__ == "__main__":
    main()
