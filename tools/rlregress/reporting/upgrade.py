"""``rlregress gate --from A --to B``: one verdict, one report."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.tracing import explain
from rlregress.upgrade import concerned, explained, gate
from rlregress.upgrade import found as verdicts
from rlregress.upgrade.fingerprints import NO_PROBE, PACKAGE, UNKNOWN_CODE, OneSided
from rlregress.upgrade.found import OfFramework, Upgrade
from rlregress.upgrade.gate import Options
from rlregress.upgrade.stages import Moved, Traced

#: where GitHub Actions shows a summary.
_PLATFORM_SUMMARY = "GITHUB_STEP_SUMMARY"
_SENTENCES = {
    verdicts.UNCHANGED: "nothing changed in what was asked and traced",
    verdicts.CHANGED: "something changed, and no training has judged it",
    verdicts.HOLDS: "something changed, and the returns hold",
    verdicts.IMPROVED: "something changed, and the returns improved",
    verdicts.REGRESSED: "something changed, and returns regressed",
    verdicts.INCONCLUSIVE: "something changed, and the returns cannot tell",
    verdicts.COULD_NOT_JUDGE: "not everything could be judged",
}
_WHY = {
    PACKAGE: "a package of others is missing there; no change of the framework",
    UNKNOWN_CODE: "the code there is none that the probe knows; the traces decide",
    NO_PROBE: "there is no such probe there; counted as a change",
    "error": "the probe ended in an error there; counted as a change",
}
#: ranges of lines that the report shows of one file.
_SHOWN_RANGES = 12


def lines(found: Upgrade) -> list[str]:
    """The report as Markdown."""
    a, b = found.a.wanted.text, found.b.wanted.text
    text = [f"# {a} -> {b}: {found.verdict}", "", f"{_SENTENCES[found.verdict].capitalize()}.", ""]
    text += [f"- {sentence}" for of in found.frameworks for sentence in of.failed]
    if not found.frameworks:
        named = ", ".join(sorted(concerned.changed(found.a.wanted, found.b.wanted))) or "none"
        said = "No package that differs is one that a framework stands on, and nothing was run"
        return [*text, f"{said}: {named}."]
    text += ["", *_table(found), ""]
    text += _sides(found)
    for of in found.frameworks:
        text += _framework(of)
    if found.physics:
        text += _physics(found.physics)
    text += _reached(found.frameworks)
    return [line for n, line in enumerate(text) if line or n == 0 or text[n - 1]]


def _table(found: Upgrade) -> list[str]:
    rows = ["| framework | algorithm | trace | events | lines reached, A and B |", "|" + "---|" * 5]
    for of in found.frameworks:
        for traced in of.traced:
            word = "ended in an error" if traced.failures else traced.comparison.verdict
            if not traced.repeats and not traced.failures:
                word = f"{word}, but does not repeat itself"
            shares = of.reached[traced.algorithm].shares
            share = " and ".join(f"{share:.0%}" for share in shares.values()) or "not measured"
            rows.append(
                f"| {of.adapter.title} | {traced.algorithm} | {word} "
                f"| {traced.comparison.compared} | {share} |"
            )
        if not of.traced:
            rows.append(f"| {of.adapter.title} | none | no training on both sides | 0 | |")
    return rows


def _sides(found: Upgrade) -> list[str]:
    text = [line.strip() for side in (found.a, found.b) for line in side.lines]
    text = [f"- {line}" for line in text]
    differing = [f"{name} {one} -> {other}" for name, (one, other) in found.differing.items()]
    if differing:
        text.append(f"- on both sides, in other versions: {', '.join(differing)}")
    return ["## Sides", "", *text, ""]


def _framework(of: OfFramework) -> list[str]:
    one, other = of.versions
    versions = [f"{name} {one[name]} -> {v}" for name, v in other.items() if one.get(name) != v]
    counts = " and ".join(str(n) for n in dict.fromkeys(of.asked))
    text = [f"## {of.adapter.title}", "", "; ".join(versions) or "The same versions.", ""]
    if of.details:
        text += [f"### Details that are not done alike ({len(of.details)} of {counts})", ""]
        text += [f"- `{d.id}` [{d.scope}]: {d.a} -> {d.b}. {d.consequence}" for d in of.details]
    else:
        text.append(f"All {counts} details that both sides were asked are done alike.")
    text += ["", *_alone(of.alone)]
    text += ["### Traces", ""]
    for traced in of.traced:
        text += _traced(of, traced)
    if of.returns is not None:
        text += ["### Returns of side B", "", of.returns.verdict, ""]
        text += [f"    {line}" for line in of.returns.lines]
        text.append("")
    return text


def _alone(alone: Sequence[OneSided]) -> list[str]:
    if not alone:
        return []
    text = ["### Details that only one side could be asked", ""]
    for why in dict.fromkeys(one.why for one in alone):
        chosen = [one for one in alone if one.why == why]
        text.append(f"{_WHY[why].capitalize()}:")
        text.append("")
        text += [f"- `{d.id}` [{d.scope}], not on side {d.side}: {d.text}" for d in chosen]
        text.append("")
    return text


def _traced(of: OfFramework, traced: Traced) -> list[str]:
    text = [f"**{traced.algorithm}: {traced.comparison.verdict}**", ""]
    if traced.failures:
        text[0] = f"**{traced.algorithm}: ended in an error**"
        text += [f"    {sentence}" for sentence in traced.failed]
    text += [f"    {note}" for note in traced.notes]
    text += [f"    {line}" for line in explain.comparison(traced.comparison, traced.a, traced.b)]
    named = explained.words(_links(of, traced))
    if named:
        text.append(f"    {named}")
    return [*text, ""]


def _links(of: OfFramework, traced: Traced) -> list[explained.Link]:
    if traced.comparison.verdict == "equal":
        return []
    return explained.links(of.adapter, traced.algorithm, of.details, traced.comparison.first)


def _physics(moved: Sequence[Moved]) -> list[str]:
    text = ["## Physics", "", "The same seeds and actions on both sides:", ""]
    text += [
        f"- {m.environment}: moves from step {m.step}, by {m.at_first:.3g} at first and "
        f"{m.largest:.3g} at most{f' ({m.note})' if m.note else ''}"
        for m in moved
        if m.step is not None
    ]
    text += [f"- {m.environment}: not on side {m.missing}: {m.note}" for m in moved if m.missing]
    for said, names in (
        ("the same to the bit", [m.environment for m in moved if not m.moves and not m.note]),
        ("on neither side", [m.environment for m in moved if not m.moves and m.note]),
    ):
        if names:
            text.append(f"- {said}: {', '.join(names)}")
    return [*text, ""]


def _reached(frameworks: Sequence[OfFramework]) -> list[str]:
    """What equal traces say nothing about."""
    text = ["## What the traces did not reach", ""]
    text.append("Lines of side B, in functions that the trainings enter; equal traces say nothing")
    text += ["about them:", ""]
    some = False
    for of in frameworks:
        for algorithm, reached in of.reached.items():
            for file, ranges in reached.missed.items():
                shown = ranges.split(", ")
                rest = len(shown) - _SHOWN_RANGES
                more = f" and {rest} more" if rest > 0 else ""
                text.append(f"- {algorithm}: `{file}` {', '.join(shown[:_SHOWN_RANGES])}{more}")
                some = True
    return [*text, ""] if some else []


def as_json(found: Upgrade) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "from": found.a.wanted.text,
        "to": found.b.wanted.text,
        "verdict": found.verdict,
        "exit_code": found.exit_code,
        "sides": {
            side.side.label: {"how": side.how, "because": side.why, "although": side.notes}
            for side in (found.a, found.b)
        },
        "versions": found.differing,
        "frameworks": {of.adapter.full_name: _plain(of) for of in found.frameworks},
        "physics": [asdict(moved) for moved in found.physics],
    }


def _plain(of: OfFramework) -> dict[str, Any]:
    returns = None
    if of.returns is not None:
        returns = {"verdict": of.returns.verdict, "lines": of.returns.lines}
    return {
        "verdict": of.verdict,
        "versions": [dict(versions) for versions in of.versions],
        "details": [asdict(detail) for detail in of.details],
        "one_sided": [{**asdict(one), "counts": one.counts} for one in of.alone],
        "returns": returns,
        "traces": {
            traced.algorithm: {
                "verdict": traced.comparison.verdict,
                "events": traced.comparison.compared,
                "repeats": traced.repeats,
                "failures": dict(traced.failures),
                "first": _first(traced),
                "details": [
                    {"id": link.detail.id, "scope": link.detail.scope, "sure": link.sure}
                    for link in _links(of, traced)
                ],
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
        (folder / "upgrade.json").write_text(data + "\n", encoding="utf-8")
        if os.environ.get(_PLATFORM_SUMMARY):
            with Path(os.environ[_PLATFORM_SUMMARY]).open("a", encoding="utf-8") as summary:
                summary.write(text + "\n")
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def clear(folder: Path) -> None:
    """Remove an earlier report, so that nothing of it is taken for this one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("upgrade.md", "upgrade.json"):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def judge(options: Options) -> int:
    """Run the gate, print and write its report; the exit code."""
    clear(options.report)
    found = gate.run(options)
    write(found, options.report)
    options.say("")
    for line in lines(found):
        options.say(line)
    options.say(f"report: {options.report} (upgrade.md, upgrade.json)")
    options.say(f"verdict {found.a.wanted.text} -> {found.b.wanted.text}: {found.verdict}")
    return found.exit_code
