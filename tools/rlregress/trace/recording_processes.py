"""Records traces in separate processes; twice, to check that a recording is repeatable."""

from __future__ import annotations

import json
import os
import signal
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.inside import child_environment
from rlregress.model.explain import RepeatedTrace
from rlregress.model.recorded_traces import Trace, describe_version_label
from rlregress.trace import child_processes, trace_reader
from rlregress.trace.trace_comparison import compare_traces, mark_unsteady_parts

#: starts a module; -m would put the working directory before the packages of the version.
_START = (
    "import sys; del sys.path[0]; from rlregress.inside.{module} import main; "
    "sys.exit(main(sys.argv[1:]))"
)
#: the folder of the module that hides distributions as an interpreter starts.
_HIDDEN = Path(__file__).parents[1] / "inside" / "hidden"


@dataclass(frozen=True)
class Runtime:
    """The interpreter, paths and variables in which processes measure a version.

    Attributes:
        python: the interpreter.
        paths: first entries of ``PYTHONPATH``, such as an overlay with another version.
        variables: environment variables, such as the folder of a checkout.
        hidden: distributions on the path that processes must not find.
        hidden_modules: the dotted names of their modules.
        portable: use arithmetic with the same bits on all processors; see ``inside.arithmetic``.
    """

    label: str
    python: str = field(default_factory=lambda: sys.executable)
    paths: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    hidden_modules: Sequence[str] = ()
    portable: bool = False

    def make_path_variables(self) -> dict[str, str]:
        """Return the variables by which a process imports this version and this library.

        In an interpreter other than this one it imports the adapters of third parties, too.
        """
        paths, variables = [*self.paths, str(suite.locate_folder_with_only_library())], {}
        if self.python != sys.executable:
            values, packages = frameworks.locate_third_party_adapters()
            paths += [str(suite.locate_folder_with_only(package)) for package in packages]
            variables[frameworks.ADAPTERS_VARIABLE] = json.dumps(values)
        return {**variables, "PYTHONPATH": os.pathsep.join(paths)}

    def make_environment_variables(self) -> dict[str, str]:
        """Return a process's environment variables: one thread, fixed hashes, none of pytest."""
        variables = child_environment.make_environment_variables(
            self.variables, may_compile=False, portable=self.portable
        )
        variables |= self.make_path_variables()
        if self.hidden or self.hidden_modules:
            names = {"modules": self.hidden_modules, "distributions": self.hidden}
            variables["RLREGRESS_HIDDEN"] = json.dumps(names)
            # first, or another sitecustomize would run instead; it removes itself from the path
            variables["PYTHONPATH"] = os.pathsep.join([str(_HIDDEN), variables["PYTHONPATH"]])
        # with it, Python would not add the folder that _START removes from the path
        variables.pop("PYTHONSAFEPATH", None)
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        return variables


def list_user_pythonpath_folders() -> tuple[str, ...]:
    """Return the folders that the user has put on ``PYTHONPATH``, such as changed packages."""
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}
    library = str(suite.locate_folder_with_only_library())
    path_entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return tuple(p for p in path_entries if p and p not in installed and p != library)


def make_start_command(module: str, runtime: Runtime, *jobs: Path) -> list[str]:
    """Return the command that runs a module of ``inside`` on a version."""
    return [runtime.python, "-c", _START.format(module=module), *map(str, jobs)]


def make_current_runtime(label: str, portable: bool = False) -> Runtime:
    """Return the runtime of this process (interpreter, paths, variables), portable if requested."""
    return Runtime(label, paths=list_user_pythonpath_folders(), portable=portable)


def record_trace(job: Mapping[str, Any], output: Path, runtime: Runtime) -> Trace:
    """Record one trace in a separate process.

    Raises:
        UserError: the process ended without a trace.
    """
    with TemporaryDirectory(prefix="rlregress-trace-") as folder:
        path = Path(folder) / "job.json"
        full_job = {**job, "output": os.path.realpath(output), "first": len(runtime.paths)}
        if runtime.portable:
            full_job["portable"] = True
        path.write_text(json.dumps(full_job), encoding="utf-8")
        completed = child_processes.run_command(
            make_start_command("trace_worker", runtime, path),
            runtime.make_environment_variables(),
            folder if job.get("script") is None else None,
        )
    if completed.returncode or not output.is_file():
        text = child_processes.extract_last_message(completed.stderr)
        if completed.returncode < 0:
            text = f"the process was ended by {signal.Signals(-completed.returncode).name}"
        raise UserError(f"no trace was recorded on {describe_version_label(runtime.label)}: {text}")
    return trace_reader.load_trace(output)


def check_something_was_traced(trace: Trace, label: str) -> None:
    """Raise UserError if a trace has neither events nor an error."""
    if not trace.failure and not any(
        map(trace.count_events_of_kind, ("optimizer", "step", "output"))
    ):
        raise UserError(
            f"nothing was traced on {describe_version_label(label)}: no environment step and no "
            "optimiser "
            "step; expected a script that trains with PyTorch on environments of gymnasium"
        )


def record_trace_twice(job: Mapping[str, Any], output: Path, runtime: Runtime) -> RepeatedTrace:
    """Record a trace twice: a trace that differs from its repetition is not evidence.

    Raises:
        UserError: the process ended without a trace, or nothing was traced.
    """
    first = record_trace(job, output, runtime)
    check_something_was_traced(first, runtime.label)
    repeated = record_trace_again(job, first, runtime)
    if repeated.trace.unrepeatable_output:
        trace_reader.rewrite_trace_header(output, repeated.trace)
    return repeated


def record_trace_again(
    job: Mapping[str, Any], first_trace: Trace, runtime: Runtime
) -> RepeatedTrace:
    """Record a trace again and compare both."""
    with TemporaryDirectory(prefix="rlregress-trace-") as folder:
        repetition = record_trace(job, Path(folder) / "again.trace", runtime)
    first_trace = mark_unsteady_parts(first_trace, repetition)
    return RepeatedTrace(
        trace=first_trace,
        with_itself=compare_traces(first_trace, repetition),
        repetition=repetition,
    )
