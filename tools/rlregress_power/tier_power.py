"""The power of the suite: which tier detects faults generated from a framework's code?

Four tiers run in this order: the probes of all details that execute the line of a fault
(``tests_unit`` asserts their results), traces of the trainings that execute it, direct calls of its
function if neither detects it, and the files of ``tests_behavior`` that execute it if nothing did.
Returns are not checked.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import progress, suite
from rlregress.errors import UserError
from rlregress.faults import injection
from rlregress.frameworks.base import Adapter
from rlregress.inside import process_tree
from rlregress.model.fault_results import (
    BEHAVIOR,
    CALLS,
    TRACE,
    UNIT,
    DrawnFaults,
    Fault,
    Mutant,
    Outcome,
)
from rlregress.training import worker_launch
from rlregress.upgrade.versions import state
from rlregress.upgrade.versions.cached_folders import Log
from rlregress_power import (
    behavior_coverage,
    generated_faults,
    instruments,
    probe_server,
    traced_mutants,
)

#: time limit of the behaviour tests of a fault, in seconds
PATIENCE = 900

#: share of the faults that must be detected
SHARE = 0.95


def draw_faults_and_run_tiers(
    adapter: Adapter, count: int, draw: int, workers: int, log: Log
) -> DrawnFaults:
    """Draw faults and run the tiers; earlier results of the same tests and faults are reused.

    Args:
        count: number of faults.
        draw: seed of the draw.
        workers: number of parallel processes.
        log: called with lines of progress.

    Raises:
        UserError: no files of the framework are named, or its faults cannot be injected.
    """
    suite.require_checkout("judging generated faults")
    if not adapter.framework.modules:
        raise UserError(
            f"{adapter.full_name} consists of scripts without functions; generated faults are "
            "injected into functions only"
        )
    faults, place_count = generated_faults.draw_mutants_of_framework(adapter, count, draw)
    earlier, tests = (
        generated_faults.load_results_of_draw(adapter.name, draw),
        state.digest_own_code_and_tests(),
    )
    by_tier = {}
    if earlier is not None and (dict(earlier.versions), earlier.tests) == (
        adapter.code.map_package_versions(),
        tests,
    ):
        by_tier = {fault.name: fault for fault in earlier.faults}
    outcomes = {
        n: by_tier.get(new.name, new)
        for n, new in enumerate(map(generated_faults.make_outcome_before_tiers, faults))
    }

    def store_results() -> DrawnFaults:
        results = DrawnFaults(
            framework=adapter.name,
            versions=dict(adapter.code.map_package_versions()),
            of=place_count,
            draw=draw,
            faults=tuple(outcomes[n] for n in sorted(outcomes)),
            date=datetime.date.today().isoformat(),
            tests=tests,
        )
        generated_faults.write_results_of_draw(results)
        return results

    for tier in _run_all_tiers(adapter, faults, outcomes, workers, log):
        results = store_results()
        if tier != BEHAVIOR:
            log(_describe_progress(results.faults, tier))
    return store_results()


def repeat_undetected_faults(adapter: Adapter, workers: int, log: Log) -> list[DrawnFaults]:
    """Run today's tests on faults that no tier detected when they were drawn.

    Faults that are explained, except gaps, are left out.

    Raises:
        UserError: no faults were drawn from the installed version.
    """
    suite.require_checkout("judging generated faults")
    version = dict(adapter.code.map_package_versions())
    draws = [
        draw
        for draw in generated_faults.load_results_of_all_draws()
        if draw.framework == adapter.name
    ]
    draws = [draw for draw in draws if dict(draw.versions) == version]
    if not draws:
        raise UserError(
            f"no faults were drawn from {adapter.full_name} {adapter.code.version()} yet; run "
            f"rlregress selftest faults --tiers --framework {adapter.full_name} first"
        )
    explanations = generated_faults.load_explanations()
    faults: dict[str, Mutant] = {}
    for draw in draws:
        missed = {miss.name for miss in generated_faults.list_undetected_faults(draw, explanations)}
        for fault in generated_faults.draw_mutants_of_framework(
            adapter, len(draw.faults), draw.draw
        )[0]:
            name = generated_faults.make_outcome_before_tiers(fault).name
            if name in missed:
                faults[name] = fault
    outcomes = dict(enumerate(map(generated_faults.make_outcome_before_tiers, faults.values())))
    for tier in _run_all_tiers(adapter, list(faults.values()), outcomes, workers, log):
        if tier != BEHAVIOR:
            log(_describe_progress(tuple(outcomes.values()), tier))
    results = {outcome.name: outcome.said for outcome in outcomes.values()}
    today = datetime.date.today().isoformat()
    new_results = []
    for draw in draws:
        answered = tuple(
            replace(drawn_faults, again=results.get(drawn_faults.name, {}))
            for drawn_faults in draw.faults
        )
        new_results.append(replace(draw, faults=answered, asked_again=today))
        generated_faults.write_results_of_draw(new_results[-1])
    return new_results


def _run_all_tiers(
    adapter: Adapter, faults: Sequence[Mutant], outcomes: dict[int, Outcome], workers: int, log: Log
) -> Iterator[str]:
    """Add the results of each tier to ``outcomes``; yield the tier now and then, to store them."""
    unchanged_text = {
        fault.file: path.read_text(encoding="utf-8")
        for fault in faults
        if (path := adapter.code.find_installed_path(fault.file)) is not None
    }
    seeds = {
        n: generated_faults.make_injectable_fault(
            fault, adapter.name, unchanged_text[fault.file], str(n)
        )
        for n, fault in enumerate(faults)
    }

    mutants = dict(enumerate(faults))
    tiers: list[tuple[str, Callable[..., Iterable[_Answer]], Mapping[int, Any]]] = [
        (UNIT, _run_probes, seeds), (TRACE, _run_traces, mutants), (CALLS, _called, mutants),
        (BEHAVIOR, _run_behavior_tests, seeds),
    ]  # fmt: skip
    for tier, query, tier_outcomes in tiers:
        remaining = {
            n: tier_outcomes[n]
            for n, outcome in outcomes.items()
            if tier not in outcome.said and (tier in (UNIT, TRACE) or not outcome.detected_by)
        }
        for number, answer, run in query(adapter, remaining, workers, log):
            outcomes[number] = outcomes[number].add_result_of_tier(tier, answer, run)
            if tier == BEHAVIOR:  # takes longest
                yield tier
        if tier != BEHAVIOR:
            yield tier


def _describe_progress(outcomes: Sequence[Outcome], tier: str) -> str:
    tried = [outcome for outcome in outcomes if tier in outcome.said]
    return f"{tier}: {sum(bool(fault.said[tier]) for fault in tried)} of {len(tried)} detected"


#: number of a fault, what detected it or "", and whether its line was executed.
_Answer = tuple[int, str, bool]


def _run_probes(
    adapter: Adapter, faults: Mapping[int, Fault], workers: int, log: Log
) -> list[_Answer]:
    progress.begin_stage("probing faults", len(faults))
    answers = []
    results = (
        probe_server.probe_each_fault(adapter.name, list(faults.values()), workers)
        if faults
        else ()
    )
    for result in results:
        last = result.trouble.splitlines()[-1:]
        detected = ", ".join(sorted(result.by) or last)
        answers.append((int(result.fault.name), detected, bool(result.executed) or bool(last)))
        progress.count_done_parts()
    return answers


def _run_traces(
    adapter: Adapter, faults: Mapping[int, Mutant], workers: int, log: Log, by_calls: bool = False
) -> list[_Answer]:
    if not faults:
        return []
    mutants_found = list(faults.values())
    seeded = traced_mutants.trace_with_mutants(adapter, mutants_found, workers, log, by_calls)
    return [
        (number, result.called if by_calls else result.detected_by, bool(result.trainings))
        for number, result in zip(faults, seeded, strict=True)
        # mutants that could not be injected were not traced
        if by_calls or not result.misfit
    ]


_called = partial(_run_traces, by_calls=True)


def _run_behavior_tests(
    adapter: Adapter, faults: Mapping[int, Fault], workers: int, log: Log
) -> Iterator[_Answer]:
    """Return the results of ``tests_behavior`` for the files that run a fault's statement."""
    if not faults:
        return
    executed = _measure_lines_of_test_files(adapter)
    progress.begin_stage("giving faults to tests of behaviour", len(faults))
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            (number, pool.submit(_find_failing_test, fault, _find_test_files(fault, executed)))
            for number, fault in faults.items()
        ]
        for number, job in jobs:
            answer = job.result()
            progress.count_done_parts()
            yield (number, *answer)


