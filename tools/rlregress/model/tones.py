"""How a verdict is shown: one of five tones, each with a sign for those who see no colours."""

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
#: what was checked in part has no green tick.
OF_VERDICT = {
    HOLDS: GOOD, REPRODUCED: GOOD, FORMULAS_HOLD: GOOD, UNCHANGED: GOOD, REGRESSED: BAD,
    NEW_FAILS: BAD, PARTLY: UNSURE, REPAIRED: OTHER, ROUNDED: OTHER, NOTHING_HERE: NOTHING,
    INCONCLUSIVE: UNSURE, CHANGED: OTHER, AS_DOCUMENTED: OTHER, IMPROVED: OTHER, MOVED: OTHER,
    COULD_NOT_JUDGE: NOTHING,
}  # fmt: skip
