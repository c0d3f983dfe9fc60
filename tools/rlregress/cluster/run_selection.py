"""Which runs are launched: those of the cells that options choose, or those of a manifest."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rlregress import datafiles, files
from rlregress.cluster.manifest import NAMED, Manifest, is_same, put, write
from rlregress.errors import UserError
from rlregress.gate import baseline_runs
from rlregress.gate.cell_selection import Selection, choose_cells
from rlregress.gate.session import Session
from rlregress.gate.session_waves import Wave
from rlregress.inside import run_record
from rlregress.training import job_plan
from rlregress.training.budgets import MAX_SEEDS, load_budget
from rlregress.training.cell import Job
from rlregress.training.store import MANIFESTS, Store


def of_selection(selection: Selection, seeds: int, first_seed: int, store: Store) -> Manifest:
    """The manifest of all runs of the chosen cells, written to the store.

    Args:
        seeds: runs of each cell; 0: the budget's number.
    """
    if not 0 <= seeds <= MAX_SEEDS:
        raise UserError(f"--seeds is {seeds}, expected up to {MAX_SEEDS} runs of each cell")
    cells = choose_cells(selection)
    known = baseline_runs.load_all_baselines()
    count = seeds or load_budget(selection.budget).seeds
    of_cells = [job_plan.plan_jobs(cell, range(first_seed, first_seed + count)) for cell in cells]
    # seed by seed: what is launched first says something of every cell
    jobs = [jobs[number] for number in range(count) for jobs in of_cells]
    per_step = {cell: baseline_runs.seconds_per_step(cell, known) for cell in cells}
    return _listed(((job, per_step[job.cell] * job.protocol.total_steps) for job in jobs), store)


def of_wave(wave: Wave, session: Session) -> Manifest:
    """The manifest of the runs of a wave, done or not, written to the store of its session."""
    seconds = session.estimated_seconds
    return _listed(((job, seconds(job.cell)) for job in wave.jobs), session.store)


def _listed(jobs: Iterable[tuple[Job, float]], store: Store) -> Manifest:
    run_record.check_writable(store.folder, "run records")
    return write(jobs, folder_in(store, MANIFESTS, "manifests"))


def folder_in(store: Store, name: str, what: str = "") -> Path:
    """A folder of a store's own; UserError if a link leads out of the store there.

    Args:
        what: what is written there, and the folder is made; empty: nothing.
    """
    # as of a file in it, so that a link that leads nowhere is refused too
    folder = files.inside(store.folder, name, name).parent
    if what:
        run_record.check_writable(folder, what)
    return folder


def kept(manifest: Manifest, store: Store) -> Manifest:
    """The store's own copy of a manifest, which is made if it has none."""
    path = folder_in(store, MANIFESTS, "manifests") / f"{manifest.digest[:NAMED]}.jsonl"
    if is_same(path, manifest):
        return Manifest(path)
    for _ in manifest.runs():
        # all of it is read, to see that none is damaged
        pass
    with (
        files.opened(manifest.path) as there,
        tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as copy,
    ):
        shutil.copyfileobj(there, copy)
    return put(Path(copy.name), path)


def of_store(store: Store) -> list[Manifest]:
    """The manifests that were written to a store, the newest first."""
    paths = datafiles.listed(folder_in(store, MANIFESTS), "*.jsonl")
    return [Manifest(path) for path in sorted(paths, key=lambda of: -of.lstat().st_mtime)]


def of_digest(store: Store, digest: str) -> Manifest | None:
    """The manifest of a store whose digest begins so, if it is there."""
    path = folder_in(store, MANIFESTS) / f"{digest[:NAMED]}.jsonl"
    return Manifest(path) if path.exists() else None
