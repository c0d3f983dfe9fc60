"""The return gate on side B, for algorithms whose traces have parted; alarms confirm themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline, outcome, run
from rlregress.gate.outcome import COULD_NOT_JUDGE
from rlregress.tracing.run import Side
from rlregress.upgrade.confirmation import FIRST_FRESH_SEED, alarmed, confirm, numbers_of
from rlregress.verdicts.outcome import REGRESSED
from rlregress.verdicts.quantity import CRITIC, RETURNS, quantity_of


@dataclass(frozen=True)
class ReturnsVerdict:
    """What the trainings say.

    Attributes:
        lines: one for each cell and group.
    """

    verdict: str
    lines: tuple[str, ...]
    report: Path | None = None


def stored(adapter: Adapter) -> set[str]:
    """Algorithms of a framework that have stored runs to be judged by."""
    return {
        known.cell.algorithm
        for known in baseline.every()
        if known.cell.framework == adapter.name and known.cell.budget == "short"
    }


def judge(
    adapter: Adapter,
    algorithms: Sequence[str],
    sides: tuple[Side, Side],
    report: Path,
    one_look: bool,
    say: Callable[[str], None],
) -> ReturnsVerdict | None:
    """Train the diverged algorithms on side B and judge their returns by the stored runs.

    What has fallen is trained on side A again, with fresh seeds, before it is called so. With
    ``one_look`` by the gate of fixed size. None where nothing is stored of any of them.
    """
    known = stored(adapter)
    chosen = [name for name in algorithms if name in known]
    if not chosen:
        return None
    options = run.GateOptions(
        report=report.resolve(),
        frameworks=adapter.name,
        algorithms=",".join(chosen),
        cells="all",
        one_look=one_look,
    )
    entries = run.returns_alone(sides[1].python, options, sides[1].environment())
    if isinstance(entries, str):
        return ReturnsVerdict(COULD_NOT_JUDGE, (entries,), report)
    verdict = of_evidence(adapter.name, entries, chosen, report)
    names = alarmed(entries) if verdict.verdict == REGRESSED else []
    if not names:
        return verdict
    say(f"{adapter.name}: training side A again with fresh seeds, as {', '.join(names)} fell")
    fallen = {name: numbers_of(entries, name) for name in names}
    of_critics = {CRITIC.named(known.cell.id): known.cell for known in baseline.every()}
    by_name = {known.cell.id: known.cell for known in baseline.every()} | of_critics
    cells = {name: by_name[name] for name in names}
    again = replace(
        options,
        report=report.resolve() / "again",
        cells=",".join(sorted({cell.id for cell in cells.values()})),
        seeds=min(map(len, fallen.values())),
        first_seed=FIRST_FRESH_SEED,
    )
    entries = run.returns_alone(sides[0].python, again, sides[0].environment())
    if isinstance(entries, str):
        line = f"the alarm could not be confirmed: on side A {entries}"
        return replace(verdict, lines=(line, *verdict.lines))
    old = {name: numbers_of(entries, name) for name in names}
    confirmed = confirm(cells, old, fallen, options.alpha)
    return replace(verdict, verdict=confirmed.verdict, lines=(*confirmed.lines, *verdict.lines))


def of_evidence(
    framework: str, entries: list[dict[str, Any]], algorithms: Sequence[str], report: Path
) -> ReturnsVerdict:
    """The verdict that the tests of the trainings come to."""
    if outcome.broken(entries):
        words = [str(entry["message"]).splitlines()[0] for entry in outcome.broken(entries)]
        return ReturnsVerdict(COULD_NOT_JUDGE, tuple(dict.fromkeys(words)), report)
    outcomes = [of for of in outcome.outcomes(entries) if of.framework == framework]
    if not outcomes or not outcomes[0].verdicts:
        word = f"no verdict on {', '.join(algorithms)}"
        return ReturnsVerdict(COULD_NOT_JUDGE, (word,), report)
    return ReturnsVerdict(
        outcomes[0].verdict, tuple(map(_line, outcomes[0].verdicts.items())), report
    )


def _line(named: tuple[str, Mapping[str, Any]]) -> str:
    name, verdict = named
    quantity = quantity_of(name)
    fraction = verdict.get("effect_fraction")
    effect = ""
    if fraction is not None:
        of_returns = f"{fraction:+.0%} of the stored returns' scale"
        effect = f", {of_returns if quantity is RETURNS else quantity.moved(fraction)}"
    seen = verdict["visible_fraction"]
    sees = "no drop can be seen" if seen is None else f"sees {quantity.loss(seen)} with 80 % power"
    return f"{name}: {verdict['verdict']}{effect}; {verdict['new_seeds']} new runs; {sees}"
