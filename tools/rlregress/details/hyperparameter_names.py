"""Tables 6 to 8 of the thesis: what it says each framework calls a hyperparameter.

``baselines/paper/thesis_hyperparameters.csv`` holds them as printed ("-": none), and the TOML file
of the same name which cells are wrong, and of which versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version
from pydantic import ConfigDict
from typing_extensions import TypedDict

from rlregress import datafiles, suite
from rlregress.datafiles import Release, Text
from rlregress.errors import UserError

NONE = "-"
#: algorithm -> number of rows of its table, as printed.
_ROWS = {"ppo": 15, "td3": 14, "sac": 14}


@dataclass(frozen=True)
class Cell:
    """One name in one table.

    Attributes:
        hyperparameter: in the names of ``baselines/hyperparameters``.
        printed: the framework's name as printed; "-" for none.
        wrong_until: None: right of every version; "": wrong of every version; otherwise the first
            version of which it is right.
        reason: why it is wrong.
    """

    table: str
    algorithm: str
    row: str
    framework: str
    hyperparameter: str
    printed: str
    wrong_until: str | None
    reason: str

    def recorded(self, version: str) -> bool:
        """Whether the cell is recorded as right of a version."""
        if self.wrong_until is None:
            return True
        return self.wrong_until != "" and Version(version) >= Version(self.wrong_until)

    def right(self, names: Mapping[tuple[str, str], Mapping[str, str]]) -> bool:
        """Whether the framework has that name, in any scope; for "-", whether it has none.

        A framework with programs of its own is meant by its programs where no name is printed.

        Args:
            names: (algorithm, scope) -> hyperparameter -> the framework's name.
        """
        own = {
            scope: called[self.hyperparameter].rpartition(".")[2]
            for (algorithm, scope), called in names.items()
            if algorithm == self.algorithm and self.hyperparameter in called
        }
        if self.printed != NONE:
            return self.printed in own.values()
        programs = any(scope == "script" for _, scope in names)
        return "script" not in own if programs else not own


class _Row(TypedDict):
    """A row as printed; what is not named here is the column of a framework."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    table: Text
    algorithm: Text
    row: Text
    hyperparameter: Text
    value: str
    remark: str


@dataclass(frozen=True)
class _Wrong:
    algorithm: Text
    row: Text
    framework: Text
    reason: Text
    until: Release | None = None


@dataclass(frozen=True)
class _Corrections:
    wrong: tuple[_Wrong, ...]
    title: str
    tables: str
    value: str


def _printed() -> Sequence[Mapping[str, str]]:
    path = suite.baselines() / "paper" / "thesis_hyperparameters.csv"
    rows: Sequence[Mapping[str, str]] = datafiles.remembered(path, tuple[_Row, ...])
    return rows


def named(algorithm: str) -> frozenset[str]:
    """The hyperparameters that the tables have a row for; UserError if their file is damaged."""
    return frozenset(row["hyperparameter"] for row in _printed() if row["algorithm"] == algorithm)


def cells(framework: str) -> Iterator[Cell]:
    """The cells about a framework; a framework that the thesis does not treat has none.

    Raises:
        UserError: one of the two files is missing or damaged, or a table lacks rows.
    """
    path = suite.baselines() / "paper" / "thesis_hyperparameters.csv"
    rows = _printed()
    corrections: _Corrections = datafiles.read(path.with_suffix(".toml"), _Corrections)
    wrong = {
        (corrected.algorithm, corrected.row, corrected.framework): corrected
        for corrected in corrections.wrong
    }
    for algorithm, printed_rows in _ROWS.items():
        found_rows = sum(row["algorithm"] == algorithm for row in rows)
        if found_rows != printed_rows:
            raise UserError(
                f"{path} has {found_rows} rows for {algorithm}, expected the "
                f"{printed_rows} of its table in the thesis; add what is missing"
            )
    for number, row in enumerate(rows):
        printed = row.get(framework)
        if printed is None or "*" in printed:  # a footnote in place of a name
            continue
        if printed == NONE and _printed_elsewhere(rows, number, framework):
            continue
        correction = wrong.get((row["algorithm"], row["row"], framework))
        yield Cell(
            row["table"],
            row["algorithm"],
            row["row"],
            framework,
            row["hyperparameter"],
            printed,
            None if correction is None else correction.until or "",
            "" if correction is None else correction.reason,
        )


def _printed_elsewhere(rows: Sequence[Mapping[str, str]], number: int, framework: str) -> bool:
    """Whether another row gives the same hyperparameter a name (as a count, say)."""
    requested = (rows[number]["algorithm"], rows[number]["hyperparameter"])
    return any(
        (row["algorithm"], row["hyperparameter"]) == requested and row[framework] != NONE
        for number_, row in enumerate(rows)
        if number_ != number
    )
