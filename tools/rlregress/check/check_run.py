"""Runs a check: validates the request, runs the tiers as one pytest session, judges the results."""

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
from rlregress.catalogue import requested_names
from rlregress.catalogue.expectations import DetailScope
from rlregress.check import cell_selection, outcome, report_data, stored_throughput
from rlregress.check.cell_selection import Selection
from rlregress.check.machines import describe_other_machines
from rlregress.check.session import Session
from rlregress.check_options import PYTEST, CheckOptions
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity, process_tree
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.missing_packages import MissingPackage
from rlregress.model.check_result import CheckResult, ReportData
from rlregress.model.option import format_options_as_arguments, list_options
from rlregress.trace import child_processes
from rlregress.training import worker_launch
from rlregress.training.cell import Cell

#: time for an interrupted pytest to end by itself
_PATIENCE_SECONDS = 15.0
REPORT_FILES = (
    "report.html", "summary.md", "verdict.json", "evidence.json", "junit.xml", "throughput.json",
    "throughput.xml", "gate.sarif",
)  # fmt: skip
TIERS = ("tests_unit", "tests_behavior", "tests_performance")
#: measured by one process at a time, after everything else
THROUGHPUT = stored_throughput.TESTS


def build_cell_selection(options: CheckOptions) -> Selection:
    """Build the selection of cells from the options."""
    return Selection(
        options.budget,
        requested_names.split_comma_separated_names("--framework", options.frameworks),
        requested_names.split_comma_separated_names("--algorithm", options.algorithms),
        requested_names.split_comma_separated_names("--environment", options.environments),
        options.cells,
        options.hyperparameters,
    )


def open_check_session(options: CheckOptions) -> Session:
    """Open the session of the options: trainings are checked, nothing is started."""
    return Session(
        build_cell_selection(options),
        options.seeds,
        options.store,
        options.alpha,
        options.first_seed,
        one_look=options.one_look,
        replay_seed=choose_replay_seed(options),
    )


def choose_replay_seed(options: CheckOptions) -> int | None:
    """Return the seed of the stored runs to replay; -1: another each day; None: replay nothing."""
    return options.replay_seed if options.replays_first else None


def build_pytest_command(
    options: CheckOptions, python: str = sys.executable, tiers: Sequence[str] = TIERS
) -> list[str]:
    """Return the pytest command of a check. Users can run it themselves."""
    workers = options.workers or os.cpu_count() or 1
    command = [python, *suite.make_pytest_arguments(*tiers), "-q", "-p", "no:cacheprovider"]
    command += ["--ignore", suite.make_test_path(THROUGHPUT)]
    command += ["--progress", "-o", "console_output_style=classic"]
    command += ["-n", str(workers), "--budget", options.budget]
    command += format_options_as_arguments(options, PYTEST - {"budget"})
    command += ["--junitxml", str(options.junit), "--evidence", str(options.evidence)]
    return command


def build_throughput_command(options: CheckOptions) -> list[str]:
    """Return the command that measures throughput. Users can run it themselves."""
    command = [
        sys.executable,
        *suite.make_pytest_arguments(THROUGHPUT),
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    command += format_options_as_arguments(options, {"alpha", "frameworks", "algorithms"})
    command += ["--junitxml", str(options.report / "throughput.xml")]
    return [*command, "--evidence", str(options.throughput_evidence)]


def build_repeat_command(options: CheckOptions, command: str = "check") -> str:
    """Return the command that repeats this judgement from the runs in the store.

    Args:
        command: a command that takes the same options, such as "runs launch".
    """
    # the folder of the report and the number of processes do not change the verdict
    repeated_options = list_options(CheckOptions).keys() - {"budget", "report", "workers"}
    words = ["--budget", options.budget, *format_options_as_arguments(options, repeated_options)]
    return shlex.join(["rlregress", *command.split(), *words])


@contextmanager
def replace_report_folder(options: CheckOptions) -> Iterator[CheckOptions]:
    """Yield the same options with an empty folder for the report.

    If the block ends without an error, the new files replace an earlier report as a whole.
    Otherwise the earlier report stays.

    Raises:
        UserError: the report cannot be written to its folder.
    """
    check_folder_is_writable(options.report, "the report")
    with TemporaryDirectory(prefix=".new-", dir=options.report) as folder:
        new_options = replace(options, report=Path(folder))
        yield new_options
        if unknown := {path.name for path in new_options.report.iterdir()} - set(REPORT_FILES):
            raise ValueError(f"REPORT_FILES lacks {sorted(unknown)}: no report would have them")
        try:
            for name in REPORT_FILES:
                if (new_options.report / name).exists():
                    os.replace(new_options.report / name, options.report / name)
                else:
                    (options.report / name).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"the report cannot be written to {options.report}: {error}") from None


