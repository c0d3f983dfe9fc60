"""What ``rlregress upgrade A B`` has found, as Markdown: first what was not checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rlregress.model import differences as model
from rlregress.model import explain
from rlregress.model.code import Changed
from rlregress.model.differences import Entry
from rlregress.model.recorded_traces import NotTraced, Traced, in_words, share
from rlregress.model.upgrade_result import (
    ABSENT,
    ERROR,
    FRAMEWORK,
    LATE,
    NO_PROBE,
    PACKAGE,
    SUITE,
    UNDOCUMENTED,
    UNKNOWN_CODE,
    Cause,
    ChangedDetail,
    Cost,
    Details,
    Finding,
    Moved,
    MutationTest,
    NotProbed,
    OfFramework,
    OfScript,
    PieceExecution,
    ScriptNames,
    Upgrade,
    findings,
)
from rlregress.reporting import causes_text, tables
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
    LATE: "the time for it was over",
}
#: lines of a difference that the first screen shows.
_FIRST = 14
#: entries of one list that the report shows.
_LISTED_SAME = 12
#: entries that the report lists of one state; the page and the data hold all of them.
_LISTED = 40
#: heading of the entries in a state.
TITLES = {
    model.NOT_COMPARED: "Executed, but nothing of it is compared",
    model.CANNOT: "Cannot run or be read here",
    model.IN_PART: "Executed in part, same results",
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
    text += [f"- not checked: {line}" for line in result.cut]
    text += [""] if result.cut else []
    text += [*_summary(result), "", *_reasons(result)]
    text += [*_not_checked(result), *_entries(result, model.INCOMPLETE), *_not_probed(result)]
    text += _entries(result, model.DIFFERENT)
    text += [*_table(result), "", *_sides(result)]
    for of in result.frameworks:
        text += _framework(result, of)
    if result.script is not None:
        text += ["## Script", "", *_script(result.script)]
    if result.physics:
        text += _physics(result.physics)
    text += _entries(result, (*model.EXECUTED_SAME, *model.WITHOUT_EFFECT))
    return [line for n, line in enumerate(text) if line or n == 0 or text[n - 1]]


def last_lines(result: Upgrade, folder: Path, width: int | None = None) -> list[str]:
    """Where the report is, what became of the user's script if there is one, and the verdict.

    Args:
        width: columns that the verdict has; None: it gives all reasons.
    """
    head = f"verdict {result.a.text} -> {result.b.text}: "
    first = f"{result.verdict}: {result.judgement.first_reason}"
    reasons = [headline(result), *([first, result.verdict] if width is not None else [])]
    fitting = (reason for reason in reasons if len(head + reason) <= (width or len(head + reason)))
    return [
        f"report: {folder / 'upgrade.html'}",
        *of_own_files(result),
        head + next(fitting, reasons[-1]),
    ]


def of_own_files(result: Upgrade) -> list[str]:
    """What became of the user's script, or of the user's file and the episodes of its agent."""
    if result.script is not None:
        held = result.script.held
        script = f" {held.name}: {held.word}" if isinstance(held, Traced) else f": {held}"
        return [f"your script{script}"]
    unplayed = {model.CANNOT: "it played no episodes"}
    named_none = "it played no episodes, as --environment names none"
    return [
        f"your file {entry.name}: {entry.state}: {entry.reason}; "
        f"{'; '.join(entry.notes) or unplayed.get(entry.state, named_none)}"
        for entry in result.entries
        if entry.kind == model.SAVED and entry.name == result.file
    ]


def headline(result: Upgrade) -> str:
    """The verdict, and why, in plain words."""
    return result.judgement.headline


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
            f"- {of.title}: of {details.all} details {details.same} are the same, "
            f"{len(details.changed)} differ, {len(details.not_probed)} could not be probed on both "
            f"versions{_absent(details)}; {counted(len(of.defaults), 'changed default')}"
        )
        if of.proof is not None:
            text.append(f"- {proof_sentence(of.proof)}")
    if result.physics:
        moved = sum(m.moves for m in result.physics)
        text.append(f"- physics: {moved} of {len(result.physics)} environments differ")
    if result.costs:
        text.append(f"- {costs_line(result.costs)}")
    if result.stale:
        text.append(f"- accepted entries that match nothing any more: {some(list(result.stale))}")
    return text


def costs_line(costs: Iterable[Cost]) -> str:
    """Return what trainings that execute changed code cost on the new version, beside the old."""
    words = "; ".join(str(cost) for cost in costs)
    return f"CPU time, new over old (a hint; rlregress check --throughput proves it): {words}"


def _reasons(result: Upgrade) -> list[str]:
    """Why trainings diverge: each culprit once, with its lines and the trainings it explains."""
    text: list[str] = []
    every: list[OfFramework | OfScript] = [*result.frameworks]
    every += [result.script] if result.script is not None else []
    for of in every:
        held = of.traced if isinstance(of, OfFramework) else (of.held,)
        explained: dict[str, list[Traced]] = {}
        for traced in held:
            sentences = causes_text.lines(of.causes.get(traced.name), ())
            if isinstance(traced, Traced) and sentences:
                explained.setdefault(sentences[0], []).append(traced)
        for sentence, trainings in explained.items():
            first = trainings[0].comparison.first
            words = ", ".join(dict.fromkeys(traced.word for traced in trainings))
            text += [f"{some([traced.name for traced in trainings], 3)}: {words}", ""]
            text += [f"    {line}" for line in (explain.divergence(first)[:3] if first else ())]
            text.append(f"    {sentence}")
            rows = of.differences.get(of.causes[trainings[0].name].functions[0], ())
            text += [f"        {row}" for row in rows[:_FIRST]]
            if len(rows) > _FIRST:
                text.append(f"        ... and {len(rows) - _FIRST} more lines, in upgrade.html")
            text.append("")
    return ["## Why", "", *text] if text else []


def _absent(details: Details) -> str:
    """Details that the tally leaves out, as neither side has what they ask about."""
    if not details.absent:
        return ""
    reasons = dict.fromkeys(missing.text.partition(": ")[2] for missing in details.absent)
    return (
        f" ({len(details.absent)} more concern what neither version has: {some(list(reasons), 3)})"
    )


# -- the list of entries ---------------------------------------------------------------------------


def _entries(result: Upgrade, states: Iterable[str]) -> list[str]:
    """The entries in some states, those of one state under one heading."""
    text: list[str] = []
    for state in states:
        # details that could not be probed stand together, by reason
        own = [entry for entry in result.entries if entry.state == state
               and not (entry.kind == model.DETAIL and state in model.UNCHECKED)]  # fmt: skip
        for title, of_title in titled(own).items():
            text += [f"## {title} ({len(of_title)})", "", *_listed(of_title, state), ""]
    return text


def titled(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Title of a list -> its entries: what never ran is listed by how far it came."""
    lists: dict[str, list[Entry]] = {}
    for entry in entries:
        title = (
            model.title_of_unexecuted(entry) if entry.state == model.NEVER else TITLES[entry.state]
        )
        lists.setdefault(title, []).append(entry)
    return lists


