"""Measure AdaStop: family-wise error, power and runs used, with Monte Carlo errors.

    python -m rlregress_studies.tests.simulate_adastop --samples 2 4 10 --runs 5 --looks 5

Every comparison draws the runs of all samples from one of the laws of ``laws.py``, in turn, and of
several environments from one of each; where there is a drop, the last sample loses that share of
its mean on the first environment, so that its pairs there are unequal and all others still equal.
"""

from __future__ import annotations

import argparse
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from rlregress_studies.rank.adastop import GREATER, SMALLER, AdastopPlan, compare_samples
from tools.tests.simulations.laws import LAWS


@dataclass(frozen=True)
class Measured:
    """Means over simulated comparisons, each with its Monte Carlo standard error.

    Attributes:
        error: comparisons in which one or more pairs of equal laws are separated.
        seen: share of the unequal pairs that are separated the right way; nan without a drop.
        runs: runs of a sample until all of its pairs are decided, or the last look.
    """

    error: tuple[float, float]
    seen: tuple[float, float]
    runs: tuple[float, float]


def _mean(values):
    """Mean and its standard error; never an error of 0 from all-equal values of an indicator."""
    spread = max(float(np.std(values)), 1 / math.sqrt(len(values)))
    return float(np.mean(values)), spread / math.sqrt(len(values))


def measure(
    samples,
    plan,
    drop,
    repetitions,
    laws=tuple(LAWS),
    seed=0,
    environments=1,
):
    """Simulate ``repetitions`` comparisons of ``samples`` samples of one law, in turn of ``laws``.

    Every comparison draws arrangements of its own. Several environments are one family.
    """
    rng = np.random.default_rng([seed, samples, plan.runs, plan.looks, round(1000 * drop)])
    pairs = [
        pair
        for start in range(0, samples * environments, samples)
        for pair in itertools.combinations(range(start, start + samples), 2)
    ]
    most = plan.runs * plan.looks
    error, detected, runs = [], [], []
    for repetition in range(repetitions):
        returns = []
        for environment in range(environments):
            law = LAWS[laws[(repetition + environment) % len(laws)]]
            returns += list(law(rng, (samples, most), 0.0))
            if not environment:
                returns[-1] = law(rng, (most,), drop)
        compared = compare_samples(returns, pairs, replace(plan, seed=repetition))
        unequal = [pair for pair in compared.pairs if drop and pair.second == samples - 1]
        wrong = [
            pair.decision in (GREATER, SMALLER) for pair in compared.pairs if pair not in unequal
        ]
        error.append(float(any(wrong)))
        if unequal:
            detected.append(float(np.mean([pair.decision == GREATER for pair in unequal])))
        for sample in range(len(returns)):
            looks = [pair.look for pair in compared.pairs if sample in (pair.first, pair.second)]
            runs.append(float(plan.runs * max(looks)))
    return Measured(
        _mean(error), _mean(detected) if detected else (math.nan, math.nan), _mean(runs)
    )


def main(arguments=None):
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m rlregress_studies.tests.simulate_adastop")
    parser.add_argument("--samples", type=int, nargs="+", default=[2, 4, 10])
    parser.add_argument("--environments", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5, help="of each sample at each look")
    parser.add_argument("--looks", type=int, default=5)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--beta", type=float, nargs="+", default=[0.0])
    parser.add_argument("--drop", type=float, nargs="+", default=[0.0, 0.2, 0.5])
    parser.add_argument("--draws", type=int, default=1000, help="arrangements of a comparison")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(
        "| samples | looks x runs | beta | drop of one | equal pairs separated | unequal pairs "
        "seen | runs of a sample |\n|---|---|---|---|---|---|---|"
    )

    def text(value, digits):
        mean, error = value
        return "-" if math.isnan(mean) else f"{mean:.{digits}f} ± {error:.{digits}f}"

    for samples, beta, drop in itertools.product(options.samples, options.beta, options.drop):
        plan = AdastopPlan(
            runs=options.runs, looks=options.looks, alpha=options.alpha, beta=beta,
            draws=options.draws,
        )  # fmt: skip
        measured = measure(
            samples, plan, drop, options.repetitions, seed=options.seed,
            environments=options.environments,
        )  # fmt: skip
        row = [
            str(samples),
            f"{plan.looks} x {plan.runs}",
            f"{beta:g}",
            f"{drop:.0%}",
            "-" if samples == 2 and drop and options.environments == 1 else text(measured.error, 3),
            text(measured.seen, 3),
            text(measured.runs, 1),
        ]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