def remove_earlier_report(options: CheckOptions) -> None:
    """Remove an earlier report, so that no file of it is taken for a new one."""
    check_folder_is_writable(options.report, "the report")
    try:
        for name in REPORT_FILES:
            (options.report / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"the report cannot be written to {options.report}: {error}") from None


def run_session_and_throughput(options: CheckOptions) -> None:
    """Run the session, then throughput if requested; UserError if pytest itself failed.

    Failed tests are no error here: the evidence names them.
    """
    _run_pytest(build_pytest_command(options))
    if options.throughput:
        _run_pytest(build_throughput_command(options))


def _run_pytest(command: list[str]) -> None:
    # Pytest's own processes run the probes with one thread each, like the trainings. They form a
    # separate process group, so that an interrupt reaches them once: from here.
    process = subprocess.Popen(
        process_tree.make_supervised_command(command),
        cwd=suite.locate_checkout_or_current_folder(),
        env=worker_launch.make_worker_environment(),
        process_group=0,
    )
    try:
        status = process.wait()
    except BaseException:
        # pytest ends its workers, and these their trainings
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_SECONDS)
        process_tree.kill_tree(process)
        process.wait()
        raise
    if status not in (0, 1):
        raise UserError(
            f"pytest ended with status {status} and judged nothing; its output above says why; the "
            f"command was: {' '.join(command)}"
        )


def run_tests_of_returns(
    python: str, options: CheckOptions, environment: Mapping[str, str]
) -> list[dict[str, Any]] | str:
    """Run the tests of returns with another interpreter; return their evidence.

    Formulas and behaviour are not checked.

    Args:
        python: path of the interpreter.
        environment: environment variables of its process.

    Returns:
        The entries of the evidence, or why the trainings did not run.

    Raises:
        OutOfTime: they were ended at the deadline of the command.
    """
    remove_earlier_report(options)
    completed = child_processes.run_command(
        build_pytest_command(options, python, TIERS[-1:]),
        {**environment, **suite.make_safe_path_variable()},
        suite.locate_checkout_or_current_folder(),
    )
    try:
        return evidence.read_evidence_file(options.evidence)
    except UserError:
        return (
            "the trainings did not run: "
            f"{child_processes.extract_last_message(completed.stderr or completed.stdout)}"
        )


def read_evidence(options: CheckOptions) -> list[dict[str, Any]]:
    """Return the evidence of a check with throughput; UserError if a file is incomplete."""
    entries = evidence.read_evidence_file(options.evidence)
    return entries + (
        evidence.read_evidence_file(options.throughput_evidence) if options.throughput else []
    )


def run_and_judge_check(options: CheckOptions, report_line: Callable[[str], None]) -> CheckResult:
    """Check the request, run the session, and judge its evidence.

    Raises:
        UserError: the request cannot be judged, or pytest could not run.
    """
    started, date = time.monotonic(), report_data.format_time_with_offset()
    info = SessionInfo(options.alpha, options.budget, date, build_repeat_command(options))
    # errors of the request are reported before anything is started
    selection = build_cell_selection(options)
    frameworks, algorithms = selection.frameworks, selection.algorithms
    lacking = cell_selection.find_cells_without_package(selection)
    try:
        session: Session | None = open_check_session(options)
    except MissingPackage:
        session = None
    adapters = requested_names.select_adapters(frameworks)
    to_probe = {
        adapter.full_name: requested_names.list_details_to_probe(adapter, algorithms)
        for adapter in adapters
    }
    if options.throughput:
        stored_throughput.check_throughput_files(adapters, algorithms)
    for sentence in requested_names.describe_frameworks_not_installed(frameworks):
        report_line(f"not checked: {sentence}")
    if session is None:
        report_line("check: no runs, because a package that they need is not installed")
    else:
        check_folder_is_writable(session.store.folder, "run records")
        report_line(f"check: {session.describe_session()}")
        if session.replays:
            seeds = sorted({replay.run.seed for replay in session.replays.values()})
            report_line(
                f"check: stored seed {', '.join(map(str, seeds))} of {len(session.replays)} cells "
                "is replayed first; a cell with its numbers needs no fresh seeds"
            )
    for exclusion in cell_selection.describe_excluded_cells(selection):
        report_line(f"left out: {exclusion}")
    run_session_and_throughput(options)
    entries = read_evidence(options)
    seconds = time.monotonic() - started
    return judge_evidence_of_session(adapters, session, entries, to_probe, info, seconds, lacking)


