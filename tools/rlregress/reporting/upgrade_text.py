"""What ``rlregress gate --from A --to B`` has found, as Markdown: first what was not asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rlregress.model.verdict import COULD_NOT_JUDGE, HOLDS, IMPROVED, INCONCLUSIVE, MOVED, REGRESSED
from rlregress.reporting import causes, tables
from rlregress.reporting.words import counted
from rlregress.tracing import explain
from rlregress.upgrade import coverage, explained
from rlregress.upgrade.coverage import DIVERGED, STATES, Reach
from rlregress.upgrade.explained import Finding
from rlregress.upgrade.fingerprints import (
    ABSENT,
    ERROR,
    FRAMEWORK,
    NO_PROBE,
    PACKAGE,
    SUITE,
    UNKNOWN_CODE,
    ChangedDetail,
    Details,
    NotAsked,
)
from rlregress.upgrade.functions import Changed
from rlregress.upgrade.physics import Moved
from rlregress.upgrade.proof import Proof
from rlregress.upgrade.result import (
    AS_DOCUMENTED,
    AS_FAR,
    CHANGED,
    UNCHANGED,
    UNDOCUMENTED,
    OfFramework,
    OfScript,
    Upgrade,
)
from rlregress.upgrade.search import Cause
from rlregress.upgrade.traced import NotTraced, Traced

_SENTENCES = {
    UNCHANGED: "everything was asked of both sides, and nothing changed",
    AS_FAR: "nothing changed in what was asked; what was not is listed first",
    CHANGED: "something changed, and its effect on returns was not measured",
    AS_DOCUMENTED: "what changed is documented to change",
    HOLDS: "something changed, and the returns hold",
    IMPROVED: "something changed, and the returns improved",
    MOVED: "something changed, and returns hold while what the framework logs has moved",
    REGRESSED: "returns regressed, or documented behaviour is violated",
    INCONCLUSIVE: "something changed, and the returns cannot tell whether it matters",
    COULD_NOT_JUDGE: "too much could not be asked for a verdict",
}  #: why a probe gave no answer, in words
WHY = {
    PACKAGE: "a package that it needs is missing",
    ABSENT: "the framework has no such feature",
    UNKNOWN_CODE: "the probe does not know the code of that version",
    NO_PROBE: "there is no probe for that version",
    SUITE: "this suite's own probe does not fit that version",
    FRAMEWORK: "the framework raised an error",
    ERROR: "the probe ended in an error",
}
#: entries of one list that the report shows.
_SHOWN = 12
#: functions that the report lists of one kind; the data hold all of them.
_LISTED = 40


def lines(result: Upgrade) -> list[str]:
    """The report as Markdown."""
    a, b = result.a.requested.text, result.b.requested.text
    text = [f"# {a} -> {b}: {headline(result)}", "", f"{sentence(result).capitalize()}.", ""]
    if not result.frameworks and result.script is None:
        named = ", ".join(sorted(result.pinned)) or "none"
        said = "None of the packages that differ is needed by a framework, and nothing was run"
        return [*text, f"{said}: {named}."]
    text += [*_summary(result), "", *_not_asked(result), *_table(result), ""]
    text += _sides(result)
    for of in result.frameworks:
        text += _framework(of)
    if result.script is not None:
        text += ["## Script", "", *_script(result.script)]
    if result.physics:
        text += _physics(result.physics)
    return [line for n, line in enumerate(text) if line or n == 0 or text[n - 1]]


def last_lines(result: Upgrade, folder: Path) -> list[str]:
    """Where the report is, and the verdict."""
    unreached = ", which also lists what the traces did not reach," if result.traced else ""
    return [
        f"report: {folder} (upgrade.html, upgrade.md{unreached} and upgrade.json)",
        f"verdict {result.a.requested.text} -> {result.b.requested.text}: {headline(result)}",
    ]


def headline(result: Upgrade) -> str:
    """The verdict; how much was asked, if not everything; and which trainings only round."""
    rounded = [t.name for t in result.traced if t.comparison.verdict == "close" and t.repeats]
    rounding = f"; rounding in {some(rounded)}" if rounded else ""
    return _verdict(result) + rounding


def _verdict(result: Upgrade) -> str:
    open_ = [(name, tally) for name, tally in result.tallies.items() if not tally.whole]
    if result.verdict in (UNCHANGED, REGRESSED) or not open_:
        return result.verdict
    counts = ", ".join(f"{tally} {name}" for name, tally in open_)
    if result.verdict in (AS_FAR, COULD_NOT_JUDGE):
        return f"{result.verdict} ({counts})"
    return f"{result.verdict} (asked: {counts})"


def sentence(result: Upgrade) -> str:
    """What the verdict means, here."""
    proved = result.traced and all(traced.proved for traced in result.traced)
    if result.verdict == CHANGED and proved:
        return (
            "every training that was traced does the same on both sides; something else changed, "
            "see below, and concerns you if you use it"
        )
    if not result.frameworks and result.script is None:
        return "nothing was asked: nothing that differs concerns a framework"
    violated = [d.id for of in result.frameworks for d in of.violated]
    if violated:
        return f"documented behaviour is violated: {', '.join(dict.fromkeys(violated))}"
    return _SENTENCES[result.verdict]


def _summary(result: Upgrade) -> list[str]:
    """One line for each kind of question."""
    words = Counter(traced.word for traced in result.traced)
    traces = [f"{count} {word}" for word, count in words.items()]
    same = sum(len(of.same_code) for of in result.frameworks)
    traces += [f"{same} need none: they run no code that differs"] if same else []
    text = [f"- traces: {', '.join(traces) or 'none'}"]
    for of in result.frameworks:
        details = of.details
        text.append(
            f"- {of.title}: of {details.all} details {details.alike} asked and alike, "
            f"{len(details.changed)} asked and different, {len(details.not_asked)} not asked"
            f"{_absent(details)}; {counted(len(of.defaults), 'changed default')}"
        )
        if of.reach:
            states = Counter(each.state for each in of.reach)
            counts = ", ".join(f"{states[s]} {s}" for s in STATES if states[s])
            text.append(f"- functions whose code differs, {len(of.reach)}: {counts}")
        if of.proof is not None:
            text.append(f"- {proof_sentence(of.proof)}")
    if result.physics:
        moved = sum(m.moves for m in result.physics)
        text.append(f"- physics: {moved} of {len(result.physics)} environments differ")
    return text


def _absent(details: Details) -> str:
    """Details that the tally leaves out, as neither side has what they ask about."""
    if not details.absent:
        return ""
    reasons = dict.fromkeys(each.text.partition(": ")[2] for each in details.absent)
    return f" ({len(details.absent)} more are of what neither side has: {some(list(reasons), 3)})"


# -- what was not asked ----------------------------------------------------------------------------


def _not_asked(result: Upgrade) -> list[str]:
    text: list[str] = []
    for of in result.frameworks:
        text += _details_not_asked(of)
        gaps = [each for each in of.not_traced if each.counts]
        if gaps:
            text += [f"{of.title}: trainings that could not be compared:", ""]
            text += [*(f"- {each}" for each in gaps), ""]
        if of.unreached:
            text += [
                f"{of.title}: changed functions that no training or probe has called:",
                "",
                *_reach_lines(near(of), _LISTED),
                "",
            ]
        if of.unread:
            text += ["Defaults that could not be compared:", ""]
            text += [*(f"- {each}" for each in of.unread), ""]
    if result.script is not None and isinstance(result.script.held, NotTraced):
        text += ["The script could not be compared:", "", f"- {result.script.held}", ""]
    missing = [m for m in result.physics if m.missing]
    if missing:
        text += ["Environments that could not be compared:", ""]
        text += [f"- {m.environment}: not on side {m.missing}: {m.note}" for m in missing]
        text.append("")
    return ["## Not asked", "", *text] if text else []


def near(of: OfFramework) -> list[Reach]:
    """Functions that nothing has reached: those whose class or file is used first."""
    own = of.module
    return sorted(
        of.unreached,
        key=lambda each: (
            not each.algorithms,
            not each.function.file.startswith(f"{own}/"),
            each.function.key,
        ),
    )


def _details_not_asked(of: OfFramework) -> list[str]:
    """By reason: many details have one."""
    groups: dict[tuple[str, str, str], list[NotAsked]] = {}
    for each in of.details.not_asked:
        kind = each.whose if each.why == ERROR and each.whose in (SUITE, FRAMEWORK) else each.why
        groups.setdefault((kind, each.side, each.text), []).append(each)
    if not groups:
        return []
    text = [f"{of.title}: {len(of.details.not_asked)} of {of.details.all} details:", ""]
    for (kind, side, said), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = some([f"`{each.id}` [{each.scope}]" for each in group], 4)
        place = f" ({group[0].place})" if group[0].place else ""
        text.append(f"- {len(group)} on side {side}, {WHY[kind]}: {said}{place}: {names}")
    return [*text, ""]


def some(names: Sequence[str], shown: int = _SHOWN) -> str:
    """The first of some names, and how many more there are."""
    rest = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + rest


# -- the table and the sides -----------------------------------------------------------------------


def _table(result: Upgrade) -> list[str]:
    rows = tables.head("framework", "training", "trace", "events", "lines run")
    for of in result.frameworks:
        shown = [t for t in of.traced if t.plain or t.comparison.verdict != "equal"]
        rows += [_row(of.title, traced) for traced in shown]
        rest = [t for t in of.traced if t not in shown]
        if rest:
            events = sum(t.comparison.compared for t in rest)
            rows.append(tables.row(of.title, counted(len(rest), "scenario"), "equal", events, ""))
        if of.same_code:
            count = len(of.same_code)
            rows.append(tables.row(of.title, f"{count} more", "run no code that differs", "", ""))
        elif not of.traced and result.script is None:
            rows.append(tables.row(of.title, "none", "no training on both sides", 0, ""))
    if result.script is not None and isinstance(result.script.held, Traced):
        rows.append(_row("script", result.script.held))
    return rows


def _row(owner: str, traced: Traced) -> str:
    share = coverage.share(traced.b)
    said = f"{share:.0%}" if share is not None else "not measured"
    return tables.row(owner, traced.name, traced.word, traced.comparison.compared, said)


def _sides(result: Upgrade) -> list[str]:
    text = [line.strip() for side in (result.a, result.b) for line in side.lines]
    text = [f"- {line}" for line in text]
    differing = [f"{name} {one} -> {other}" for name, (one, other) in result.differing.items()]
    if differing:
        text.append(f"- on both sides, in other versions: {', '.join(differing)}")
    return ["## Sides", "", *text, ""]


# -- one framework ---------------------------------------------------------------------------------


def _framework(of: OfFramework) -> list[str]:
    one, other = of.versions
    versions = [f"{name} {one.get(name)} -> {v}" for name, v in other.items() if one.get(name) != v]
    text = [f"## {of.title}: {of.verdict}", ""]
    text += ["; ".join(versions) or "The same versions.", ""]
    text += _details(of)
    if of.defaults:
        text += ["### Defaults", "", *(f"- {default}" for default in of.defaults), ""]
    if of.traced:
        text += ["### Traces", ""]
    changed = of.details.changed
    told = [t for t in of.traced if t.comparison.verdict != "equal" or t.plain]
    for group in causes.together(told, of.causes, changed):
        text += _traced(group[0], of.causes.get(group[0].name), changed, of.differences)
        if len(group) > 1:
            names = ", ".join(traced.name for traced in group[1:])
            text += [f"{causes.others(group)}: {names}.", ""]
    equal = [t.name for t in of.traced if t.comparison.verdict == "equal" and not t.plain]
    if equal:
        text += [f"Equal to the bit: {', '.join(equal)}.", ""]
    if of.same_code:
        said = "Not traced, as they run no code that differs between the sides"
        text += [f"{said}: {', '.join(of.same_code)}.", ""]
    absent = [each for each in of.not_traced if not each.counts]
    if absent:
        text += ["Not offered on one side, or on both:", ""]
        text += [*(f"- {each}" for each in absent), ""]
    rest = [each for each in of.reach if each not in of.unreached]
    beside = {
        "with which none of the suite's algorithms trains or is evaluated": of.beside,
        "that only one side has, and that only changed code can call": of.new,
    }
    text += _reach(rest, beside)
    if of.proof is not None:
        text += _proof(of.proof)
    if of.returns is not None:
        text += ["### Returns of side B", "", of.returns.verdict, ""]
        text += [f"    {line}" for line in of.returns.lines]
        text.append("")
    return text


def _details(of: OfFramework) -> list[str]:
    details = of.details
    if not details.changed:
        said = f"All {details.alike} details that both sides were asked are done alike."
        return [said if details.alike else "No detail could be asked of both sides.", ""]
    counts = f"{len(details.changed)} of {details.asked} asked"
    text = [f"### Details that are done differently ({counts})", ""]
    changed = [each.function for each in of.reach]
    for finding in explained.findings(details.changed, changed):
        text += _finding(of, finding)
    return [*text, ""]


def _finding(of: OfFramework, finding: Finding) -> list[str]:
    """Changed details with one cause are one finding."""
    text = []
    for d in finding.details:
        stands = of.standing.get((d.id, d.scope), UNDOCUMENTED)
        said = of.documented.get((d.id, d.scope), ())
        text.append(f"- `{d.id}` [{d.scope}]: {d.words} ({stands}). {d.consequence}")
        text += [f"  - {row}" for row in d.numbers()]
        text += [f"  - documented: {'; '.join(said)}"] if said else []
    shown = finding.functions[:2]
    for function in shown:
        text += [f"  - differs: `{function}`", ""]
        text += [f"        {row}" for row in of.differences.get(function, ())]
        text.append("")
    return text


def _traced(
    traced: Traced,
    cause: Cause | None,
    details: Sequence[ChangedDetail],
    differences: Mapping[Changed, Sequence[str]],
) -> list[str]:
    text = [f"**{traced.name}: {traced.word}**", ""]
    text += [f"    {note}" for note in traced.notes]
    text += [f"    {line}" for line in explain.comparison(traced.comparison, traced.a, traced.b)]
    text += [f"    {line}" for line in causes.lines(cause, details)]
    if cause is not None and cause.functions:
        text += ["", *(f"        {row}" for row in differences.get(cause.functions[0], ()))]
    return [*text, ""]


def _script(result: OfScript) -> list[str]:
    if isinstance(result.held, NotTraced):
        return [f"{result.held}", ""]
    text = _traced(result.held, result.causes.get(result.held.name), (), result.differences)
    text += _reach(result.reach, {"that the script does not call": result.beside})
    return text if result.proof is None else [*text, *_proof(result.proof)]


def _reach(reach: Sequence[Reach], beside: Mapping[str, int]) -> list[str]:
    more = [f"- {count} more {what}" for what, count in beside.items() if count]
    if not reach and not more:
        return []
    return ["### Functions whose code differs", "", *_reach_lines(reach, _LISTED), *more, ""]


def _reach_lines(reach: Sequence[Reach], shown: int) -> list[str]:
    text = []
    for each in reach[:shown]:
        by = some(each.diverged if each.state == DIVERGED else each.trainings, 4)
        asked = by or some(each.details, 3)
        text.append(
            f"- `{each.function}` ({each.function.how}): {each.state}{asked and ': '}{asked}"
        )
        text += [f"  - line {branch.line}: {branch.said}" for branch in each.one_way[:_SHOWN]]
        text += [f"  - {hint}" for hint in each.hints]
    rest = Counter(each.function.file for each in reach[shown:])
    if rest:
        files = some([f"{file} ({count})" for file, count in rest.most_common()])
        text.append(f"- and {sum(rest.values())} more, in {files}")
    return text


def proof_sentence(proof: Proof) -> str:
    """How many seeded faults would have been seen."""
    return (
        f"of {counted(proof.faults, 'fault')} seeded into "
        f"{counted(proof.functions, 'changed function')} "
        f"{len(proof.seen)} would have been seen ({proof.share:.0%})"
    )


def _proof(proof: Proof) -> list[str]:
    text = ["### Proof", "", f"{proof_sentence(proof).capitalize()}.", ""]
    for said, faults in (
        ("Would not have been seen, because no training runs the line", proof.not_run),
        ("Run, and would not have been seen", proof.unseen),
    ):
        if faults:
            text += [f"{said}:", "", *(f"- `{fault}`" for fault in faults), ""]
    if proof.misfits:
        text += ["Could not be seeded, and do not count:", ""]
        text += [*(f"- {each}" for each in proof.misfits), ""]
    return text


def _physics(moved: Sequence[Moved]) -> list[str]:
    text = ["## Physics", "", "The same seeds and actions on both sides:", ""]
    text += [
        f"- {m.environment}: differs from step {m.step} on, by {m.at_first:.3g} at first and "
        f"{m.largest:.3g} at most{f' ({m.note})' if m.note else ''}"
        for m in moved
        if m.step is not None
    ]
    for said, names in (
        ("the same to the bit", [m.environment for m in moved if not m.moves and not m.note]),
        ("on neither side", [m.environment for m in moved if m.note == "on neither side"]),
    ):
        if names:
            text.append(f"- {said}: {', '.join(names)}")
    return [*text, ""]


def not_reached(result: Upgrade) -> list[str]:
    """What equal traces say nothing about: lines, and what went one way only."""
    text: list[str] = []
    missed = coverage.missed(result.traced)
    if missed:
        text += [
            "## What the traces did not reach",
            "",
            "Lines of side B in functions that differ and that the trainings enter, of a script in",
            "all that it enters; equal traces say nothing about them:",
            "",
        ]
        for file, numbers in missed.items():
            text.append(f"- `{file}` {some(coverage.ranges(numbers).split(', '))}")
        text.append("")
    one_way = coverage.Reached({t.name: t.b for t in result.traced}).one_way()
    if one_way:
        text += ["## Branches taken one way only", "", "Branches, clamps and masks of side B:", ""]
        text += [f"- `{branch.file}:{branch.line}` {branch.said}" for branch in one_way]
        text.append("")
    return text
