"""Tones for verdicts: colours, each with a sign for readers who see none."""

from __future__ import annotations

from rlregress.model.differences import (
    AS_DOCUMENTED,
    CHANGED,
    NEW_FAILS,
    NOTHING_HERE,
    PARTLY,
    REPAIRED,
    ROUNDED,
    UNCHANGED,
)
from rlregress.model.verdict import (
    COULD_NOT_JUDGE,
    FORMULAS_HOLD,
    HOLDS,
    IMPROVED,
    INCONCLUSIVE,
    MOVED,
    REGRESSED,
    REPRODUCED,
)

GOOD, BAD, UNSURE, OTHER, NOTHING = "good", "bad", "unsure", "other", "nothing"
SIGNS = {GOOD: "✓", BAD: "✕", UNSURE: "?", OTHER: "≠", NOTHING: "–"}
#: a partly checked upgrade gets no green tick
OF_VERDICT = {
    HOLDS: GOOD, REPRODUCED: GOOD, FORMULAS_HOLD: GOOD, UNCHANGED: GOOD, REGRESSED: BAD,
    NEW_FAILS: BAD, PARTLY: UNSURE, REPAIRED: OTHER, ROUNDED: OTHER, NOTHING_HERE: NOTHING,
    INCONCLUSIVE: UNSURE, CHANGED: OTHER, AS_DOCUMENTED: OTHER, IMPROVED: OTHER, MOVED: OTHER,
    COULD_NOT_JUDGE: NOTHING,
}  # fmt: skip
