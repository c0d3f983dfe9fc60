"""Tables 6 to 8 of the thesis: what it says each framework calls a hyperparameter.

``baselines/paper/thesis_hyperparameters.csv`` holds them as printed ("-": none), and the TOML file
of the same name which cells are wrong, and of which versions.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.version import Version

from rlregress import suite
from rlregress.errors import UserError

_FILE = "thesis_hyperparameters"
_COLUMNS = ("table", "algorithm", "row", "hyperparameter", "value", "remark")
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


def cells(framework: str) -> Iterator[Cell]:
    """The cells about a framework; a framework that the thesis does not treat has none.

    Raises:
        UserError: one of the two files is missing or damaged, or a table lacks rows.
    """
    folder = suite.baselines() / "paper"
    try:
        wrong = tomllib.loads((folder / f"{_FILE}.toml").read_text(encoding="utf-8"))["wrong"]
        with (folder / f"{_FILE}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        noted = {(w["algorithm"], w["row"], w["framework"]): w for w in wrong}
        named = {key: {column: row[column] for column in _COLUMNS} for key, row in enumerate(rows)}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"{folder}/{_FILE} (.csv and .toml) cannot be read: {error!r}; expected the columns "
            f"{', '.join(_COLUMNS)} and one for each framework, and tables [[wrong]]"
        ) from None
    for algorithm, printed_rows in _ROWS.items():
        found_rows = sum(row["algorithm"] == algorithm for row in rows)
        if found_rows != printed_rows:
            raise UserError(
                f"{folder}/{_FILE}.csv has {found_rows} rows for {algorithm}, expected the "
                f"{printed_rows} of its table in the thesis; add what is missing"
            )
    for number, row in named.items():
        printed = rows[number].get(framework)
        if printed is None or "*" in printed:  # a footnote in place of a name
            continue
        if printed == NONE and _printed_elsewhere(rows, number, framework):
            continue
        found = noted.get((row["algorithm"], row["row"], framework))
        yield Cell(
            row["table"],
            row["algorithm"],
            row["row"],
            framework,
            row["hyperparameter"],
            printed,
            None if found is None else found.get("until", ""),
            "" if found is None else found["reason"],
        )


def _printed_elsewhere(rows: list[dict[str, str]], number: int, framework: str) -> bool:
    """Whether another row gives the same hyperparameter a name (as a count, say)."""
    asked = (rows[number]["algorithm"], rows[number]["hyperparameter"])
    return any(
        (row["algorithm"], row["hyperparameter"]) == asked and row[framework] != NONE
        for other, row in enumerate(rows)
        if other != number
    )
