"""Faults that operators generate from a framework's own code, drawn by lot and not picked by hand.

``baselines/faults/generated.toml`` names the files; every function of them can be given every fault
of ``faults.mutation``. What the tiers of the suite say of those that are drawn is kept beside it.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import Text, one_of
from rlregress.errors import UserError
from rlregress.faults import mutation
from rlregress.faults.mutation import Mutant
from rlregress.faults.probed import Fault
from rlregress.frameworks.base import Adapter
from rlregress.training.record import write_atomically

#: tiers of the suite, in the order in which they are asked.
UNIT, TRACE, BEHAVIOR = "unit", "trace", "behavior"
TIERS = (UNIT, TRACE, BEHAVIOR)
#: why a fault that no tier sees is none, or none of this suite's.
EQUIVALENT, TOLD, ELSEWHERE, GAP = "equivalent", "told only", "out of scope", "gap"
KINDS = (EQUIVALENT, TOLD, ELSEWHERE, GAP)


@dataclass(frozen=True)
class Outcome:
    """One generated fault, and what the tiers said of it.

    Attributes:
        line: from 1.
        operator: of the mutation literature.
        old, new: the line, stripped.
        said: tier -> what saw it; empty: asked, and it did not; a tier that is missing was not
            asked.
        run: whether a probe, a traced training or a behaviour test runs its line.
        again: the same as ``said``, of later tests that were asked about what none had seen.
    """

    file: str
    function: str
    line: int
    operator: str
    old: str
    new: str
    said: Mapping[str, str]
    run: bool = False
    again: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called in ``explained.toml``."""
        return f"{self.file}:{self.line} {self.function}: {self.old} -> {self.new}"

    @property
    def seen_by(self) -> str:
        """The first tier that sees it; empty: none."""
        return _first(self.said)

    @property
    def seen_since(self) -> str:
        """The first tier of later tests that sees what none had seen; empty: none."""
        return _first(self.again)

    def with_(self, tier: str, said: str, run: bool) -> Outcome:
        """The same with the answer of one more tier."""
        return replace(self, said={**self.said, tier: said}, run=self.run or run)


def _first(said: Mapping[str, str]) -> str:
    return next((tier for tier in TIERS if said.get(tier)), "")


@dataclass(frozen=True)
class Drawn:
    """Faults drawn from one version of a framework.

    Attributes:
        versions: of the framework and of what it stands on.
        of: how many there were to draw from.
        draw: seed of the lot.
        date: when the last of them was asked, year-month-day.
        tests: digest of the tests and scenarios that were asked; empty: not noted.
        asked_again: when later tests were asked about what none had seen; empty: they were not.
    """

    framework: str
    versions: Mapping[str, str]
    of: int
    draw: int
    faults: tuple[Outcome, ...]
    date: str = ""
    tests: str = ""
    asked_again: str = ""


@dataclass(frozen=True)
class Explained:
    """Why no tier sees a fault, in words.

    Attributes:
        fault: its ``Outcome.name``.
        kind: equivalent: no run can tell it from the sound code; told only: it changes what is
            printed or logged; out of scope: another subject than training and evaluation; gap:
            the suite does not see it, and would have to.
    """

    framework: Text
    fault: Text
    kind: Annotated[str, one_of(KINDS)]
    why: Text


@dataclass(frozen=True)
class _Scope:
    files: Annotated[tuple[Text, ...], Field(min_length=1)]


@dataclass(frozen=True)
class _Explanations:
    fault: tuple[Explained, ...] = ()


def _folder() -> Path:
    return suite.baselines() / "faults"


def scope(framework: str) -> tuple[str, ...]:
    """Patterns of the files whose functions are given faults.

    Raises:
        UserError: none are named for this framework.
    """
    path = _folder() / "generated.toml"
    scopes: Mapping[str, _Scope] = datafiles.read(path, Mapping[str, _Scope])
    if framework not in scopes:
        raise UserError(
            f"no files of {framework} are named to generate faults from; known: "
            f"{', '.join(sorted(scopes))}; name some in {path}"
        )
    return scopes[framework].files


def drawn(adapter: Adapter, count: int, draw: int) -> tuple[list[Mutant], int]:
    """``count`` faults of the functions in scope by lot, and how many places there are for one.

    Every place is as likely as every other. One whose syntax tree is that of the sound file is no
    fault.
    """
    texts = {name: path.read_text(encoding="utf-8") for name, path in _files(adapter).items()}
    places = [
        (file, function, edit)
        for file, text in sorted(texts.items())
        for function, edit in mutation.edits(text)
    ]
    random.Random(draw).shuffle(places)
    made: list[Mutant] = []
    for file, function, edit in places:
        if len(made) == count:
            break
        fault = mutation.mutant(file, function, edit, texts[file])
        if fault is not None and _tree(fault.text) != _tree(texts[file]):
            made.append(fault)
    return sorted(made, key=lambda each: (each.file, each.line, each.new)), len(places)


def _tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def _files(adapter: Adapter) -> dict[str, Path]:
    patterns = scope(adapter.name)
    found = {}
    for folder in map(Path, adapter.code_folders()):
        for path in folder.rglob("*.py"):
            name = path.relative_to(folder.parent).as_posix()
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                found[name] = path
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in found):
            raise UserError(
                f"'{pattern}' names no file of {adapter.full_name} {adapter.version()}; change it "
                f"in {_folder() / 'generated.toml'}"
            )
    return found


def outcome(fault: Mutant) -> Outcome:
    """A fault that no tier was asked about."""
    return Outcome(fault.file, fault.function, fault.line, fault.operator, fault.old, fault.new, {})


def as_fault(fault: Mutant, sound: str, name: str) -> Fault:
    """The same for the seeder of probes and tests; ``sound``: the file without it."""
    above = "".join(row + "\n" for row in sound.split("\n")[: fault.line - 1])
    occurrence = above.count(fault.old) + 1
    return Fault(name, fault.file, fault.old, fault.new, (), "", occurrence=occurrence)


def path_of(framework: str, draw: int) -> Path:
    """Where the results are kept."""
    return _folder() / "generated" / f"{framework}-draw-{draw}.json"


def load(framework: str, draw: int) -> Drawn | None:
    """The kept results; None if there are none."""
    path = path_of(framework, draw)
    return _read(path) if path.is_file() else None


def kept() -> list[Drawn]:
    """All kept results, by framework and draw."""
    every = [_read(path) for path in (_folder() / "generated").glob("*.json")]
    return sorted(every, key=lambda each: (each.framework, each.draw))


def _read(path: Path) -> Drawn:
    remedy = "remove the file and run rlregress faults --tiers again"
    content: Drawn = datafiles.read(path, Drawn, remedy)
    return content


def keep(results: Drawn) -> None:
    """Write the results in place of those before."""
    path = path_of(results.framework, results.draw)
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(asdict(results), indent=1) + "\n")


def misses(of: Drawn, explained: Mapping[tuple[str, str], Explained]) -> list[Outcome]:
    """Faults that no tier saw when they were drawn and that are not explained as no fault."""
    return [
        each
        for each in of.faults
        if not each.seen_by
        and ((why := explained.get((of.framework, each.name))) is None or why.kind == GAP)
    ]


def explained() -> dict[tuple[str, str], Explained]:
    """(framework, fault) -> why no tier sees it, of those that somebody has looked at."""
    content: _Explanations = datafiles.read(_folder() / "explained.toml", _Explanations)
    return {(each.framework, each.fault): each for each in content.fault}
