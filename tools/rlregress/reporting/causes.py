"""What makes a training part, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rlregress.upgrade import explained
from rlregress.upgrade.fingerprints import ChangedDetail
from rlregress.upgrade.search import Cause

#: functions of one side alone that are named.
_NEW = 4
#: of functions that move a training: whether that is all.
_MOVED = {
    None: "they change this training when they are put back",
    True: "with side A's code of them side B does what side A does",
    False: "they change this training when they are put back, and that is not all",
}


def lines(cause: Cause | None, details: Sequence[ChangedDetail]) -> list[str]:
    """In words: what makes a training part."""
    if cause is None:
        return []
    said = []
    if cause.alone is not None:
        said.append(f"cause: {cause.alone}; with side A's code of it side B does what side A does")
    elif cause.moving:
        names = ", ".join(map(str, cause.movers))
        said.append(f"moved by {names}: {_MOVED[cause.whole]}")
    elif cause.together:
        names = ", ".join(map(str, cause.together))
        whole = "; side B then does what side A does" if cause.whole else ""
        said.append(f"moved by {names}, put back together (or by some of them){whole}")
    elif cause.functions:
        said.append(f"parts in changed code: {', '.join(map(str, cause.functions))}")
    if cause.new:
        more = f" and {len(cause.new) - _NEW} more" if len(cause.new) > _NEW else ""
        names = ", ".join(map(str, cause.new[:_NEW]))
        said.append(f"with it come and go, as one side alone has them: {names}{more}")
    for detail in explained.details_of(cause, details):
        said.append(f"explained by {detail.id} [{detail.scope}]: {detail.words}")
    return said