_ExecutedLines = Mapping[str, Mapping[str, Sequence[int]]]


def _measure_lines_of_test_files(adapter: Adapter) -> _ExecutedLines:
    """Return source file -> test file -> lines that it executes."""
    with TemporaryDirectory(prefix="rlregress-reach-") as folder:
        output = Path(folder) / "reach.json"
        completed = process_tree.run_supervised(
            [sys.executable, *instruments.build_pytest_command(adapter.name, ["tests_behavior"])]
            + ["-p", behavior_coverage.__name__, "-m", "not nightly"],
            env={
                **worker_launch.make_worker_environment(),
                behavior_coverage.OUTPUT: str(output),
                behavior_coverage.FOLDERS: os.pathsep.join(adapter.code.list_code_folders()),
            },
            cwd=suite.locate_checkout_or_current_folder(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if completed.returncode or not output.is_file():
            raise UserError(
                f"the behaviour tests of {adapter.full_name} do not pass without a fault, so they "
                f"cannot detect one: {completed.stdout.strip().splitlines()[-1:]}"
            )
        executed: _ExecutedLines = json.loads(output.read_text(encoding="utf-8"))
    return executed


def _find_test_files(fault: Fault, executed: _ExecutedLines) -> list[str]:
    place = injection.find_fault_line(fault)
    if place is None:
        return []
    path, line = place
    lines_by_test = executed.get(str(path.resolve()), {})
    return sorted(
        f"tests_behavior/{test}" for test, lines in lines_by_test.items() if line in set(lines)
    )


def _find_failing_test(fault: Fault, files: Sequence[str]) -> tuple[str, bool]:
    """Return the first test that fails, and whether any ran."""
    if not files:
        return "", False
    stop_early = ("-x", "-m", "not nightly")
    try:
        entries, _ = instruments.run_tests_with_fault(fault, files, *stop_early, patience=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not ended after {PATIENCE} s", True
    if entries is None:
        return "the tests ended without a result", True
    failed = [str(entry["test"]) for entry in entries if entry["outcome"] == "failed"]
    return failed[0] if failed else "", True


def count_detected_faults(results: DrawnFaults) -> tuple[int, int]:
    """Return the number of detected faults, and of all that count.

    Faults that later tests detect count as detected. Faults that are explained, except gaps, do not
    count.
    """
    detected = sum(bool(fault.detected_by) for fault in results.faults)
    misses = generated_faults.list_undetected_faults(results, generated_faults.load_explanations())
    return detected + sum(bool(miss.detected_later_by) for miss in misses), detected + len(misses)


def detects_enough(results: Sequence[DrawnFaults]) -> bool:
    """Return whether 95 % of all counted faults are detected."""
    counts = [count_detected_faults(result) for result in results]
    return sum(detected for detected, _ in counts) >= SHARE * max(
        sum(total for _, total in counts), 1
    )
