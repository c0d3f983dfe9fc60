"""Groups failures with one reason: if a framework cannot be imported, all of its tests fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rlregress.model.detail_answers import UNPROBED
from rlregress.report.words import join_first_names

_Finding = TypeVar("_Finding")
#: the reason in a message of a test or claim whose code could not be probed
_REASON = re.compile(rf"{UNPROBED}(.*?)(?: \(documented [^\n]*)?$", re.MULTILINE)
#: most names besides the first
_NAMED = 3


def extract_reason_of_failure(message: str) -> str:
    """Return why code could not be probed, or the whole message of any other failure."""
    unprobed = _REASON.search(message)
    return unprobed[1] if unprobed is not None else message


def group_failures_by_reason(
    findings: Iterable[_Finding], message: Callable[[_Finding], str]
) -> list[list[_Finding]]:
    """Group items by their reason, in the order of first occurrence."""
    groups: dict[str, list[_Finding]] = {}
    for finding in findings:
        groups.setdefault(extract_reason_of_failure(message(finding)), []).append(finding)
    return list(groups.values())


def describe_further_failures(names: Sequence[str]) -> str:
    """Describe how many items failed in the same way as the first, with some names."""
    further = names[1:]
    if not further:
        return ""
    return f"{len(further)} more failed in the same way: {join_first_names(further, _NAMED)}"
