"""Seeded faults in code that runs only under an option: do the scenarios see them?

``baselines/faults/optional.toml`` lists single-line changes of the frameworks' code, chosen by what
users switch on and without a look at the scenarios. Each is put into the installed code, and every
training that runs its line is recorded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from rlregress import datafiles, frameworks, source, suite
from rlregress.datafiles import Text
from rlregress.faults import probed_faults
from rlregress.frameworks.base import Adapter
from rlregress.model.fault_results import Mutant, OptionalResult
from rlregress.upgrade import cached_folders, mutation_test

#: share of the faults that have to be found.
SHARE = 0.9


@dataclass(frozen=True)
class OptionalFault:
    """One change of one line that does something only under an option.

    Attributes:
        algorithm: one with which it can be met.
        option: what a user switches on.
        function: qualified name of the one that the line is in.
        occurrence: which ``old`` is meant, from 1; 0: there is only one.
    """

    framework: Text
    algorithm: Text
    name: Text
    option: Text
    file: Text
    old: Text
    new: str
    function: Text
    occurrence: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class _File:
    fault: tuple[OptionalFault, ...]


def load() -> tuple[OptionalFault, ...]:
    """The faults; UserError that names entry and key if one does not fit."""
    content: _File = datafiles.read(suite.baselines() / "faults" / "optional.toml", _File)
    return content.fault


def chosen(names: Sequence[str], only: Sequence[str]) -> list[OptionalFault]:
    """The faults of the frameworks, all or the named ones; UserError for an unknown name."""
    return probed_faults.named([fault for fault in load() if fault.framework in names], only)


def seed(
    faults: Sequence[OptionalFault], workers: int, say: cached_folders.Say
) -> list[OptionalResult]:
    """Trace every training of the installed code, and again with each fault that it runs."""
    seeded: list[OptionalResult] = []
    for name in dict.fromkeys(fault.framework for fault in faults):
        of = [fault for fault in faults if fault.framework == name]
        seeded += _seed(frameworks.get(name), of, workers, say)
    return seeded


def _seed(
    adapter: Adapter, faults: Sequence[OptionalFault], workers: int, say: cached_folders.Say
) -> list[OptionalResult]:
    fitting = {fault: _fault(adapter, fault) for fault in faults}
    every = [made for made in fitting.values() if made is not None]
    seeded = mutation_test.seed_installed(adapter, every, workers, say)
    by_fault = {result.fault: result for result in seeded}
    return [
        OptionalResult(
            fault=probed_faults.described(of),
            option=of.option,
            function=of.function,
            seeded=by_fault[made] if made is not None else None,
        )
        for of, made in fitting.items()
    ]


def _fault(adapter: Adapter, fault: OptionalFault) -> Mutant | None:
    """The changed file; None if the fault does not fit this version, or is in no function."""
    path = adapter.locate(fault.file)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    changed = source.replaced(text, fault.old, fault.new, fault.occurrence)
    if changed is None:
        return None
    same = _common(text, changed)
    line = text[:same].count("\n") + 1
    if fault.function not in {function.name for function in source.parse(text).functions}:
        return None
    return Mutant(
        file=fault.file,
        function=fault.function,
        line=line,
        operator=fault.option,
        old=fault.old,
        new=fault.new,
        text=changed,
    )


def _common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    return next((n for n, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), 0)


def enough(results: Sequence[OptionalResult]) -> bool:
    """Whether nine in ten of the faults that fit the installed version are found."""
    fitting = [result for result in results if result.seeded is not None]
    return bool(fitting) and sum(result.detected for result in fitting) >= SHARE * len(fitting)
