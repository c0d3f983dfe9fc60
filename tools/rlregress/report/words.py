"""Words for verdicts: one line with the numbers that a verdict rests on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlregress.model.check_result import AlgorithmCoverage
from rlregress.model.quantities import BY_NAME, CRITIC, DIAGNOSTICS, RETURNS
from rlregress.model.replay_result import DIFFERS, Replay

#: most names of unchecked details
_NAMED = 3


def format_signed_percent(share: float | None) -> str:
    """Format a share as ``+12 %``; a dash for None."""
    return "-" if share is None else f"{share:+.0%}"


def format_error_rate(alpha: float) -> str:
    """Format an error rate as ``5%`` or ``0.1%``, without rounding to 0."""
    return f"{100 * alpha:.3g}%"


def format_return(value: float | None) -> str:
    """Format a return with four significant digits; a dash for None."""
    return "-" if value is None else f"{value:.4g}"


def format_duration(seconds: float) -> str:
    """Return ``3 days``, ``2 h``, ``40 min`` or ``30 s``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{hours / 24:.1f} days"


def format_count(count: int, noun: str) -> str:
    """Format a count as ``1 detail`` or ``3 details``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def join_first_names(names: Sequence[str], max_names: int = 12) -> str:
    """Return the first of some names, and how many more there are."""
    ending = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + ending


def select_first_clauses(text: str, max_length: int) -> str:
    """Return the first clauses of a text, as many as have room; all of it if it is short enough.

    Args:
        max_length: characters that there is room for.
    """
    one_line = " ".join(text.split())
    if len(one_line) <= max_length:
        return one_line
    ends = [
        end.start() for end in re.finditer(r"[.;:,] ", one_line) if 0 < end.start() <= max_length
    ]
    return one_line[: ends[-1]] if ends else ""


def describe_critic(critic: Mapping[str, Any] | None) -> str:
    """Describe how well the critic of a run predicts its returns; empty if not recorded."""
    if critic is None:
        return ""
    if not critic.get("finite", True):
        return ", critic: its values are not finite"
    if critic.get("explained_variance") is None:
        return ", critic: the returns do not vary"
    return (
        f", critic: explained variance {critic['explained_variance']:.2f}, "
        f"bias {critic['bias']:+.2f}"
    )


def format_adjusted_p(verdict: Mapping[str, Any]) -> str:
    """Return Holm's p-value in the direction of the verdict."""
    if not is_from_stored_runs(verdict):
        return format_return(verdict["adjusted_p"])
    upwards = verdict["verdict"] == "improved" or _get_quantity_name(verdict) in DIAGNOSTICS
    return format_return(verdict["adjusted_gain" if upwards else "adjusted_drop"])


def _get_quantity_name(verdict: Mapping[str, Any]) -> str:
    """Return the subject of a verdict: ``returns``, ``critic`` or a diagnostic."""
    return str(verdict.get("quantity", RETURNS.name))


def _describe_detectable_change(verdict: Mapping[str, Any]) -> str:
    """Describe the change that a verdict of a cell or a group would have detected."""
    detectable, about = verdict["visible_fraction"], _get_quantity_name(verdict)
    if detectable is None:
        return BY_NAME[about].describe_nothing_detectable()
    loss = BY_NAME[about].describe_loss(detectable)
    if about == CRITIC.name:
        loss = f"an error x{math.exp(detectable):.2f}"
    return f"would detect {loss} with 80 % power"


@dataclass(frozen=True)
class Effect:
    """The numbers of a verdict as text. For critics they are errors and factors.

    Attributes:
        stored, new: means; with a published band, "published" and nothing.
        change: change of the mean.
        interval: its 95 % interval; empty: there is none.
    """

    stored: str
    new: str
    change: str
    interval: str


