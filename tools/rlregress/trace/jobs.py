"""Jobs of a recorder: a script, or a built-in training of a framework."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlregress import frameworks
from rlregress.errors import UserError, suggest_names
from rlregress.files import resolve_real_path


def build_job(
    script: Path | None,
    arguments: Sequence[str],
    framework: str,
    algorithm: str,
    packages: Sequence[str],
    steps: int,
) -> dict[str, Any]:
    """Return a recorder's job (what to train and trace) from the options of a command.

    Raises:
        UserError: neither or both of a script and a framework; a script or an algorithm that does
            not exist; a framework that is not installed.
    """
    if (script is None) == (not framework):
        raise UserError(
            "expected either a script, or --framework and --algorithm of a built-in training; "
            f"found {'both' if framework else 'neither'}"
        )
    if script is not None:
        if algorithm:
            raise UserError("--algorithm chooses a built-in training; leave it out with a script")
        return build_script_job(script, arguments, packages, steps)
    if arguments:
        raise UserError(f"'{' '.join(arguments)}' would be arguments of a script; name the script")
    adapter = frameworks.get_adapter(framework)
    adapter.code.map_package_versions()
    trainings = list(adapter.list_trace_trainings())
    if not algorithm:
        algorithm_names = (
            ", ".join(sorted(t for t in trainings if " " not in t))
            or "none: it has no built-in training"
        )
        raise UserError(f"--algorithm is missing; expected one of {framework}: {algorithm_names}")
    if algorithm not in trainings:
        clause = suggest_names(algorithm, trainings)
        raise UserError(f"{framework} has no built-in training of '{algorithm}'; {clause}")
    training = {"framework": framework, "training": algorithm, "steps": steps, "seed": 0}
    return {**training, "packages": list(packages)}


def build_script_job(
    script: Path, arguments: Sequence[str], packages: Sequence[str], steps: int
) -> dict[str, Any]:
    """Return a recorder's job for a script; raise UserError if the script does not exist."""
    if script.is_dir():
        raise UserError(f"{script} is a folder; expected a Python file, the script of a training")
    if not script.is_file():
        raise UserError(
            f"there is no script {script}; expected a Python file, the script of a training"
        )
    adapters = frameworks.list_adapters()
    modules = [module for adapter in adapters for module in adapter.framework.modules]
    return {
        "script": str(resolve_real_path(script)),
        "arguments": list(arguments),
        "packages": list(packages) or modules,
        "steps": steps,
    }
