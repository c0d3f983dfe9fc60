"""Record a trace in this process: ``python -m rlregress.inside.trace_worker JOB``.

The job is a JSON file with

- ``output``: path of the trace;
- ``packages``: importable packages of the traced code;
- ``distributions``, ``trees``: releases and importable packages that differ between the versions,
  which are traced code, too;
- ``moved``: further importable packages that differ; their executed code is noted;
- ``steps``: environment steps to record, 0: all;
- ``lines``: whether executed functions, lines and branches are noted; a list of files and
  functions: the lines of these, and calls of all others;
- ``until``: a time, in seconds since the epoch; a script is ended then, and its trace is written;
- ``plain``: a limit in seconds; seed, and record nothing, to see whether the training fails itself;
- ``timed``, with ``plain``: whether replay buffers are ``large``; ``after``, a file to wait for;
  and ``until``, how long to wait;
- ``named``: numbers of events whose tensors are recorded one by one, by name;
- ``unit``: number of an event whose numbers change by one unit in the last place, and a seed;
- ``portable``: whether to report the arithmetic that the process was started with;
- ``swap``: other code for functions; see ``inside.swap``;

and either ``script`` (path) with ``arguments`` and ``first`` (entries of the path of modules that
go before its folder), or ``framework``, ``training`` (title) and ``seed`` of a built-in training.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress import marks, missing_packages
from rlregress.inside import arithmetic, error_origin, events, loading, swap
from rlregress.inside.activity import ClampAndMaskEffects
from rlregress.inside.lines import ExecutionNotes
from rlregress.inside.recorder import Recorder, Stop
from rlregress.inside.worker import measure_peak_mib
from rlregress.inside.written_files import WrittenFiles
from rlregress.model.extra_packages import IN_BOTH_VERSIONS
from rlregress.probing import memory_sizes
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_trainings import OptionTrainings
from rlregress.probing.trace_trainings import is_title_of_generated_calls


def find_package_folders(packages: list[str]) -> list[str]:
    """Return the folders of importable packages; a package that is not installed has none."""
    roots: list[str] = []
    for package in packages:
        # the package around it may not be installed
        with contextlib.suppress(ModuleNotFoundError):
            if spec := importlib.util.find_spec(package):
                roots.extend(spec.submodule_search_locations or filter(None, [spec.origin]))
    return roots


def list_packages_of_distribution(distribution: str) -> list[str]:
    """Return the importable packages of a release; none if it is not installed."""
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted({f.parts[0] for f in files if f.parts[1:] == ("__init__.py",)})


def _make_script_runner(job: dict[str, Any]) -> Callable[[Any], None]:
    """Return a function that runs a script as ``python script arguments`` would."""
    path = os.path.abspath(job["script"])

    def run_script(recorder: Any) -> None:
        with open(path, "rb") as file:
            # as bytes, which declare their coding
            code = marks.compile_source(file.read(), path, is_script=True)
        module = type(sys)("__main__")
        module.__file__ = path
        sys.modules["__main__"] = module
        sys.argv = [path, *job.get("arguments", [])]
        # the script that the user has named
        exec(code, module.__dict__)  # noqa: S102

    return run_script


def _add_script_and_repository_to_path(script: str, first: int) -> None:
    """Put the folder of a script, and its repository, on ``sys.path``."""
    # behind the packages of the version: the script may lie in a tree with others of their names
    folder = os.path.dirname(script)
    sys.path.insert(first, folder)
    # last: scripts that are run from the root import from there, and it hides nothing
    sys.path.extend(root for root in _find_repository_above(folder) if root not in sys.path)


def _find_repository_above(folder: str) -> list[str]:
    """Return the nearest folder above that is the root of a repository or project, if any."""
    markers = (".git", "pyproject.toml", "setup.py")
    folders = [Path(folder), *Path(folder).parents]
    return [str(f) for f in folders if any((f / marker).exists() for marker in markers)][:1]


def make_built_in_training(job: dict[str, Any]) -> Callable[[Any], None]:
    """Return a function that runs a built-in training under a recorder."""
    from rlregress import frameworks
    from rlregress.probing.toys import MixedEndsEnv

    adapter = frameworks.get_adapter(job["framework"])

    def run_training(recorder: Any) -> None:
        for module in adapter.framework.modules[:1]:
            # the error of its import is clearer than that of an adapter without it
            importlib.import_module(module)

        def make_env(*arguments: Any, **options: Any) -> Any:
            return recorder.wrap_environment(MixedEndsEnv(*arguments, **options))

        training = adapter.list_trace_trainings()[job["training"]]
        generated = is_title_of_generated_calls(job["training"])
        # the versions have other generated calls: events inside them have no common order
        quiet, recorder.quiet = recorder.quiet, recorder.quiet or generated
        try:
            outputs = training(make_env, int(job.get("seed", 0)))
        finally:
            recorder.quiet = quiet
        if isinstance(training, OptionTrainings):
            recorder.record_runs_as_results(outputs)
        else:
            for name, value in (outputs or {}).items():
                recorder.record_result(name, value)
        # the networks at the end of generated calls cannot be compared either
        recorder.over = recorder.over or generated

    return run_training


def make_training_of_job(job: dict[str, Any]) -> Callable[[Any], None]:
    """Return a function that runs the training of a job under a recorder."""
    return _make_script_runner(job) if job.get("script") else make_built_in_training(job)


def prepare_imports(job: dict[str, Any]) -> None:
    """Prepare this process for a job, before its packages are imported."""
    loading.note_everything_loaded()
    torch.set_num_threads(1)
    if job.get("script"):
        # the traced packages may lie there
        _add_script_and_repository_to_path(os.path.abspath(job["script"]), int(job.get("first", 0)))


def map_library_versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of Python, of libraries such as torch, and of packages."""
    by_name = {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
    }
    for package in packages:
        module = sys.modules.get(package)
        if module is not None and hasattr(module, "__version__"):
            by_name[package] = str(module.__version__)
    return by_name


