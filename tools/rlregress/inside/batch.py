"""Run many trainings of one framework, or scripts, each in a process of its own.

Everything is imported once, then each training runs in a separate child process.

Each line of the input names a file. Modules that an earlier file imported stay imported. The file
holds ``jobs``, each as for ``inside.trace_worker``, with ``name``; ``folder``, their working
directory; and ``calls`` if calls are captured instead of traces, see ``inside.calls``. After each
job a line is printed, "<name>\\t<status>\\t <seconds>". If it has no trace, ``<output>.error`` has
its messages.
"""

from __future__ import annotations

import faulthandler
import functools
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

from rlregress.inside import events, lines, loading, process_tree, recorder, trace_worker
from rlregress.probing.trace_trainings import is_title_of_generated_calls

#: seconds after which a training is ended, and one made of a list of them; a script has no limit.
PATIENCE, PATIENCE_WITH_LIST = 300, 1200


def import_shared_modules(job: dict[str, Any]) -> None:
    """Import everything that the trainings share, so that every forked child has it already."""
    loading.note_everything_loaded()
    import torch

    from rlregress import frameworks

    torch.set_num_threads(1)
    # torch imports half of itself with the first optimiser, which takes seconds
    torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
    adapter = frameworks.get_adapter(job["framework"])
    try:
        folders = [
            *adapter.code.list_code_folders(),
            *trace_worker.find_package_folders(job.get("moved", [])),
        ]
        with lines.note_functions_called_by_imports(events.Places(folders)):
            # every recorder reads all adapters, which are imported here once
            recorder.list_recorded_and_logged_methods()
            adapter.list_trace_trainings()
            adapter.train.warm_up_before_fork()
    except Exception:  # each training fails with the same error
        traceback.print_exc()
    for file in [getattr(module, "__file__", None) for module in list(sys.modules.values())]:
        if file:
            events.list_given_and_real_path(file)
    # the collector need not look at any of this again
    gc.collect()
    gc.freeze()


def find_time_limit(job: dict[str, Any]) -> int:
    """Return the seconds after which the training of a job is ended; 0: never."""
    # in a list, each training with a changed option has a limit of its own
    by_kind = (
        PATIENCE_WITH_LIST if is_title_of_generated_calls(job.get("training", "")) else PATIENCE
    )
    return int(job.get("patience", 0 if job.get("script") else by_kind))


def _train_and_end_process(job: dict[str, Any], work: Callable[[dict[str, Any]], Any]) -> None:
    """Do the work of one training, then end the process."""
    signal.alarm(find_time_limit(job))
    # standard input is the parent's, with its jobs
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # files for both outputs, which are read again to compare printed lines
    errors = os.open(job["output"] + ".error", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    # prints the stack if a signal ends the process
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


def main(_: list[str]) -> int:
    """Do the jobs of each file that standard input names; return 0 when all were tried."""
    for number, path in enumerate(map(str.rstrip, sys.stdin)):
        with open(path, encoding="utf-8") as file:
            request = json.load(file)
        jobs = request["jobs"]
        os.chdir(request["folder"])
        if jobs[0].get("script"):
            # each child imports what the script does
            recorder.list_recorded_and_logged_methods()
        elif not number:
            import_shared_modules(jobs[0])
        work: Callable[[dict[str, Any]], Any] = trace_worker.record_job_to_trace
        if "calls" in request:
            from rlregress.inside import calls

            work = functools.partial(calls.train_and_compare_captured_calls, request["calls"])
        fork_trainings(jobs, work)
    return 0


def fork_trainings(jobs: list[dict[str, Any]], work: Callable[[dict[str, Any]], Any]) -> None:
    """Do the work of each training in a separate child."""
    for job in jobs:
        start = time.perf_counter()
        sys.stdout.flush()
        # a training that was ended leaves the workers of its vector environment behind
        with process_tree.end_children():
            child = os.fork()
            if not child:
                _train_and_end_process(job, work)
            _, status = os.waitpid(child, 0)
        if status == 0:
            os.unlink(job["output"] + ".error")
        elif os.WIFSIGNALED(status):
            with open(job["output"] + ".error", "a", encoding="utf-8") as file:
                name = signal.Signals(os.WTERMSIG(status)).name
                late = f" after {find_time_limit(job)} s" if name == "SIGALRM" else ""
                file.write(f"\nthe process was ended by {name}{late}\n")
        print(f"{job['name']}\t{status}\t{time.perf_counter() - start:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
