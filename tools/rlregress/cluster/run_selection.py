"""Manifests of launched runs: of selected cells, of a wave, or copied from another manifest."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rlregress import datafiles, files
from rlregress.check import baseline_runs
from rlregress.check.cell_selection import Selection, choose_cells
from rlregress.check.session import Session
from rlregress.check.session_waves import Wave
from rlregress.cluster.manifest import (
    NAME_LENGTH,
    Manifest,
    has_same_runs,
    rename_new_manifest,
    write_manifest_of_jobs,
)
from rlregress.errors import UserError
from rlregress.inside import run_record
from rlregress.training import job_plan
from rlregress.training.budgets import MAX_SEEDS, load_budget
from rlregress.training.cell import Job
from rlregress.training.store import MANIFESTS, Store


def write_selection_manifest(
    selection: Selection, seeds: int, first_seed: int, store: Store
) -> Manifest:
    """Write the manifest of all runs of the selected cells to the store.

    Args:
        seeds: runs of each cell; 0: the budget's number.
    """
    if not 0 <= seeds <= MAX_SEEDS:
        raise UserError(f"--seeds is {seeds}, expected up to {MAX_SEEDS} runs of each cell")
    cells = choose_cells(selection)
    baselines = baseline_runs.load_all_baselines()
    count = seeds or load_budget(selection.budget).seeds
    jobs_by_cell = [
        job_plan.plan_jobs_of_cell(cell, range(first_seed, first_seed + count)) for cell in cells
    ]
    # seed by seed, so that the first runs cover every cell
    jobs = [jobs[number] for number in range(count) for jobs in jobs_by_cell]
    per_step = {cell: baseline_runs.estimate_seconds_per_step(cell, baselines) for cell in cells}
    return _write_manifest_to_store(
        ((job, per_step[job.cell] * job.protocol.total_steps) for job in jobs), store
    )


def write_wave_manifest(wave: Wave, session: Session) -> Manifest:
    """Write the manifest of the runs of a wave, done or not, to the store of its session."""
    seconds = session.estimate_seconds_of_cell
    return _write_manifest_to_store(((job, seconds(job.cell)) for job in wave.jobs), session.store)


def _write_manifest_to_store(jobs: Iterable[tuple[Job, float]], store: Store) -> Manifest:
    run_record.check_folder_is_writable(store.folder, "run records")
    return write_manifest_of_jobs(
        jobs, locate_or_create_folder_in_store(store, MANIFESTS, "manifests")
    )


def locate_or_create_folder_in_store(store: Store, folder_name: str, purpose: str = "") -> Path:
    """Return a folder of a store; UserError if it is a link that leads out of the store.

    Args:
        purpose: name of what is written there; the folder is then created. Empty: read only.
    """
    # resolved like a file in it, so that a dangling link is rejected too
    folder = files.join_inside(store.folder, folder_name, folder_name).parent
    if purpose:
        run_record.check_folder_is_writable(folder, purpose)
    return folder


def copy_manifest_to_store(manifest: Manifest, store: Store) -> Manifest:
    """Copy a manifest to the store unless it is there. Return the copy."""
    path = (
        locate_or_create_folder_in_store(store, MANIFESTS, "manifests")
        / f"{manifest.digest[:NAME_LENGTH]}.jsonl"
    )
    if has_same_runs(path, manifest):
        return Manifest(path)
    for _ in manifest.iterate_runs():
        # reading all runs detects damage
        pass
    with (
        files.open_regular_file(manifest.path) as source,
        tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as copy,
    ):
        shutil.copyfileobj(source, copy)
    return rename_new_manifest(Path(copy.name), path)


def list_manifests_of_store(store: Store) -> list[Manifest]:
    """List the manifests of a store, the newest first."""
    paths = datafiles.list_files_by_name(
        locate_or_create_folder_in_store(store, MANIFESTS), "*.jsonl"
    )
    return [Manifest(path) for path in sorted(paths, key=lambda path: -path.lstat().st_mtime)]


def find_manifest_by_digest(store: Store, digest: str) -> Manifest | None:
    """Return the manifest of a store whose digest begins like this, if it exists."""
    path = locate_or_create_folder_in_store(store, MANIFESTS) / f"{digest[:NAME_LENGTH]}.jsonl"
    return Manifest(path) if path.exists() else None
