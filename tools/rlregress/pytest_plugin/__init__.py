"""The plugin of ``conftest.py``: options, parametrisation, order, evidence.

The arguments of a test decide what it runs on:

- ``framework``: an adapter; the test runs once per selected framework.
- ``framework`` and ``algorithm``: the test runs once per algorithm of each framework. With the mark
  ``without_cells`` it also runs for algorithms that no cell trains, or for those that the mark
  names.
- ``framework``, ``algorithm`` and ``stored_kind``: the test runs once per kind of file that past
  releases of each framework wrote (``baselines/saved``).
- ``implementation``: one detail on one framework in one scope; the test names the detail with
  ``@pytest.mark.detail("sac.critic_loss.scale")``, or runs for every detail of the catalogue.
- ``training``: one run of the session.
- ``judged_cell``, ``judged_group``, ``judged_training``, ``judged_critic``: one cell or group of
  the session, or the training returns or critics of one.
- ``replayed_cell``: one cell whose stored run is repeated.
- ``evidence``: a function that attaches data to the report of the test.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rlregress import evidence as evidence_file
from rlregress import frameworks, missing_packages, progress, suite
from rlregress.catalogue import registry, requested_names
from rlregress.catalogue.implementation import (
    Implementation,
    list_implementations,
    load_expectations_of_installed_version,
)
from rlregress.check_options import CheckOptions
from rlregress.errors import (
    UserError,
    refuse_empty_or_repeated_values,
    show_damaged_records_as_sentences,
    suggest_names,
)
from rlregress.frameworks.base import Adapter
from rlregress.inside import process_tree
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.model import option
from rlregress.model.check_result import CheckResult
from rlregress.model.quantities import CRITIC, TRAINING
from rlregress.probing.isolation import shift_all_seeds
from rlregress.pytest_plugin import subjects, suite_options
from rlregress.report import harmless, terminal, words
from rlregress.training.budgets import load_budget

if TYPE_CHECKING:
    # tests of formulas and behaviour do not need the check, which takes long to import
    from rlregress.check.cell_selection import Selection
    from rlregress.check.session import Session
    from rlregress.check.tier_progress import TiersProgress

_ADAPTERS = pytest.StashKey[list[Adapter]]()
_IMPLEMENTATIONS = pytest.StashKey[dict[str, list[Implementation]]]()
_SESSION: pytest.StashKey[Session] = pytest.StashKey()
#: the config of this process, because hooks for reports get none
_CONFIG: dict[str, pytest.Config] = {}
#: mark of tests that also run for algorithms without cells
_WITHOUT_CELLS = "without_cells"
_INTERRUPTED = pytest.StashKey[bool]()
_COLLECTED = pytest.StashKey[list[dict[str, Any]]]()
_STARTED = pytest.StashKey[float]()
_SELECTABLE = pytest.StashKey[set[str]]()
_TIERS: pytest.StashKey[TiersProgress] = pytest.StashKey()
_PROGRESS = pytest.StashKey[ExitStack]()
#: folder for the replays of this session, which all its processes share
_REPLAYS = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    suite_options.add_suite_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register markers; hand out tests one at a time, so that long runs spread evenly."""
    # a conftest.py that pytest --pyargs finds is loaded after the session has begun
    _CONFIG["config"] = config
    config.addinivalue_line("markers", "detail(id): the detail of the catalogue that is asserted")
    selectable = config.stash[_SELECTABLE] = subjects.list_selectable_names()
    for name in sorted(selectable):
        config.addinivalue_line("markers", f"{name}: a framework, an algorithm or a family")
    config.addinivalue_line(
        "markers", f"{subjects.SLOW}: trains to judge what is learnt, or is nightly"
    )
    config.addinivalue_line(
        "markers", f"{_WITHOUT_CELLS}: also of (these) algorithms that no cell trains"
    )
    config.addinivalue_line("markers", f"{subjects.NIGHTLY}: takes longer than a contributor waits")
    config.addinivalue_line("markers", f"{subjects.SAMPLED}: nightly, but for two algorithms")
    if suite.is_installed_from_wheel() and str(suite.find_suite_root()) not in sys.path:
        # tests import shared modules of their folders; a checkout has pythonpath in pyproject.toml
        sys.path.insert(0, str(suite.find_suite_root()))
    config.stash[_COLLECTED] = []
    config.stash[_STARTED] = time.monotonic()
    if is_xdist_worker(config):
        config.stash[_REPLAYS] = config.workerinput["replays"]  # type: ignore[attr-defined]
        tempfile.tempdir = os.path.dirname(config.stash[_REPLAYS])
    else:
        # pytest's own temporary folders stay: users inspect files of failed tests
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        temporary = ExitStack()
        temporary.enter_context(process_tree.use_own_temporary_folder())
        config.add_cleanup(temporary.close)
        config.stash[_REPLAYS] = tempfile.mkdtemp(prefix="replays-")
    config.stash[_PROGRESS] = displays = ExitStack()
    config.add_cleanup(displays.close)
    show_damaged_records_as_sentences()
    shift_all_seeds(config.getoption("--random-seed"))
    if not config.getoption("--unpinned"):
        # before torch is imported; on a busy machine small networks wait for their threads
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if getattr(config.option, "numprocesses", None) or is_xdist_worker(config):
        # times of parallel tests mean nothing, and pytest-benchmark would warn among the tests
        config.option.benchmark_disable = True
    if is_xdist_worker(config):
        # Ctrl-C reaches every process of the terminal; the one that started this one reports it,
        # and the training that runs here ends with this process
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    try:
        refuse_empty_or_repeated_values(
            map(str, config.invocation_params.args), suite_options.NAMING
        )
        _check_paths_exist(config)
        for adapter in frameworks.list_adapters():
            if adapter.framework.checkout and config.getoption(f"--{adapter.name}"):
                frameworks.use_checkout_from_now_on(adapter, config.getoption(f"--{adapter.name}"))
        for requested in requested_names.select_adapters(
            _read_names_of_option(config, "--framework")
        ):
            load_expectations_of_installed_version(requested)
        for name in _read_names_of_option(config, "--framework"):
            frameworks.get_adapter(name).code.map_package_versions()
        load_budget(config.getoption("--budget"))
        requested_names.find_detail_ids(_read_names_of_option(config, "--detail"))
        if any(
            config.getoption(name) != default
            for name, default in suite_options.OF_TRAININGS.items()
        ):
            with suppress(missing_packages.MissingPackage):  # its tests are skipped
                open_session_of_config(config)
        if config.getoption("--evidence"):
            check_folder_is_writable(Path(config.getoption("--evidence")).parent, "the evidence")
        if config.getoption("--rlregress-report"):
            check_folder_is_writable(Path(config.getoption("--rlregress-report")), "the report")
        known_algorithms = (
            requested_names.list_algorithms() | requested_names.list_algorithms_without_returns()
        )
        for algorithm in _read_names_of_option(config, "--algorithm"):
            if algorithm not in known_algorithms:
                raise UserError(
                    f"unknown algorithm '{algorithm}'; {suggest_names(algorithm, known_algorithms)}"
                )
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    if hasattr(config.option, "maxschedchunk") and config.option.maxschedchunk is None:
        config.option.maxschedchunk = 1