def _listed(entries: Sequence[Entry], state: str) -> list[str]:
    if state in model.INCOMPLETE and len(entries) > _LISTED_SAME:
        return _by_file(entries)
    text: list[str] = []
    limit = _LISTED if state in model.DIFFERENT else _LISTED_SAME
    for listed_entry in entries[:limit]:
        text.append(f"- {entry_line(listed_entry)}")
        text += [f"  - {note}" for note in listed_entry.notes[:_LISTED_SAME]]
    if len(entries) > limit:
        text.append(f"- and {len(entries) - limit} more, in upgrade.html and upgrade.json")
    return text


def _by_file(entries: Sequence[Entry]) -> list[str]:
    """Entries that were not checked, one line for each file, those with the most first."""
    files: dict[str, list[str]] = {}
    for entry in entries:
        files.setdefault(entry.file or entry.kind, []).append(entry.short)
    rows = sorted(files.items(), key=lambda row: -len(row[1]))
    text = [f"- `{file}`: {some(names, 4)}" if names != [file] else f"- `{file}`"
            for file, names in rows[:_LISTED_SAME]]  # fmt: skip
    if len(rows) > _LISTED_SAME:
        left = sum(len(names) for _, names in rows[_LISTED_SAME:])
        text.append(f"- and {left} more in {counted(len(rows) - _LISTED_SAME, 'other file')}")
    return [*text, "- upgrade.html and upgrade.json name each, with what would execute it"]


def entry_line(entry: Entry) -> str:
    """An entry in one line."""
    place = f":{entry.line}" if entry.kind in model.CODE and entry.line else ""
    name = f"{entry.file}{place} {entry.short}" if place else entry.name
    if entry.kind == model.MODULE:
        name = entry.file
    by = f"; by {some(list(entry.by), 4)}" if entry.by else ""
    reason = f": {entry.reason}" if entry.reason and entry.reason != entry.summary else ""
    standing = f" ({entry.standing})" if entry.standing else ""
    accepted = f"; accepted: {entry.accepted}" if entry.accepted else ""
    text = f" {entry.summary}" if entry.summary and entry.summary != name else ""
    return f"{entry.kind} `{name}`{text}{standing}{reason}{by}{accepted}"


