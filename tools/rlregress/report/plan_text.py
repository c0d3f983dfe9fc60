"""The plan of a session in words."""

from __future__ import annotations

from rlregress.model.planned_session import Gate, GateProposal, Makespan, SessionPlan
from rlregress.model.quantities import format_percent
from rlregress.report import tables, words

_SECONDS = {"minutes": 60.0, "hours": 3600.0}
#: printed after the minutes of a check
NIGHTLY = (
    "Every night another stored run of each cell is repeated. --first-seed 2000 trains new seeds; "
    "the same seeds and code give the same numbers."
)


def describe_plan_briefly(plan: SessionPlan, processes: int, tests: float) -> list[str]:
    """Describe the minutes of a check and the drops that it would detect, in a few lines.

    Args:
        tests: seconds of formulas and behaviour, one after the other.
    """
    open_ = [cell for cell in plan.cells if not cell.is_decided]
    least = [cell.seconds * cell.undone for cell in open_]
    most = [cell.seconds * max(plan.looks[-1] - cell.done, 0) for cell in open_]
    longest = max((cell.seconds for cell in open_), default=0.0)
    before = tests / processes / 60
    first, last = (
        max(sum(seconds) / processes, longest * any(seconds)) / 60 for seconds in (least, most)
    )
    spoken = f"{processes} processes" if processes > 1 else "one process"
    trained = f"{_format_span_of_minutes(first, last)} for trainings" if open_ else "no trainings"
    answer_lines = [
        f"{_format_span_of_minutes(before + first, before + last).capitalize()} here with "
        f"{spoken}: "
        f"{_format_minutes(before)} for tests, {trained}."
    ]
    replays = [cell for cell in plan.cells if cell.replay]
    if replays:
        alone = sum(cell.replay_seconds for cell in replays) / processes / 60
        fresh_cells = [cell for cell in open_ if not cell.replay]
        fresh = sum(cell.seconds * cell.undone for cell in fresh_cells) / processes / 60
        answer_lines = [
            f"If nothing changed, {_format_minutes(before + alone + fresh)} here with {spoken}: "
            f"{_format_minutes(before)} for tests, {_format_minutes(alone)} for {len(replays)} "
            "replays"
            + (
                f", {_format_minutes(fresh)} for fresh seeds of cells without one."
                if fresh_cells
                else "."
            ),
            "If torch changed, "
            f"{_format_span_of_minutes(before + alone + first, before + alone + last)}: "
            "every replay differs, and fresh seeds are trained.",
            "A replay would detect any change of a number that it computes; nothing that it does "
            "not execute.",
        ]
    if not plan.detects:
        return [
            *answer_lines,
            "No returns are judged: it would detect what formulas and behaviour show.",
        ]
    answer_lines.append(
        f"{'Fresh seeds' if replays else 'It'} would detect (80 % power) a drop of training or "
        "evaluation returns (of evaluation alone) of at least:"
    )
    for framework, algorithms in plan.detects.items():
        drops = (
            f"{name} {_format_drop(either)} ({_format_drop(alone)})"
            for name, (either, alone) in algorithms.items()
        )
        answer_lines.append(f"  {framework}: {', '.join(drops)}")
    return answer_lines


def _format_drop(share: float | None) -> str:
    return "none" if share is None else format_percent(share)


def _format_minutes(minutes: float) -> str:
    rounded = round(minutes)
    return words.format_count(rounded, "minute") if rounded else "less than a minute"


def _format_span_of_minutes(least: float, most: float) -> str:
    if round(least) == round(most):
        return _format_minutes(most)
    return f"{least:.0f} to {_format_minutes(most)}"


def describe_plan(plan: SessionPlan, processes: int) -> list[str]:
    """Return a line per cell, then cost, power of each gate, and proposals."""
    plan_lines = [f"{plan.description}, {processes} at a time"]
    plan_lines += [f"  left out: {sentence}" for sentence in plan.excluded]
    most = plan.looks[-1]
    for cell in plan.cells:
        consequence = "not needed" if cell.is_decided else "done again"
        plan_lines += [f"  {sentence}; its run is {consequence}" for sentence in cell.damaged]
        if cell.is_decided:
            plan_lines.append(
                f"  {cell.name}: decided ({words.format_count(cell.done, 'run')} done)"
            )
            continue
        plan_lines += [f"  {cell.name}: replay first: {cell.replay}"] if cell.replay else []
        plan_lines.append(f"  {cell.name}: {cell.undone} of {cell.until} runs to do")
        if most > cell.until:
            plan_lines[-1] += f", {most - cell.until} more if it is not decided by them"
        if plan.judged:
            plan_lines[-1] += f", {cell.seconds:.0f} CPU seconds each"
            plan_lines[-1] += "; against a published band" * cell.banded
    if all(cell.is_decided for cell in plan.cells):
        plan_lines.append("every cell is decided: a check trains no more, and judges")
    elif plan.judged or plan.makespan is not None:
        plan_lines.append(_describe_cost(plan, processes))
        if plan.makespan is not None:
            plan_lines.append(_describe_makespan(plan.makespan, processes))
    if plan.gates:
        plan_lines += [
            "",
            *_make_table_of_gates(plan.gates),
            *words.describe_cells_judged_by_returns_only(plan.not_judged),
        ]
    for wanted in plan.wanted:
        plan_lines += ["", *_describe_proposal(wanted, plan.begun)]
    return plan_lines


