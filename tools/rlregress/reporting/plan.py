"""What a session would do, before it does it."""

from __future__ import annotations

from rlregress.gate.planning import Plan


def lines(plan: Plan, processes: int) -> list[str]:
    """One line per cell, then the sums."""
    made = [f"{plan.description}, {processes} at a time"]
    made += [f"  left out: {said}" for said in plan.refused]
    for cell in plan.cells:
        made += [f"  {said}; its run is done again" for said in cell.damaged]
        made.append(f"  {cell.name}: {cell.undone} of {plan.seeds} runs to do")
        if plan.judged:
            seen = "no drop can be seen" if cell.drop is None else f"sees a drop of {cell.drop:.0%}"
            if cell.banded:
                made[-1] += f", {cell.seconds:.0f} CPU seconds each; against a published band"
                continue
            made[-1] += f", {cell.seconds:.0f} CPU seconds each; {seen} with 80 % power"
    for group, drop in plan.groups.items():
        seen = "no common drop can be seen" if drop is None else f"sees a common drop of {drop:.0%}"
        made.append(f"  {group}, its cells together: {seen} with 80 % power")
    if plan.judged:
        total, unit = plan.seconds / 60, "minutes"
        if total >= 600:
            total, unit = total / 60, "hours"
        made.append(
            f"in all {total:.1f} core-{unit}, about {total / processes:.1f} {unit}: "
            + (
                f"at the speed of the {plan.measured} runs that are done"
                if plan.measured
                else "as fast as the stored runs; a busy or slower machine takes longer"
            )
        )
        if plan.evaluations > 1:
            made[-1] += f"; and what {plan.evaluations - 1} evaluations on the way take"
    return made
