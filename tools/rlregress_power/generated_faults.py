"""Faults that operators generate from a framework's own code, drawn at random.

``baselines/faults/generated.toml`` names the files. Every function in them can get every mutant of
``faults.mutation``. The results of the tiers for drawn faults are stored next to it.
"""

from __future__ import annotations

import ast
import functools
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import Field

import rlregress_power
from rlregress import datafiles, suite
from rlregress.datafiles import Text, expect_one_of
from rlregress.errors import UserError
from rlregress.faults import mutation
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import write_text_atomically
from rlregress.model.fault_results import (
    GAP,
    KINDS,
    DrawnFaults,
    Fault,
    FaultExplanation,
    Mutant,
    Outcome,
)


@dataclass(frozen=True, kw_only=True)
class _Explained(FaultExplanation):
    framework: Text
    fault: Text
    kind: Annotated[str, expect_one_of(KINDS)]
    why: Text


@dataclass(frozen=True)
class _Scope:
    files: Annotated[tuple[Text, ...], Field(min_length=1)]


@dataclass(frozen=True)
class _Explanations:
    fault: tuple[_Explained, ...] = ()


def _locate_faults() -> Path:
    return suite.locate_data_of_package(rlregress_power, "faults")


def load_file_patterns(framework: str) -> tuple[str, ...]:
    """Return patterns of the files whose functions can get faults.

    Raises:
        UserError: none are named for this framework.
    """
    path = _locate_faults() / "generated.toml"
    scopes: Mapping[str, _Scope] = datafiles.read_data_file(path, Mapping[str, _Scope])
    if framework not in scopes:
        raise UserError(
            f"{path} names no files of {framework} to generate faults from; known: "
            f"{', '.join(sorted(scopes))}; name some in it"
        )
    return scopes[framework].files


def draw_mutants_of_framework(adapter: Adapter, count: int, draw: int) -> tuple[list[Mutant], int]:
    """Return ``count`` random faults of the functions in scope, and the number of places."""
    texts = {
        name: path.read_text(encoding="utf-8")
        for name, path in _list_files_in_scope(adapter).items()
    }
    return draw_mutants_of_files(texts, count, draw)


def draw_mutants_of_files(
    texts: Mapping[str, str], count: int, draw: int
) -> tuple[list[Mutant], int]:
    """Return random faults of the functions of files, and the number of possible places.

    All places are equally likely. A change that leaves the syntax tree unchanged is no fault.

    Args:
        texts: file -> its text.
        count: number of faults.
        draw: seed of the draw.
    """
    places = [
        (file, function, edit)
        for file, text in sorted(texts.items())
        for function, edit in mutation.list_edits_of_file(text)
    ]
    random.Random(draw).shuffle(places)
    mutants: list[Mutant] = []
    for file, function, edit in places:
        if len(mutants) == count:
            break
        fault = mutation.build_mutant(file, function, edit, texts[file])
        if fault is not None and _dump_tree(fault.text) != _dump_tree(texts[file]):
            mutants.append(fault)
    return sorted(mutants, key=lambda item: (item.file, item.line, item.new)), len(places)


@functools.lru_cache(maxsize=32)  # each unchanged file is compared with many faults
def _dump_tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def _list_files_in_scope(adapter: Adapter) -> dict[str, Path]:
    patterns = load_file_patterns(adapter.name)
    paths_by_name = {}
    for folder in map(Path, adapter.code.list_code_folders()):
        for path in folder.rglob("*.py"):
            name = path.relative_to(folder.parent).as_posix()
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                paths_by_name[name] = path
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in paths_by_name):
            raise UserError(
                f"'{pattern}' names no file of {adapter.full_name} {adapter.code.version()}; "
                f"change it in {_locate_faults() / 'generated.toml'}"
            )
    return paths_by_name


def make_outcome_before_tiers(fault: Mutant) -> Outcome:
    """Return the outcome of a fault before any tier has run."""
    return Outcome(
        file=fault.file,
        function=fault.function,
        line=fault.line,
        operator=fault.operator,
        old=fault.old,
        new=fault.new,
        said={},
    )


def make_injectable_fault(
    fault: Mutant, framework: str, unchanged_text: str, name: str, algorithm: str = ""
) -> Fault:
    """Return a mutant as a fault that can be injected."""
    above = "".join(row + "\n" for row in unchanged_text.split("\n")[: fault.line - 1])
    occurrence = above.count(fault.old) + 1
    return Fault(
        framework=framework,
        algorithm=algorithm,
        name=name,
        file=fault.file,
        old=fault.old,
        new=fault.new,
        occurrence=occurrence,
    )


def locate_results_of_draw(framework: str, draw: int) -> Path:
    """Return the path of the results."""
    return _locate_faults() / "generated" / f"{framework}-draw-{draw}.json"


def load_results_of_draw(framework: str, draw: int) -> DrawnFaults | None:
    """Return the stored results; None if there are none."""
    path = locate_results_of_draw(framework, draw)
    return _read_results(path) if path.is_file() else None


def load_results_of_all_draws() -> list[DrawnFaults]:
    """Return all stored results, by framework and draw."""
    all_results = [_read_results(path) for path in (_locate_faults() / "generated").glob("*.json")]
    return sorted(all_results, key=lambda item: (item.framework, item.draw))


def _read_results(path: Path) -> DrawnFaults:
    remedy = "remove the file and run rlregress selftest faults --tiers again"
    content: DrawnFaults = datafiles.read_data_file(path, DrawnFaults, remedy)
    return content


def write_results_of_draw(results: DrawnFaults) -> None:
    """Write the results, replacing earlier ones."""
    path = locate_results_of_draw(results.framework, results.draw)
    path.parent.mkdir(exist_ok=True)
    write_text_atomically(path, json.dumps(asdict(results), indent=1) + "\n")


def list_undetected_faults(
    draw: DrawnFaults, explained: Mapping[tuple[str, str], FaultExplanation]
) -> list[Outcome]:
    """Return faults that no tier detected when drawn and that are not explained as no fault."""
    return [
        fault
        for fault in draw.faults
        if not fault.detected_by
        and ((why := explained.get((draw.framework, fault.name))) is None or why.kind == GAP)
    ]


def load_explanations() -> dict[tuple[str, str], FaultExplanation]:
    """Return (framework, fault) -> why no tier detects it, for reviewed faults."""
    content: _Explanations = datafiles.read_data_file(
        _locate_faults() / "explained.toml", _Explanations
    )
    return {
        (explanation.framework, explanation.fault): explanation for explanation in content.fault
    }