def describe_effect(verdict: Mapping[str, Any]) -> Effect:
    """Return the size of the effect of a verdict, as text."""
    interval, fraction = verdict.get("interval"), verdict.get("effect_fraction")
    if not is_from_stored_runs(verdict):
        # the difference is in returns
        between = _format_interval(interval, 1.0, format_return)
        return Effect("published", "", format_return(verdict["effect"]), between)
    before, after = (verdict.get(field_name) for field_name in ("stored_mean", "new_mean"))
    if _get_quantity_name(verdict) == CRITIC.name:
        # minus the logarithms of errors
        old, new = ("-" if mean is None else f"{math.exp(-mean):.3g}" for mean in (before, after))
        falling = interval and None not in interval and [-bound for bound in reversed(interval)]
        between = _format_interval(falling or None, 1.0, lambda bound: f"x{math.exp(bound):.2f}")
        factor = "-" if fraction is None else f"x{math.exp(-fraction):.2f}"
        return Effect(old, new, factor, between)
    scale = 1.0 if "cells" in verdict else verdict["scale"]
    between = _format_interval(interval, scale, format_signed_percent)
    return Effect(
        format_return(before), format_return(after), format_signed_percent(fraction), between
    )


def describe_cells_judged_by_returns_only(reasons: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Describe the cells that are judged by returns only, a line for each reason.

    Args:
        reasons: name of the cell -> quantity that does not judge it -> why.
    """
    cells: dict[tuple[str, str], list[str]] = {}
    for name, cell_reasons in reasons.items():
        for why in dict.fromkeys(cell_reasons.values()):
            without = ", ".join(reason for reason in cell_reasons if cell_reasons[reason] == why)
            cells.setdefault((without, why), []).append(name)
    return [
        f"{without} not judged of {', '.join(sorted(names))}: {why}"
        for (without, why), names in cells.items()
    ]


def _format_interval(
    interval: Sequence[float | None] | None, scale: float, format_number: Callable[[float], str]
) -> str:
    if not interval or not scale or None in interval:
        return ""
    low, high = (format_number(bound / scale) for bound in interval if bound is not None)
    return f"{low} to {high}"


def _describe_deciding_look(verdict: Mapping[str, Any]) -> str:
    """Describe at which of several looks the verdict was reached."""
    looks = len(verdict["looks"])
    return f" (look {verdict['look']} of {looks})" if looks > 1 else ""


def format_number_of_runs(verdict: Mapping[str, Any]) -> str:
    """Format the number of runs of a verdict for a table."""
    stored = verdict.get("stored_seeds")
    new = f"{verdict['new_seeds']} new{_describe_deciding_look(verdict)}"
    return new if stored is None else f"{stored} + {new}"


def describe_algorithm_coverage(coverage: AlgorithmCoverage) -> str:
    """Describe the algorithms whose returns were judged or not; empty if unknown."""
    other_algorithms = ", ".join(name.upper() for name in coverage.others)
    returns = ", ".join(name.upper() for name in coverage.returns)
    if not returns:
        return f"no returns; {other_algorithms}: formulas and behaviour" if other_algorithms else ""
    return (
        f"returns: {returns} only; {other_algorithms}: formulas and behaviour"
        if other_algorithms
        else ""
    )


def describe_skipped_for_packages(names_by_sentence: Mapping[str, Sequence[str]]) -> list[str]:
    """Describe the checks skipped for missing packages, a sentence for each package.

    Args:
        names_by_sentence: sentence about a missing package -> tests and cells that need it.
    """
    lines = []
    for sentence, names in names_by_sentence.items():
        cells = [name for name in names if "::" not in name]
        tests = format_count(len(names) - len(cells), "test") if len(names) > len(cells) else ""
        cell_names = ", ".join(cells[:_NAMED]) + (", ..." if len(cells) > _NAMED else "")
        returns = (
            f"the returns of {format_count(len(cells), 'cell')} ({cell_names})" if cells else ""
        )
        skipped = " and ".join(filter(None, (tests, returns)))
        lines.append(f"not checked: {skipped}: {sentence}")
    return lines


def describe_checked_details(details: int, missing: Sequence[str], selected_by: str = "") -> str:
    """Describe how many details were checked, and name the first unchecked ones.

    Args:
        selected_by: options that left out the missing details; "" if none did.
    """
    if not missing:
        return f"{details} of {details} details checked"
    if selected_by:
        done = details - len({name.partition(" ")[0] for name in missing})
        return f"{done} of {details} details checked, the others not selected ({selected_by})"
    named = ", ".join(missing[:_NAMED]) + (", ..." if len(missing) > _NAMED else "")
    return f"{len(missing)} of {details} details were not checked: {named}"


#: explains a line of a verdict to readers without the documentation
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


def is_from_stored_runs(verdict: Mapping[str, Any]) -> bool:
    """Return whether a verdict comes from stored runs, not from a published band."""
    return "adjusted_p" not in verdict


def format_verdict(verdict_name: str, verdict: Mapping[str, Any]) -> str:
    """Return a verdict in one line: effect, interval, seeds, error rate and detected drop.

    The verdict is on a critic, a group, a cell with a published band, or a cell with stored runs.
    The error of a critic is the root of the mean squared error in standard deviations of the
    returns; over runs it is the geometric mean.
    """
    verdict_effect, about = describe_effect(verdict), _get_quantity_name(verdict)
    head = f"{verdict['verdict']:<12} {verdict_name}"
    judged = f"adjusted p {format_adjusted_p(verdict)} (alpha {verdict['alpha']:g})"
    seeds = f"{verdict['new_seeds']} new seeds"
    if not is_from_stored_runs(verdict):
        drop = verdict["visible_drop"]
        detects = f"would detect a drop of {format_return(drop)}"
        detects = "no drop would be detected" if drop is None else detects
        against = f"{verdict_effect.change} against the published mean"
        return f"{head}: {against}; {seeds}; {judged}; a coarse check: {detects} with 80 % power"
    seeds += _describe_deciding_look(verdict)
    judged += f"; {_describe_detectable_change(verdict)}"
    change = verdict_effect.change + (
        f", 95 % interval {verdict_effect.interval}" if verdict_effect.interval else ""
    )
    if "cells" in verdict:
        error = "error " if about == CRITIC.name else ""
        return f"{head} over {len(verdict['cells'])} cells: {error}{change}; {seeds}; {judged}"
    means = f"{verdict_effect.stored} -> {verdict_effect.new}"
    lacking = "failed" if about == RETURNS.name else "without it"
    if about == CRITIC.name:
        means, lacking = f"error {means} sd of the returns", "without a critic's error"
    failed = f", {verdict['failed']} {lacking}" if verdict["failed"] else ""
    stored = f"{verdict['stored_seeds']} stored"
    return f"{head}: {means} ({change}); {stored} and {seeds}{failed}; {judged}"


def format_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return all verdict lines of a session, and their common error rate.

    Args:
        verdicts: name of a cell or of a group -> its verdict.
    """
    if not verdicts:
        return []
    # cells with stored runs and cells with published bands are two families, each with its alpha
    families = {is_from_stored_runs(verdict): verdict["alpha"] for verdict in verdicts.values()}
    alpha = sum(families.values())
    return [
        *(format_verdict(name, verdict) for name, verdict in verdicts.items()),
        "If nothing changed, some line above says 'regressed' in at most "
        f"{format_error_rate(alpha)} of such "
        "sessions.",
    ]


def describe_replays(replays_by_cell: Mapping[str, Replay]) -> list[str]:
    """Describe the results of replays: a line each, or one if the versions explain all."""
    changes_since_record = {replay.moved for replay in replays_by_cell.values()}
    explained = all(
        replay.moved and replay.differs_from_start for replay in replays_by_cell.values()
    )
    if len(replays_by_cell) > 1 and len(changes_since_record) == 1 and explained:
        return [
            f"{DIFFERS}: all {len(replays_by_cell)} replays have other numbers from update 1 on; "
            f"changed since their records: {changes_since_record.pop()}; fresh seeds are judged"
        ]
    replay_lines = [
        f"{replay.state:<12} {cell}: {replay.reason} ({replay.replayed})"
        + ("" if replay.is_reproduced else "; fresh seeds are judged")
        for cell, replay in replays_by_cell.items()
    ]
    unchecked = dict.fromkeys(
        replay.not_checked for replay in replays_by_cell.values() if replay.not_checked
    )
    return replay_lines + [f"replays did not check: {text}" for text in unchecked]


def describe_old_files(outcomes: Mapping[str, Sequence[str]]) -> list[str]:
    """Describe the results for files of past releases: a line for each kind."""
    return [f"old files {kind}: {'; '.join(clauses)}" for kind, clauses in outcomes.items()]


def describe_files_not_loaded(kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Describe the kinds of old files of which none could be loaded, a line for each reason.

    Args:
        kinds: kind of file -> why it was not loaded, in clauses.
    """
    because: dict[str, list[str]] = {}
    for kind, why in kinds.items():
        because.setdefault("; ".join(why), []).append(kind)
    return [
        f"not checked: old files {', '.join(kind_names)}: {why}"
        for why, kind_names in because.items()
    ]
