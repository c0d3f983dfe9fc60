"""``rlregress gate --from A --to B``: one verdict, one report."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.tracing import explain
from rlregress.upgrade.gate import OfFramework, Options, Upgrade, run
from rlregress.upgrade.stages import Moved, Traced

#: where GitHub Actions shows a summary.
_PLATFORM_SUMMARY = "GITHUB_STEP_SUMMARY"
_SENTENCES = {
    "unchanged": "nothing changed on what was traced",
    "changed": "something changed, and no training has judged it",
    "holds": "something changed, and the returns hold",
    "regressed": "something changed, and returns regressed",
    "inconclusive": "something changed, and the returns cannot tell",
    "could not judge": "something changed, and the trainings could not be judged",
}


def lines(found: Upgrade) -> list[str]:
    """The report as Markdown."""
    a, b = found.a.wanted.text, found.b.wanted.text
    text = [f"# {a} -> {b}: {found.verdict}", "", f"{_SENTENCES[found.verdict].capitalize()}.", ""]
    for of in found.frameworks:
        text += _framework(of)
    if found.physics:
        text += _physics(found.physics)
    return text


def _framework(of: OfFramework) -> list[str]:
    one, other = of.versions
    changed = [f"{name} {one[name]} -> {v}" for name, v in other.items() if one.get(name) != v]
    text = [f"## {of.adapter.title}", "", "; ".join(changed) or "The same versions.", ""]
    if of.details:
        text += ["### Details that are not done alike", ""]
        text += [f"- `{d.id}` [{d.scope}]: {d.a} -> {d.b}. {d.consequence}" for d in of.details]
        text.append("")
    text += ["### Traces", ""]
    for traced in of.traced:
        text += _traced(of, traced)
    if of.returns is not None:
        text += ["### Returns of side B", "", f"{of.returns.verdict}", ""]
        text += [f"    {line}" for line in of.returns.lines]
    return text


def _traced(of: OfFramework, traced: Traced) -> list[str]:
    reached = of.reached.get(traced.algorithm)
    covered = ""
    if reached is not None and reached.shares:
        shares = " and ".join(
            f"{share:.0%} on side {side}" for side, share in reached.shares.items()
        )
        covered = f"; lines reached: {shares}"
    text = [f"**{traced.algorithm}: {traced.comparison.verdict}**{covered}", ""]
    for side, failure in traced.failures.items():
        text.append(f"    side {side} ended in an error: {failure.strip().splitlines()[-1]}")
    text += [f"    {note}" for note in traced.notes]
    text += [f"    {line}" for line in explain.comparison(traced.comparison, traced.a, traced.b)]
    named = _explained(of, traced)
    if named:
        text.append(f"    explained by: {named}")
    return [*text, ""]


def _explained(of: OfFramework, traced: Traced) -> str:
    """The changed details of the algorithm, where its trace has parted."""
    if traced.comparison.verdict != "diverged":
        return ""
    families = (
        {traced.algorithm, "gae", "replay"} if traced.algorithm == "ppo" else {traced.algorithm}
    )
    return "; ".join(
        f"{d.id}: {d.a} -> {d.b}" for d in of.details if d.id.partition(".")[0] in families
    )


def _physics(moved: list[Moved]) -> list[str]:
    text = ["## Physics", "", "Fixed actions on both sides:", ""]
    same = [m.environment for m in moved if m.step is None and not m.note]
    text += [
        f"- {m.environment}: moves from step {m.step}, by {m.at_first:.3g} at first and "
        f"{m.largest:.3g} at most{f' ({m.note})' if m.note else ''}"
        for m in moved
        if m.step is not None
    ]
    text += [f"- {m.environment}: {m.note}" for m in moved if m.step is None and m.note]
    if same:
        text.append(f"- the same to the bit: {', '.join(same)}")
    return [*text, ""]


def as_json(found: Upgrade) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "from": found.a.wanted.text,
        "to": found.b.wanted.text,
        "verdict": found.verdict,
        "exit_code": found.exit_code,
        "frameworks": {of.adapter.name: _plain(of) for of in found.frameworks},
        "physics": [asdict(moved) for moved in found.physics],
    }


def _plain(of: OfFramework) -> dict[str, Any]:
    return {
        "versions": [dict(versions) for versions in of.versions],
        "details": [asdict(detail) for detail in of.details],
        "returns": asdict(of.returns) | {"report": str(of.returns.report)} if of.returns else None,
        "traces": {
            traced.algorithm: {
                "verdict": traced.comparison.verdict,
                "events": traced.comparison.compared,
                "repeats": traced.repeats,
                "failures": dict(traced.failures),
                "first": _first(traced),
                "reached": asdict(of.reached[traced.algorithm]),
            }
            for traced in of.traced
        },
    }


def _first(traced: Traced) -> dict[str, Any] | None:
    first = traced.comparison.first
    if first is None:
        return None
    return {
        "kind": first.kind,
        "part": first.part,
        "ratio": first.ratio,
        "a": first.a.place if first.a else None,
        "b": first.b.place if first.b else None,
        "functions": [event.function if event else None for event in (first.a, first.b)],
    }


def write(found: Upgrade, folder: Path) -> None:
    """Write ``upgrade.md`` and ``upgrade.json``, and the summary where the platform shows it."""
    text = "\n".join(lines(found))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "upgrade.md").write_text(text + "\n", encoding="utf-8")
        data = json.dumps(as_json(found), indent=1, default=str)
        (folder / "upgrade.json").write_text(data, encoding="utf-8")
        if os.environ.get(_PLATFORM_SUMMARY):
            with Path(os.environ[_PLATFORM_SUMMARY]).open("a", encoding="utf-8") as summary:
                summary.write(text + "\n")
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def judge(options: Options) -> int:
    """Run the gate, print and write its report; the exit code."""
    found = run(options)
    write(found, options.report)
    options.say("")
    for line in lines(found):
        options.say(line)
    options.say(f"verdict {found.a.wanted.text} -> {found.b.wanted.text}: {found.verdict}")
    return found.exit_code
