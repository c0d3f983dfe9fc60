"""A replay that records executed lines, or ends at its first difference from the record.

It is run instead of ``rlregress.inside.worker``, with its arguments.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from rlregress.inside import trail, worker

#: variable that names a file with the digests of the record; without digests a run is completed
EXPECTED = "RLREGRESS_EXPECTED_ROWS"


class Differs(Exception):
    """The last digests of a run are not those of its record."""


class _Trail(trail.Trail):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        rows = json.loads(Path(os.environ[EXPECTED]).read_text("utf-8"))
        self._expected = {_remove_source_line(row) for row in rows}
        if rows:
            # recording lines takes time, and is not needed here
            self._executed = None

    def _digest_after_step(self, *args: Any) -> None:
        super()._digest_after_step(*args)
        if (
            self._expected
            and self.rows
            and _remove_source_line(self.rows[-1]) not in self._expected
        ):
            raise Differs

    def describe_trail(self) -> dict[str, Any]:
        """Return the digests, and the lines of each file that ran."""
        return {**super().describe_trail(), "executed": self.list_executed_lines()}


def _remove_source_line(row: str) -> str:
    update, _, *digests = row.split(" ")
    return " ".join([update, *digests])


if __name__ == "__main__":
    trail.Trail = _Trail  # type: ignore[assignment,misc]
    sys.exit(worker.main(sys.argv[1:]))
