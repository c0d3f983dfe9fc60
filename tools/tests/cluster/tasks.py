"""Start, stop and find runs that Slurm starts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from rlregress.cluster.manifest import Manifest
from rlregress.training.lease import Holder
from rlregress.training.store import Store

from .short_runs import rlregress
from .slurm_daemons import until


def ask(*command: str, check: bool = True) -> str:
    """Return the output of a command of Slurm."""
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def wait_for_tasks(seconds: float = 300) -> None:
    """Wait until no task is in the queue."""
    until(lambda: not ask("squeue", "-h").strip(), seconds, "tasks are still in the queue")


def launch(manifest: Manifest, store: Store, *options: str) -> str:
    """``rlregress runs launch --slurm``; what it said."""
    where = ("--manifest", str(manifest.path), "--store", str(store.folder))
    text = rlregress("runs", "launch", "--slurm", *where, "--sbatch", "mem=100M", *options)
    assert text.returncode == 0, text.stderr
    return text.stdout


def task_of(attempt_holder: Holder) -> str:
    """Return Slurm's name of a task; its own number may be that of the whole array."""
    return "{SLURM_ARRAY_JOB_ID}_{SLURM_ARRAY_TASK_ID}".format(**attempt_holder.slurm)


def go_on(process: int) -> None:
    """Let a stopped process go on when a signal has reached it; one that ends a process ends it."""
    status = Path(f"/proc/{process}/status")

    def executed() -> bool:
        pending = re.search(r"^ShdPnd:\s*(\w+)", status.read_text(), re.MULTILINE)
        return pending is not None and int(pending[1], 16) > 0

    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        until(executed, 90, f"no signal has reached process {process}")
        os.kill(process, signal.SIGCONT)


def logs(store: Store) -> str:
    """Return the logs of all tasks."""
    return "\n".join(path.read_text() for path in (store.folder / "slurm").glob("*.log"))


def catch_run(store: Store, but: set[str], node: str = "") -> tuple[str, Holder]:
    """Stop a run that a task does, and return its name and its holder.

    Args:
        but: none of these; the one that is caught is added.
        node: on this one; empty: on any.
    """

    def catch_one() -> tuple[str, Holder] | None:
        for name in sorted(store.list_runs_by_state().leases - but):
            with suppress(OSError):
                holder, _ = store.read_lease_holder(name)
                if holder is None or holder.ended:
                    continue
                if node and holder.slurm["SLURMD_NODENAME"] != node:
                    continue
                os.kill(holder.process, signal.SIGSTOP)
                # it may have ended before it was stopped
                is_done = name in store.list_runs_by_state().done
                if store.read_lease_holder(name)[0] == holder and not is_done:
                    return name, holder
                os.kill(holder.process, signal.SIGCONT)
        return None

    complaint = f"no run is being done{node and f' on {node}'}"
    name, holder = until(catch_one, 300, complaint)
    but.add(name)
    return name, holder