def _not_checked(result: Upgrade) -> list[str]:
    """What no entry is about."""
    rows = [f"- {line}" for line in result.not_checked]
    return [f"## Not checked, whatever differs ({len(rows)})", "", *rows, ""] if rows else []


def _not_probed(result: Upgrade) -> list[str]:
    text = [line for of in result.frameworks for line in _details_not_probed(of)]
    return ["## Details that could not be probed on both versions", "", *text] if text else []


def _details_not_probed(of: OfFramework) -> list[str]:
    """By reason: many details have one."""
    groups: dict[tuple[str, str, str], list[NotProbed]] = {}
    for not_probed in of.details.not_probed:
        kind = (
            not_probed.error_origin
            if not_probed.why == ERROR and not_probed.error_origin in (SUITE, FRAMEWORK)
            else not_probed.why
        )
        groups.setdefault((kind, not_probed.side, not_probed.text), []).append(not_probed)
    if not groups:
        return []
    text = [f"{of.title}: {len(of.details.not_probed)} of {of.details.all} details:", ""]
    for (kind, side, message), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        names = some([f"`{missing.id}` [{missing.scope}]" for missing in group], 4)
        place = f" ({group[0].place})" if group[0].place else ""
        text.append(f"- {len(group)} on {in_words(side)}, {WHY[kind]}: {message}{place}: {names}")
    return [*text, ""]


