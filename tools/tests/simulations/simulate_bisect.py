"""Measure how often a bisection by returns names a wrong version, against what it states.

    python -m tools.tests.simulations.simulate_bisect [--searches 400] [--versions 32]

Every row is a law of returns, a stored cell or one that is made up. A search has so many versions;
one of them, drawn at random, and all after it are worse by the drop.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from rlregress.bisect import bisection, symptom_of_returns
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step
from rlregress.bisect.symptom_of_returns import AS_NEW, END_RUNS
from tools.tests.simulations.laws import LAWS, Law
from tools.tests.simulations.simulate_stored import stored_laws

DROPS = (0.0, 0.2, 0.4, 0.6, 0.9)


def search(rng: np.random.Generator, law: Law, versions: int, drop: float) -> tuple[str, int, int]:
    """What came of one search, how many versions were checked, and how many runs it took."""
    fault = int(rng.integers(1, versions))
    old, new = law(rng, (END_RUNS,), 0.0), law(rng, (END_RUNS,), drop)
    taken = 2 * END_RUNS
    if not symptom_of_returns.ends_differ(list(old), list(new)):
        return "no difference", 0, taken
    checks = 0

    def check(number: int) -> str:
        nonlocal taken, checks
        runs = law(rng, (END_RUNS,), drop if number >= fault else 0.0)
        asked = 0

        def draw(count: int) -> list[float]:
            nonlocal asked
            asked = count
            return list(runs[:count])

        found = symptom_of_returns.like(list(old), list(new), draw)
        taken, checks = taken + asked, checks + 1
        return SKIPPED if found is None else NEW if found == AS_NEW else OLD

    step = bisection.first_new(bisection.chain(versions), check)
    return _outcome(step, fault if drop else None), checks, taken


def _outcome(step: Step, fault: int | None) -> str:
    if fault is None:
        return "wrong"
    if fault not in (*step.between, step.new):
        return "wrong"
    return "range" if step.between else "right"


def main() -> None:
    """Print one table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=400, help="of each law and drop")
    parser.add_argument("--versions", type=int, default=32)
    given = parser.parse_args()
    laws = [*LAWS.values(), *stored_laws()]
    stated = symptom_of_returns.error(math.ceil(math.log2(given.versions)))
    print(f"{len(laws)} laws, {given.searches} searches each, {given.versions} versions; at most "
          f"{stated:.3f} wrong is stated\n")  # fmt: skip
    print("| drop | right | range | no difference shown | wrong | most of a law | runs |")
    print("|---|---|---|---|---|---|---|")
    for drop in DROPS:
        shares, runs = [], []
        for number, law in enumerate(laws):
            rng = np.random.default_rng([number, int(1000 * drop)])
            found = [search(rng, law, given.versions, drop) for _ in range(given.searches)]
            ends = [outcome for outcome, _, _ in found]
            shares.append([ends.count(kind) / len(ends)
                           for kind in ("right", "range", "no difference", "wrong")])  # fmt: skip
            runs.append(np.mean([taken for _, _, taken in found]))
        means, worst = np.mean(shares, axis=0), np.max(shares, axis=0)[3]
        cells = " | ".join(f"{value:.3f}" for value in (*means, worst))
        print(f"| {drop:.1f} | {cells} | {np.mean(runs):.0f} |", flush=True)


if __name__ == "__main__":
    main()
