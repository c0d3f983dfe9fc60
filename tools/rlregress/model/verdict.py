"""The words of a verdict, their order and their exit codes."""

from __future__ import annotations

from collections.abc import Iterable

HOLDS, REGRESSED, IMPROVED, INCONCLUSIVE = "holds", "regressed", "improved", "inconclusive"
#: of what is neither better nor worse: it is not what it was
MOVED = "moved"
#: of a framework without stored runs: what could be asked of it holds
FORMULAS_HOLD = "formulas hold"
#: of a training with the numbers of the stored run, to the last bit
REPRODUCED = "reproduced"
#: of what could not be probed (usage, environment, too little of an upgrade)
COULD_NOT_JUDGE = "could not judge"
#: verdicts that something changed
CHANGES = (REGRESSED, IMPROVED, MOVED)
#: the worst first
_SEVERITY = (REGRESSED, COULD_NOT_JUDGE, INCONCLUSIVE, IMPROVED, MOVED, HOLDS, REPRODUCED,
             FORMULAS_HOLD)  # fmt: skip
#: exit codes of the gate
EXIT_CODES = {
    FORMULAS_HOLD: 0, REPRODUCED: 0, HOLDS: 0, IMPROVED: 0, MOVED: 0, REGRESSED: 1,
    COULD_NOT_JUDGE: 2, INCONCLUSIVE: 3,
}  # fmt: skip


#: place of a verdict of the gate, the worst first
severity = _SEVERITY.index


def worst_verdict(verdicts: Iterable[str]) -> str:
    """The first of them in the order of severity; inconclusive of none."""
    return min(verdicts, key=severity, default=INCONCLUSIVE)
