"""Tables 6 to 8 of the thesis: the names that it prints for each framework's hyperparameters.

``baselines/paper/thesis_hyperparameters.csv`` holds them as printed ("-": none). The TOML file of
the same name lists the wrong cells and their versions.
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
class PrintedName:
    """A framework's name for a hyperparameter, as one cell of a table prints it.

    Attributes:
        hyperparameter: in the names of ``baselines/hyperparameters``.
        printed: the framework's name as printed; "-" for none.
        wrong_until: None: right for every version; "": wrong for every version; otherwise the first
            version for which it is right.
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

    def is_recorded_as_right(self, version: str) -> bool:
        """Return whether the corrections file regards the name as right for a version."""
        if self.wrong_until is None:
            return True
        return self.wrong_until != "" and Version(version) >= Version(self.wrong_until)

    def is_right(self, names: Mapping[tuple[str, str], Mapping[str, str]]) -> bool:
        """Return whether the framework has the printed name in any scope; for "-", whether none.

        For a framework with programs, a missing name refers to its programs.

        Args:
            names: (algorithm, scope) -> hyperparameter -> the framework's name.
        """
        names_by_scope = {
            scope: scope_names[self.hyperparameter].rpartition(".")[2]
            for (algorithm, scope), scope_names in names.items()
            if algorithm == self.algorithm and self.hyperparameter in scope_names
        }
        if self.printed != NONE:
            return self.printed in names_by_scope.values()
        programs = any(scope == "script" for _, scope in names)
        return "script" not in names_by_scope if programs else not names_by_scope


class _Row(TypedDict):
    """A row of a table of the thesis; each further key is the name of a framework."""

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


def _read_thesis_table_rows() -> Sequence[Mapping[str, str]]:
    path = suite.locate_baselines() / "paper" / "thesis_hyperparameters.csv"
    rows: Sequence[Mapping[str, str]] = datafiles.read_data_file_cached(path, tuple[_Row, ...])
    return rows


def list_hyperparameters_of_thesis(algorithm: str) -> frozenset[str]:
    """Return the hyperparameters that the thesis's tables list; UserError: damaged file."""
    return frozenset(
        row["hyperparameter"] for row in _read_thesis_table_rows() if row["algorithm"] == algorithm
    )


def list_printed_names(framework: str) -> Iterator[PrintedName]:
    """Yield the hyperparameter names that the thesis prints for a framework; none if it omits it.

    Raises:
        UserError: one of the two files is missing or damaged, or a table lacks rows.
    """
    path = suite.locate_baselines() / "paper" / "thesis_hyperparameters.csv"
    rows = _read_thesis_table_rows()
    corrections: _Corrections = datafiles.read_data_file(path.with_suffix(".toml"), _Corrections)
    wrong = {(entry.algorithm, entry.row, entry.framework): entry for entry in corrections.wrong}
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
        if printed == NONE and _does_another_row_name_hyperparameter(rows, number, framework):
            continue
        correction = wrong.get((row["algorithm"], row["row"], framework))
        yield PrintedName(
            row["table"],
            row["algorithm"],
            row["row"],
            framework,
            row["hyperparameter"],
            printed,
            None if correction is None else correction.until or "",
            "" if correction is None else correction.reason,
        )


def _does_another_row_name_hyperparameter(
    rows: Sequence[Mapping[str, str]], row_number: int, framework: str
) -> bool:
    """Return whether another row prints a name of the framework for the same hyperparameter."""
    requested = (rows[row_number]["algorithm"], rows[row_number]["hyperparameter"])
    return any(
        (row["algorithm"], row["hyperparameter"]) == requested and row[framework] != NONE
        for other_number, row in enumerate(rows)
        if other_number != row_number
    )
