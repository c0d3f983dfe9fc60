"""The return gate on side B, for algorithms whose traces have parted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlregress import suite
from rlregress.frameworks.base import Adapter
from rlregress.gate import baseline, outcome, run
from rlregress.gate.outcome import COULD_NOT_JUDGE
from rlregress.tracing.processes import last_words
from rlregress.tracing.run import Side

_TIER = "tests_performance"


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
    adapter: Adapter, algorithms: Sequence[str], side: Side, report: Path, one_look: bool
) -> ReturnsVerdict | None:
    """Train the diverged algorithms on a side and judge their returns by the stored runs.

    With ``one_look`` by the gate of fixed size. None where nothing is stored of any of them.
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
    run.clear(options)
    # formulas and behaviour were compared with side A: what is left are the returns
    rest = [part for part in run.pytest_command(options)[1:] if part not in run.TIERS]
    command = [side.python, *rest[:2], _TIER, *rest[2:]]
    environment = side.environment()
    ended = subprocess.run(
        command, env=environment, cwd=suite.root(), capture_output=True, text=True, check=False
    )
    try:
        entries = json.loads(options.evidence.read_text(encoding="utf-8"))["tests"]
    except (OSError, ValueError, KeyError):
        said = last_words(ended.stderr or ended.stdout)
        return ReturnsVerdict(COULD_NOT_JUDGE, (f"the trainings did not run: {said}",), report)
    return of_evidence(adapter.name, entries, chosen, report)


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
    fraction = verdict.get("effect_fraction")
    effect = f", {fraction:+.0%} of the stored returns' scale" if fraction is not None else ""
    seen = verdict["visible_fraction"]
    sees = "no drop can be seen" if seen is None else f"sees a drop of {seen:.0%} with 80 % power"
    return f"{name}: {verdict['verdict']}{effect}; {verdict['new_seeds']} new runs; {sees}"
