"""How a verdict is put into words: one line, with everything that it rests on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlregress.model.gate_result import AlgorithmCoverage
from rlregress.model.quantities import BY_NAME, CRITIC, DIAGNOSTICS, RETURNS
from rlregress.model.replay_result import DIFFERS, Replay

#: details that were not checked are named up to this many.
_NAMED = 3
#: characters of a name in a figure.
_LONGEST = 40


def percent(share: float | None) -> str:
    """``+12 %``, or a dash where there is none."""
    return "-" if share is None else f"{share:+.0%}"


def rate(alpha: float) -> str:
    """An error rate, never rounded to nothing: ``5%``, ``0.1%``."""
    return f"{100 * alpha:.3g}%"


def number(value: float | None) -> str:
    """A return, with the digits that mean something."""
    return "-" if value is None else f"{value:.4g}"


def shortened(name: str) -> str:
    """A name as a figure has room for it."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def counted(count: int, noun: str) -> str:
    """``1 detail``, ``3 details``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def leading(text: str, most: int) -> str:
    """Return the first clauses of a text, as many as have room; all of it if it is short enough.

    Args:
        most: characters that there is room for.
    """
    one_line = " ".join(text.split())
    if len(one_line) <= most:
        return one_line
    ends = [end.start() for end in re.finditer(r"[.;:,] ", one_line) if 0 < end.start() <= most]
    return one_line[: ends[-1]] if ends else ""


def critic(measured: Mapping[str, Any] | None) -> str:
    """How well the critic of a run predicts its returns; empty for a run that does not say."""
    if measured is None:
        return ""
    if not measured.get("finite", True):
        return ", critic: values that are not finite"
    if measured.get("explained_variance") is None:
        return ", critic: returns that do not vary"
    return (
        f", critic: explained variance {measured['explained_variance']:.2f}, "
        f"bias {measured['bias']:+.2f}"
    )


def _judged_by(verdict: Mapping[str, Any]) -> str:
    """Holm's p-value of the side that the verdict is about, the error rate, and what is seen."""
    upwards = verdict["verdict"] == "improved" or _is_about(verdict) in DIAGNOSTICS
    side = "adjusted_gain" if upwards else "adjusted_drop"
    detects = _visible(verdict)
    return f"adjusted p {number(verdict[side])} (alpha {verdict['alpha']:g}); {detects}"


def _is_about(verdict: Mapping[str, Any]) -> str:
    """Name of what a verdict is about: ``returns``, ``critic`` or a diagnostic."""
    return str(verdict.get("quantity", RETURNS.name))


def _visible(verdict: Mapping[str, Any]) -> str:
    """What a verdict of a cell or a group would have seen."""
    detectable, about = verdict["visible_fraction"], _is_about(verdict)
    if detectable is None:
        return BY_NAME[about].nothing_detectable()
    what = BY_NAME[about].loss(detectable)
    if about == CRITIC.name:
        what = f"an error x{math.exp(detectable):.2f}"
    return f"would detect {what} with 80 % power"


def _error(verdict: Mapping[str, Any]) -> str:
    """How many times as large a critic's error has become, with the interval of it."""
    interval = verdict["interval"]
    between = ""
    if interval and None not in interval:
        low, high = (math.exp(-bound) for bound in reversed(interval))
        between = f", 95 % interval x{low:.2f} to x{high:.2f}"
    fraction = verdict["effect_fraction"]
    return "-" if fraction is None else f"x{math.exp(-fraction):.2f}{between}"


def critic_line(name: str, verdict: Mapping[str, Any]) -> str:
    """The verdict on the critic of a cell, or on the critics of a group, by their errors.

    An error is the root of the mean squared error, the geometric mean over runs, in standard
    deviations of the returns.
    """
    if "cells" in verdict:
        return (
            f"{verdict['verdict']:<12} {name} over {len(verdict['cells'])} cells: error "
            f"{_error(verdict)}; {_seeds(verdict)}; {_judged_by(verdict)}"
        )
    means = (verdict[of] for of in ("stored_mean", "new_mean"))
    before, after = ("-" if mean is None else f"{math.exp(-mean):.3g}" for mean in means)
    missing = f", {verdict['failed']} without a critic's error" if verdict["failed"] else ""
    return (
        f"{verdict['verdict']:<12} {name}: error {before} -> {after} sd of the returns "
        f"({_error(verdict)}); "
        f"{verdict['stored_seeds']} stored and {_seeds(verdict)}{missing}; {_judged_by(verdict)}"
    )


