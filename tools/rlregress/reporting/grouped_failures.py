"""Failures for one reason, told together: all tests fail if a framework cannot be imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rlregress.model.detail_answers import UNPROBED

_Finding = TypeVar("_Finding")
#: why code could not be probed, as a test or a claim says it
_REASON = re.compile(rf"{UNPROBED}(.*?)(?: \(documented [^\n]*)?$", re.MULTILINE)
#: others that are named beside the first
_NAMED = 3


def reason(message: str) -> str:
    """Why code could not be probed; of any other failure all that it says."""
    unasked = _REASON.search(message)
    return unasked[1] if unasked is not None else message


def together(
    findings: Iterable[_Finding], message: Callable[[_Finding], str]
) -> list[list[_Finding]]:
    """What has one reason in one list each, in the order of their first."""
    groups: dict[str, list[_Finding]] = {}
    for finding in findings:
        groups.setdefault(reason(message(finding)), []).append(finding)
    return list(groups.values())


def others(names: Sequence[str]) -> str:
    """How many failed in the same way as the first of these, and some of them by name."""
    rest = names[1:]
    if not rest:
        return ""
    more = f" and {len(rest) - _NAMED} more" if len(rest) > _NAMED else ""
    return f"{len(rest)} more failed in the same way: {', '.join(rest[:_NAMED])}{more}"
