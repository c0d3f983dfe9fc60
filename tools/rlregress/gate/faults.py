"""Seeded faults: does the suite see them? The power of the instrument, measured.

``baselines/faults/<framework>.toml`` lists single-line changes of a framework's code. Each is made
on a copy of the package, which is put first on the path; the installed one is never touched.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress import suite
from rlregress.details import catalogue
from rlregress.errors import UserError
from rlregress.training import launch

_KEYS = {"name": str, "file": str, "old": str, "new": str, "turns": list, "finds": str}


@dataclass(frozen=True)
class Fault:
    """One change of one line.

    Attributes:
        file: path of the source file, from the folder that holds the package.
        old, new: text fragments; ``old`` is replaced at its ``occurrence`` (0 is the first).
        turns: ids of the details that must no longer be as documented.
        finds: the variant that the first of them must turn into.
    """

    name: str
    file: str
    old: str
    new: str
    turns: tuple[str, ...]
    finds: str
    occurrence: int = 0


def load(framework: str) -> list[Fault]:
    """The faults of a framework; UserError that names file, entry and key if one does not fit."""
    path = suite.baselines() / "faults" / f"{framework}.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("fault", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"the seeded faults in {path} cannot be read: {error}") from None
    return [_fault(path, number, table) for number, table in enumerate(tables, start=1)]


def _fault(path: Path, number: int, table: Mapping[str, object]) -> Fault:
    for key, kind in _KEYS.items():
        if not isinstance(table.get(key), kind):
            raise UserError(
                f"{path}, [[fault]] {number}: key '{key}' is {table.get(key)!r}, expected "
                f"{'a list' if kind is list else 'text'}"
            )
    unknown = sorted(set(table) - set(_KEYS) - {"occurrence"})
    if unknown:
        raise UserError(f"{path}, [[fault]] {number}: unknown key '{unknown[0]}'")
    made = Fault(**{**table, "turns": tuple(table["turns"])})  # type: ignore[arg-type]
    for detail in made.turns:
        catalogue.get(detail)
    return made


@contextmanager
def seeded(fault: Fault) -> Iterator[Path]:
    """A folder to put first on the path: the package of ``fault.file`` with the fault in it."""
    package, _, _ = fault.file.partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"fault '{fault.name}': the package '{package}' is not installed")
    source = Path(next(iter(spec.submodule_search_locations)))
    with TemporaryDirectory(prefix="rlregress-fault-") as folder:
        copy = Path(folder) / package
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        changed = Path(folder) / fault.file
        text = changed.read_text(encoding="utf-8")
        parts = text.split(fault.old)
        if fault.occurrence >= len(parts) - 1:
            raise UserError(
                f"fault '{fault.name}' does not fit this version: {fault.file} holds "
                f"{fault.old!r} {len(parts) - 1} times, expected more than {fault.occurrence}"
            )
        before = fault.old.join(parts[: fault.occurrence + 1])
        after = fault.old.join(parts[fault.occurrence + 1 :])
        changed.write_text(before + fault.new + after, encoding="utf-8")
        yield Path(folder)


def run_seeded(fault: Fault, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run ``python *arguments`` in the suite's folder with the fault first on the path."""
    with seeded(fault) as folder:
        environment = launch.environment()
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment["PYTHONPATH"]])
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=suite.root(),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