def not_judged(reasons: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What is said of cells that are judged by their returns alone, a line for each reason.

    Args:
        reasons: name of the cell -> what it is not judged by -> why.
    """
    cells: dict[tuple[str, str], list[str]] = {}
    for name, of in reasons.items():
        for why in dict.fromkeys(of.values()):
            without = ", ".join(reason for reason in of if of[reason] == why)
            cells.setdefault((without, why), []).append(name)
    return [
        f"{without} not judged of {', '.join(sorted(names))}: {why}"
        for (without, why), names in cells.items()
    ]


def _between(interval: Sequence[float | None] | None, scale: float) -> str:
    if not interval or not scale or None in interval:
        return ""
    low, high = (bound / scale for bound in interval if bound is not None)
    return f", 95 % interval {percent(low)} to {percent(high)}"


def _seeds(verdict: Mapping[str, Any]) -> str:
    """New runs, and at which of several looks they decided."""
    looks = len(verdict["looks"])
    at = f" (look {verdict['look']} of {looks})" if looks > 1 else ""
    return f"{verdict['new_seeds']} new seeds{at}"


def cell_line(name: str, verdict: Mapping[str, Any]) -> str:
    """The verdict on one cell: effect, interval, seeds, error rate, what could be seen."""
    between = _between(verdict["interval"], verdict["scale"])
    lacking = "failed" if _is_about(verdict) == RETURNS.name else "without it"
    failed = f", {verdict['failed']} {lacking}" if verdict["failed"] else ""
    return (
        f"{verdict['verdict']:<12} {name}: {number(verdict['stored_mean'])} -> "
        f"{number(verdict['new_mean'])} ({percent(verdict['effect_fraction'])}{between}); "
        f"{verdict['stored_seeds']} stored and {_seeds(verdict)}{failed}; {_judged_by(verdict)}"
    )


def group_line(name: str, verdict: Mapping[str, Any]) -> str:
    """The verdict on a group of cells."""
    between = _between(verdict["interval"], 1.0)
    return (
        f"{verdict['verdict']:<12} {name} over {len(verdict['cells'])} cells: "
        f"{percent(verdict['effect_fraction'])}{between}; {_seeds(verdict)}; {_judged_by(verdict)}"
    )


def band_line(name: str, verdict: Mapping[str, Any]) -> str:
    """The verdict on one cell against its published band."""
    drop = verdict["visible_drop"]
    detects = (
        "no drop would be detected" if drop is None else f"would detect a drop of {number(drop)}"
    )
    return (
        f"{verdict['verdict']:<12} {name}: {number(verdict['effect'])} against the published mean; "
        f"{verdict['new_seeds']} new seeds; adjusted p {number(verdict['adjusted_p'])} (alpha "
        f"{verdict['alpha']:g}); a coarse check: {detects} with 80 % power"
    )


def algorithm_coverage(of: AlgorithmCoverage) -> str:
    """Of which algorithms returns were judged, and of which they were not; empty: nothing known."""
    others = ", ".join(name.upper() for name in of.others)
    returns = ", ".join(name.upper() for name in of.returns)
    if not returns:
        return f"no returns; {others}: formulas and behaviour" if others else ""
    return f"returns: {returns} only; {others}: formulas and behaviour" if others else ""


def lacking(of: Mapping[str, Sequence[str]]) -> list[str]:
    """What was not checked as a package is not installed, a sentence for each package.

    Args:
        of: that it is not installed, in a sentence -> the tests and the cells that need it.
    """
    lines = []
    for sentence, names in of.items():
        cells = [name for name in names if "::" not in name]
        tests = counted(len(names) - len(cells), "test") if len(names) > len(cells) else ""
        some = ", ".join(cells[:_NAMED]) + (", ..." if len(cells) > _NAMED else "")
        returns = f"the returns of {counted(len(cells), 'cell')} ({some})" if cells else ""
        what = " and ".join(filter(None, (tests, returns)))
        lines.append(f"not checked: {what}: {sentence}")
    return lines


def details_probed(details: int, missing: Sequence[str], selected_by: str = "") -> str:
    """How many of the details were checked, and the first of those that were not.

    Args:
        selected_by: options that left out what is missing; "" if none did.
    """
    if not missing:
        return f"{details} of {details} details checked"
    if selected_by:
        done = details - len({name.partition(" ")[0] for name in missing})
        return f"{done} of {details} details checked, the others not selected ({selected_by})"
    named = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
    return f"{len(missing)} of {details} details were not checked: {named}"


#: how a line is read, for whoever has no page of the documentation open
LEGEND = (
    "A line of a cell gives the mean of the stored runs, the mean of the new ones, their "
    "difference and its 95 % interval. A line of a group gives the mean difference of its cells. A "
    "line of critics gives their errors and the factor between them.",
    "Percentages are shares of the stored mean, or of the stored standard deviation where that is "
    "larger.",
    "'Would detect' is computed from the spread of the stored runs: a true loss of that size is "
    "found in 80 % of such checks. The interval also has the spread of the new runs, and decides "
    "nothing. With few runs it may be the wider one.",
    "An adjusted p tests for a loss; for a gain if something improved; for a change of entropy, KL "
    "and temperature. It is adjusted for all that was judged: 1 is no sign of a loss.",
)


def has_stored(verdict: Mapping[str, Any]) -> bool:
    """Whether a verdict is by stored runs, not by a published band."""
    return "adjusted_p" not in verdict


def line(name: str, verdict: Mapping[str, Any]) -> str:
    """The line of any verdict: a critic, a group, a published band, or a cell with stored runs."""
    if _is_about(verdict) == CRITIC.name:
        return critic_line(name, verdict)
    if "cells" in verdict:
        return group_line(name, verdict)
    return (cell_line if has_stored(verdict) else band_line)(name, verdict)


def lines(verdicts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """All verdict lines of a session, and the error rate that holds for them together.

    Args:
        verdicts: name of a cell or of a group -> its verdict.
    """
    if not verdicts:
        return []
    # of cells with stored runs and of those with published bands: two families
    families = {has_stored(verdict): verdict["alpha"] for verdict in verdicts.values()}
    alpha = sum(families.values())
    return [
        *(line(name, verdict) for name, verdict in verdicts.items()),
        f"If nothing changed, some line above says 'regressed' in at most {rate(alpha)} of such "
        "sessions.",
    ]


def replays(found: Mapping[str, Replay]) -> list[str]:
    """What replays came to: a line each, or one where a version explains all of them."""
    moved = {of.moved for of in found.values()}
    explained = all(of.moved and of.from_start for of in found.values())
    if len(found) > 1 and len(moved) == 1 and explained:
        return [
            f"{DIFFERS}: all {len(found)} replays have other numbers from update 1 on; since their "
            f"records: {moved.pop()}; fresh seeds are judged"
        ]
    made = [
        f"{of.state:<12} {cell}: {of.reason} ({of.replayed})"
        + ("" if of.is_reproduced else "; fresh seeds are judged")
        for cell, of in found.items()
    ]
    unchecked = dict.fromkeys(of.not_checked for of in found.values() if of.not_checked)
    return made + [f"replays did not check: {text}" for text in unchecked]


def old_files(found: Mapping[str, Sequence[str]]) -> list[str]:
    """What became of files that past releases wrote: a line for each kind."""
    return [f"old files {kind}: {'; '.join(of)}" for kind, of in found.items()]


def not_loaded(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Kinds of files that past releases wrote and of which nothing is known, a line for each why.

    Args:
        kinds: kind -> why, in clauses.
    """
    because: dict[str, list[str]] = {}
    for kind, why in kinds.items():
        because.setdefault("; ".join(why), []).append(kind)
    return [f"not checked: old files {', '.join(of)}: {why}" for why, of in because.items()]
