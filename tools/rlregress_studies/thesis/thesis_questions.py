"""The three questions of the thesis, on its published tables and on stored runs.

Janssens 2025, "How Stable are Baselines", section 1: do implementations reach what the papers of
the algorithms printed (section 6.1), do frameworks agree under one set of hyperparameters (6.2),
and is the ranking of algorithms the same in every framework (6.3)?
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rlregress.check import baseline_runs, published
from rlregress.check.judging import build_band_samples, replace_failed_runs
from rlregress.errors import UserError
from rlregress.model.cells import Band
from rlregress.model.quantities import RETURNS
from rlregress.training.budgets import load_budget, resolve_hyperparameters_of_cell
from rlregress.training.cell import Cell, Protocol
from rlregress.verdicts.bands import compute_smallest_band_drop, judge_bands
from rlregress_studies.rank.adastop import GREATER, SMALLER
from rlregress_studies.rank.ranking_result import Ranking
from rlregress_studies.rank.run_ranking import (
    ImplementationRun,
    check_returns_are_comparable,
    convert_baselines_to_runs,
    convert_ranking_to_plain_data,
    make_task_key,
    rank_implementations,
)
from rlregress_studies.thesis.thesis_answers import (
    ALPHA,
    BETTER,
    OPEN,
    OPPOSITE,
    OWN,
    SAME,
    SIMILAR,
    WORSE,
    Order,
    PairOfFrameworks,
    Reproduction,
    StoredAnswer,
    StoredCell,
    Study,
    compare_pairs_of_bands,
    count_needed_seeds,
)

TABLE = "thesis_returns"
#: seeds of every published cell
SEEDS = 5
#: the hyperparameter set of the papers of the algorithms
ORIGINAL = "original"
#: environment steps of the published originals; shorter runs are not compared with them
ORIGINAL_STEPS = 1_000_000


def _compare_with_originals(cells: Mapping[tuple[str, str, str], Band]) -> tuple[Reproduction, ...]:
    """Compare (framework, algorithm, environment) with the known originals, as one family."""
    originals = published.load_bands_of_original_papers()
    pairs = {
        key: (band, originals[key[1], key[2].partition("-v")[0]])
        for key, band in cells.items()
        if (key[1], key[2].partition("-v")[0]) in originals
    }
    reproductions = []
    for key, difference in compare_pairs_of_bands(pairs).items():
        band, original = pairs[key]
        outside = difference.outside[0]
        interval = SIMILAR if not outside else BETTER if difference.effect > 0 else WORSE
        framework, algorithm, environment = key
        reproductions.append(
            Reproduction(
                framework=framework,
                algorithm=algorithm,
                environment=environment,
                mean=band.mean,
                original=original.mean,
                interval=interval,
                difference=difference,
            )
        )
    return tuple(reproductions)


def _make_band_of_returns(returns: Sequence[float]) -> Band:
    """Summarize returns as a table would print them, without rounding."""
    sd = float(np.std(returns, ddof=1))
    half = 1.96 * float(np.std(returns)) / math.sqrt(len(returns))
    return Band(
        mean=float(np.mean(returns)),
        half=half,
        seeds=len(returns),
        rounding=0.0,
        sd=sd,
        sd_low=sd,
        sd_high=sd,
    )


def compare_stored_runs_with_papers(
    stored: Iterable[baseline_runs.Baseline],
) -> tuple[Reproduction, ...]:
    """Compare stored runs that are long enough with the papers, as one family."""
    long_enough = {
        (baseline_.cell.framework, baseline_.cell.algorithm, baseline_.cell.environment): baseline_
        for baseline_ in stored
        if baseline_.cell.hyperparameters == ORIGINAL
        and baseline_.protocol.total_steps >= ORIGINAL_STEPS
        and len(baseline_.runs) > 1
    }
    returns = replace_failed_runs(
        {
            baseline_.cell: baseline_.list_values_of_quantity(RETURNS)
            for baseline_ in long_enough.values()
        },
        TABLE,
    )
    bands = {
        key: _make_band_of_returns(returns[baseline_.cell])
        for key, baseline_ in long_enough.items()
    }
    return tuple(
        replace(row, failed=long_enough[row.framework, row.algorithm, row.environment].failed_count)
        for row in _compare_with_originals(bands)
    )


def summarise_signs(signs: Iterable[int]) -> str:
    """Summarise the signs of one pair over all frameworks: same, opposite or open."""
    distinct = set(signs)
    if {1, -1} <= distinct:
        return OPPOSITE
    return SAME if len(distinct) == 1 and 0 not in distinct else OPEN


def _check_table_is_complete(table: Mapping[published.Key, Band]) -> None:
    """Raise UserError that names the missing cells of a published table."""
    names = [{key[place] for key in table} for place in range(4)]
    names[3] |= {ORIGINAL, *names[0]}  # every framework has its own set
    missing = [" ".join(key) for key in itertools.product(*map(sorted, names)) if key not in table]
    if missing:
        ending = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        expected_names = "; ".join(", ".join(sorted(names_at_place)) for names_at_place in names)
        raise UserError(
            f"{published.locate_published_table(TABLE)} lacks {', '.join(missing[:3])}{ending}; "
            "expected a line for each combination of its frameworks, algorithms, environments and "
            f"sets ({expected_names}): add the missing lines, or correct the misspelt name"
        )


def _order_algorithms(table: Mapping[published.Key, Band]) -> tuple[tuple[Order, ...], int]:
    """Return the order of algorithms by environment and set, and the number of tested pairs."""
    frameworks = sorted({key[0] for key in table})
    algorithms = sorted({key[1] for key in table})
    environments = sorted({key[2] for key in table})
    sets = sorted({key[3] for key in table})
    cells = {
        (framework, environment, set_name, *pair): (
            table[framework, pair[0], environment, set_name],
            table[framework, pair[1], environment, set_name],
        )
        for framework, environment, set_name in itertools.product(frameworks, environments, sets)
        for pair in itertools.combinations(algorithms, 2)
    }
    compared = compare_pairs_of_bands(cells)
    by_environment = []
    for environment, set_name in itertools.product(environments, [*sets, OWN]):
        used = {framework: framework if set_name == OWN else set_name for framework in frameworks}
        orders = {
            framework: tuple(
                sorted(
                    algorithms,
                    key=lambda name: -table[framework, name, environment, used[framework]].mean,
                )
            )
            for framework in frameworks
        }
        pairs = {
            pair: summarise_signs(
                compared[framework, environment, used[framework], *pair].get_sign(ALPHA)
                for framework in frameworks
            )
            for pair in itertools.combinations(algorithms, 2)
        }
        by_environment.append(
            Order(environment=environment, hyperparameters=set_name, orders=orders, pairs=pairs)
        )
    return tuple(by_environment), sum(difference.is_tested for difference in compared.values())


def _rank_stored_runs(runs: Sequence[ImplementationRun], nothing: str) -> StoredAnswer:
    """Rank all runs at one look, as many of each implementation as the shortest has."""
    implementations: dict[str, set[str]] = {}
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        implementations.setdefault(run.task, set()).add(run.implementation)
        place = (run.task, run.implementation)
        counts[place] = counts.get(place, 0) + 1
    shared = {task for task, task_pairs in implementations.items() if len(task_pairs) > 1}
    if not shared:
        return StoredAnswer(ranking=None, reason=nothing)
    least = min(count for (task, _), count in counts.items() if task in shared)
    try:
        ranking = rank_implementations(
            [run for run in runs if run.task in shared], least, looks=1, alpha=ALPHA
        )
    except UserError as error:
        return StoredAnswer(ranking=None, reason=str(error))
    left_out = len(implementations) - len(shared)
    return StoredAnswer(
        ranking=ranking, reason=f"{left_out} without a counterpart" if left_out else ""
    )


def _name_set_and_budget(cell: Cell, protocol: Protocol) -> str:
    return f"{make_task_key(cell, protocol)}, hyperparameters {cell.hyperparameters}"


def _summarise_pairs_of_algorithms(
    ranking: Ranking | None,
) -> dict[str, dict[tuple[str, str], str]]:
    """Return environment, set and budget -> pairs of algorithms over all frameworks."""
    signs: dict[str, dict[tuple[str, str], list[int]]] = {}
    for task in ranking.tasks if ranking else ():
        _, _, place = task.name.partition(": ")
        for pair in task.decisions:
            sign = {GREATER: 1, SMALLER: -1}.get(pair.decision, 0)
            signs.setdefault(place, {}).setdefault((pair.first, pair.second), []).append(sign)
    return {
        place: {
            pair: summarise_signs(pair_signs)
            for pair, pair_signs in pairs.items()
            if len(pair_signs) > 1
        }
        for place, pairs in signs.items()
    }


def compare_stored_runs_with_tables(
    stored: Iterable[baseline_runs.Baseline],
) -> tuple[StoredCell, ...]:
    """Compare stored runs with the published table of their budget, each table a family.

    Raises:
        UserError: runs of such a cell have another protocol or other hyperparameters.
    """
    tables: dict[str, dict[Cell, tuple[baseline_runs.Baseline, Band]]] = {}
    for baseline_ in stored:
        cell, cell_budget = baseline_.cell, load_budget(baseline_.cell.budget)
        table = cell_budget.published
        band = published.find_published_band(cell, table) if table else None
        if band is not None:
            baseline_runs.check_same_protocol(
                baseline_, cell_budget.make_protocol_of_algorithm(cell.algorithm)
            )
            baseline_runs.check_same_hyperparameters(
                baseline_, resolve_hyperparameters_of_cell(cell, cell_budget)
            )
            tables.setdefault(table, {})[cell] = baseline_, band
    stored_cells: list[StoredCell] = []
    for table, cells in tables.items():
        returns = {
            cell: stored_cell.list_values_of_quantity(RETURNS)
            for cell, (stored_cell, _) in cells.items()
        }
        bands = {cell: band for cell, (_, band) in cells.items()}
        samples = build_band_samples(returns, bands, table)
        judged = judge_bands(
            {id: sample for id, sample in samples.items() if len(sample.new) > 1}, ALPHA
        )
        stored_cells += [
            StoredCell(
                cell=cell.id,
                returns=tuple(samples[cell.id].new),
                band=band,
                verdict=judged.get(cell.id),
                failed=stored_cell.failed_count,
            )
            for cell, (stored_cell, band) in cells.items()
        ]
    return tuple(stored_cells)


def answer_thesis_questions() -> Study:
    """Answer the three questions, and whether stored runs match the printed returns.

    Each question is a separate family, at level ``ALPHA``.

    Raises:
        UserError: a data file cannot be read.
    """
    table = published.load_published_bands(TABLE)
    _check_table_is_complete(table)
    frameworks = sorted({key[0] for key in table})
    keys = sorted({key[1:] for key in table})
    pairs = {
        (algorithm, environment, set_name, first, second): (
            table[first, algorithm, environment, set_name],
            table[second, algorithm, environment, set_name],
        )
        for algorithm, environment, set_name in keys
        for first, second in itertools.combinations(frameworks, 2)
    }
    compared = tuple(
        PairOfFrameworks(
            algorithm=algorithm,
            environment=environment,
            hyperparameters=set_name,
            first=first,
            second=second,
            difference=difference,
        )
        for (algorithm, environment, set_name, first, second), difference in compare_pairs_of_bands(
            pairs
        ).items()
    )
    tested = sum(pair.difference.is_tested for pair in compared) or 1
    orders, tested_order = _order_algorithms(table)
    stored = baseline_runs.load_all_baselines()
    check_returns_are_comparable(convert_baselines_to_runs(stored))
    order = _rank_stored_runs(
        convert_baselines_to_runs(
            stored,
            implementation=lambda cell: cell.algorithm,
            task=lambda cell, protocol: f"{cell.framework}: {_name_set_and_budget(cell, protocol)}",
        ),
        "no framework has stored runs of two algorithms on one environment with as many steps",
    )
    printed = {algorithm for algorithm, _ in published.load_bands_of_original_papers()}
    return Study(
        reproduction=_compare_with_originals(
            {key[:3]: band for key, band in table.items() if key[3] == ORIGINAL}
        ),
        without_originals=tuple(sorted({key[1] for key in table} - printed)),
        frameworks=compared,
        orders=orders,
        tested_order=tested_order,
        stored_reproduction=compare_stored_runs_with_papers(stored),
        stored_frameworks=_rank_stored_runs(
            convert_baselines_to_runs(
                stored,
                implementation=lambda cell: cell.framework,
                task=lambda cell, protocol: (
                    f"{cell.algorithm}: {_name_set_and_budget(cell, protocol)}"
                ),
            ),
            "no two frameworks have stored runs under one set of hyperparameters",
        ),
        stored_order=order,
        stored_pairs=_summarise_pairs_of_algorithms(order.ranking),
        stored_cells=compare_stored_runs_with_tables(stored),
        published_cells=len(table),
        seeds=SEEDS,
        visible=compute_smallest_band_drop(SEEDS, SEEDS, tested, ALPHA),
        needed=count_needed_seeds(tested, ALPHA),
    )


def convert_study_to_plain_data(study: Study) -> dict[str, Any]:
    """Return the study as plain JSON values; undefined numbers (nan) become None."""

    def convert_answer(stored_answer: StoredAnswer) -> dict[str, Any]:
        return {
            "ranking": convert_ranking_to_plain_data(stored_answer.ranking)
            if stored_answer.ranking
            else None,
            "reason": stored_answer.reason,
        }

    def convert_comparison(item: Reproduction | PairOfFrameworks) -> dict[str, Any]:
        plain = asdict(item)
        plain["difference"] = {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in plain["difference"].items()
        }
        return plain

    def join_names(pairs: Mapping[tuple[str, str], str]) -> dict[str, str]:
        return {f"{first}, {second}": relation for (first, second), relation in pairs.items()}

    return {
        "alpha": ALPHA,
        "reproduction": [
            {**convert_comparison(line), "verdict": line.verdict} for line in study.reproduction
        ],
        "without_originals": list(study.without_originals),
        "frameworks": [convert_comparison(framework) for framework in study.frameworks],
        "orders": [
            {
                "environment": order.environment,
                "hyperparameters": order.hyperparameters,
                "orders": dict(order.orders),
                "alike": order.agrees,
                "pairs": join_names(order.pairs),
            }
            for order in study.orders
        ],
        "stored_reproduction": [
            {**convert_comparison(line), "verdict": line.verdict}
            for line in study.stored_reproduction
        ],
        "stored_frameworks": convert_answer(study.stored_frameworks),
        "stored_order": convert_answer(study.stored_order),
        "stored_cells": [
            {
                "cell": stored_cell.cell,
                "returns": list(stored_cell.returns),
                "failed": stored_cell.failed,
                "published": asdict(stored_cell.band),
                "verdict": asdict(stored_cell.verdict) if stored_cell.verdict else None,
            }
            for stored_cell in study.stored_cells
        ],
        "stored_pairs": {place: join_names(pairs) for place, pairs in study.stored_pairs.items()},
    }
