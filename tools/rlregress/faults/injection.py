"""Injects a fault into a copy of a framework. A new process uses it instead of the installed one.

The installed framework is never changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress import frameworks, source, suite
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import process_tree
from rlregress.model.fault_results import Fault
from rlregress.training import worker_launch


@contextmanager
def inject_fault(fault: Fault) -> Iterator[dict[str, str]]:
    """Yield the environment variables with which Python imports a copy that has the fault.

    Raises:
        UserError: the fault does not fit the installed version.
    """
    with TemporaryDirectory(prefix="rlregress-fault-") as folder:
        adapter = frameworks.get_adapter(fault.framework)
        variables = adapter.code.copy_package_to_change(fault.file, Path(folder))
        file = Path(folder) / fault.file
        unfit = f"the fault '{fault.name}' does not fit this version:"
        if not file.is_file():
            raise UserError(f"{unfit} there is no {fault.file}")
        text = file.read_text(encoding="utf-8")
        changed = source.replace_one_occurrence(text, fault.old, fault.new, fault.occurrence)
        if changed is None:
            count = text.count(fault.old)
            which = f"occurrence {fault.occurrence}" if fault.occurrence else "the only occurrence"
            raise UserError(
                f"{unfit} it replaces {which} of {fault.old!r} in {fault.file}, found {count}"
            )
        # removed first: the copy may be a link to the installed file, which must not change
        file.unlink()
        file.write_text(changed, "utf-8")
        environment = worker_launch.make_worker_environment()
        first = [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
        path = os.pathsep.join([*first, environment["PYTHONPATH"]])
        yield {**environment, **variables, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run_python_with_fault(
    fault: Fault, arguments: Sequence[str], patience: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python *arguments`` in pytest's folder; it imports a copy that has the fault.

    Args:
        patience: seconds after which the process is ended; None: no limit.

    Raises:
        subprocess.TimeoutExpired: it was ended.
    """
    with inject_fault(fault) as environment:
        return process_tree.run_supervised(
            [sys.executable, *arguments],
            timeout=patience,
            cwd=suite.locate_checkout_or_current_folder(),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


def find_line_of_fragment(
    adapter: Adapter, file: str, fragment: str, occurrence: int = 0
) -> tuple[Path, int] | None:
    """Return file and line of a fragment of the installed code; None if it is not in it.

    Args:
        occurrence: the number of the occurrence, from 1; 0: there must be only one.
    """
    path = adapter.code.find_installed_path(file)
    if path is None:
        return None
    parts = path.read_text(encoding="utf-8").split(fragment)
    number = max(occurrence, 1)
    if len(parts) <= number or (occurrence == 0 and len(parts) != 2):
        return None
    return path, fragment.join(parts[:number]).count("\n") + 1


def find_fault_line(fault: Fault) -> tuple[Path, int] | None:
    """Return file and line of the fault in the installed code; None if the fault does not fit."""
    return find_line_of_fragment(
        frameworks.get_adapter(fault.framework), fault.file, fault.old, fault.occurrence
    )
