"""Which functions a training enters: ``python -m rlregress.inside.entering JOBS`` asks many.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and what is
traced only, Python 3.10 syntax.

The file holds ``jobs`` as for ``inside.batch``, ``folders`` of the code, ``functions``, file below
its root and qualified name of each that matters, and further ``files``. Of each training there is
an answer, a JSON file: ``met`` if it entered one of them, upon which it is ended; ``functions``,
all of these files that it entered by its end, with ``imported``, the files of the code that were
loaded; ``unsupported``, why the framework has no such training, which it says before it enters one;
or the ``reason`` why it cannot be told.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any

from rlregress import missing_packages
from rlregress.inside import batch, events, loading, trace_worker
from rlregress.inside.marks import Function, Marks
from rlregress.inside.recorder import Recorder
from rlregress.model.extra_packages import ON_SIDES
from rlregress.probing.interface import Unsupported


def _write(path: str, answer: dict[str, Any]) -> None:
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(f"{path}.new", path)


def _train(job: dict[str, Any], marks: Marks, places: events.Places) -> None:
    """Train as under a recorder, up to the first function that matters."""
    output = job["output"]

    process = os.getpid()

    def met(function: Function) -> None:
        _write(output, {"met": list(function)})
        if os.getpid() != process:
            # a copy of the process of the training, which may wait for it
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        os._exit(0)

    marks.met = met
    # what is started anew, and not forked, is not seen
    sys.addaudithook(lambda event, given: _started(event, given, output))
    recorder, reason, unsupported = Recorder(places, quiet=True), "", ""
    with recorder:
        recorder.rebind()
        try:
            trace_worker.built_in(job)(recorder)
        except Unsupported as error:
            unsupported = str(error)
        except Exception as error:  # whatever ends it, it is recorded and says so there
            unsupported = missing_packages.lacking(error, ON_SIDES)
            reason = "" if unsupported else repr(error)
    if recorder.starts_processes:
        reason = "it starts another process"
    if marks.unmarked:
        reason = f"{marks.unmarked} was not imported as modules are"
    if not os.path.exists(output):
        imported = loading.loaded(places)["imported"]
        found = {"functions": marks.functions(), "imported": imported}
        if unsupported:
            found = {"unsupported": unsupported}
        _write(output, {"reason": reason} if reason else found)


#: what tells something of the machine, and runs no code that is traced.
_PLATFORM_COMMANDS = ("uname", "lsb_release", "nvidia-smi", "git", "lscpu")


def _started(event: str, given: tuple[Any, ...], output: str) -> None:
    """End a training that starts another process."""
    starting = event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system")
    if starting and os.path.basename(os.fsdecode(given[0])) not in _PLATFORM_COMMANDS:
        _write(output, {"reason": "it starts another process"})
        os._exit(0)


def main(arguments: list[str]) -> int:
    """Entry point; the exit status is 0 when all trainings were tried."""
    with open(arguments[0], encoding="utf-8") as file:
        request = json.load(file)
    jobs = request["jobs"]
    places = events.Places(request["folders"])
    at_import: list[Function] = []
    functions = [(file, name) for file, name in request["functions"]]
    files = {*request["files"], *(file for file, _ in functions)}
    with Marks(places, files, functions, at_import.append) as marks:
        batch.prepare(jobs[0])
        if at_import:
            for job in jobs:
                _write(job["output"], {"met": list(at_import[0])})
            return 0
        return batch.forked(jobs, lambda job: _train(job, marks, places))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