def some(names: Sequence[str], most: int = _LISTED_SAME) -> str:
    """The first of some names, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


# -- the table and the sides -----------------------------------------------------------------------


def _table(result: Upgrade) -> list[str]:
    rows = tables.head("framework", "training", "trace", "events", "lines run")
    for of in result.frameworks:
        listed = [t for t in of.traced if t.plain or t.comparison.verdict != "equal"]
        rows += [_row(of.title, traced) for traced in listed]
        rest = [t for t in of.traced if t not in listed]
        if rest:
            events = sum(t.comparison.compared for t in rest)
            rows.append(tables.row(of.title, counted(len(rest), "scenario"), "equal", events, ""))
        if of.same_code:
            count = len(of.same_code)
            rows.append(tables.row(of.title, f"{count} more", "run no code that differs", "", ""))
        elif not of.traced and not of.not_traced and result.script is None:
            rows.append(tables.row(of.title, "none", "no training on both versions", 0, ""))
    if result.script is not None and isinstance(result.script.held, Traced):
        rows.append(_row("script", result.script.held))
    return rows


def _row(owner: str, traced: Traced) -> str:
    covered = share(traced.b)
    text = f"{covered:.0%}" if covered is not None else "not measured"
    return tables.row(owner, traced.name, traced.word, traced.comparison.compared, text)


def _sides(result: Upgrade) -> list[str]:
    text = [line.strip() for side in (result.a, result.b) for line in side.lines]
    text = [f"- {line}" for line in text]
    differing = [f"{name} {old} -> {new}" for name, (old, new) in result.differing.items()]
    if differing:
        text.append(f"- in both, in other versions: {', '.join(differing)}")
    return ["## Sides", "", *text, ""]


# -- one framework ---------------------------------------------------------------------------------


def _framework(result: Upgrade, of: OfFramework) -> list[str]:
    one, other = of.versions
    versions = [f"{name} {one.get(name)} -> {v}" for name, v in other.items() if one.get(name) != v]
    text = [f"## {of.title}: {of.judgement.part_of(result.verdict).headline}", ""]
    text += ["; ".join(versions) or "The same versions.", ""]
    text += _details(of)
    if of.traced:
        text += ["### Traces", ""]
    changed = of.details.changed
    differing = [t for t in of.traced if t.comparison.verdict != "equal" or t.plain]
    for group in causes_text.together(differing, of.causes, changed):
        text += _traced(group[0], of.causes.get(group[0].name), changed, of.differences)
        if len(group) > 1:
            names = ", ".join(traced.name for traced in group[1:])
            text += [f"{causes_text.others(group)}: {names}.", ""]
    equal = [t.name for t in of.traced if t.comparison.verdict == "equal" and not t.plain]
    if equal:
        text += [f"Equal to the bit: {', '.join(equal)}.", ""]
    if of.same_code:
        message = "Not traced, as they run no code that differs between the sides"
        text += [f"{message}: {', '.join(of.same_code)}.", ""]
    text += _calls(of.executions, of.differences)
    if of.proof is not None:
        text += _proof(of.proof)
    if of.returns is not None:
        text += ["### Returns of the new version", "", of.returns.verdict, ""]
        text += [f"    {line}" for line in of.returns.lines]
        text.append("")
    return text


def _details(of: OfFramework) -> list[str]:
    details = of.details
    if not details.changed:
        message = f"All {details.same} details that could be probed on both versions are the same."
        return [message if details.same else "No detail could be probed on both versions.", ""]
    counts = f"{len(details.changed)} of {details.probed} probed on both versions"
    text = [f"### Details that differ ({counts})", ""]
    changed = [execution.function for execution in of.executions]
    for finding in findings(details.changed, changed):
        text += _finding(of, finding)
    return [*text, ""]


def _finding(of: OfFramework, finding: Finding) -> list[str]:
    """Changed details with one cause are one finding."""
    text = []
    for d in finding.details:
        stands = of.standing.get((d.id, d.scope), UNDOCUMENTED)
        message = of.documented.get((d.id, d.scope), ())
        text.append(f"- `{d.id}` [{d.scope}]: {d.words} ({stands}). {d.consequence}".rstrip())
        text += [f"  - {row}" for row in d.numbers()]
        text += [f"  - documented: {'; '.join(message)}"] if message else []
    listed = finding.functions[:2]
    for function in listed:
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
    text += [f"    {line}" for line in causes_text.lines(cause, details)]
    if cause is not None and cause.functions:
        text += ["", *(f"        {row}" for row in differences.get(cause.functions[0], ()))]
    return [*text, ""]


def _script(result: OfScript) -> list[str]:
    if isinstance(result.held, NotTraced):
        return [f"{result.held}", "", *_names(result.names)]
    text = _traced(result.held, result.causes.get(result.held.name), (), result.differences)
    text += _names(result.names)
    text += _calls(result.executions, result.differences)
    return text if result.proof is None else [*text, *_proof(result.proof)]


def of_names(names: ScriptNames, named: str) -> str:
    """Where a script names what is gone or incompatible, or that it does not.

    Args:
        named: what is gone or incompatible, in words.
    """
    unread = f"; {some(list(names.unread))} could not be read" if names.unread else ""
    if names.lines:
        lines = [f"{of.file}:{of.line} {of.text} ({of.why})" for of in names.lines]
        verb = "names" if len(lines) == 1 else "name"
        return (
            f"Change {counted(len(lines), 'line')} that {verb} what is gone or incompatible: "
            f"{some(lines, 3)}{unread}."
        )
    files = some(list(names.files), 4) or "the script"
    verb = "name" if len(names.files) > 1 else "names"
    return (
        f"Search your other code: {files} {verb} nothing of what is gone or incompatible "
        f"({named}){unread}."
    )


def _names(names: ScriptNames | None) -> list[str]:
    if names is None or not names.lines:
        return []
    text = ["### Lines that name what is gone or incompatible", ""]
    text += [f"- `{of.file}:{of.line}` `{of.text}`: {of.why}" for of in names.lines[:_LISTED]]
    if len(names.lines) > _LISTED:
        text.append(f"- and {len(names.lines) - _LISTED} more")
    return [*text, ""]


def _calls(
    executions: Iterable[PieceExecution], differences: Mapping[Changed, Sequence[str]]
) -> list[str]:
    """Functions that differ when they are called directly, each with its lines that differ."""
    text: list[str] = []
    for execution in executions:
        if execution.calls is not None and execution.calls.arguments:
            text += [f"- `{execution.function}`: {execution.calls}", ""]
            text += [*(f"        {row}" for row in differences.get(execution.function, ())), ""]
    return ["### Functions that differ when they are called directly", "", *text] if text else []


def proof_sentence(proof: MutationTest) -> str:
    """How many mutants would have been detected."""
    calls = f", {len(proof.called)} of them only by direct calls" if proof.called else ""
    return (
        f"of {counted(proof.faults, 'mutant')} of "
        f"{counted(proof.functions, 'changed function')} "
        f"{proof.detected} would have been detected ({proof.share:.0%}){calls}"
    )


def _proof(proof: MutationTest) -> list[str]:
    text = ["### Proof", "", f"{proof_sentence(proof).capitalize()}.", ""]
    for title, faults in (
        ("Would not have been detected, because no training executes the line", proof.not_run),
        ("Executed, and would not have been detected", proof.unseen),
    ):
        if faults:
            text += [f"{title}:", "", *(f"- `{fault}`" for fault in faults), ""]
    if proof.misfits:
        text += ["Could not be injected, and do not count:", ""]
        text += [*(f"- {misfit}" for misfit in proof.misfits), ""]
    return text


def _physics(moved: Sequence[Moved]) -> list[str]:
    text = ["## Physics", "", "The same seeds and actions on both versions:", ""]
    text += [f"- {m.environment}: differs {m.words}" for m in moved if m.step is not None]
    for title, names in (
        ("the same to the bit", [m.environment for m in moved if not m.moves and not m.note]),
        ("on neither version", [m.environment for m in moved if m.note == "on neither side"]),
    ):
        if names:
            text.append(f"- {title}: {', '.join(names)}")
    return [*text, ""]