@dataclass(frozen=True)
class SessionInfo:
    """Settings and start time of a session of pytest.

    Attributes:
        alpha: probability of a false alarm.
        date: start, in the format of ``report_data.format_time_with_offset``.
        command: the command that repeats the session.
    """

    alpha: float
    budget: str
    date: str
    command: str


def judge_evidence_of_session(
    adapters: Sequence[Adapter],
    session: Session | None,
    entries: list[dict[str, Any]],
    to_probe: Mapping[str, Collection[DetailScope]],
    info: SessionInfo,
    seconds: float,
    lacking: Mapping[Cell, str] = MappingProxyType({}),
) -> CheckResult:
    """Judge the evidence of a session of pytest.

    Args:
        session: its trainings; None: only formulas and behaviour are judged.
        entries: its evidence.
        to_probe: full name of a framework -> every (detail, scope) to be probed.
        seconds: of wall-clock time.
        lacking: see ``cell_selection.find_cells_without_package``.
    """
    trained = {cell.framework for cell in session.cells} if session else set()
    outcomes = outcome.build_framework_outcomes(entries, trained, to_probe, lacking)
    fresh_session = session and session.exclude_reproduced_cells(
        evidence.list_reproduced_cells(entries)
    )
    unjudged = (
        outcome.find_unjudged_names(fresh_session.list_names_to_judge(), entries)
        if fresh_session
        else []
    )
    unjudged += [
        f"tests of {framework_outcome.framework} {tier}"
        for framework_outcome in outcomes
        for tier in framework_outcome.untested
    ]
    return CheckResult(
        outcomes=outcomes,
        broken=outcome.find_broken_tests(entries),
        unjudged=unjudged,
        versions={
            adapter.full_name: identity.map_package_versions(adapter) for adapter in adapters
        },
        sources={
            adapter.full_name: identity.digest_tested_sources(adapter) for adapter in adapters
        },
        copies={
            adapter.full_name: identity.find_modules_outside_distribution(adapter)
            for adapter in adapters
        },
        alpha=info.alpha,
        budget=info.budget,
        seconds=round(seconds, 1),
        exit_code=outcome.compute_exit_code(outcomes, entries, unjudged),
        notes=describe_other_machines(fresh_session) if fresh_session else (),
        report_data=_build_report_data(info, session, adapters, to_probe, entries),
    )


def _build_report_data(
    info: SessionInfo,
    session: Session | None,
    adapters: Sequence[Adapter],
    to_probe: Mapping[str, Collection[DetailScope]],
    entries: list[dict[str, Any]],
) -> ReportData:
    algorithms, coverage = requested_names.list_algorithms(), {}
    trained = session.cells if session is not None and session.judged else ()
    for name, cells in to_probe.items():
        judged = [cell for cell in trained if cell.framework == name]
        coverage[name] = report_data.summarize_algorithm_coverage(
            {id for id, _ in cells}, algorithms, judged
        )
    failures = [entry for entry in entries if entry["outcome"] == "failed"]
    bands = {cell.id: band for cell, band in session.bands.items()} if session else {}
    return ReportData(
        started=info.date,
        command=info.command,
        machine=report_data.describe_machine(),
        coverage=coverage,
        runs=report_data.collect_runs_by_cell(entries, bands),
        deviations=report_data.collect_deviating_details(failures, adapters),
        files=report_data.diff_imported_with_installed_code(adapters),
    )