def _wait_for_turn(job: dict[str, Any]) -> None:
    """Import everything that is not to be timed, and wait for this version's turn."""
    if job["timed"]["large"]:
        memory_sizes.request_large_memories()
    for package in job.get("packages", []):
        # if it cannot be imported, the training fails with the same error
        with contextlib.suppress(Exception):
            importlib.import_module(package)
    while job["timed"]["after"] and not os.path.exists(job["timed"]["after"]):
        if time.time() > job["timed"]["until"]:
            raise TimeoutError("the other version did not end its turn in time")
        time.sleep(0.01)


#: seconds between two attempts to end a script.
_STOP_INTERVAL = 3.0


def _stop_training_at(until: float, recorder: Recorder, stopped: list[str]) -> None:
    """End the training at a time, and note it in ``stopped``."""

    def stop_training(*_: Any) -> None:
        stopped.append("by time")
        recorder.stop_training()

    signal.signal(signal.SIGALRM, stop_training)
    signal.setitimer(signal.ITIMER_REAL, max(until - time.time(), 0.001), _STOP_INTERVAL)


def _find_packages_and_folders_of_job(
    job: dict[str, Any],
) -> tuple[list[str], list[str], list[str]]:
    """Return a job's packages, those that differ, and the folders of the traced code."""
    differing = list(job.get("trees", []))
    for distribution in job.get("distributions", []):
        differing.extend(list_packages_of_distribution(distribution))
    packages = [*job.get("packages", []), *differing]
    roots = find_package_folders(packages)
    if job.get("script"):
        roots.append(os.path.abspath(job["script"]))
    else:
        from rlregress import frameworks

        roots.extend(frameworks.get_adapter(job["framework"]).code.list_code_folders())
    return packages, differing, roots


