"""The words of a verdict, their order and their exit codes."""

from __future__ import annotations

from collections.abc import Iterable

HOLDS, REGRESSED, IMPROVED, INCONCLUSIVE = "holds", "regressed", "improved", "inconclusive"
#: changed, and neither better nor worse
MOVED = "moved"
#: formulas and behaviour passed, and returns were not judged
FORMULAS_HOLD = "formulas hold"
#: a training with the numbers of the stored run, to the last bit
REPRODUCED = "reproduced"
#: too little could be checked
COULD_NOT_JUDGE = "could not judge"
#: verdicts that state a change
CHANGES = (REGRESSED, IMPROVED, MOVED)
#: verdicts of a check, the worst first
_SEVERITY = (REGRESSED, COULD_NOT_JUDGE, INCONCLUSIVE, IMPROVED, MOVED, HOLDS, REPRODUCED,
             FORMULAS_HOLD)  # fmt: skip
#: exit codes of a check
EXIT_CODES = {
    FORMULAS_HOLD: 0, REPRODUCED: 0, HOLDS: 0, IMPROVED: 0, MOVED: 0, REGRESSED: 1,
    COULD_NOT_JUDGE: 2, INCONCLUSIVE: 3,
}  # fmt: skip


#: returns the place of a verdict of a check, the worst first
severity = _SEVERITY.index


def find_worst_verdict(verdicts: Iterable[str]) -> str:
    """Return the worst verdict; inconclusive if there are none."""
    return min(verdicts, key=severity, default=INCONCLUSIVE)
