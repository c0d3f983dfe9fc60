"""How long checks of frameworks that did not change take.

    python -m tools.tests.simulations.simulate_check --checks 300

Each check draws its stored and its new runs, with replacement, from the stored runs of a cell, and
takes the looks of a real check: by returns, training returns and critics at once.
"""

from __future__ import annotations

import argparse

import numpy as np

from rlregress.gate import gate_run, judging
from rlregress.gate.session import Session
from rlregress.gate_options import GateOptions
from rlregress.training.cell import Cell
from rlregress.verdicts.rules import CellSample, Rules
from rlregress.verdicts.sequential import follow


def runs_of_check(session: Session, rng: np.random.Generator) -> dict[Cell, int]:
    """New runs of each cell until a check that draws from the stored runs is decided."""
    worst = judging.worst_returns()
    samples = {}
    for cell, baseline in session.stored.items():
        many = len(baseline.runs)
        stored, new = rng.integers(many, size=many), rng.integers(many, size=session.looks.most)
        for quantity in judging.EVERY:
            if cell in session.judged_by(quantity):
                numbers = np.array(baseline.numbers(quantity))
                samples[quantity.named(cell.id)] = CellSample(
                    stored=numbers[stored],
                    new=numbers[new],
                    group=quantity.named(cell.group),
                    worst=worst.get(cell.environment),
                    quantity=quantity,
                )
    looks = dict.fromkeys(samples, session.looks)
    course = follow(samples, looks, Rules(alpha=session.alpha_of_family))
    names = {cell: {of.named(cell.id) for of in judging.EVERY} for cell in session.stored}
    return {
        cell: session.looks.seeds[max(map(course.taken, samples.keys() & of)) - 1]
        for cell, of in names.items()
    }


def main() -> None:
    """Print quantiles of CPU minutes, and how often each cell needs how many runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=300)
    parser.add_argument("--cells", default="default")
    given = parser.parse_args()
    session = gate_run.session_of(GateOptions(cells=given.cells))
    rng = np.random.default_rng(1)
    drawn = [runs_of_check(session, rng) for _ in range(given.checks)]
    seconds = {cell: baseline.cpu_seconds for cell, baseline in session.stored.items()}
    minutes = [sum(runs[cell] * of for cell, of in seconds.items()) / 60 for runs in drawn]
    quantiles = ", ".join(
        f"{100 * q:.0f} %: {np.quantile(minutes, q):.1f}" for q in (0.5, 0.8, 0.9)
    )
    print(f"CPU minutes of trainings, of so many checks at most: {quantiles}")
    for cell, of in seconds.items():
        shares = [f"{n}: {np.mean([r[cell] == n for r in drawn]):.0%}" for n in session.looks.seeds]
        print(f"{cell.id}, {of:.0f} CPU s a run; runs {', '.join(shares)}")


if __name__ == "__main__":
    main()
