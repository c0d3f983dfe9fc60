"""What ``rlregress gate --from A --to B`` has found, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rlregress.tracing import explain
from rlregress.upgrade import concerned, explained
from rlregress.upgrade import found as verdicts
from rlregress.upgrade.fingerprints import NO_PROBE, PACKAGE, UNKNOWN_CODE, OneSided
from rlregress.upgrade.found import OfFramework, Upgrade
from rlregress.upgrade.physics import Moved
from rlregress.upgrade.traced import Traced

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
    """The report as Markdown, but for what was not reached."""
    a, b = found.a.wanted.text, found.b.wanted.text
    text = [f"# {a} -> {b}: {found.verdict}", "", f"{_sentence(found).capitalize()}.", ""]
    text += [f"- {sentence}" for sentence in found.failed]
    if not found.frameworks and found.script is None:
        named = ", ".join(sorted(concerned.changed(found.a.wanted, found.b.wanted))) or "none"
        said = "No package that differs is one that a framework stands on, and nothing was run"
        return [*text, f"{said}: {named}."]
    text += ["", *_summary(found), "", *_table(found), ""]
    text += _sides(found)
    for of in found.frameworks:
        text += _framework(of)
    if found.script is not None:
        text += ["## Script", "", *_traced(found.script, explained.of_script(found))]
    if found.physics:
        text += _physics(found.physics)
    return [line for n, line in enumerate(text) if line or n == 0 or text[n - 1]]


def _sentence(found: Upgrade) -> str:
    """What the verdict means, here."""
    proved = found.traced and all(traced.proved for traced in found.traced)
    if found.verdict == verdicts.CHANGED and proved:
        return (
            "every training that was traced does the same on both sides; something else changed, "
            "see below, and concerns you if you use it"
        )
    if not found.frameworks and found.script is None:
        return "nothing was asked: nothing that differs concerns a framework"
    return _SENTENCES[found.verdict]


def _summary(found: Upgrade) -> list[str]:
    """One line for each kind of question."""
    words = Counter(traced.word for traced in found.traced)
    text = [f"- traces: {', '.join(f'{count} {word}' for word, count in words.items()) or 'none'}"]
    for of in found.frameworks:
        text.append(
            f"- {of.adapter.title}: {len(of.details)} of {max(of.asked)} details not done alike, "
            f"{len(of.defaults)} other defaults"
        )
    if found.physics:
        moved = sum(m.moves for m in found.physics)
        text.append(f"- physics: {moved} of {len(found.physics)} environments moved")
    return text


def _table(found: Upgrade) -> list[str]:
    rows = ["| framework | training | trace | events | lines reached, A and B |", "|" + "---|" * 5]
    for of in found.frameworks:
        for traced in of.traced:
            rows.append(_row(of.adapter.title, traced))
        if not of.traced and found.script is None:
            rows.append(f"| {of.adapter.title} | none | no training on both sides | 0 | |")
    if found.script is not None:
        rows.append(_row("script", found.script))
    return rows


def _row(owner: str, traced: Traced) -> str:
    shares = " and ".join(f"{share:.0%}" for share in traced.reached.shares.values())
    cells = (owner, traced.name, traced.word, traced.comparison.compared, shares or "not measured")
    return f"| {' | '.join(map(str, cells))} |"


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
        for d in of.details:
            text.append(f"- `{d.id}` [{d.scope}]: {d.a} -> {d.b}. {d.consequence}")
            said = explained.documented(of.adapter, d)
            text.append(f"  - {'documented: ' + '; '.join(said) if said else 'not documented'}")
    else:
        text.append(f"All {counts} details that both sides were asked are done alike.")
    text += ["", *_defaults(of), *_alone(of.alone)]
    text += ["### Traces", ""] if of.traced else []
    for traced in of.traced:
        text += _traced(traced, explained.of_training(of, traced))
    if of.returns is not None:
        text += ["### Returns of side B", "", of.returns.verdict, ""]
        text += [f"    {line}" for line in of.returns.lines]
        text.append("")
    return text


def _defaults(of: OfFramework) -> list[str]:
    if not of.defaults and not of.unread:
        return []
    text = ["### Defaults", ""]
    text += [f"- {d.algorithm} [{d.scope}] `{d.name}`: {d.a} -> {d.b}" for d in of.defaults]
    text += [f"- not compared, because they cannot be read on {why}" for why in of.unread]
    return [*text, ""]


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


def _traced(traced: Traced, links: Sequence[explained.Link]) -> list[str]:
    text = [f"**{traced.name}: {traced.word}**", ""]
    text += [f"    {sentence}" for sentence in traced.failed]
    text += [f"    {note}" for note in traced.notes]
    text += [f"    {line}" for line in explain.comparison(traced.comparison, traced.a, traced.b)]
    named = explained.words(links)
    if named:
        text.append(f"    {named}")
    return [*text, ""]


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


def not_reached(traced: Sequence[Traced]) -> list[str]:
    """What equal traces say nothing about."""
    missed: dict[tuple[str, str], list[str]] = {}
    for of in traced:
        for file, ranges in of.reached.missed.items():
            missed.setdefault((file, ranges), []).append(of.name)
    if not missed:
        return []
    text = ["## What the traces did not reach", ""]
    text.append("Lines of side B, in functions that the trainings enter; equal traces say nothing")
    text += ["about them:", ""]
    for (file, ranges), names in sorted(missed.items()):
        shown = ranges.split(", ")
        rest = len(shown) - _SHOWN_RANGES
        more = f" and {rest} more" if rest > 0 else ""
        text.append(f"- `{file}` {', '.join(shown[:_SHOWN_RANGES])}{more} ({', '.join(names)})")
    return [*text, ""]
