"""The gate: check what was asked, run the tiers as one pytest session, judge what was found."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from rlregress import evidence, suite
from rlregress.details import requested_names
from rlregress.details.expectations import Cell
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.gate import (
    cell_selection,
    outcome,
    report_data,
    stored_throughput,
)
from rlregress.gate.cell_selection import Selection
from rlregress.gate.machines import other_machines
from rlregress.gate.session import Session, open_session
from rlregress.gate_options import PYTEST, GateOptions
from rlregress.inside import identity, process_tree
from rlregress.inside.run_record import check_writable
from rlregress.missing_packages import MissingPackage
from rlregress.model.gate_result import GateResult, ReportData
from rlregress.model.option import arguments, of
from rlregress.tracing import child_processes
from rlregress.training import worker_launch
from rlregress.training.cell import Cell as TrainedCell

#: what an interrupted pytest is given to end by itself.
_PATIENCE_SECONDS = 15.0
REPORT_FILES = (
    "report.html", "summary.md", "verdict.json", "evidence.json", "junit.xml", "throughput.json",
    "throughput.xml", "gate.sarif",
)  # fmt: skip
TIERS = ("tests_unit", "tests_behavior", "tests_performance")
#: measured by one process at a time, after everything else
THROUGHPUT = stored_throughput.TESTS


def selection_of(options: GateOptions) -> Selection:
    """The cells that it is about."""
    return Selection(
        options.budget,
        requested_names.names("--framework", options.frameworks),
        requested_names.names("--algorithm", options.algorithms),
        requested_names.names("--environment", options.environments),
        options.cells,
        options.hyperparameters,
    )


def session_of(options: GateOptions) -> Session:
    """Its trainings, checked, nothing started."""
    return open_session(
        selection_of(options),
        options.seeds,
        options.store,
        options.alpha,
        options.first_seed,
        one_look=options.one_look,
        replay_seed=replay_seed(options),
    )


def replay_seed(options: GateOptions) -> int | None:
    """Return the seed of the stored runs that are replayed, -1: today's; None: none are."""
    return options.replay_seed if options.replays_first else None


def pytest_command(
    options: GateOptions, python: str = sys.executable, tiers: Sequence[str] = TIERS
) -> list[str]:
    """The command that does the work; a user can paste it."""
    workers = options.workers or os.cpu_count() or 1
    command = [python, *suite.pytest_arguments(*tiers), "-q", "-p", "no:cacheprovider"]
    command += ["--ignore", suite.test_path(THROUGHPUT)]
    command += ["--progress", "-o", "console_output_style=classic"]
    command += ["-n", str(workers), "--budget", options.budget]
    command += arguments(options, PYTEST - {"budget"})
    command += ["--junitxml", str(options.junit), "--evidence", str(options.evidence)]
    return command


def throughput_command(options: GateOptions) -> list[str]:
    """The command that measures throughput; a user can paste it."""
    command = [sys.executable, *suite.pytest_arguments(THROUGHPUT), "-q", "-p", "no:cacheprovider"]
    command += arguments(options, {"alpha", "frameworks", "algorithms"})
    command += ["--junitxml", str(options.report / "throughput.xml")]
    return [*command, "--evidence", str(options.throughput_evidence)]


def repeat_command(options: GateOptions, name: str = "check") -> str:
    """The command that judges the same again, from the runs that the store has.

    Args:
        name: of a command that takes the same options, such as "runs launch".
    """
    # where the report lay and how many processes there were is another matter
    again = of(GateOptions).keys() - {"budget", "report", "workers"}
    words = ["--budget", options.budget, *arguments(options, again)]
    return shlex.join(["rlregress", *name.split(), *words])


@contextmanager
def new_report(options: GateOptions) -> Iterator[GateOptions]:
    """The same options with an empty folder for the report.

    When the block ends well, what was written there takes the place of an earlier report, as a
    whole. Otherwise that one is left as it is.

    Raises:
        UserError: the report cannot be written to its folder.
    """
    check_writable(options.report, "the report")
    with TemporaryDirectory(prefix=".new-", dir=options.report) as folder:
        made = replace(options, report=Path(folder))
        yield made
        if unknown := {path.name for path in made.report.iterdir()} - set(REPORT_FILES):
            raise ValueError(f"REPORT_FILES lacks {sorted(unknown)}: no report would have it")
        try:
            for name in REPORT_FILES:
                if (made.report / name).exists():
                    os.replace(made.report / name, options.report / name)
                else:
                    (options.report / name).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"the report cannot be written to {options.report}: {error}") from None


def clear(options: GateOptions) -> None:
    """Remove an earlier report, so that nothing of it is taken for this one."""
    check_writable(options.report, "the report")
    try:
        for name in REPORT_FILES:
            (options.report / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"the report cannot be written to {options.report}: {error}") from None


def run(options: GateOptions) -> None:
    """Run the session, and then that of throughput if asked; UserError if pytest itself could not.

    The exit status of failed tests is not an error here: the evidence says what failed.
    """
    _run(pytest_command(options))
    if options.throughput:
        _run(throughput_command(options))


def _run(command: list[str]) -> None:
    # pytest's own processes run the probes: one thread each, as the trainings
    # in a group of its own, so that an interrupt reaches it once: from here
    process = subprocess.Popen(
        process_tree.supervised(command),
        cwd=suite.workplace(),
        env=worker_launch.worker_environment(),
        process_group=0,
    )
    try:
        status = process.wait()
    except BaseException:
        # its workers end with it, and the trainings with them
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_SECONDS)
        process_tree.kill_tree(process)
        process.wait()
        raise
    if status not in (0, 1):
        raise UserError(
            f"pytest ended with status {status} and judged nothing; the command was: "
            + " ".join(command)
        )


