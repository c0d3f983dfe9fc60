"""Record many trainings of one framework: ``python -m rlregress.inside.batch JOBS``.

Everything is imported once; each training runs in a child of its own, which begins where all
others begin. Runs inside foreign and old environments: Python 3.10 syntax.

The file holds ``jobs``, each as for ``inside.trace_worker``, with ``name``. After each comes a line
on standard output, "<name>\\t<status>\\t <seconds>"; where there is no trace, ``<output>.error``
holds what was said last.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

from rlregress import source
from rlregress.inside import events, lines, loading, process_tree, recorder, trace_worker

#: seconds after which a training that has not ended is ended.
PATIENCE = 300


def prepare(job: dict[str, Any]) -> None:
    """Import what the trainings share, so that each child has it."""
    loading.watch()
    import torch

    from rlregress import frameworks

    torch.set_num_threads(1)
    # what torch imports when the first optimiser is made, which takes seconds
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    adapter = frameworks.get(job["framework"])
    folders: tuple[str, ...] = ()
    try:
        folders = tuple(adapter.code.folders())
        moved = trace_worker.roots_of(job.get("moved", []))
        with contextlib.ExitStack() as stack:
            if job.get("imports"):
                stack.enter_context(lines.noting_imports(events.Places([*folders, *moved])))
            # each recorder asks all adapters, which are imported here once
            recorder.named_by_adapters()
            adapter.trace_trainings()
            adapter.train.warm_up()
    except Exception:  # each training says so itself
        traceback.print_exc()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file:
            events.paths_of(file)
            if any(file.startswith(folder) for folder in folders):
                source.parse_file(file)
    # what is there by now is no garbage, and is not looked at again
    gc.collect()
    gc.freeze()


def _child(job: dict[str, Any], work: Callable[[dict[str, Any]], Any]) -> None:
    """Do the work of one training and end the process."""
    signal.alarm(job.get("patience", PATIENCE))
    # both can be read again: what is printed is compared
    errors = os.open(job["output"] + ".error", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    # where a signal ends it
    faulthandler.enable()
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
    status = 1
    try:
        work(job)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(arguments: list[str]) -> int:
    """Entry point; the exit status is 0 when all jobs were tried."""
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    jobs = job["jobs"]
    if jobs and jobs[0].get("script"):
        # what it imports itself, each child does in its turn
        recorder.named_by_adapters()
    elif jobs:
        prepare(jobs[0])
    return forked(jobs, trace_worker.record)


def forked(jobs: list[dict[str, Any]], work: Callable[[dict[str, Any]], Any]) -> int:
    """Do the work of each training in a child of its own; 0 when all were tried."""
    for job in jobs:
        begun = time.perf_counter()
        sys.stdout.flush()
        # such as the workers of a vector environment, of a training that was ended
        with process_tree.children_ended():
            child = os.fork()
            if not child:
                _child(job, work)
            _, status = os.waitpid(child, 0)
        if status == 0:
            os.unlink(job["output"] + ".error")
        elif os.WIFSIGNALED(status):
            with open(job["output"] + ".error", "a", encoding="utf-8") as file:
                ended = signal.Signals(os.WTERMSIG(status)).name
                late = f" after {job.get('patience', PATIENCE)} s" if ended == "SIGALRM" else ""
                file.write(f"\nthe process was ended by {ended}{late}\n")
        print(f"{job['name']}\t{status}\t{time.perf_counter() - begun:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
