"""The commands ``rlregress runs``: many runs, here or on Slurm."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from rlregress.check.cell_selection import Selection, describe_excluded_cells
from rlregress.cli import output
from rlregress.cluster import audit, run_one, run_selection, slurm_arrays, store_status
from rlregress.cluster import local as local_runs
from rlregress.cluster.manifest import Manifest, ManifestRun
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.model.store_state import LEFT, StoreStatus
from rlregress.report import cluster_text, harmless, next_steps
from rlregress.training.store import SLURM, Store, open_store_of_option, rename_as_damaged


def print_line_at_once(line: str) -> None:
    """Print a line at once, so that messages of long runs are readable immediately."""
    print(line, flush=True)


def _open_manifest_file(path: str | Path) -> Manifest:
    return Manifest(resolve_real_path(path))


def do_run_of_manifest(manifest: Path, index: int, store: str) -> int:
    """Do one run of a manifest. Return the exit code."""
    return run_one.do_one_run(
        _open_manifest_file(manifest), index, open_store_of_option(store), print_line_at_once
    )


def load_and_copy_manifest(manifest: Path, store: str) -> Manifest:
    """Return the manifest of a file after copying it to the store."""
    check_folder_is_writable(open_store_of_option(store).folder, "run records")
    return run_selection.copy_manifest_to_store(
        _open_manifest_file(manifest), open_store_of_option(store)
    )


def write_manifest_of_selection(
    selection: Selection, seeds: int, first_seed: int, store: str
) -> Manifest:
    """Write the manifest of the selected runs; report exclusions."""
    manifest = run_selection.write_selection_manifest(
        selection, seeds, first_seed, open_store_of_option(store)
    )
    for left_out in describe_excluded_cells(selection):
        typer.echo(f"left out: {left_out}")
    return manifest


def _list_runs_and_print_remaining(
    manifest: Manifest, done: Collection[str]
) -> tuple[list[ManifestRun], list[ManifestRun]]:
    """Return all runs of a manifest and the unfinished ones; print how many."""
    runs = list(manifest.iterate_runs())
    remaining = [run for run in runs if run.name not in done]
    print_line_at_once(f"{manifest.path}: {len(runs)} runs, {len(remaining)} of them to do")
    return runs, remaining


def print_run_command_of_manifest(manifest: Manifest, store: str) -> None:
    """Print the number of remaining runs, and the command that does one run of the manifest."""
    folder = open_store_of_option(store)
    _list_runs_and_print_remaining(manifest, folder.list_runs_by_state().done)
    rows = [
        f"{name}={shlex.quote(value)}"
        for name, value in run_one.collect_variables_of_remote_process().items()
    ]
    print_line_at_once(
        "one run: "
        f"{' '.join([*rows, run_one.format_shell_command_of_run(manifest, 'INDEX', folder)])}"
    )
    print_line_at_once(f"INDEX is 0 to {manifest.size - 1}; a run that is done ends at once")


def do_runs_here(manifest: Manifest, folder: Store, workers: int, done: Collection[str]) -> int:
    """Do the remaining runs of a manifest on this machine. Return the exit code.

    Args:
        done: names of the finished runs.
    """
    runs, remaining = _list_runs_and_print_remaining(manifest, done)

    def print_counts_at_end(counts: local_runs.Counts) -> None:
        print_line_at_once(f"{len(runs) - len(remaining) + counts.done} of {len(runs)} done")

    counts = local_runs.run_on_this_machine(
        manifest, remaining, folder, workers or os.cpu_count() or 1, print_counts_at_end
    )
    if counts.failed or counts.unfinished:
        print_line_at_once(
            f"{counts.done} runs done, {counts.unfinished} stopped or done by others, "
            f"{counts.failed} could not be done; launch again to do the rest"
        )
    return 1 if counts.failed else run_one.RESUMABLE if counts.unfinished else 0


def do_runs_here_and_suggest_next(manifest: Manifest, folder: Store, workers: int) -> int:
    """Do the remaining runs on this machine, and print the next step. Return the exit code."""
    code = do_runs_here(manifest, folder, workers, folder.list_runs_by_state().done)
    if code == 0:
        output.print_next_steps([next_steps.suggest_after_launch(folder.folder)])
    return code


def submit_runs_to_slurm(
    manifest: Manifest,
    folder: Store,
    site: slurm_arrays.Site,
    dry_run: bool,
    list_done: Callable[[], Collection[str]],
) -> None:
    """Submit the remaining runs that are not queued, or print the scripts.

    Args:
        list_done: returns the names of the runs that are done when it is called.
    """
    try:
        size = slurm_arrays.read_max_array_size()
    except UserError as error:
        if not dry_run:
            raise
        size = slurm_arrays.USUAL_ARRAY_SIZE
        print_line_at_once(f"# {error}; arrays are split at {size}, the usual size")

    def build_scripts(queued: Collection[str]) -> list[slurm_arrays.Script]:
        # read after the queue: a run that left the queue in between is done, not lost
        done = list_done()
        runs, remaining = _list_runs_and_print_remaining(manifest, done)
        new = [run for run in remaining if run.name not in queued]
        if len(new) < len(remaining):
            print_line_at_once(f"{len(remaining) - len(new)} of them are in the queue")
        return slurm_arrays.build_array_scripts(
            manifest, runs, new, done, folder, site, size, print_line_at_once
        )

    if not dry_run:
        submitted = slurm_arrays.submit_remaining_runs(build_scripts, folder, print_line_at_once)
        store = shlex.quote(str(folder.folder))
        print_line_at_once(
            f"submitted: {submitted} runs; to list them: rlregress runs status --store {store}"
        )
        return
    for script in build_scripts(slurm_arrays.read_queued_tasks(folder).runs):
        print_line_at_once(f"\n# {folder.folder}/slurm/{script.name}.sh\n{script.text}")


def _open_existing_store(folder_text: str) -> Store:
    store = open_store_of_option(folder_text)
    if not store.folder.is_dir():
        raise UserError(
            f"there is no folder {store.folder}; name a folder of run records with --store"
        )
    return store


def _survey_and_describe_store(manifest: str, store: str) -> tuple[StoreStatus, list[str]]:
    """Return the state of a store, and the lines that describe it."""
    folder = _open_existing_store(store)
    manifests = (
        [_open_manifest_file(manifest)]
        if manifest
        else run_selection.list_manifests_of_store(folder)
    )
    # the queue is read before the store: a run that leaves it in between is found done
    is_submitted = (folder.folder / SLURM).is_dir()
    queue = slurm_arrays.read_queued_tasks(folder) if is_submitted else slurm_arrays.Queue()
    survey = store_status.survey_store(folder, manifests, queue.gone, queue.runs)
    return survey, cluster_text.format_store_status(survey, queue.states, queue.error)


def print_status_of_store(manifest: str, store: str) -> None:
    """Print the status of a store."""
    _, lines = _survey_and_describe_store(manifest, store)
    output.mark_exit_code_decided()
    for line in lines:
        typer.echo(line)


def watch_store(manifest: str, store: str, seconds: float) -> None:
    """Show the status of a store until all runs are done."""

    def read_status() -> tuple[bool, Text]:
        survey, lines = _survey_and_describe_store(manifest, store)
        is_unfinished = any(survey.total_counts[state] for state in LEFT)
        return is_unfinished, Text(harmless.escape_for_terminal("\n".join(lines)))

    terminal = sys.stdout.isatty()
    # the filter escapes the sequences that move the cursor
    file = output.get_unescaped_output() if terminal else sys.stdout
    is_unfinished, printed = read_status()
    console = Console(file=file, force_terminal=terminal)
    with Live(printed, console=console, auto_refresh=False) as live:
        while is_unfinished:
            time.sleep(seconds)
            is_unfinished, printed = read_status()
            live.update(printed, refresh=True)


def verify_and_print_store(manifest: str, store: str, set_aside: bool) -> int:
    """Check every record of a store and print problems. Return the exit code."""
    folder = _open_existing_store(store)
    if set_aside:
        check_folder_is_writable(folder.folder, "names of damaged records")
    checked = audit.audit_store(folder, _open_manifest_file(manifest) if manifest else None)
    output.mark_exit_code_decided()
    for line in cluster_text.format_store_audit(checked):
        typer.echo(line)
    for path in checked.damaged if set_aside else ():
        typer.echo(f"set aside: {rename_as_damaged(path)}; launch does its run again")
    has_damaged = bool(checked.damaged) and not set_aside
    # the run of a record that was set aside is missing now
    has_missing = bool(checked.missing) or set_aside
    step = next_steps.suggest_after_verify(
        folder.folder, bool(checked.wrong), has_damaged, has_missing
    )
    output.print_next_steps([step])
    return 1 if checked.wrong or checked.damaged else 0


def merge_and_print_stores(stores: Sequence[str], into: Path) -> int:
    """Copy the records of several stores into one. Return the exit code."""
    target, sources = (
        Store(resolve_real_path(into)),
        [_open_existing_store(store) for store in stores],
    )
    check_folder_is_writable(target.folder, "run records")
    merged = audit.merge_records_of_stores(sources, target)
    output.mark_exit_code_decided()
    for line in cluster_text.format_store_merge(merged, str(target.folder)):
        typer.echo(line)
    output.print_next_steps([next_steps.suggest_after_launch(target.folder)])
    return 1 if merged.differing or merged.damaged else 0