def returns_alone(
    python: str, options: GateOptions, environment: Mapping[str, str]
) -> list[dict[str, Any]] | str:
    """What the tests of returns attach in another process's copy of a framework.

    Formulas and behaviour are not checked.

    Args:
        python: its interpreter.
        environment: its environment variables.

    Returns:
        The entries of the evidence, or why the trainings did not run.

    Raises:
        OutOfTime: they were ended at the deadline of the command.
    """
    clear(options)
    ended = child_processes.call(
        pytest_command(options, python, TIERS[-1:]),
        {**environment, **suite.safe_path()},
        suite.workplace(),
    )
    try:
        return evidence.read(options.evidence)
    except UserError:
        return (
            f"the trainings did not run: {child_processes.last_words(ended.stderr or ended.stdout)}"
        )


def evidence_of(options: GateOptions) -> list[dict[str, Any]]:
    """The entries of a gate, those of throughput included; UserError if a file is incomplete."""
    entries = evidence.read(options.evidence)
    return entries + (evidence.read(options.throughput_evidence) if options.throughput else [])


def judge(options: GateOptions, say: Callable[[str], None]) -> GateResult:
    """Check, run and judge.

    Raises:
        UserError: what was asked cannot be judged, or pytest could not run.
    """
    started, date = time.monotonic(), report_data.now()
    info = SessionInfo(options.alpha, options.budget, date, repeat_command(options))
    # everything that can be wrong with the request is said before anything is started
    chosen = selection_of(options)
    frameworks, algorithms = chosen.frameworks, chosen.algorithms
    lacking = cell_selection.lacking(chosen)
    try:
        session: Session | None = session_of(options)
    except MissingPackage:
        session = None
    adapters = requested_names.adapters(frameworks)
    to_probe = {
        adapter.full_name: requested_names.to_probe(adapter, algorithms) for adapter in adapters
    }
    if options.throughput:
        stored_throughput.check(adapters, algorithms)
    for sentence in requested_names.not_installed(frameworks):
        say(f"not checked: {sentence}")
    if session is None:
        say("check: no runs, as a package that they need is not installed")
    else:
        check_writable(session.store.folder, "run records")
        say(f"check: {session.describe()}")
        if session.replays:
            seeds = sorted({of.run.seed for of in session.replays.values()})
            say(
                f"check: stored seed {', '.join(map(str, seeds))} of {len(session.replays)} cells "
                "is replayed first; a cell with its numbers needs no fresh seeds"
            )
    for left_out in cell_selection.excluded(chosen):
        say(f"left out: {left_out}")
    run(options)
    entries = evidence_of(options)
    seconds = time.monotonic() - started
    return conclude(adapters, session, entries, to_probe, info, seconds, lacking)


@dataclass(frozen=True)
class SessionInfo:
    """What a session of pytest was told, and when.

    Attributes:
        alpha: probability of a false alarm.
        date: when it began, as ``report_data.now`` says it.
        command: that repeats it.
    """

    alpha: float
    budget: str
    date: str
    command: str


def conclude(
    adapters: Sequence[Adapter],
    session: Session | None,
    entries: list[dict[str, Any]],
    to_probe: Mapping[str, Collection[Cell]],
    info: SessionInfo,
    seconds: float,
    lacking: Mapping[TrainedCell, str] = MappingProxyType({}),
) -> GateResult:
    """Judge what a session of pytest found.

    Args:
        session: its trainings; None: it had none, and formulas and behaviour are judged alone.
        entries: its evidence.
        to_probe: full name of a framework -> every (detail, scope) to be asked of it.
        seconds: of wall-clock time.
        lacking: as of ``cell_selection.lacking``.
    """
    trained = {cell.framework for cell in session.cells} if session else set()
    outcomes = outcome.outcomes(entries, trained, to_probe, lacking)
    rest = session and session.without(evidence.reproduced(entries))
    unjudged = outcome.unjudged(rest.verdict_names(), entries) if rest else []
    unjudged += [f"tests of {of.framework} {tier}" for of in outcomes for tier in of.untested]
    return GateResult(
        outcomes=outcomes,
        broken=outcome.broken(entries),
        unjudged=unjudged,
        versions={adapter.full_name: identity.versions(adapter) for adapter in adapters},
        sources={adapter.full_name: identity.sources(adapter) for adapter in adapters},
        copies={adapter.full_name: identity.changed_copies(adapter) for adapter in adapters},
        alpha=info.alpha,
        budget=info.budget,
        seconds=round(seconds, 1),
        exit_code=outcome.exit_code(outcomes, entries, unjudged),
        notes=other_machines(rest) if rest else (),
        report_data=_report_data(info, session, adapters, to_probe, entries),
    )


def _report_data(
    info: SessionInfo,
    session: Session | None,
    adapters: Sequence[Adapter],
    to_probe: Mapping[str, Collection[Cell]],
    entries: list[dict[str, Any]],
) -> ReportData:
    known, coverage = requested_names.algorithms(), {}
    trained = session.cells if session is not None and session.judged else ()
    for name, cells in to_probe.items():
        judged = [cell for cell in trained if cell.framework == name.partition("@")[0]]
        coverage[name] = report_data.algorithm_coverage({id for id, _ in cells}, known, judged)
    failures = [entry for entry in entries if entry["outcome"] == "failed"]
    bands = {cell.id: band for cell, band in session.bands.items()} if session else {}
    return ReportData(
        started=info.date,
        command=info.command,
        machine=report_data.machine(),
        coverage=coverage,
        runs=report_data.runs(entries, bands),
        deviations=report_data.deviations(failures, adapters),
        files=report_data.changed_files(adapters),
    )