def _train_and_describe_end(
    recorder: Recorder, run: Callable[[Any], None], script: str
) -> dict[str, Any]:
    """Train; return header entries that describe how the training ended."""
    failure, unsupported = "", ""
    description: dict[str, str] = {}
    try:
        try:
            run(recorder)
        finally:
            # switches off the alarm that ``_stop_training_at`` has set
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        pass
    except Unsupported as reason:
        unsupported = str(reason)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        lacking = (
            "" if script else missing_packages.describe_missing_package(error, IN_BOTH_VERSIONS)
        )
        if lacking:
            unsupported = lacking
        elif not isinstance(error, SystemExit):
            failure = traceback.format_exc(limit=-4)
        elif error.code:
            failure = f"SystemExit: {error.code}"
        if failure:
            description = error_origin.describe_error_for_header(error, recorder.places, script)
    return {"failure": failure, "error": description, "not_offered": unsupported}


def record_job_to_trace(job: dict[str, Any]) -> dict[str, Any]:
    """Run the job under a recorder, write the trace, return its header."""
    prepare_imports(job)
    packages, differing, roots = _find_packages_and_folders_of_job(job)
    places = events.Places(roots)
    if job.get("timed"):
        _wait_for_turn(job)
    plain = int(job.get("plain", 0))
    named, unit = job.get("named", ()), job.get("unit")
    recorder = Recorder(places, int(job.get("steps", 0)), bool(plain), named, unit)
    if plain:
        signal.alarm(plain)
    stopped: list[str] = []
    if job.get("until"):
        _stop_training_at(job["until"], recorder, stopped)
    lines = job.get("lines", False) if not plain else False
    # in other packages that differ, executed code is noted, but events have no places
    all_roots = [*roots, *find_package_folders(job.get("moved", []))]
    executed = ExecutionNotes(events.Places(all_roots), None if lines is True else lines or ())
    run = make_training_of_job(job)
    misfits = swap.replace_running_code(job["swap"], all_roots) if job.get("swap") else []
    start = time.perf_counter(), time.process_time(), measure_peak_mib()
    activity = ClampAndMaskEffects(places)
    # files of generated calls are not compared, as each version has other calls
    generated = is_title_of_generated_calls(job.get("training", ""))
    is_compared = not plain and not generated
    written = WrittenFiles(job["output"])
    with contextlib.ExitStack() as stack:
        stack.enter_context(recorder)
        if lines is not False:
            stack.enter_context(executed)
        if is_compared:
            stack.enter_context(written)
            written.install(recorder)
        if lines:
            activity.install(recorder)
        recorder.replace_functions_imported_before()
        ended = _train_and_describe_end(recorder, run, job.get("script", ""))
    header = {
        "job": {
            key: value for key, value in job.items() if key not in ("output", "lines", "until")
        },
        "versions": map_library_versions(packages),
        "modules": _map_modules_to_files(differing),
        **ended,
        "misfits": misfits,
        "generated": generated,
        "stopped": bool(stopped),
        # at the end: a script may have chosen another number of threads
        "arithmetic": arithmetic.read_arithmetic_of_libraries() if job.get("portable") else {},
        **_describe_recording(recorder, roots),
        **executed.make_header_entries(),
        "activity": activity.list_effects_by_place(),
        **_measure_costs_since(*start),
    }
    if is_compared:
        # last: loading a pickle runs code of the framework
        recorder.events += written.make_events_of_files()
    events.write_trace(job["output"], header, recorder.events)
    return header


def _map_modules_to_files(modules: Iterable[str]) -> dict[str, str]:
    """Return module -> its file; empty: it was not imported."""
    return {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in modules}


def _measure_costs_since(wall: float, cpu: float, memory: float) -> dict[str, float]:
    """Return time and memory that were spent since the given readings."""
    return {
        "wall_seconds": round(time.perf_counter() - wall, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
        # a forked process begins with the memory of its parent
        "grown_mib": round(measure_peak_mib() - memory, 1),
    }


def _describe_recording(recorder: Recorder, roots: list[str]) -> dict[str, Any]:
    return {
        "seeds": recorder.seeds,
        "seeded": recorder.seeded,
        "folders": [os.path.abspath(root) for root in roots if os.path.isdir(root)],
        "elsewhere": recorder.other_activity,
        "gpu": torch.cuda.is_available() and torch.cuda.is_initialized(),
    }


def main(arguments: list[str]) -> int:
    """Record the training of a job file; return 0 if its trace was written, even of an error."""
    faulthandler.enable()
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    record_job_to_trace(job)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