def _check_paths_exist(config: pytest.Config) -> None:
    """Raise UserError for a path of the command line that does not exist."""
    # with -n only the workers would report it, and the session would report no tests
    if config.getoption("pyargs"):
        return
    for argument in config.args:
        name = argument.partition("::")[0]
        if not (config.invocation_params.dir / name).exists():
            raise UserError(f"file or directory not found: {name}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Escape text of records in failures, because terminals obey control sequences."""
    if not session.config.pluginmanager.has_plugin("terminalreporter"):
        return
    writer: Any = session.config.get_terminal_writer()
    write = writer.write

    def write_escaped(text: str, *, flush: bool = False, **markup: bool) -> None:
        # pytest itself begins lines anew with "\r", and colours sources
        safe = "\r".join(
            harmless.escape_for_terminal(part, colours=writer.hasmarkup)
            for part in text.split("\r")
        )
        write(safe, flush=flush, **markup)

    writer.write = write_escaped


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return lines on the frameworks with their folders, and on excluded cells with reasons."""
    lines = []
    with suppress(pytest.Collector.CollectError):
        for adapter in _select_adapters(config):
            versions = ", ".join(
                f"{name} {version}" for name, version in adapter.code.map_package_versions().items()
            )
            folders = ", ".join(map(str, adapter.code.list_code_folders()))
            lines.append(f"{adapter.full_name}: {versions} ({folders})")
    if _SESSION in config.stash:
        from rlregress.check import cell_selection

        lines += [
            f"left out: {sentence}"
            for sentence in cell_selection.describe_excluded_cells(_make_cell_selection(config))
        ]
    return lines


def _read_names_of_option(config: pytest.Config, option: str) -> list[str]:
    return requested_names.split_comma_separated_names(option, config.getoption(option))


def _select_adapters(config: pytest.Config) -> list[Adapter]:
    """Return the frameworks that the options select, found once per process."""
    if _ADAPTERS not in config.stash:
        try:
            config.stash[_ADAPTERS] = requested_names.select_adapters(
                _read_names_of_option(config, "--framework")
            )
        except UserError as error:
            raise pytest.Collector.CollectError(str(error)) from None
    return config.stash[_ADAPTERS]


def _make_cell_selection(config: pytest.Config) -> Selection:
    from rlregress.check.cell_selection import Selection

    return Selection(
        budget=config.getoption("--budget"),
        frameworks=_read_names_of_option(config, "--framework"),
        algorithms=_read_names_of_option(config, "--algorithm"),
        environments=_read_names_of_option(config, "--environment"),
        cells=config.getoption("--cells"),
        hyperparameters=config.getoption("--hyperparameters"),
    )


def open_session_of_config(config: pytest.Config) -> Session:
    """Return the trainings that the options select, opened once; UserError if there are none."""
    if _SESSION not in config.stash:
        from rlregress.check.session import Session

        config.stash[_SESSION] = Session(
            _make_cell_selection(config),
            config.getoption("--seeds"),
            config.getoption("--store"),
            alpha=config.getoption("--alpha"),
            first_seed=config.getoption("--first-seed"),
            pinned=not config.getoption("--unpinned"),
            one_look=config.getoption("--single-look"),
            replay_seed=config.getoption("--replay-seed") if _are_replays_first(config) else None,
            replays=config.stash[_REPLAYS],
        )
    return config.stash[_SESSION]


def _are_replays_first(config: pytest.Config) -> bool:
    """Return whether stored runs are replayed before fresh seeds."""
    fields = {
        name: config.getoption(declared.flag)
        for name, (declared, _) in option.list_options(CheckOptions).items()
        if name in ("seeds", "one_look", "first_seed", "fresh_seeds")
    }
    return CheckOptions(**fields).replays_first


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Generate a test for each framework, implementation, run or verdict."""
    names = metafunc.fixturenames
    if "framework" in names:
        _parametrize_frameworks(metafunc)
    if "implementation" in names:
        selected = _list_implementations(metafunc)
        metafunc.parametrize("implementation", selected, ids=[i.name for i in selected])
    if not {"training", "replayed_cell", *subjects.JUDGED} & set(names):
        return
    try:
        session = open_session_of_config(metafunc.config)
    except missing_packages.MissingPackage as error:
        pytest.skip(str(error), allow_module_level=True)
    except UserError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    if "training" in names:
        runs = [subjects.SessionRun(session, job) for job in session.list_jobs_look_by_look()]
        ids = [f"{run.job.cell.id}-seed{run.job.seed}" for run in runs]
        metafunc.parametrize("training", runs, ids=ids)
    if "replayed_cell" in names:
        # the longest first, so that no process is left with it at the end
        longest = sorted(session.replays.items(), key=lambda item: -item[1].run.time.cpu_seconds)
        replayed = [subjects.JudgedSubject(session, cell.id) for cell, _ in longest]
        metafunc.parametrize("replayed_cell", replayed, ids=[cell.name for cell in replayed])
    if "judged_cell" in names:
        cells = [
            subjects.JudgedSubject(session, cell.id) for cell in session.cells if session.judged
        ]
        metafunc.parametrize("judged_cell", cells, ids=[cell.name for cell in cells])
    if "judged_group" in names:
        groups = [subjects.JudgedSubject(session, name) for name in session.list_group_names()]
        metafunc.parametrize("judged_group", groups, ids=[group.name for group in groups])
    for quantity in (TRAINING, CRITIC):
        if (fixture := f"judged_{quantity.name}") in names:
            subject_names = [
                quantity.make_verdict_name(cell.id)
                for cell in session.list_cells_judged_by(quantity)
            ]
            subject_names += session.list_group_names(quantity)
            metafunc.parametrize(
                fixture,
                [subjects.JudgedSubject(session, name) for name in subject_names],
                ids=subject_names,
            )


def _parametrize_frameworks(metafunc: pytest.Metafunc) -> None:
    adapters = _select_adapters(metafunc.config)
    if "algorithm" not in metafunc.fixturenames:
        metafunc.parametrize("framework", adapters, ids=[a.full_name for a in adapters])
        return
    names = _read_names_of_option(metafunc.config, "--algorithm")
    if "stored_kind" in metafunc.fixturenames:
        _parametrize_stored_kinds(metafunc, adapters, names)
        return
    marker = metafunc.definition.get_closest_marker(_WITHOUT_CELLS)
    pairs = [
        (adapter, algorithm)
        for adapter in adapters
        for algorithm in (
            *adapter.framework.algorithms,
            *_list_algorithms_without_cells(adapter, marker),
        )
        if not names or algorithm in names
    ]
    metafunc.parametrize(
        ("framework", "algorithm"),
        pairs,
        ids=[f"{adapter.full_name}-{algorithm}" for adapter, algorithm in pairs],
    )


def _list_algorithms_without_cells(adapter: Adapter, mark: pytest.Mark | None) -> Sequence[str]:
    """Return the algorithms without cells that a mark selects: all, or those that it names."""
    if mark is None:
        return ()
    return [name for name in adapter.framework.behavior_only if not mark.args or name in mark.args]


def _parametrize_stored_kinds(
    metafunc: pytest.Metafunc, adapters: Sequence[Adapter], names: Sequence[str]
) -> None:
    from rlregress.upgrade.evidence import saved_store

    try:
        kinds = [
            (adapter, algorithm, kind)
            for adapter in adapters
            for algorithm, kind in saved_store.list_stored_kinds(adapter.name)
            if not names or algorithm in names
        ]
    except UserError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize(
        ("framework", "algorithm", "stored_kind"),
        kinds,
        ids=[f"{adapter.full_name}-{kind.replace(' ', '_')}" for adapter, _, kind in kinds],
    )


def _list_implementations(metafunc: pytest.Metafunc) -> list[Implementation]:
    markers = list(metafunc.definition.iter_markers("detail"))
    if len(markers) > 1 or any(len(marker.args) != 1 for marker in markers):
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} has several marks 'detail', or one without an id; mark "
            'it with one @pytest.mark.detail("<id>"), or with none to test every detail'
        )
    try:
        ids = [
            registry.get_detail(marker.args[0]).id for marker in markers
        ] or registry.list_detail_ids()
        stash = metafunc.config.stash
        if _IMPLEMENTATIONS not in stash:
            # for many tests: to read the probes of an adapter takes a while
            by_detail: dict[str, list[Implementation]] = {}
            for adapter in _select_adapters(metafunc.config):
                for implementation in list_implementations(adapter, *registry.list_detail_ids()):
                    by_detail.setdefault(implementation.detail.id, []).append(implementation)
            stash[_IMPLEMENTATIONS] = by_detail
        return [found for id in ids for found in stash[_IMPLEMENTATIONS].get(id, ())]
    except UserError as error:
        raise pytest.Collector.CollectError(str(error)) from None


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function: ``evidence(name=value)`` attaches plain data to the test's report."""

    def attach_properties(**properties: Any) -> None:
        for name, value in properties.items():
            text = json.dumps(evidence_file.convert_to_plain_data(value))
            request.node.user_properties.append((name, text))

    return attach_properties


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark an item by its subject, for -m "sac and not slow"."""
    if not subjects.is_empty_parameter_set(item):
        for name in sorted(subjects.list_marks_of_test(item, item.config.stash[_SELECTABLE])):
            item.add_marker(name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect excluded items, sort the rest, and note the subject of each test.

    The subject is a framework; for trainings, also the judged cell or group.
    """
    empty = {item for item in items if subjects.is_empty_parameter_set(item)}
    details = requested_names.find_detail_ids(_read_names_of_option(config, "--detail"))
    excluded = requested_names.list_families_excluded_by_algorithms(
        _read_names_of_option(config, "--algorithm")
    )
    left_out = [
        item
        for item in items
        if item in empty
        or (details and subjects.get_detail_of_test(item) not in details)
        or subjects.get_detail_of_test(item).partition(".")[0] in excluded
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    dropped = set(left_out)
    folders: dict[Path, int] = {}
    for item in items:
        folders.setdefault(item.path.parent, len(folders))
    items[:] = sorted(
        (item for item in items if item not in dropped),
        key=lambda item: (folders[item.path.parent], subjects.rank_test(item)),
    )
    for item in items:
        subject = subjects.get_framework_of_test(item)
        if subject:
            item.user_properties.append(("framework", subject))
        judged = subjects.get_judged_subject(item)
        if judged is not None:
            item.user_properties.append(judged)


def _start_progress(config: pytest.Config, tests: Sequence[str]) -> None:
    """Report progress from now on, if it was requested and this process prints the summary."""
    if not config.getoption("--progress") or is_xdist_worker(config):
        return
    trains = any(evidence_file.find_tier(test) == "performance" for test in tests)
    if _TIERS not in config.stash:
        from rlregress.check.tier_progress import TiersProgress

        tiers = config.stash[_TIERS] = TiersProgress(
            lambda: _count_trainings(config) if trains else (0, 0),
            lambda line: _write_progress_line(config, line),
            config.stash[_STARTED],
        )
        stream = config.get_terminal_writer()._file
        displayed = progress.show_progress(
            lambda line: _write_progress_line(config, line), tiers.format_progress_line, stream
        )
        config.stash[_PROGRESS].enter_context(displayed)
    config.stash[_TIERS].register_tests_to_run(tests)


def _count_trainings(config: pytest.Config) -> tuple[int, int]:
    """Return the number of finished trainings, and their largest total."""
    entries = config.stash[_COLLECTED]
    session = open_session_of_config(config).exclude_reproduced_cells(
        evidence_file.list_reproduced_cells(entries)
    )
    return sum("record" in entry for entry in entries), session.max_total_runs


def _write_progress_line(config: pytest.Config, line: str) -> None:
    writer = config.pluginmanager.get_plugin("terminalreporter")
    if writer is None:
        return
    if writer.isatty and config.getoption("--progress"):
        # pytest-xdist leaves its own progress on this line
        writer.rewrite("", erase=True)
        line = f"\r{line}"
    else:
        writer.ensure_newline()
    writer.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass shared values to a process of pytest-xdist."""
    node.workerinput["replays"] = node.config.stash[_REPLAYS]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to report progress: all tests of this process are known."""
    _start_progress(session.config, [item.nodeid for item in session.items])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Begin to report progress in the controller: a worker knows all tests."""
    _start_progress(node.config, ids)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport | pytest.CollectReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Print no letter for a test if progress is reported by tier."""
    if not config.getoption("--progress") or report.failed:
        return None
    finished = report.when == "call" or report.skipped
    return (report.outcome, "", "") if finished and not hasattr(report, "wasxfail") else None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Raise UserError if a test takes an implementation and asserts nothing about it."""
    result = yield
    implementation = subjects.get_test_parameters(pyfuncitem).get("implementation")
    if isinstance(implementation, Implementation) and not implementation.judgements:
        raise UserError(
            f"{implementation.name}: the test asserts nothing about the observed values; expected "
            "implementation.assert_documented(answer, ...)"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the result of a probe; report a user error as its sentence, without a traceback.

    A test that needs a missing package of an extra is skipped. The reason names the command that
    installs it.
    """
    if call.excinfo and (lacking := missing_packages.describe_missing_package(call.excinfo.value)):
        item.user_properties.append((evidence_file.LACKING, lacking))
        skipped = pytest.skip.Exception(lacking)
        raised = (pytest.skip.Exception, skipped, call.excinfo.tb)
        call.excinfo = pytest.ExceptionInfo.from_exc_info(raised)
    implementation = subjects.get_test_parameters(item).get("implementation")
    if implementation is not None and call.when == "call":
        item.user_properties.append(("detail", implementation.detail.id))
        item.user_properties.append(("scope", implementation.scope))
        if implementation.judgements:
            item.user_properties.append(("found", implementation.judgements[-1].variant_or_reason))
        if call.excinfo and call.excinfo.errisinstance(AssertionError):
            _insert_lines_at_fault(call.excinfo.value, implementation)
    report = yield
    if report.failed and call.when == "call" and (about := subjects.get_detail_of_test(item)):
        report.user_properties.append(("about", about))
        from rlregress.faults import places

        code = ""
        if implementation is not None:
            code = places.locate_line_at_fault(implementation, _get_variant_found(implementation))
        if code:
            report.sections.append(("deciding code", code))
            report.user_properties.append(("code", code))
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and call.excinfo is not None and call.excinfo.errisinstance(UserError):
        report.longrepr = str(call.excinfo.value)
        report.user_properties.append((evidence_file.USER_ERROR, "true"))
    elif call.excinfo and call.when == "call" and _is_error_of_suite(item, call.excinfo):
        report.user_properties.append((evidence_file.USER_ERROR, "true"))
    return report


def _is_error_of_suite(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Return whether a behaviour test was ended by an error that the framework did not raise.

    Such a test has judged nothing: the suite may be wrong, or a version that it does not know.
    """
    adapter = subjects.get_test_parameters(item).get("framework")
    judged = (AssertionError, pytest.fail.Exception, pytest.skip.Exception)
    if adapter is None or excinfo.errisinstance(judged):
        return False
    return not adapter.code.has_raised(excinfo.value)


def _insert_lines_at_fault(error: BaseException, implementation: Implementation) -> None:
    """Insert the lines at fault into a message, below its first line."""
    # every report quotes the message, but not all quote pytest's sections
    from rlregress.faults import places

    first, *further = str(error).splitlines() or [""]
    lines = places.describe_lines_at_fault(implementation, _get_variant_found(implementation))
    error.args = ("\n".join([first, *(f"  {line}" for line in lines), *further]),)


def _get_variant_found(implementation: Implementation) -> str | None:
    """Return the variant that a test has found, if any."""
    judged = implementation.judgements
    return judged[-1].variant if judged else None


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file whose tests cannot be collected in the evidence: its tests are missing."""
    config = _CONFIG.get("config")
    if config is None or report.outcome != "failed":
        return
    entries, new_entry = config.stash[_COLLECTED], evidence_file.build_uncollected_entry(report)
    if all(entry["test"] != new_entry["test"] for entry in entries):
        entries.append(new_entry)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note outcomes of tests; under xdist this runs in the controller, which prints the summary."""
    config = _CONFIG.get("config")
    if config is None or not (report.when == "call" or report.outcome != "passed"):
        return
    entry = evidence_file.build_entry_of_report(report)
    config.stash[_COLLECTED].append(entry)
    if _TIERS in config.stash:
        config.stash[_TIERS].count_ended_test(entry)
    if "record" in entry and not is_xdist_worker(config):
        line = terminal.describe_finished_run(entry, *_count_trainings(config))
        _write_progress_line(config, line)


def is_xdist_worker(config: pytest.Config) -> bool:
    """Return whether another pytest started this one, as a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def pytest_keyboard_interrupt() -> None:
    """Note the interrupt for the summary."""
    _CONFIG["config"].stash[_INTERRUPTED] = True


def _describe_checked_details(
    config: pytest.Config, entries: list[dict[str, Any]]
) -> Iterator[str]:
    """Describe how many details were checked, for each framework with probed details."""
    if is_xdist_worker(config) or not any("detail" in entry for entry in entries):
        return
    by = " ".join(_list_selecting_options(config, "--detail", "-k", "-m", "--deselect"))
    for adapter in _select_adapters(config):
        probes = requested_names.list_details_to_probe(
            adapter, _read_names_of_option(config, "--algorithm")
        )
        missing = requested_names.list_unprobed_details(
            probes, evidence_file.list_measured_details_and_scopes(entries, adapter.full_name)
        )
        details = len({id for id, _ in probes})
        yield f"{adapter.full_name}: {words.describe_checked_details(details, missing, by)}"


def _describe_failures_by_detail(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Describe failed tests by their detail, with the code that decides it."""
    about: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        if entry["outcome"] == "failed" and "about" in entry:
            about.setdefault(entry["about"], []).append(entry)
    failed = sum(map(len, about.values()))
    if failed > len(about):
        yield f"{failed} failed tests are about {words.format_count(len(about), 'detail')}:"
        for id, detail_entries in about.items():
            code = next((entry["code"] for entry in detail_entries if "code" in entry), "")
            tests = words.format_count(len(detail_entries), "test")
            yield f"  {id}: {tests}{f'; {code}' if code else ''}"


def _list_selecting_options(config: pytest.Config, *only: str) -> list[str]:
    """Return the options that selected tests, with their values.

    Args:
        only: names of options to return; none: all.
    """
    options = {name: config.getoption(name) for name in ("--framework", "--algorithm", "--detail")}
    options |= {"-k": config.getoption("keyword"), "-m": config.getoption("markexpr")}
    options["--deselect"] = " ".join(config.getoption("deselect") or ())
    return [
        f"{name} {value}" for name, value in options.items() if value and (not only or name in only)
    ]


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Print the verdicts below pytest's own lines; write the evidence and the report."""
    entries = config.stash[_COLLECTED]
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        selection = _list_selecting_options(config)
        text = (
            terminal.suggest_when_all_tests_are_excluded(selection)
            if selection
            else terminal.suggest_when_no_tests_exist(config.args)
        )
        terminalreporter.write_line(text)
    if config.stash.get(_INTERRUPTED, False) and _SESSION in config.stash:
        terminalreporter.write_line(
            terminal.describe_interrupted_session(open_session_of_config(config).store.folder)
        )
    for line in (
        *_describe_checked_details(config, entries),
        *_describe_failures_by_detail(entries),
    ):
        terminalreporter.write_line(line)
    for line in terminal.list_lines_of_session_verdicts(evidence_file.collect_verdicts(entries)):
        terminalreporter.write_line(line)
    for line in words.describe_replays(evidence_file.collect_replays(entries)):
        terminalreporter.write_line(line)
    for line in words.describe_cells_judged_by_returns_only(
        evidence_file.collect_unjudged_quantities(entries)
    ):
        terminalreporter.write_line(line)
    for name, kinds in evidence_file.collect_failures_of_old_files(entries).items():
        for line in words.describe_files_not_loaded(kinds):
            terminalreporter.write_line(f"{name}: {line}")
    for name, kinds in evidence_file.collect_loading_outcomes_of_old_files(entries).items():
        for line in words.describe_old_files(kinds):
            terminalreporter.write_line(f"{name}: {line}")
    if measured := evidence_file.collect_throughput(entries):
        from rlregress.report import throughput_text

        for line in throughput_text.format_throughput_lines(measured):
            terminalreporter.write_line(line)
    if is_xdist_worker(config):
        return
    if config.getoption("--evidence"):
        evidence_file.write_evidence(Path(config.getoption("--evidence")), entries)
    if config.getoption("--rlregress-report"):
        # most sessions write no page, and importing this takes long
        from rlregress import report_files
        from rlregress.report import check_report

        folder = Path(config.getoption("--rlregress-report"))
        result = _make_check_result(config, entries)
        report_files.write_check_report_and_evidence(result, entries, folder)
        for line in check_report.format_verdict_of_each_framework(result):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"report: {folder}")


def _make_check_result(config: pytest.Config, entries: list[dict[str, Any]]) -> CheckResult:
    """Judge the tests of this session; return the result as that of ``rlregress check``."""
    from rlregress.check import cell_selection, check_run, report_data

    algorithms = _read_names_of_option(config, "--algorithm")
    # all details of the algorithms count: those that -k and -m leave out are reported as missing
    probes = {
        adapter.full_name: requested_names.list_details_to_probe(adapter, algorithms)
        for adapter in _select_adapters(config)
    }
    # under xdist only the workers have opened the session
    trained = any(entry["tier"] == "performance" for entry in entries)
    session = open_session_of_config(config) if trained else None
    seconds = time.monotonic() - config.stash[_STARTED]
    info = check_run.SessionInfo(
        config.getoption("--alpha"),
        config.getoption("--budget"),
        report_data.format_time_with_offset(seconds),
        shlex.join(["pytest", *map(str, config.invocation_params.args)]),
    )
    lacking = (
        cell_selection.find_cells_without_package(_make_cell_selection(config)) if trained else {}
    )
    return check_run.judge_evidence_of_session(
        _select_adapters(config), session, entries, probes, info, seconds, lacking
    )
