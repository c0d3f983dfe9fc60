"""What the tests do with runs that Slurm starts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

from rlregress.cluster.manifest import Manifest
from rlregress.training.lease import Holder
from rlregress.training.store import Store

from .short_runs import rlregress
from .slurm_daemons import until


def launched(manifest: Manifest, store: Store, *options: str) -> str:
    """``rlregress runs launch --slurm``; what it said."""
    where = ("--manifest", str(manifest.path), "--store", str(store.folder))
    text = rlregress("runs", "launch", "--slurm", *where, "--sbatch", "mem=100M", *options)
    assert text.returncode == 0, text.stderr
    return text.stdout


def task_of(attempt_holder: Holder) -> str:
    """What Slurm calls the task of an attempt; its own number may be that of the whole array."""
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
    """What all tasks have said."""
    return "\n".join(path.read_text() for path in (store.folder / "slurm").glob("*.log"))


def catch_run(store: Store, but: set[str], node: str = "") -> tuple[str, Holder]:
    """A run that a task does, which is stopped at that moment, and who does it.

    Args:
        but: none of these; the one that is caught is added.
        node: on this one; empty: on any.
    """
    caught_runs: list[tuple[str, Holder]] = []

    def there() -> bool:
        for name in sorted(store.list_contents().leases - but):
            with suppress(OSError):
                attempt_found, _ = store.read_lease_holder(name)
                if (
                    attempt_found is None
                    or attempt_found.ended
                    or (node and attempt_found.slurm["SLURMD_NODENAME"] != node)
                ):
                    continue
                os.kill(attempt_found.process, signal.SIGSTOP)
                # it may have ended before it was stopped
                if (
                    store.read_lease_holder(name)[0] == attempt_found
                    and name not in store.list_contents().done
                ):
                    caught_runs.append((name, attempt_found))
                    return True
                os.kill(attempt_found.process, signal.SIGCONT)
        return False

    until(there, 300, f"no run is being done{node and f' on {node}'}")
    but.add(caught_runs[0][0])
    return caught_runs[0]