def _describe_cost(plan: SessionPlan, processes: int) -> str:
    """Describe the cost of the runs and the basis of the estimate."""
    total, unit = _choose_unit_of_time(plan.seconds)
    first, most = plan.looks[0], plan.looks[-1]
    look = "next" if any(cell.until > first for cell in plan.cells) else "first"
    scope = f"of the {look} look" if most > first else "in all"
    text = f"{scope} {total:.1f} core-{unit}: " + (
        f"at the speed of the {plan.measured} runs that are done"
        if plan.measured
        else "as fast as the stored runs; a busy or slower machine takes longer"
    )
    if plan.evaluations > 1:
        text += f"; and what {plan.evaluations - 1} evaluations on the way take"
    return text


def _describe_makespan(makespan: Makespan, processes: int) -> str:
    """Describe the time until the last run ends."""
    # one unit for the range and its middle
    _, unit = _choose_unit_of_time(makespan.high)
    seconds, low, high, bound = (
        amount / _SECONDS[unit]
        for amount in (makespan.seconds, makespan.low, makespan.high, makespan.bound)
    )
    return (
        f"time until the last run ends, with {processes} at a time: {seconds:.1f} {unit} "
        f"({low:.1f} to {high:.1f}); no order of the runs takes less than {bound:.1f}"
    )


def _choose_unit_of_time(seconds: float) -> tuple[float, str]:
    unit = "hours" if seconds >= 600 * 60 else "minutes"
    return seconds / _SECONDS[unit], unit


def _make_table_of_gates(gates: tuple[Gate, ...]) -> list[str]:
    """Return the lines of a table: gates as columns; cells, groups and costs as rows."""
    rows = [["smallest drop detected with 80 % power", *(gate.name for gate in gates)]]
    for name in gates[0].cells:
        rows.append([f"  {name}", *(_format_drop(gate.cells[name]) for gate in gates)])
    for name in gates[0].groups:
        drops = (_format_drop(gate.groups[name]) for gate in gates)
        rows.append([f"  {name}, its cells together", *drops])
    if gates[0].critics:
        rows.append(
            ["smallest growth of a critic's error detected with 80 % power", *[""] * len(gates)]
        )
    for name in gates[0].critics:
        factors = [gate.critics[name] for gate in gates]
        rows.append([f"  {name}", *("none" if f is None else f"x{f:.2f}" for f in factors)])
    rows.append(
        [
            "CPU minutes of fresh seeds, if no returns fell",
            *(f"{g.expected / 60:.1f}" for g in gates),
        ]
    )
    rows.append(["CPU minutes of fresh seeds, at most", *(f"{g.most / 60:.1f}" for g in gates)])
    rows.append(["", *("(chosen)" if gate.chosen else "" for gate in gates)])
    return tables.align_columns(rows)


def _describe_proposal(proposal: GateProposal, has_begun: bool) -> list[str]:
    if proposal.unknown:
        return [f"{proposal.what}: what a check detects is not known: {proposal.unknown}"]
    if proposal.gate is not None:
        if has_begun and proposal.gate.chosen:
            return [f"{proposal.what}: {proposal.gate.name}, which has begun, detects it"]
        fresh = ", with fresh seeds" * has_begun
        return [
            f"{proposal.what}: {proposal.gate.name} detects it at the lowest cost: "
            f"{proposal.gate.expected / 60:.1f} CPU minutes if no returns fell, "
            f"{proposal.gate.most / 60:.1f} at most{fresh}"
        ]
    return [
        f"{proposal.what}: none of these checks detects it in every one",
        *(f"  {name}: {missing}" for name, missing in proposal.missing.items()),
    ]
