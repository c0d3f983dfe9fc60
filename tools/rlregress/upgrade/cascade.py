"""The cascade: the list of differences, fingerprints, traces, physics, culprits, and returns."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlregress import progress
from rlregress.catalogue import requested_names
from rlregress.check_options import CheckOptions
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.inside.checkpoint import TRUST
from rlregress.model import differences as model
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import FrameworkResult, PhysicsComparison, ScriptResult, Upgrade
from rlregress.trace.child_processes import (
    OutOfTime,
    is_time_over,
    limit_processes,
    note_skipped_task,
    raise_if_time_is_over,
    was_anything_skipped,
)
from rlregress.trace.recording_processes import make_current_runtime
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.differences import early_answers
from rlregress.upgrade.differences.inventory import Inventory, list_differences
from rlregress.upgrade.evidence import (
    compared_trainings,
    coverage,
    names_in_script,
    physics_comparison,
    return_gate,
    saved_files_comparison,
)
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Answers, Runtimes
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.framework_comparison import FrameworkComparison, list_pieces_of_no_framework
from rlregress.upgrade.script_comparison import compare_script
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import accepted, entries
from rlregress.upgrade.versions import (
    affected,
    cached_folders,
    closures,
    interpreters,
    prepared_versions,
    requested,
    state,
)
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.requested import RequestedVersion
from rlregress.upgrade.versions.resolved import ResolvedPair, resolve_versions

_FINISHED = ".finished"


def judge_upgrade(
    options: Options, requested_versions: tuple[RequestedVersion, RequestedVersion] | None = None
) -> Upgrade:
    """Compare the old and the new version as requested, and return all results with the verdict.

    Args:
        requested_versions: the two versions, parsed; None: they are parsed from the options.

    Raises:
        UserError: a version cannot be installed, or its probes give no answers.
    """
    if options.script is not None and options.algorithms:
        raise UserError(
            "--algorithm chooses among the built-in trainings, and a script is traced instead of "
            "them; leave out --algorithm or --script"
        )
    _check_checkpoint_options(options)
    reviewed = accepted.load_accepted_entries(options.accepted)
    versions = requested_versions or (
        requested.parse_requested_version(options.old),
        requested.parse_requested_version(options.new),
    )
    versions = requested.share_user_environment(*versions)
    pinned = affected.list_packages_pinned_apart(*versions)
    adapters = affected.list_affected_adapters(
        *versions, options.frameworks, options.script is not None
    )
    if not adapters and options.checkpoint is not None:
        raise UserError(
            f"no installed framework differs between {options.old} and {options.new}, so "
            f"{options.checkpoint} is not loaded; name another version"
        )
    if not adapters and options.script is None:
        distributions = closures.map_distributions_of_version(make_current_runtime("installed"))
        idle = entries.make_untested_package_entries(
            pinned, affected.list_unrelated_distributions(pinned, [distributions])
        )
        return _make_upgrade_without_comparison(versions, "not made", pinned, idle)
    if options.script is None and (options.algorithms or options.scenarios):
        _require_known_algorithms_and_scenarios(adapters, options)
    deadline = options.deadline
    try:
        with limit_processes(deadline):
            result = _prepare_and_compare_versions(versions, pinned, adapters, options)
    except OutOfTime as error:
        # before anything could be compared
        deadline.cut.append("any of what differs")
        unjudged = [
            Entry(kind=model.PACKAGE, name=name, reason=str(error))
            for name in sorted(pinned) or [options.new]
        ]
        result = _make_upgrade_without_comparison(versions, "not compared", pinned, unjudged)
    cut = tuple(f"{cut_short}: {deadline.reason}" for cut_short in deadline.cut)
    return accepted.mark_accepted_and_stale(replace(result, cut=cut), reviewed)


def _make_upgrade_without_comparison(
    versions: tuple[RequestedVersion, RequestedVersion],
    description: str,
    pinned: frozenset[str],
    unjudged: Sequence[Entry],
) -> Upgrade:
    """Return the result of an upgrade in which nothing was compared."""
    old, new = (
        PreparedVersion(version, make_current_runtime(label), description)
        for label, version in zip(VERSIONS, versions, strict=True)
    )
    return Upgrade(
        old=old.info, new=new.info, frameworks=(), pinned=pinned, other_packages=tuple(unjudged)
    )


def _prepare_and_compare_versions(
    versions: tuple[RequestedVersion, RequestedVersion],
    pinned: frozenset[str],
    adapters: Sequence[Adapter],
    options: Options,
) -> Upgrade:
    """Make both versions and compare them.

    Raises:
        OutOfTime: the minutes were over before anything could be compared.
    """
    progress.begin_stage("making both versions")
    pair = ResolvedPair(*resolve_versions(*versions, adapters, options.say), pinned, adapters)
    old, new = prepared_versions.prepare_versions(pair, options.say, options.lend)
    for line in (*old.lines, *new.lines):
        options.say(line)
    _require_one_interpreter(old, new)
    progress.begin_stage("listing what differs")
    differences = list_differences(pair, old, new, options.compute_stage_end_time("names"))
    early = early_answers.describe_broken_names_and_lost_packages(differences)
    for line in (differences.summary, *early):
        options.say(line)
    options = replace(options, compared_from=time.time())
    script = None
    if options.script is not None:
        script = compared_trainings.make_script_training(options.script, pair.imports)
    with _open_work_folders(old, new, pair.adapters, options, script) as folders:
        result = _compare_versions(pair, (old, new), differences, folders, options, script)
    judged = tuple(
        _train_new_version_and_judge_returns(framework, adapter, (old, new), options)
        for framework, adapter in zip(result.frameworks, pair.adapters, strict=True)
    )
    one_way = coverage.VersionCoverage(
        {training.name: training.new for training in result.traced}
    ).list_one_way_branches()
    return replace(
        result,
        frameworks=judged,
        differing={
            name: versions
            for name, versions in closures.map_differing_versions(old.runtime, new.runtime).items()
            if all(versions)
        },
        one_way=tuple(one_way),
    )


def _check_checkpoint_options(options: Options) -> None:
    """Raise UserError if --checkpoint or an option for it is missing, not trusted or unusable."""
    inputs = {"--loader": options.loader, "--observations": options.observations}
    if options.checkpoint is None:
        for flag in [
            f for f, path in {**inputs, "--environment": options.environment}.items() if path
        ]:
            raise UserError(f"{flag} is given without a file to load; name it with --checkpoint")
        return
    for flag, path in {"--checkpoint": options.checkpoint, **inputs}.items():
        if path is not None and not path.is_file():
            raise UserError(f"{flag} is {path}, and there is no such file")
    if not os.environ.get(TRUST):
        raise UserError(
            f"{options.checkpoint} is not loaded, as a file of an agent can run any code; give "
            "--trust-pickle if you trust who wrote it"
        )
    if options.script is not None or not options.files or options.only_scenarios:
        raise UserError(
            "--checkpoint is loaded beside the files of the built-in trainings; leave out --script "
            "and --no-old-files"
        )


def _require_known_algorithms_and_scenarios(adapters: Sequence[Adapter], options: Options) -> None:
    """Raise UserError early for a scenario or algorithm that no version can have."""
    titles: set[str] = set()
    for adapter in adapters:
        framework = adapter.framework
        try:
            own = {*adapter.list_trace_trainings(), *framework.algorithms, *framework.behavior_only}
        except Exception:  # foreign code of a framework that need not be installed here
            return
        if not own:
            # an installed copy may lack trainings that the two versions have, as scripts for gym do
            return
        titles |= own
    _require_algorithms_and_scenarios_among(titles, options)


def _require_probed_algorithms_and_scenarios(
    fingerprints: Sequence[Fingerprint], options: Options
) -> None:
    """Raise UserError for a scenario or algorithm that no probed version has."""
    families = {id.partition(".")[0] for own in fingerprints for id, _ in own.found}
    titles = [title for own in fingerprints for title in own.algorithms]
    _require_algorithms_and_scenarios_among(
        [*titles, *(families & _list_algorithms_of_all_adapters())], options
    )


def _require_algorithms_and_scenarios_among(titles: Iterable[str], options: Options) -> None:
    split = [title.partition(" ") for title in titles]
    algorithms = {algorithm for algorithm, _, _ in split}
    for name in options.algorithms:
        if name not in algorithms:
            raise UserError(
                f"there is no built-in training and no detail of '{name}'; "
                f"{suggest_names(name, algorithms)}"
            )
    scenarios = sorted({scenario for _, _, scenario in split if scenario})
    for name in options.scenarios or ():
        if name not in scenarios:
            raise UserError(f"unknown scenario '{name}'; {suggest_names(name, scenarios)}")


def _require_one_interpreter(old: PreparedVersion, new: PreparedVersion) -> None:
    old_python, new_python = (
        interpreters.find_python_version_of_runtime(version.runtime) for version in (old, new)
    )
    if old_python != new_python:
        raise UserError(
            f"the old version runs on Python {old_python} and the new version on {new_python}; "
            "bits can only be compared under one interpreter: make both versions with the same one"
        )


@contextmanager
def _open_work_folders(
    old: PreparedVersion,
    new: PreparedVersion,
    adapters: Sequence[Adapter],
    options: Options,
    script: Training | None,
) -> Iterator[tuple[Path, Path]]:
    """Make the folders that hold answers and traces of both versions until the command has ended.

    If the last command was interrupted, or ran out of time, this one continues with its traces.
    If that command had ended, its folders are emptied first, unless the options keep answers.
    """
    shared = [state.digest_own_code(), state.describe_machine_for_recordings()]
    shared += [script.key] if script is not None else []
    states = [state.describe_version_state(version, adapters) for version in (old, new)]
    if options.keep is not None:
        with ExitStack() as stack:
            folders = []
            for version_state in states:
                folder = options.keep / state.name_recordings_folder([version_state, *shared])
                if folder not in folders:
                    stack.enter_context(cached_folders.lock_folder(folder, options.say))
                folder.mkdir(parents=True, exist_ok=True)
                folders.append(folder)
            yield folders[0], folders[1]
        return
    folder = (
        cached_folders.locate_cache() / "gates" / state.name_recordings_folder([*states, *shared])
    )
    with cached_folders.lock_folder(folder, options.say):
        if (folder / _FINISHED).exists():
            shutil.rmtree(folder)
        pair = folder / VERSIONS[0], folder / VERSIONS[1]
        for version_folder in pair:
            version_folder.mkdir(parents=True, exist_ok=True)
        trace_count = len(list(folder.rglob("*.trace")))
        if trace_count:
            options.say(f"continuing an interrupted upgrade: {trace_count} traces are kept")
        try:
            yield pair
        except OutOfTime:
            raise
        except UserError:
            # an upgrade that cannot be judged is not continued later
            shutil.rmtree(folder)
            raise
        if not was_anything_skipped():
            (folder / _FINISHED).touch()


def _compare_versions(
    resolved: ResolvedPair,
    prepared: tuple[PreparedVersion, PreparedVersion],
    differences: Inventory,
    folders: tuple[Path, Path],
    options: Options,
    script: Training | None,
) -> Upgrade:
    """Compare the script, details, trainings, files and physics of both versions."""
    old, new = prepared
    with Runtimes((old.runtime, new.runtime), folders, options.workers) as runtimes:
        both = BothVersions(runtimes, differences, options)
        script_result, executed = None, ExecutedCode()
        if script is not None:
            # first: the user named it, and it shows which details matter to it
            script_result, executed = compare_script(
                both, script.add_packages_to_note(differences.list_differing_packages_except(()))
            )
        adapters = resolved.adapters
        frameworks = [
            FrameworkComparison(both, x, _list_unused_detail_families(x, executed, options))
            for x in adapters
        ]
        played = (
            runtimes.call_for_each_version("physics", physics_comparison.play_actions_and_policies)
            if resolved.changes_physics
            else None
        )
        _wait_for_probes(frameworks, options)
        for framework in frameworks:
            framework.record_and_compare(
                selects=not options.trace_all
                and state.has_same_surroundings(old, new, framework.adapter)
            )
        # where time is limited, trainings come first; calls leave a core to the files
        files = _begin_to_load_old_files(both, frameworks if options.loads_old_files else ())
        for framework in frameworks:
            executed |= framework.explain()
        _add_old_files(files, options)
        environments = _compare_played_environments(played, options) if played is not None else []
    unowned = (
        [] if script is not None else list_pieces_of_no_framework(adapters, differences.pieces)
    )
    unused = _find_broken_names_unused_by_user(differences, script_result, options)
    # a script need not run much of a release: its share says nothing about the check
    least = model.MIN_COVERAGE if script is None else 0.0
    return Upgrade(
        old=old.info,
        new=new.info,
        frameworks=tuple(framework.result for framework in frameworks),
        physics=tuple(environments),
        script=script_result,
        file=options.checkpoint.name if options.checkpoint is not None else "",
        other_packages=tuple(
            both.list_entries_without_framework(unowned, executed, environments, unused)
        ),
        pinned=resolved.pinned,
        min_coverage=least if options.min_coverage is None else options.min_coverage,
        fail_on=options.fail_on,
    )


def _wait_for_probes(frameworks: Sequence[FrameworkComparison], options: Options) -> None:
    """Wait for the probes of each framework, and say what differs before anything trains."""
    progress.begin_stage("probing details on both versions")
    for framework in frameworks:
        framework.wait_for_probes()
    for line in (line for framework in frameworks for line in framework.sentences_on_probes):
        options.say(line)
    if options.script is None and not is_time_over():
        _require_probed_algorithms_and_scenarios(
            [fingerprint for framework in frameworks for fingerprint in framework.prints], options
        )


def _begin_to_load_old_files(
    versions: BothVersions, frameworks: Sequence[FrameworkComparison]
) -> list[tuple[FrameworkComparison, Future[Any]]]:
    """Let both versions load files that the old version saved, beside what follows."""
    options, runtimes = versions.options, versions.runtimes
    return [
        (
            framework,
            runtimes.submit(
                saved_files_comparison.save_load_and_compare_files,
                runtimes.versions,
                runtimes.folders,
                framework.adapter,
                options.algorithms,
                _collect_checkpoint_options(options) if framework is frameworks[0] else None,
            ),
        )
        for framework in frameworks
    ]


def _add_old_files(
    tasks: Iterable[tuple[FrameworkComparison, Future[Any]]], options: Options
) -> None:
    """Add to each framework's result how both versions load old files."""
    progress.begin_stage("loading old files")
    for framework, task in tasks:
        result = framework.result
        files = list(entries.make_saved_file_entries(task.result()))
        if files and not any(file.was_out_of_time for file in files):
            unmoved = sum(file.state == model.SAME for file in files)
            options.say(
                f"{result.name}: {unmoved} of {len(files)} kinds of saved files are the same"
            )
        framework.result = replace(result, entries=(*result.entries, *files))


