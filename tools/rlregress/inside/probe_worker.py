"""Probes in a foreign environment: ``python -m rlregress.inside.probe_worker JOB ANSWERS``.

Runs inside foreign and old environments: Python 3.10 syntax, only what adapters need. The job
is a JSON file: ``framework``, ``inputs`` (detail id -> name -> number, text or nested list), and
``until``, the time after which no probe runs (seconds since the epoch; None: there is no limit).
Observations are not judged here.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlregress import frameworks, marks, missing_packages
from rlregress.frameworks.base import Adapter
from rlregress.inside.events import Places
from rlregress.inside.job_files import answer_job_of_file
from rlregress.inside.lines import ExecutionNotes
from rlregress.model.extra_packages import IN_BOTH_VERSIONS
from rlregress.probing import framework_errors, signatures
from rlregress.probing.families import Unread, format_error
from rlregress.probing.interface import Probe, Unprobed, Unsupported
from rlregress.probing.isolation import convert_observation, run_probe_isolated
from rlregress.probing.time_limits import raise_error_after


def probe_adapter(
    framework: str, inputs: dict[str, dict[str, Any]], until: float | None = None
) -> dict[str, Any]:
    """Run the probes of an adapter and read defaults and signatures of its framework.

    Returns:
        ``versions``; ``folders`` of the code; ``algorithms`` of built-in trainings; ``observed`` by
        "<id> <scope>": numbers or an error, with ``entered``, the places in ``functions`` of the
        framework's functions that the probe called; ``defaults`` by "<algorithm> <scope>" and
        ``signatures`` by qualified name, each with ``..._unread``: name -> why it was not read.
    """
    adapter = frameworks.get_adapter(framework)
    observed: dict[str, Any] = {}
    places = Places(_list_code_folders(adapter))
    marks.mark_imports(places.find_path_below_root)
    #: file and qualified name of each function that a probe called -> its place in the list.
    functions: dict[tuple[str, str], int] = {}
    for (id, scope), probe in adapter.observe.list_probes().items():
        if id in inputs:
            called = ExecutionNotes(places)
            answer = _run_probe(adapter, probe, inputs[id], called, until)
            answer["entered"] = [
                functions.setdefault((file, name), len(functions))
                for file, names in called.list_called_functions().items()
                for name in names
            ]
            observed[f"{id} {scope}"] = answer
    return {
        "versions": dict(adapter.code.map_package_versions()),
        "folders": list(_list_code_folders(adapter)),
        "functions": [list(function) for function in functions],
        **_list_algorithms(adapter),
        "observed": observed,
        **_make_entries_of_defaults(adapter),
        **_read_signatures(adapter),
    }


def _run_probe(
    adapter: Adapter,
    probe: Probe,
    inputs: Mapping[str, Any],
    called: ExecutionNotes,
    until: float | None,
) -> dict[str, Any]:
    """Run a probe; return the numbers that it observes, or its error; note called functions."""
    arguments = {
        key: np.array(value, dtype=np.float64) if isinstance(value, list) else value
        for key, value in inputs.items()
    }
    try:
        # nothing but a probe: elsewhere nobody would take it as an answer
        seconds = {} if until is None else {signal.ITIMER_REAL: until - time.time()}
        with raise_error_after(OutOfTime, seconds), called:
            numbers = convert_observation(run_probe_isolated(probe, arguments))
        return {"observed": numbers.tolist()}
    except OutOfTime:
        return {"error": "--minutes were over", "why": "time"}
    except Exception as error:  # whatever the foreign code raises is the finding
        modules = adapter.framework.modules
        return {
            "error": missing_packages.describe_missing_package(error, IN_BOTH_VERSIONS)
            or format_error(error),
            "why": _classify_error(error, modules),
            "place": framework_errors.find_error_location(error),
            "whose": framework_errors.find_error_origin(
                error, modules, _list_code_folders(adapter)
            ),
        }


class OutOfTime(BaseException):
    """The time for probes is over; no handler of a framework catches it."""


def _list_code_folders(adapter: Adapter) -> Sequence[str]:
    try:
        return adapter.code.list_code_folders()
    except Exception:  # foreign code, as above
        return ()


def _list_algorithms(adapter: Adapter) -> dict[str, Any]:
    try:
        return {"algorithms": list(adapter.list_trace_trainings())}
    except Exception as error:  # foreign code, as above
        return {"algorithms": [], "algorithms_unread": format_error(error)}


def _make_entries_of_defaults(adapter: Adapter) -> dict[str, Any]:
    defaults: dict[tuple[str, str], Mapping[str, Any]] = {}
    for algorithms, read in (
        (
            (*adapter.framework.algorithms, *adapter.framework.behavior_only),
            adapter.read.read_defaults,
        ),
        (("others",), adapter.read.read_defaults_of_all_arguments),
    ):
        try:
            defaults.update(read())
        except Exception as error:  # foreign code, as above
            defaults.update(
                {
                    (a, s): Unread(format_error(error))
                    for a in algorithms
                    for s in adapter.framework.scopes
                }
            )
    cells = {" ".join(cell): values for cell, values in defaults.items()}
    return {
        "defaults": {
            cell: {
                name: signatures.format_value_reproducibly(value) for name, value in values.items()
            }
            for cell, values in cells.items()
            if not isinstance(values, Unread)
        },
        "defaults_unread": {
            cell: values.reason for cell, values in cells.items() if isinstance(values, Unread)
        },
    }


def _read_signatures(adapter: Adapter) -> dict[str, Any]:
    by_name, unread = signatures.read_defaults_and_failures(adapter.framework.public)
    return {"signatures": by_name, "signatures_unread": unread}


def _classify_error(error: BaseException, modules: Sequence[str]) -> str:
    """Return the reason why a probe has no answer.

    "package": another package is missing; "absent": the framework lacks what is probed; "code": the
    probe does not know this code; "error": anything else.
    """
    reason = "error"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Unsupported):
            reason = "absent"
        elif isinstance(cause, Unprobed) and not cause.known:
            reason = "code"
        name = str(getattr(cause, "name", None) or "").partition(".")[0]
        if isinstance(cause, ImportError) and name and name not in modules:
            return "package"
        # code that checks for extra packages itself reports a missing one in its message
        if "not installed" in str(cause) or type(cause).__name__ == "DependencyNotInstalled":
            return "package"
        cause = cause.__cause__ or cause.__context__
    return reason


def _probe_adapter_of_job(job: dict[str, Any]) -> dict[str, Any]:
    return probe_adapter(job["framework"], job["inputs"], job.get("until"))


if __name__ == "__main__":
    sys.exit(answer_job_of_file(_probe_adapter_of_job, sys.argv[1:]))
