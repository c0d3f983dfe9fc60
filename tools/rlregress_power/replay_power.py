"""Tests faults by one replay each: does the run with the fault have the stored numbers?"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import frameworks
from rlregress.check import cell_selection, replays
from rlregress.check.cell_selection import Selection
from rlregress.check.replays import ReplayableRun
from rlregress.errors import UserError
from rlregress.faults import injection
from rlregress.inside import child_environment, process_tree, run_record
from rlregress.model.fault_results import Fault, FaultResult
from rlregress.trace.child_processes import extract_last_message
from rlregress.training import worker_launch
from rlregress.training.recorded_runs import RunResult
from rlregress.upgrade.versions.cached_folders import Log
from rlregress_power import generated_faults, replayed_run

#: time limit of a run with a fault, in seconds: ten times its duration on a busy machine
PATIENCE = 600


@dataclass(frozen=True)
class _Replayed:
    """A stored run with the lines that it executes here.

    Attributes:
        lines: file -> executed lines.
    """

    recorded: ReplayableRun
    lines: Mapping[str, Collection[int]]


def judge_faults_by_replay(
    faults: Sequence[Fault], workers: int, log: Log
) -> Iterator[FaultResult]:
    """Train the first seed of a stored replay with each fault, up to the first difference."""
    for fault in faults:
        try:
            yield _judge_fault_by_replay(
                fault, _replay_without_fault(fault.framework, fault.algorithm)
            )
        except UserError as error:
            yield FaultResult(fault=fault, trouble=str(error))


def draw_faults_of_replayed_files(
    framework: str, algorithm: str, count: int, seed: int
) -> list[Fault]:
    """Return random faults in the files of an algorithm, as a replay counts them.

    Raises:
        UserError: there is no stored replay of the algorithm.
    """
    trail = _find_stored_replay(framework, algorithm).run.trail
    files = {
        file: frameworks.get_adapter(framework).code.find_installed_path(file)
        for file in (trail.lines if trail else ())
    }
    texts = {file: path.read_text("utf-8") for file, path in files.items() if path is not None}
    mutants, _ = generated_faults.draw_mutants_of_files(texts, count, seed)
    return [
        generated_faults.make_injectable_fault(
            mutant, framework, texts[mutant.file], f"{mutant.file}:{mutant.line}", algorithm
        )
        for mutant in mutants
    ]


def _find_stored_replay(framework: str, algorithm: str) -> ReplayableRun:
    """Return the first seed of the first replay of an algorithm; UserError if none is stored."""
    selection = Selection("short", [framework], [algorithm], cells="all")
    for cell in cell_selection.choose_cells(selection):
        if (recorded := replays.find_replayable_run(cell, 0)) is not None:
            return recorded
    raise UserError(
        f"there is no stored replay of {framework} {algorithm}; record one with: rlregress "
        "baseline record --budget replay"
    )


@cache
def _replay_without_fault(framework: str, algorithm: str) -> _Replayed:
    """Replay the installed code; UserError if its numbers differ from the record."""
    recorded = _find_stored_replay(framework, algorithm)
    content = _train_stored_run(recorded, worker_launch.make_worker_environment(), to_its_end=True)
    if first := replays.describe_first_difference(
        recorded.run, RunResult.make_from_record(content)
    ):
        raise UserError(f"without a fault, {recorded.job.title} differs from its record: {first}")
    return _Replayed(recorded, content["trail"]["executed"])


def _train_stored_run(
    recorded: ReplayableRun, environment: Mapping[str, str], to_its_end: bool = False
) -> dict[str, Any]:
    """Train a stored run up to its first difference, with the code that the environment names.

    Args:
        to_its_end: whether to continue after a difference, and record executed lines.

    Raises:
        UserError: the process ended without a record.
        subprocess.TimeoutExpired: it took too long.
    """
    with TemporaryDirectory(prefix="rlregress-replay-") as folder:
        job, checkpoint, record = (Path(folder) / name for name in ("job", "checkpoint", "record"))
        # without sources, because a worker would reject code that is not that of the job
        content = {**recorded.job.convert_to_plain_data(), "key": recorded.job.key, "sources": {}}
        job.write_text(json.dumps(content), "utf-8")
        expected = Path(folder) / "expected"
        trail = recorded.run.trail
        rows = trail.rows if trail and not to_its_end else []
        expected.write_text(json.dumps(rows), "utf-8")
        variables = {**environment, replayed_run.EXPECTED: str(expected)}
        completed = process_tree.run_supervised(
            [sys.executable, "-m", replayed_run.__name__, *map(str, (job, checkpoint, record))],
            timeout=PATIENCE,
            cwd=folder,
            env=child_environment.make_environment_variables(variables, portable=True),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if not record.is_file():
            raise UserError(
                extract_last_message(completed.stderr or completed.stdout) or "no record"
            )
        return run_record.read_record_content(record)


def _judge_fault_by_replay(fault: Fault, replayed: _Replayed) -> FaultResult:
    place = injection.find_fault_line(fault)
    if place is None:
        raise UserError(f"does not fit this version of {fault.framework}")
    result = FaultResult(
        fault=fault,
        executed=_is_statement_executed(*place, replayed.lines.get(fault.file, ())),
        runs=1,
    )
    with injection.inject_fault(fault) as environment:
        try:
            content = _train_stored_run(replayed.recorded, environment)
        except (UserError, subprocess.TimeoutExpired) as error:
            return replace(result, detected=True, by={"replay": str(error)}, failure=str(error))
    first = replays.describe_first_difference(
        replayed.recorded.run, RunResult.make_from_record(content)
    )
    failure = extract_last_message(content["failure"]) if content["failure"] else ""
    if replayed_run.Differs.__name__ in failure:
        failure = ""
    return replace(
        result,
        detected=bool(first),
        by={"replay": failure or first} if first else {},
        cpu_minutes=content["time"].get("cpu_seconds", 0.0) / 60,
        failure=failure,
    )


def _is_statement_executed(path: Path, line: int, executed: Collection[int]) -> bool:
    """Return whether the statement of a line ran, by its own lines without inner statements."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    inner = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    inside = {
        n
        for child in ast.walk(inner)
        if isinstance(child, ast.stmt) and child is not inner
        for n in range(child.lineno, (child.end_lineno or child.lineno) + 1)
    }
    own = set(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)) - inside
    return bool(own.intersection(executed))