def _list_unused_detail_families(
    adapter: Adapter, executed: ExecutedCode, options: Options
) -> list[str]:
    """Return the families of details that neither the chosen algorithms nor the script use."""
    names: Iterable[str] = options.algorithms
    if options.script is not None:
        # the framework's files of which the script executed functions
        files = executed.map_trainings_to_header_values("functions").values()
        modules = adapter.framework.modules
        names = [file for own in files for file in own if file.partition("/")[0] in modules]
    subjects = [set(re.split(r"[/_.]", name)) for name in names]
    words = set().union(*subjects)
    if not words:
        # nothing was chosen, or it is not known what the script executes
        return []
    is_about = adapter.framework.do_words_name_algorithm
    algorithms = _list_algorithms_of_all_adapters()
    other_families = {name for name in algorithms if not is_about(name, words)}
    # A script may use a family of others without their class. So may A2C, which has no details of
    # its own.
    has_details = all(any(is_about(name, words) for name in algorithms) for words in subjects)
    if options.script is None and has_details:
        other_families |= requested_names.list_families_only_of_algorithms(other_families)
    return sorted(other_families - words)


def _list_algorithms_of_all_adapters() -> frozenset[str]:
    return requested_names.list_algorithms() | requested_names.list_algorithms_without_returns()


