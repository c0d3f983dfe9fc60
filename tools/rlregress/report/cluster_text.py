"""Texts on the state of a run store, in one screen, and on problems of its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rlregress.model.store_state import STATES, Attempt, AuditResult, MergeResult, StoreStatus
from rlregress.report import tables
from rlregress.report.words import format_duration

#: most lines of one kind
_LISTED = 8
#: most lines of running attempts, those with the least progress
_RUNNING = 5


def format_store_status(
    survey: StoreStatus, slurm_tasks: Mapping[tuple[str, str], int], why_slurm_unknown: str
) -> list[str]:
    """Return the lines of the status of a store.

    Args:
        slurm_tasks: (state, reason) of Slurm -> how many tasks.
        why_slurm_unknown: why Slurm's answer is missing; empty if it answered or runs no task.
    """
    if not survey.counts:
        return ["no runs: this store has no manifests and no records"]
    rows: list[tuple[str, ...]] = [("", *STATES, "all")]
    total = Counter[str]()
    for group, counts in sorted(survey.counts.items()):
        rows.append((group, *_format_counts_of_states(counts)))
        total += counts
    if len(survey.counts) > 1:
        rows.append(("all", *_format_counts_of_states(total)))
    lines = tables.align_columns(rows)
    lines += _format_time_left(survey, total)
    lines += _describe_unfinished_attempts(survey)
    lines += _list_first_lines(
        [f"failed ({number}): {reason}" for reason, number in survey.reasons.most_common()]
    )
    if survey.read < total["failed"]:
        lines.append(f"the reasons of {survey.read} of {total['failed']} failed runs were read")
    waits = [
        f"{n} {state}" + f" ({why})" * (why != "None") for (state, why), n in slurm_tasks.items()
    ]
    if waits:
        lines.append(f"Slurm: {', '.join(waits)}")
    if why_slurm_unknown:
        lines.append(f"Slurm did not answer: {why_slurm_unknown}")
    if survey.own_clock:
        lines.append("ages are by this machine's clock, because you may not write to the store")
    if survey.duplicates or survey.damaged:
        lines.append(
            f"{len(survey.duplicates)} second results that differ, {len(survey.damaged)} damaged "
            "records set aside: rlregress runs status --verify names them"
        )
    return lines


def _format_counts_of_states(counts: Counter[str]) -> list[str]:
    return [*(str(counts[state] or "-") for state in STATES), str(counts.total())]


def _format_time_left(survey: StoreStatus, total: Counter[str]) -> list[str]:
    finished = total["done"] + total["failed"]
    if finished == total.total():
        return ["all runs are done"]
    if survey.seconds_left is not None:
        return [
            f"time left: about {format_duration(survey.seconds_left)}, with as many at a time as "
            "now"
        ]
    if total["running"]:
        return ["time left: not known before the first runs report their progress"]
    return ["nothing is running: launch again to do the remaining runs"]


def _describe_unfinished_attempts(survey: StoreStatus) -> list[str]:
    attempts_by_state: dict[str, list[Attempt]] = {
        state: [] for state in ("stuck", "stopped", "running")
    }
    for attempt in survey.attempts:
        attempts_by_state[attempt.state].append(attempt)
    lines = _list_first_lines(
        [
            f"stuck: {row.run} at {row.share:.0%} on {row.where}, silent for "
            f"{format_duration(row.silent)}"
            for row in attempts_by_state["stuck"]
        ]
    )
    lines += _list_first_lines(
        [
            f"stopped: {row.run}{f' at {row.share:.0%}' * (row.share > 0)} on {row.where}: "
            f"{row.why}" + f" (attempt {row.restarts + 1})" * (row.restarts > 0)
            for row in attempts_by_state["stopped"]
        ]
    )
    if survey.unbegun:
        lines.append(
            f"stopped: {survey.unbegun} runs before they began: Slurm no longer has their tasks, "
            "for example because they were cancelled; see the logs in slurm/ of the store"
        )
    running = sorted(attempts_by_state["running"], key=lambda item: item.share)
    return lines + _list_first_lines(
        [
            f"running: {row.run} at {row.share:.0%} after {format_duration(row.wall_seconds)} on "
            f"{row.where}"
            for row in running
        ],
        _RUNNING,
    )


def _list_first_lines(lines: Sequence[str], max_lines: int = _LISTED) -> list[str]:
    hidden = len(lines) - max_lines
    return [*lines[:max_lines], *([f"  and {hidden} more"] if hidden > 0 else [])]


def format_store_audit(result: AuditResult) -> list[str]:
    """Return all problems with the records of a store, and notes about them."""
    wrong = [*result.damaged.values(), *result.wrong]
    lines = [f"wrong: {problem}" for problem in wrong] + [
        f"note: {problem}" for problem in result.notes
    ]
    lines.append(
        f"{result.records} records are intact, {result.failed} of them of failed runs; "
        f"problems: {len(wrong) or 'none'}"
    )
    if result.missing is not None:
        lines.append(f"{result.missing or 'none'} of the manifest's runs without a record")
    return lines


def format_store_merge(result: MergeResult, target: str) -> list[str]:
    """Describe the result of a merge."""
    lines = [f"damaged, left out: {sentence}" for sentence in result.damaged.values()]
    lines += [f"another result: {sentence}; both are kept" for sentence in result.differing]
    return [
        *lines,
        f"{target}: {result.new} records are new, {result.equal} were there already, "
        f"{len(result.differing)} have another result, {len(result.damaged)} are damaged",
    ]
