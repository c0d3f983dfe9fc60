"""Seeded faults found by behaviour tests: does the test turn red, and does it say why?

``baselines/faults/behavior.toml`` lists single-line changes of the frameworks' code that no probe
of a single detail looks at. Each is made on a copy, on which the named tests of ``tests_behavior``
run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Text
from rlregress.faults import probed_faults
from rlregress.model.fault_results import BehaviorResult


@dataclass(frozen=True)
class BehaviorFault:
    """One change of one line, and the behaviour tests that have to turn red.

    Attributes:
        algorithm: that the tests train.
        turns: tests that have to fail, "file::function", below ``tests_behavior``.
        says: a part of what one of them says.
        occurrence: which ``old`` is meant, from 1; 0: there is only one.
        essential: seeded in every run of the tests, not only by ``selftest faults``.
    """

    framework: Text
    algorithm: Text
    name: Text
    file: Text
    old: Text
    new: str
    turns: Annotated[tuple[Text, ...], Field(min_length=1)]
    says: Text
    occurrence: Annotated[int, Field(ge=0)] = 0
    essential: bool = False

    @property
    def fault(self) -> probed_faults.Fault:
        """The same for the seeder."""
        return probed_faults.Fault(
            self.name, self.file, self.old, self.new, (), "", occurrence=self.occurrence
        )

    @property
    def fits(self) -> bool:
        """Whether the line is in the copy of the framework that is asked."""
        return probed_faults.fault_line(frameworks.get(self.framework), self.fault) is not None


def result(fault: BehaviorFault, failed: dict[str, str], trouble: str = "") -> BehaviorResult:
    """What the tests said of a fault; see ``BehaviorResult``."""
    return BehaviorResult(
        fault=probed_faults.described(fault),
        turns=fault.turns,
        says=fault.says,
        failed=failed,
        trouble=trouble,
    )


@dataclass(frozen=True)
class _File:
    fault: tuple[BehaviorFault, ...]


def load() -> tuple[BehaviorFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    content: _File = datafiles.read(suite.baselines() / "faults" / "behavior.toml", _File)
    return content.fault


def chosen(names: Sequence[str], only: Sequence[str]) -> list[BehaviorFault]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    return probed_faults.named([fault for fault in load() if fault.framework in names], only)


def seed(faults: Sequence[BehaviorFault], workers: int) -> Iterator[BehaviorResult]:
    """Run the tests of each fault on a copy with the fault in it; in the given order."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(_seed, faults)


def _seed(fault: BehaviorFault) -> BehaviorResult:
    if not fault.fits:
        return result(fault, {}, f"does not fit this version of {fault.framework}")
    tests = [f"tests_behavior/{name}" for name in fault.turns]
    with TemporaryDirectory(prefix="rlregress-behavior-") as folder:
        evidence = Path(folder) / "evidence.json"
        ended = probed_faults.run_seeded(
            fault.framework,
            fault.fault,
            [*suite.pytest_arguments(*tests), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
            + ["--framework", fault.framework, "--algorithm", fault.algorithm]
            + ["--evidence", str(evidence)],
        )
        entries = json.loads(evidence.read_text("utf-8"))["tests"] if evidence.is_file() else []
    failed: dict[str, str] = {}
    for entry in entries:
        if entry["outcome"] == "failed":
            name = entry["test"].partition("/")[2].partition("[")[0]
            lines = entry["message"].splitlines()
            failed[name] = "; ".join(filter(None, [failed.get(name), lines[0] if lines else ""]))
    ran = ended.returncode in (0, 1) and entries
    trouble = "" if ran else f"the tests did not run: {(ended.stdout + ended.stderr)[-500:]}"
    return result(fault, failed, trouble)