def _find_broken_names_unused_by_user(
    differences: Inventory, script_result: ScriptResult | None, options: Options
) -> frozenset[str]:
    """Return gone or incompatible names that no file of the user can use."""
    if script_result is not None:
        return script_result.names.unused if script_result.names is not None else frozenset()
    if options.accepted is None or not differences.broken_names:
        return frozenset()
    folder, report = options.accepted.resolve().parent, options.report.resolve()
    compared = differences.list_package_folders("old")
    return names_in_script.find_names_unused_in_folder(
        folder, report, differences.broken_names, differences.users, compared
    )


def _compare_played_environments(played: Answers, options: Options) -> list[PhysicsComparison]:
    """Compare environments that both versions have played before time ran out."""
    try:
        environments = physics_comparison.compare_played_actions(
            played[0].result(), played[1].result()
        )
    except OutOfTime as error:
        note_skipped_task("physics")
        late = PhysicsComparison(
            environment="physics", step=None, note=str(error), missing="old and new"
        )
        environments = [late]
    differing = sum(environment.differs for environment in environments)
    options.say(f"physics: {differing} of {len(environments)} environments differ")
    return environments


def _collect_checkpoint_options(options: Options) -> dict[str, str] | None:
    """Return the paths and options with which both versions load the user's checkpoint."""
    if options.checkpoint is None:
        return None
    files = {"file": options.checkpoint, "loader": options.loader,
             "observations": options.observations}  # fmt: skip
    absolute = {name: str(path.resolve()) if path else "" for name, path in files.items()}
    return {**absolute, "environment": options.environment}


def _train_new_version_and_judge_returns(
    framework_result: FrameworkResult,
    adapter: Adapter,
    versions: tuple[PreparedVersion, PreparedVersion],
    options: Options,
) -> FrameworkResult:
    names = framework_result.algorithms_to_train
    if not options.returns or not names:
        return framework_result
    progress.begin_stage("training, to judge returns")
    folder = options.report / f"returns-{adapter.name}"
    old, new = (prepared.runtime for prepared in versions)
    trained = CheckOptions(folder, one_look=options.one_look, workers=options.workers)
    try:
        raise_if_time_is_over()
        options.say(f"{adapter.name}: trainings of {', '.join(names)} on the new version")
        verdict = return_gate.train_and_judge(adapter, names, (old, new), trained, options.say)
    except OutOfTime:
        note_skipped_task(f"returns of {', '.join(names)}")
        return framework_result
    stored, entry = frozenset(return_gate.find_algorithms_with_stored_runs(adapter)), None
    if verdict is not None:
        entry = entries.make_returns_entry(verdict.verdict, framework_result.name)
    return framework_result.add_returns_verdict(verdict, stored, entry)
