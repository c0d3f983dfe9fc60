"""Runs that are real and as short as one can be, for the tests of this folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rlregress.cluster import manifest, run_one
from rlregress.cluster.manifest import Manifest
from rlregress.training import job_plan, worker_launch
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.training.lease import Holder
from rlregress.training.store import Store

from ..processes import run_python
from .slurm_daemons import until

#: of that framework, as it is imported.
PACKAGE = "stable_baselines3"
#: without an update; and one that does not end while it is looked at.
SHORT, ENDLESS = Protocol(40, 40, 1), Protocol(10_000_000, 10_000_000, 1)


def jobs(
    seeds: Sequence[int], protocol: Protocol = SHORT, environment: str = "InvertedPendulum-v4"
) -> list[Job]:
    """Return runs of one installed framework."""
    cell = Cell("sb3", "sac", environment, "sb3", "smoke")
    return [replace(job, protocol=protocol) for job in job_plan.plan_jobs_of_cell(cell, seeds)]


def other_code(folder: Path) -> Path:
    """Return a working tree of that framework whose code differs by a comment."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(spec.submodule_search_locations[0], folder / PACKAGE, ignore=skipped)
    with (folder / PACKAGE / "ppo" / "ppo.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    return folder


def write_listed(store: Store, runs: Sequence[Job]) -> Manifest:
    """Return the manifest of runs that take equally long."""
    return manifest.write_manifest_of_jobs([(job, 1.0) for job in runs], store.folder / "manifests")


def start(run_manifest: Manifest, index: int, store: Store) -> subprocess.Popen[str]:
    """``rlregress runs run``, as a launcher calls it."""
    return begin(run_one.build_command_of_run(run_manifest, index, store))


def begin(command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command whose output is read later."""
    environment, output = worker_launch.make_worker_environment(), subprocess.PIPE
    return subprocess.Popen(
        command, env=environment, stdout=output, stderr=subprocess.STDOUT, text=True
    )


def rlregress(
    *arguments: str, before: Callable[[], None] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Any command, in a process of its own, with more environment variables.

    Args:
        before: called in the process first.
    """
    environment = worker_launch.make_worker_environment() | variables
    words = ("-m", "rlregress", *arguments)
    return run_python(*words, code=None, env=environment, preexec_fn=before)


def find_holder(store: Store, job: Job) -> Holder | None:
    """Return the holder of a run whose worker has begun; None without one."""
    try:
        holder_found, _ = store.read_lease_holder(job.name)
    except OSError:
        return None
    if holder_found is None or holder_found.ended:
        return None
    return holder_found if _log(store, job, holder_found).exists() else None


def holder(store: Store, job: Job) -> Holder:
    """Wait for the holder of a run, and return it."""
    return until(lambda: find_holder(store, job), 120, f"nobody does {job.name}")


def _log(store: Store, job: Job, attempt_holder: Holder) -> Path:
    return store.locate_record(job).with_suffix(".attempts") / attempt_holder.attempt / "log"


def workers(store: Store, job: Job) -> list[int]:
    """Return the processes that train it, whoever has started them."""
    folder = str(store.locate_record(job).with_suffix(".attempts")).encode()
    processes = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"rlregress.inside.worker" in words and words[-2].startswith(folder):
            processes.append(int(process))
    return processes


def worker_of(store: Store, job: Job, attempt_holder: Holder) -> int:
    """Return the process that trains, when there is one."""
    folder = str(_log(store, job, attempt_holder).parent)

    def find_worker() -> int | None:
        for process in workers(store, job):
            with suppress(OSError):
                if folder in Path(f"/proc/{process}/cmdline").read_text():
                    return process
        return None

    return until(find_worker, 120, f"nothing trains {job.name}")


def has_ended(process: int) -> bool:
    """Return whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
