"""Seeded faults: does the suite see them? The power of the instrument, measured.

The ``[[fault]]`` tables beside the expectations of a framework are single-line changes of its code.
Each is made on a copy, which a new process uses in place of the installed one; that is never
touched.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import Field

from rlregress import datafiles, frameworks, source, suite
from rlregress.datafiles import Text, one_of
from rlregress.details import catalogue
from rlregress.details.implementation import expectations_path
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.model.fault_results import ProbedResult, SeededFault
from rlregress.training import worker_launch

_Detail = Annotated[str, one_of(catalogue.ids)]


@dataclass(frozen=True)
class Fault:
    """One change of one line.

    Attributes:
        file: path of the source file, from the folder that holds the package.
        old, new: text fragments; ``new`` takes the place of ``old``.
        turns: details that must then show the variant ``finds``, in the ``scopes``.
        finds: a variant of these details; empty: none of the known ones.
        also: details that are no longer as documented either; every other one must be.
        occurrence: which ``old`` is meant, from 1; 0: there is only one.
        essential: seeded in every run of the tests, not only by ``rlregress selftest faults``.
    """

    name: Text
    file: Text
    old: Text
    new: str
    turns: tuple[_Detail, ...]
    finds: str
    also: tuple[_Detail, ...] = ()
    scopes: tuple[Text, ...] = ("library",)
    occurrence: Annotated[int, Field(ge=0)] = 0
    essential: bool = False


def described(fault: Any) -> SeededFault:
    """What results say of a fault of any catalogue."""
    return SeededFault(
        framework=getattr(fault, "framework", ""),
        algorithm=getattr(fault, "algorithm", ""),
        name=fault.name,
        file=fault.file,
        old=fault.old,
        new=fault.new,
    )


def result(
    fault: Fault, changed: Mapping[str, Mapping[str, str]], probed: tuple[str, ...] = ()
) -> ProbedResult:
    """What the probes said with a fault in the code; see ``ProbedResult``."""
    return ProbedResult(
        fault=described(fault),
        turns=fault.turns,
        finds=fault.finds,
        also=fault.also,
        scopes=fault.scopes,
        changed=changed,
        probed=probed,
    )


@dataclass(frozen=True)
class _File:
    fault: tuple[Fault, ...] = ()
    detail: tuple[Mapping[str, Any], ...] = ()


def load(framework: str) -> list[Fault]:
    """The faults of a framework; UserError that names file, entry and key if one does not fit."""
    path = expectations_path(frameworks.get(framework))
    files = datafiles.listed(path, "*.toml") if path.is_dir() else [path]
    return [fault for file in files for fault in datafiles.read(file, _File).fault]


def without(framework: str) -> Mapping[str, str]:
    """Details of a framework that no single line decides: id -> reason."""
    path = suite.baselines() / "faults" / "without.toml"
    reasons: Mapping[str, Mapping[str, str]] = datafiles.read(
        path, Mapping[str, Mapping[_Detail, Text]]
    )
    return reasons.get(framework, {})


def _changed_text(fault: Fault, text: str) -> str:
    changed = source.replaced(text, fault.old, fault.new, fault.occurrence)
    if changed is None:
        raise UserError(
            f"the fault '{fault.name}' does not fit this version: {fault.file} holds "
            f"{fault.old!r} {text.count(fault.old)} times"
        )
    return changed


class Named(Protocol):
    """A seeded fault of any catalogue."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def named(of: Sequence[N], only: Sequence[str]) -> list[N]:
    """All faults or the named ones; UserError for an unknown name."""
    known = sorted({fault.name for fault in of})
    for name in only:
        if name not in known:
            raise UserError(f"unknown fault '{name}'; {nearest(name, known)}")
    return [fault for fault in of if not only or fault.name in only]


def chosen(of: Sequence[str], names: Sequence[str]) -> list[tuple[str, Fault]]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name.

    Raises:
        UserError: no fault has one of the names, or one of the frameworks has no faults.
    """
    loaded: list[tuple[str, Fault]] = []
    for name in of:
        faults = load(name)
        if not faults:
            raise UserError(
                f"there are no faults of {name} to seed; expected [[fault]] tables in "
                f"{expectations_path(frameworks.get(name))}"
            )
        loaded += [(name, fault) for fault in faults]
    kept = {fault.name for fault in named([fault for _, fault in loaded], names)}
    return [(framework, fault) for framework, fault in loaded if fault.name in kept]


@contextmanager
def seeded(framework: str, fault: Fault) -> Iterator[dict[str, str]]:
    """The environment of a process that uses a copy of the framework with the fault in it."""
    with TemporaryDirectory(prefix="rlregress-fault-") as folder:
        variables = frameworks.get(framework).copy_to_change(fault.file, Path(folder))
        changed = Path(folder) / fault.file
        if not changed.is_file():
            raise UserError(
                f"the fault '{fault.name}' does not fit this version: there is no {fault.file}"
            )
        text = changed.read_text(encoding="utf-8")
        changed.unlink()
        changed.write_text(_changed_text(fault, text), "utf-8")
        environment = worker_launch.environment()
        first = [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
        path = os.pathsep.join([*first, environment["PYTHONPATH"]])
        yield {**environment, **variables, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run_seeded(
    framework: str, fault: Fault, arguments: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run ``python *arguments`` where pytest is started, on a copy with the fault in it."""
    with seeded(framework, fault) as environment:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=suite.workplace(),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


def fault_line(adapter: Adapter, fault: Fault) -> tuple[Path, int] | None:
    """File and line of the fault in the installed code; None if the fault does not fit it."""
    path = adapter.locate(fault.file)
    if path is None:
        return None
    parts = path.read_text(encoding="utf-8").split(fault.old)
    place = max(fault.occurrence, 1)
    if len(parts) <= place:
        return None
    return path, fault.old.join(parts[:place]).count("\n") + 1
