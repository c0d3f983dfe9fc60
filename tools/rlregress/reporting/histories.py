"""``rlregress histories``: what the gate said of real releases, as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlregress import frameworks
from rlregress.reporting.upgrade_data import as_json
from rlregress.training.record import write_atomically
from rlregress.upgrade import changes, gate, histories, making
from rlregress.upgrade.changes import Pair
from rlregress.upgrade.histories import OUTCOMES, Judged


def run(names: Sequence[str], only: Sequence[str], workers: int, say: making.Say) -> None:
    """Judge what has no result yet, framework after framework, and say what came of each pair."""
    for name in names:
        kept = making.cache() / "histories"
        for row in histories.run(name, _judge(name, workers, kept, say), only, say):
            for line in _pair(row):
                say(line)


def _judge(name: str, workers: int, kept: Path, say: making.Say) -> histories.Judge:
    package = frameworks.get(name).packages[0]

    def judge(pair: Pair) -> Mapping[str, Any]:
        options = gate.Options(
            a=" ".join([f"{package}=={pair.before}", *pair.requires]),
            b=" ".join([f"{package}=={pair.release}", *pair.requires]),
            report=kept / "report",
            frameworks=[name],
            returns=False,
            workers=workers,
            keep=kept,
            say=lambda line: say(f"  {line}"),
        )
        found = as_json(gate.run(options))
        path = kept / f"{name}-{pair.release}.json"
        write_atomically(path, json.dumps(found, indent=1))
        return found

    return judge


def _pair(row: Judged) -> Iterator[str]:
    yield f"{row.before} -> {row.release}: {row.headline} ({row.seconds:.0f} s)"
    for seen in row.changes:
        by = f": {seen.by}" if seen.by else ""
        yield f"  {seen.outcome}: {seen.id}{by}"


def lines(names: Sequence[str]) -> list[str]:
    """The table, from what is kept."""
    text: list[str] = []
    for name in names:
        rows = histories.load(name)
        published = changes.pairs(name)
        text += [f"## {frameworks.get(name).title}", ""]
        text += [f"{len(rows)} of {len(published)} pairs of neighbouring releases judged.", ""]
        text += [*_counts(rows), "", *(line for row in rows for line in _row(row)), ""]
    return text


def _counts(rows: Sequence[Judged]) -> list[str]:
    counted = Counter(seen.outcome for row in rows for seen in row.changes)
    total = sum(counted.values())
    if not total:
        return ["No change in scope was judged."]
    text = ["| changes in scope | | share |", "|---|---|---|"]
    text += [f"| {name} | {counted[name]} | {counted[name] / total:.0%} |" for name in OUTCOMES]
    healthy = [row for row in rows if row.healthy]
    red = [row for row in healthy if row.red]
    text += ["", f"Pairs without a known change: {len(healthy)}, called changed: {len(red)}."]
    return text


def _row(row: Judged) -> Iterator[str]:
    yield f"- {row.before} -> {row.release}: {row.headline} ({row.seconds:.0f} s)"
    for seen in row.changes:
        by = f" (`{seen.by}`)" if seen.by else ""
        yield f"  - {seen.outcome}: {seen.id}{by}"
