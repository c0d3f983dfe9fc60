"""A replay that notes which lines run, or that ends where it first differs from its record.

Run in place of ``rlregress.inside.worker``, with its arguments.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from rlregress.inside import trail, worker

#: the environment's name of a file with the digests of the record; of none, a run goes to its end
EXPECTED = "RLREGRESS_EXPECTED_ROWS"


class Differs(Exception):
    """The last digests of a run are not those of its record."""


class _Trail(trail.Trail):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        rows = json.loads(Path(os.environ[EXPECTED]).read_text("utf-8"))
        self._expected = {_without_line(row) for row in rows}
        if rows:
            # noting lines takes time
            self._executed = None

    def _after(self, *args: Any) -> None:
        super()._after(*args)
        if self._expected and self.rows and _without_line(self.rows[-1]) not in self._expected:
            raise Differs

    def described(self) -> dict[str, Any]:
        """Return the digests, and the lines of each file that ran."""
        return {**super().described(), "executed": self.executed_lines()}


def _without_line(row: str) -> str:
    update, _, *digests = row.split(" ")
    return " ".join([update, *digests])


if __name__ == "__main__":
    trail.Trail = _Trail  # type: ignore[assignment,misc]
    sys.exit(worker.main(sys.argv[1:]))
