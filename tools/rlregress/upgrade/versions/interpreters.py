"""Finds interpreters, their properties, and the distributions that they find."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rlregress.errors import UserError
from rlregress.trace.child_processes import extract_last_message
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.versions import distribution_metadata, installed, installer
from rlregress.upgrade.versions.distribution_metadata import Distributions

#: the oldest Python that can run the suite's code on a version.
_OLDEST = (3, 10)
#: the program that an interpreter runs to describe itself; old ones must be able to run it, too.
_FACTS = (
    "import json, platform, sys, venv;"
    "print(json.dumps([list(sys.version_info[:2]), platform.python_version(),"
    "sys.implementation.cache_tag, sys.path]))"
)


def find_interpreter(text: str) -> str:
    """Find an interpreter by version or path; empty: the one that runs this.

    Raises:
        UserError: the interpreter is missing, too old, or no Python.
    """
    oldest = ".".join(map(str, _OLDEST))
    expected = f"expected the version or the path of a Python that is {oldest} or newer"
    if "/" in text:
        path = str(Path(text).expanduser().absolute())
    elif f"{platform.python_version()}.".startswith(f"{text}."):
        return ""
    else:
        command = ["python", "find", "--no-project", "--no-python-downloads", text]
        try:
            path = installer.run_uv(command, text).strip()
        except UserError:
            raise UserError(f"--python is '{text}', which is not found here; {expected}") from None
    if path == sys.executable:
        return ""
    try:
        numbers, full, *_ = _query_interpreter(path)
    except UserError as error:
        raise UserError(f"--python is '{text}': {error}; {expected}") from None
    if tuple(numbers) < _OLDEST:
        raise UserError(f"--python is '{text}', and that is Python {full}; {expected}")
    return path


@functools.cache
def _query_interpreter(python: str) -> tuple[list[int], str, str, list[str]]:
    """Return (major, minor), full version, bytecode tag and import path of an interpreter."""
    try:
        completed = subprocess.run(
            [python, "-I", "-c", _FACTS], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{python} cannot be run: {error}") from None
    try:
        numbers, full, tag, path = json.loads(completed.stdout)
        if f"{full}.".split(".")[:2] != list(map(str, numbers)):
            raise ValueError
    except (ValueError, TypeError):
        why = extract_last_message(completed.stderr) or "it does not answer as one"
        raise UserError(f"{python} cannot be used as Python: {why}") from None
    return numbers, full, tag or full, path


def make_installation_tag(python: str = "") -> str:
    """Return a name that is different for installations with different interpreters."""
    if not python:
        return sys.implementation.cache_tag or "python"
    _, full, of_bytecode, _ = _query_interpreter(python)
    return f"{of_bytecode}-{full}"


def find_short_version(python: str) -> str:
    """Return another interpreter's version, such as "3.11"; empty: it is the one that runs this."""
    return ".".join(map(str, _query_interpreter(python)[0])) if python else ""


def read_marker_values(python: str) -> Mapping[str, str]:
    """Return the values of requirement markers for another interpreter."""
    if not python:
        return {}
    return {
        "python_version": find_short_version(python),
        "python_full_version": _query_interpreter(python)[1],
    }


def map_interpreter_distributions(python: str) -> Distributions:
    """Return canonical name -> the distribution that an interpreter finds."""
    if python == sys.executable:
        return installed.map_installed_distributions()
    folders = _query_interpreter(python)[3]
    return distribution_metadata.map_distributions_by_name(
        importlib.metadata.distributions(path=folders)
    )


def map_interpreter_versions(python: str) -> dict[str, str]:
    """Return canonical name -> version of everything that an interpreter finds."""
    return distribution_metadata.map_versions_by_name(map_interpreter_distributions(python))


def find_python_version_of_runtime(runtime: Runtime) -> str:
    """Return the Python version of a runtime."""
    if runtime.python == sys.executable:
        return platform.python_version()
    return _query_interpreter(runtime.python)[1]
