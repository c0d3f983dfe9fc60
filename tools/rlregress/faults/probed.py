"""Seeded faults: does the suite see them? The power of the instrument, measured.

The files of ``baselines/faults/<framework>/`` list single-line changes of a framework's code. Each
is made on a copy, which a new process uses in place of the installed one; that is never touched.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import frameworks, source, suite
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.training import launch

_KEYS: dict[str, type] = {
    "name": str, "file": str, "old": str, "new": str, "turns": list, "finds": str
}  # fmt: skip
_OPTIONAL: dict[str, type] = {
    "also": list, "scopes": list, "occurrence": int, "essential": bool
}  # fmt: skip


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
        essential: seeded in every run of the tests, not only by ``rlregress faults``.
    """

    name: str
    file: str
    old: str
    new: str
    turns: tuple[str, ...]
    finds: str
    also: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ("library",)
    occurrence: int = 0
    essential: bool = False


@dataclass(frozen=True)
class Seen:
    """What the probes said with a fault in the code.

    Attributes:
        changed: detail -> scope -> variant found (or why none was), of the details that moved.
        asked: "<id> <scope>" of the probes that ran: all that can be moved by the fault.
    """

    fault: Fault
    changed: Mapping[str, Mapping[str, str]]
    asked: tuple[str, ...] = ()

    @property
    def detected(self) -> bool:
        """Exactly the details of the fault moved, the main ones to the named variant."""
        fault = self.fault
        if set(self.changed) != set(fault.turns) | set(fault.also):
            return False
        if not fault.finds:
            return True
        return all(
            self.changed[detail].get(scope, fault.finds) == fault.finds
            for detail in fault.turns
            for scope in fault.scopes
        ) and all(set(fault.scopes) & set(self.changed[detail]) for detail in fault.turns)


def load(framework: str) -> list[Fault]:
    """The faults of a framework; UserError that names file, entry and key if one does not fit."""
    folder = suite.baselines() / "faults" / framework
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise UserError(f"there are no faults to seed in {folder}; expected TOML files")
    return [fault for path in files for fault in _load_file(path)]


def without(framework: str) -> Mapping[str, str]:
    """Details of a framework that no single line decides: id -> reason."""
    path = suite.baselines() / "faults" / "without.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")).get(framework, {})
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; expected a table per framework") from None


def _load_file(path: Path) -> list[Fault]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("fault", [])
    except (OSError, ValueError) as error:
        raise UserError(f"the seeded faults in {path} cannot be read: {error}") from None
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{path}: 'fault' is no list of tables; write each as [[fault]]")
    return [_fault(path, number, table) for number, table in enumerate(tables, start=1)]


def _fault(path: Path, number: int, table: Mapping[str, Any]) -> Fault:
    where = f"{path}, [[fault]] {number}"
    for key, kind in (_KEYS | _OPTIONAL).items():
        if key in _OPTIONAL and key not in table:
            continue
        if not isinstance(table.get(key), kind):
            raise UserError(
                f"{where}: key '{key}' is {table.get(key)!r}, expected a {kind.__name__}"
            )
    unknown = sorted(set(table) - set(_KEYS) - set(_OPTIONAL))
    if unknown:
        raise UserError(f"{where}: unknown key '{unknown[0]}'")
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    made = Fault(**values)
    for detail in made.turns + made.also:
        catalogue.get(detail)
    return made


def _changed_text(fault: Fault, text: str) -> str:
    changed = source.replaced(text, fault.old, fault.new, fault.occurrence)
    if changed is None:
        raise UserError(
            f"the fault '{fault.name}' does not fit this version: {fault.file} holds "
            f"{fault.old!r} {text.count(fault.old)} times"
        )
    return changed


def chosen(frameworks: Sequence[str], names: Sequence[str]) -> list[tuple[str, Fault]]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    found = [(framework, fault) for framework in frameworks for fault in load(framework)]
    known = {fault.name for _, fault in found}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.4)
            clause = (
                f"did you mean {', '.join(near)}?"
                if near
                else "their names are in baselines/faults"
            )
            raise UserError(f"unknown fault '{name}'; {clause}")
    return [(framework, fault) for framework, fault in found if not names or fault.name in names]


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
        environment = launch.environment()
        first = [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
        path = os.pathsep.join([*first, environment["PYTHONPATH"]])
        yield {**environment, **variables, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run_seeded(
    framework: str, fault: Fault, arguments: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run ``python *arguments`` in the suite's folder on a copy with the fault in it."""
    with seeded(framework, fault) as environment:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=suite.root(),
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
