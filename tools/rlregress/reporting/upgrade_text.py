"""What ``rlregress upgrade A B`` has found, as Markdown: first what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rlregress.model import differences as model
from rlregress.model import explain
from rlregress.model.code import Changed
from rlregress.model.differences import Entry, Judgement
from rlregress.model.traces import NotTraced, Traced, share
from rlregress.model.upgrades import (
    ABSENT,
    ERROR,
    FRAMEWORK,
    NO_PROBE,
    PACKAGE,
    SUITE,
    UNDOCUMENTED,
    UNKNOWN_CODE,
    Cause,
    ChangedDetail,
    Details,
    Finding,
    Moved,
    NotAsked,
    OfFramework,
    OfScript,
    Proof,
    Reach,
    Upgrade,
    findings,
)
from rlregress.reporting import causes, tables
from rlregress.reporting.words import counted

#: why a probe gave no answer, in words
WHY = {
    PACKAGE: "a package that it needs is missing",
    ABSENT: "the framework has no such feature",
    UNKNOWN_CODE: "the probe does not know the code of that version",
    NO_PROBE: "there is no probe for that version",
    SUITE: "this suite's own probe does not fit that version",
    FRAMEWORK: "the framework raised an error",
    ERROR: "the probe ended in an error",
}
#: lines of a difference that the first screen shows.
_FIRST = 14
#: entries of one list that the report shows.
_SHOWN = 12
#: entries that the report lists of one state; the page and the data hold all of them.
_LISTED = 40
#: heading of the entries in a state.
TITLES = {
    model.NEVER: "Never executed",
    model.NOT_COMPARED: "Executed, but nothing of it is compared",
    model.CANNOT: "Cannot run or be read here",
    model.NEW_FAILS: "The new version fails",
    model.DIFFERS: "Differs",
    model.BEYOND: "Differs on arguments that no training gave",
    model.LOGS: "Differs in logs only",
    model.CLOSE: "Close: differs by rounding",
    model.OLD_FAILED: "The old version failed, the new one does not",
    model.ONE_WAY: "Executed, same results, some branches one way only",
    model.SAME: "Executed, same results, all branches",
    model.OUTSIDE: "Outside of training",
    model.NO_EFFECT: "No effect",
}


def lines(result: Upgrade) -> list[str]:
    """The report as Markdown."""
    a, b = result.a.text, result.b.text
    text = [f"# {a} -> {b}: {result.verdict}", "", f"{headline(result)}", ""]
    text += [*_summary(result), "", *_reasons(result)]
    text += [*_entries(result, model.UNCHECKED), *_not_probed(result)]
    text += _entries(result, model.DIFFERENT)
    text += [*_table(result), "", *_sides(result)]
    for of in result.frameworks:
        text += _framework(result, of)
    if result.script is not None:
        text += ["## Script", "", *_script(result.script)]
    if result.physics:
        text += _physics(result.physics)
    text += _entries(result, (*model.ALIKE, *model.WITHOUT_EFFECT))
    return [line for n, line in enumerate(text) if line or n == 0 or text[n - 1]]


def last_lines(result: Upgrade, folder: Path) -> list[str]:
    """Where the report is, and the verdict."""
    return [
        f"report: {folder} (upgrade.html, upgrade.md and upgrade.json, which list every entry)",
        f"verdict {result.a.text} -> {result.b.text}: {headline(result)}",
    ]


def headline(result: Upgrade) -> str:
    """The verdict, and why, in plain words."""
    return result.judgement.headline


def of_part(result: Upgrade, judgement: Judgement) -> str:
    """The headline of a framework or a script; "unchanged" is kept for the whole upgrade."""
    if judgement.verdict == model.UNCHANGED != result.verdict:
        if not judgement.coverage.all:
            return "no difference found in its details, defaults and trainings"
        return f"no difference found here{judgement.headline.removeprefix(model.UNCHANGED)}"
    return judgement.headline


def _summary(result: Upgrade) -> list[str]:
    """One line for each kind of question."""
    states = ", ".join(f"{n} {state}" for state, n in result.judgement.states.items())
    text = [f"- entries: {len(result.entries)} ({states})"]
    words = Counter(traced.word for traced in result.traced)
    traces = [f"{count} {word}" for word, count in words.items()]
    same = sum(len(of.same_code) for of in result.frameworks)
    traces += [f"{same} need none: they run no code that differs"] if same else []
    text.append(f"- traces: {', '.join(traces) or 'none'}")
    for of in result.frameworks:
        details = of.details
        text.append(
            f"- {of.title}: of {details.all} details {details.alike} are the same, "
            f"{len(details.changed)} differ, {len(details.not_asked)} could not be probed on both "
            f"sides{_absent(details)}; {counted(len(of.defaults), 'changed default')}"
        )
        if of.proof is not None:
            text.append(f"- {proof_sentence(of.proof)}")
    if result.physics:
        moved = sum(m.moves for m in result.physics)
        text.append(f"- physics: {moved} of {len(result.physics)} environments differ")
    if result.stale:
        text.append(f"- accepted entries that match nothing any more: {some(list(result.stale))}")
    return text


def _reasons(result: Upgrade) -> list[str]:
    """Why the first training of each framework, or the script, diverges: its culprit and lines."""
    text: list[str] = []
    every: list[OfFramework | OfScript] = [*result.frameworks]
    every += [result.script] if result.script is not None else []
    for of in every:
        held = of.traced if isinstance(of, OfFramework) else (of.held,)
        for traced in held:
            cause = of.causes.get(traced.name)
            if isinstance(traced, Traced) and cause is not None and cause.functions:
                function = cause.functions[0]
                others = sum(each is not traced and each.name in of.causes for each in held)
                more = f" (and {others} more)" if others else ""
                text += [f"{traced.name}{more}: {traced.word}", ""]
                first = traced.comparison.first
                text += [f"    {line}" for line in (explain.divergence(first)[:3] if first else ())]
                text += [f"    {line}" for line in causes.lines(cause, ())[:1]]
                rows = of.differences.get(function, ())
                text += [f"        {row}" for row in rows[:_FIRST]]
                if len(rows) > _FIRST:
                    text.append(f"        ... and {len(rows) - _FIRST} more lines, in upgrade.html")
                text.append("")
                break
    return ["## Why", "", *text] if text else []


def _absent(details: Details) -> str:
    """Details that the tally leaves out, as neither side has what they ask about."""
    if not details.absent:
        return ""
    reasons = dict.fromkeys(each.text.partition(": ")[2] for each in details.absent)
    return f" ({len(details.absent)} more are of what neither side has: {some(list(reasons), 3)})"


# -- the list of entries ---------------------------------------------------------------------------


def _entries(result: Upgrade, states: Iterable[str]) -> list[str]:
    """The entries in some states, those of one state under one heading."""
    text: list[str] = []
    for state in states:
        # details that could not be probed stand together, by reason
        own = [each for each in result.entries if each.state == state
               and not (each.kind == model.DETAIL and state in model.UNCHECKED)]  # fmt: skip
        if not own:
            continue
        text += [f"## {TITLES[state]} ({len(own)})", ""]
        if state in model.UNCHECKED and len(own) > _SHOWN:
            text += [*_by_file(own), ""]
            continue
        shown = _LISTED if state in model.DIFFERENT else _SHOWN
        for each in own[:shown]:
            text.append(f"- {entry_line(each)}")
            text += [f"  - {note}" for note in each.notes[:_SHOWN]]
        if len(own) > shown:
            text.append(f"- and {len(own) - shown} more, in upgrade.html and upgrade.json")
        text.append("")
    return text


def _by_file(entries: Sequence[Entry]) -> list[str]:
    """Entries that were not checked, one line for each file, those with the most first."""
    files: dict[str, list[str]] = {}
    for each in entries:
        files.setdefault(each.file or each.kind, []).append(each.short)
    rows = sorted(files.items(), key=lambda row: -len(row[1]))
    text = [f"- `{file}`: {some(names, 4)}" if names != [file] else f"- `{file}`"
            for file, names in rows[:_SHOWN]]  # fmt: skip
    if len(rows) > _SHOWN:
        left = sum(len(names) for _, names in rows[_SHOWN:])
        text.append(f"- and {left} more in {counted(len(rows) - _SHOWN, 'other file')}")
    return [*text, "- upgrade.html and upgrade.json name each, with what would execute it"]


def entry_line(each: Entry) -> str:
    """An entry in one line."""
    place = f":{each.line}" if each.kind in model.CODE and each.line else ""
    name = f"{each.file}{place} {each.short}" if place else each.name
    if each.kind == model.MODULE:
        name = each.file
    by = f"; by {some(list(each.by), 4)}" if each.by else ""
    reason = f": {each.reason}" if each.reason and each.reason != each.said else ""
    standing = f" ({each.standing})" if each.standing else ""
    accepted = f"; accepted: {each.accepted}" if each.accepted else ""
    said = f" {each.said}" if each.said and each.said != name else ""
    return f"{each.kind} `{name}`{said}{standing}{reason}{by}{accepted}"


def _not_probed(result: Upgrade) -> list[str]:
    text = [line for of in result.frameworks for line in _details_not_asked(of)]
    return ["## Details that could not be probed on both sides", "", *text] if text else []


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
        elif not of.traced and not of.not_traced and result.script is None:
            rows.append(tables.row(of.title, "none", "no training on both sides", 0, ""))
    if result.script is not None and isinstance(result.script.held, Traced):
        rows.append(_row("script", result.script.held))
    return rows


def _row(owner: str, traced: Traced) -> str:
    covered = share(traced.b)
    said = f"{covered:.0%}" if covered is not None else "not measured"
    return tables.row(owner, traced.name, traced.word, traced.comparison.compared, said)


def _sides(result: Upgrade) -> list[str]:
    text = [line.strip() for side in (result.a, result.b) for line in side.lines]
    text = [f"- {line}" for line in text]
    differing = [f"{name} {one} -> {other}" for name, (one, other) in result.differing.items()]
    if differing:
        text.append(f"- on both sides, in other versions: {', '.join(differing)}")
    return ["## Sides", "", *text, ""]


# -- one framework ---------------------------------------------------------------------------------


def _framework(result: Upgrade, of: OfFramework) -> list[str]:
    one, other = of.versions
    versions = [f"{name} {one.get(name)} -> {v}" for name, v in other.items() if one.get(name) != v]
    text = [f"## {of.title}: {of_part(result, of.judgement)}", ""]
    text += ["; ".join(versions) or "The same versions.", ""]
    text += _details(of)
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
    text += _calls(of.reach, of.differences)
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
        said = f"All {details.alike} details that could be probed on both sides are the same."
        return [said if details.alike else "No detail could be probed on both sides.", ""]
    counts = f"{len(details.changed)} of {details.asked} probed on both sides"
    text = [f"### Details that differ ({counts})", ""]
    changed = [each.function for each in of.reach]
    for finding in findings(details.changed, changed):
        text += _finding(of, finding)
    return [*text, ""]


def _finding(of: OfFramework, finding: Finding) -> list[str]:
    """Changed details with one cause are one finding."""
    text = []
    for d in finding.details:
        stands = of.standing.get((d.id, d.scope), UNDOCUMENTED)
        said = of.documented.get((d.id, d.scope), ())
        text.append(f"- `{d.id}` [{d.scope}]: {d.words} ({stands}). {d.consequence}".rstrip())
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
    text += _calls(result.reach, result.differences)
    return text if result.proof is None else [*text, *_proof(result.proof)]


def _calls(reach: Iterable[Reach], differences: Mapping[Changed, Sequence[str]]) -> list[str]:
    """Functions that differ when they are called directly, each with its lines that differ."""
    text: list[str] = []
    for each in reach:
        if each.calls is not None and each.calls.arguments:
            text += [f"- `{each.function}`: {each.calls}", ""]
            text += [*(f"        {row}" for row in differences.get(each.function, ())), ""]
    return ["### Functions that differ when they are called directly", "", *text] if text else []


def proof_sentence(proof: Proof) -> str:
    """How many seeded faults would have been detected."""
    calls = f", {len(proof.called)} of them only by direct calls" if proof.called else ""
    return (
        f"of {counted(proof.faults, 'fault')} seeded into "
        f"{counted(proof.functions, 'changed function')} "
        f"{proof.detected} would have been detected ({proof.share:.0%}){calls}"
    )


def _proof(proof: Proof) -> list[str]:
    text = ["### Proof", "", f"{proof_sentence(proof).capitalize()}.", ""]
    for said, faults in (
        ("Would not have been detected, because no training executes the line", proof.not_run),
        ("Executed, and would not have been detected", proof.unseen),
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
