"""``upgrade.html``: the verdict on the new version, compared with the old one."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rlregress.model import differences as model
from rlregress.model import tones
from rlregress.model.code import Hunk
from rlregress.model.detail_answers import describe_variant
from rlregress.model.differences import DOCUMENTED, VIOLATED, Entry
from rlregress.model.recorded_traces import (
    UncomparedTraining,
    describe_version_label,
    format_line_ranges,
    list_missed_lines,
)
from rlregress.model.upgrade_result import (
    ABSENT,
    ERROR,
    FRAMEWORK,
    LATE,
    MOST_HUNKS,
    NO_PROBE,
    PACKAGE,
    SUITE,
    UNDOCUMENTED,
    UNKNOWN_CODE,
    ChangedDetail,
    FrameworkResult,
    ScriptNames,
    ScriptResult,
    TrainingResult,
    Upgrade,
    group_details_by_functions,
)
from rlregress.model.verdict import COULD_NOT_JUDGE, INCONCLUSIVE, REGRESSED
from rlregress.report.html import returns_page, traces_page, upgrade_card
from rlregress.report.html.page import (
    Badge,
    Card,
    Finding,
    Folded,
    Heading,
    Page,
    PageInfo,
    Section,
    SourcePair,
    Step,
    Table,
)
from rlregress.report.words import format_count, join_first_names

#: options that choose among trainings
_OF_TRAININGS = ("--algorithm", "--scenario")
#: why a probe gave no answer, in words
_WHY = {
    PACKAGE: "a package that it needs is missing",
    ABSENT: "the framework has no such feature",
    UNKNOWN_CODE: "the probe does not know the code of that version",
    NO_PROBE: "there is no probe for that version",
    SUITE: "the adapter's probe does not fit that version",
    FRAMEWORK: "the framework raised an error",
    ERROR: "the probe ended in an error",
    LATE: "the time for it was over",
}
#: heading of the entries in a state.
_TITLES = {
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
_STANDING = {DOCUMENTED: tones.GOOD, VIOLATED: tones.BAD, UNDOCUMENTED: tones.OTHER}


def make_cards_of_upgrade(result: Upgrade, facts: PageInfo) -> list[Card]:
    """Return the cards of the first screen: the upgrade, then its parts, the worst first."""
    part_cards = [
        _make_framework_card(result, part)
        if isinstance(part, FrameworkResult)
        else _make_script_card(result, part)
        for part in sorted(result.parts, key=lambda part: model.ORDER.index(part.verdict))
    ]
    overall_card = upgrade_card.make_card_of_upgrade(
        result, _list_next_steps(result, facts.command)
    )
    if len(part_cards) > 1 or not part_cards:
        return [overall_card, *part_cards]
    (only,) = part_cards
    cut = len(result.cut)  # first on the card, and so here
    not_judged = [*overall_card.not_judged[:cut], *only.not_judged, *overall_card.not_judged[cut:]]
    return [replace(overall_card, title=only.title, matters=only.matters, not_judged=not_judged)]


def make_page_of_upgrade(result: Upgrade, facts: PageInfo) -> Page:
    """Return the page of an upgrade."""
    sections = [
        Section("cut", "Not checked in time", "The command stopped at its time limit; extend it "
                "with --minutes.", [result.cut]),
        Section("not-checked", "Not checked, whatever differs", "", [result.not_checked]),
        _make_entries_section(result),
    ]  # fmt: skip
    for framework in result.frameworks:
        name = framework.title if len(result.frameworks) > 1 else ""
        sections += _make_framework_sections(framework, name, facts.command)
    if result.script is not None:
        sections.append(
            Section("script", "Script", "", _make_parts_of_script(result.script, facts.command))
        )
    sections += [
        _make_costs_section(result),
        _make_not_executed_section(result),
        _make_versions_section(result),
    ]
    return Page(facts, make_cards_of_upgrade(result, facts), sections)


def format_upgrade_title(result: Upgrade) -> str:
    """Return both versions and the verdict."""
    old, new = result.old.text, result.new.text
    return f"{old} → {new}: {result.verdict}"


# -- the first screen ------------------------------------------------------------------------------


def _make_framework_card(result: Upgrade, framework: FrameworkResult) -> Card:
    """Build the card of one framework; its changes are on the card of the upgrade."""
    old_versions, new_versions = framework.versions
    changed_versions = [
        f"{name} {old_versions.get(name)} → {v}"
        for name, v in new_versions.items()
        if old_versions.get(name) != v
    ]
    judgement = framework.judgement.soften_unchanged_of_part(result.verdict)
    same = "the same version numbers" if old_versions and new_versions else "versions not read"
    return Card(
        f"{framework.title}: {', '.join(changed_versions) or same}",
        Badge(judgement.verdict),
        # with a single part, this is the reason of the whole upgrade
        judgement.first_reason if judgement.headline != result.judgement.headline else "",
        list(_describe_algorithms_without_returns(framework)),
        matters=list(_describe_effects_on_training(framework)),
        share=judgement.share,
    )


def _describe_algorithms_without_returns(framework: FrameworkResult) -> Iterable[str]:
    """Describe the algorithms with differing trainings whose returns were not judged."""
    trained = [] if framework.returns is None else framework.algorithms_to_train
    unexecuted = {name.partition(" ")[0] for name in framework.same_code}
    algorithms = sorted({training.algorithm for training in framework.traced} | unexecuted)
    untrained = [
        name.upper() for name in algorithms if name not in trained or name not in framework.stored
    ]
    if untrained and framework.diverged_trainings:
        yield f"Returns of {', '.join(untrained)}: not trained."


def _describe_effects_on_training(framework: FrameworkResult) -> Iterable[str]:
    if framework.details.same:
        yield f"{framework.details.same} details are the same in both versions."
    if framework.returns is not None:
        yield f"Returns of new: {framework.returns.verdict}."
        fallen = [line for line in framework.returns.lines if REGRESSED in line.partition(";")[0]]
        yield from fallen
        if framework.returns.verdict in (INCONCLUSIVE, COULD_NOT_JUDGE):
            yield from framework.returns.lines[:2]
    elif framework.diverged_trainings:
        yield "Whether agents learn as well was not checked: the new version was not trained."
    elif framework.traced or framework.same_code:
        count = len(framework.traced) + len(framework.same_code)
        only_one = "training is the same on both versions, step by step, and so are its returns"
        is_several = (
            "trainings are the same on both versions, step by step, and so are their returns"
        )
        yield f"{count} {only_one if count == 1 else is_several}."
    for detail in framework.details.changed:
        if detail.consequence:
            yield f"{detail.id}: {detail.consequence}"


def _list_next_steps(result: Upgrade, command: str) -> list[Step]:
    """Return the next steps; "Nothing: upgrade." only if the verdict is unchanged."""
    verdict = result.verdict
    if verdict == model.UNCHANGED:
        return [Step("Nothing: upgrade.")]
    steps = []
    if verdict == model.NEW_FAILS:
        steps.append(_suggest_step_after_error(result, command))
    else:
        steps += _suggest_installing_lost_packages(result)
    steps += _suggest_changing_gone_names(result)
    culprits = [
        f"{e.headline} ({e.file}:{e.line})"
        for e in result.entries
        if e.culprit and e.affects_verdict
    ]
    if any(framework.violated_details for framework in result.frameworks):
        text = "Read the lines that changed: a formula is no longer the documented one."
        steps.append(Step(text))
    elif culprits and verdict != model.NEW_FAILS:
        named = join_first_names(culprits, 3)
        steps.append(Step(f"Read the change of {named}: is it what the release notes say?"))
    elif not steps and any(
        e.state in model.DIFFERENT and e.affects_verdict for e in result.entries
    ):
        steps.append(Step("Read what differs: is it what the release notes say?"))
    diverged = [
        framework
        for framework in result.frameworks
        if framework.diverged_trainings and framework.algorithms_to_train
    ]
    if any(framework.returns is None for framework in diverged) and verdict in (
        model.CHANGED, model.NEW_FAILS
    ):  # fmt: skip
        without = [part for part in shlex.split(command) if part != "--no-returns"]
        steps.append(Step("Train the new version, where runs are stored:", shlex.join(without)))
    incomplete = [e for e in result.entries if e.state in model.INCOMPLETE and e.affects_verdict]
    if incomplete:
        steps.append(_suggest_step_for_unchecked_entries(incomplete, result, command))
    return steps or [Step("Read what is accepted, documented or repaired; nothing else differs.")]


def _suggest_installing_lost_packages(result: Upgrade) -> Iterable[Step]:
    """Suggest installing packages that functions use and the new version no longer installs."""
    kinds = (model.REQUIREMENT, model.PACKAGE)
    gone = [e for e in result.entries if e.kind in kinds and e.affects_verdict and e.notes]
    if gone:
        users = dict.fromkeys(note.removeprefix(model.NEEDED) for e in gone for note in e.notes)
        names = list(dict.fromkeys(entry.name for entry in gone))
        yield Step(
            f"Install {' and '.join(names)}, which the new version no longer does, if you use "
            f"{join_first_names(list(users), 4)}:",
            f"pip install {' '.join(names)}",
        )


def _suggest_step_after_error(result: Upgrade, command: str) -> Step:
    """Suggest the next step after an error of the new version in a script or a training."""
    failing = [e for e in result.entries if e.state == model.NEW_FAILS and e.affects_verdict]
    # scripts and trainings before their culprits, which may be left if an error is accepted
    failing.sort(key=lambda e: e.kind not in (model.SCRIPT, model.TRAINING))
    error = failing[0]
    text = f"{error.name} ends in {error.reason}."
    missing_names = _list_lost_packages_in_errors(result)
    if missing_names:
        judged = (
            f"{returns_page.remove_options_from_command(command, '--lend')} --lend "
            f"{','.join(missing_names)}"
        )
        names = ", ".join(missing_names)
        return Step(f"{text} Install {names}, which the new version no longer does; to judge the "
                    "rest:", judged)  # fmt: skip
    culprits = [f"{e.headline} ({e.summary}, {e.file}:{e.line})" for e in failing if e.culprit]
    if culprits:
        text += f" It does not with the old code of {join_first_names(culprits, 3)}."
    own = "Change that line" if error.kind == model.SCRIPT else "Do not upgrade yet"
    return Step(f"{text} {own}, or report it upstream.")


def _suggest_changing_gone_names(result: Upgrade) -> Iterable[Step]:
    """Suggest changing the lines that use names which are gone, or searching for such lines."""
    names = result.script.names if result.script is not None else None
    gone = [e for e in result.entries if e.kind == model.PUBLIC and e.state == model.DIFFERS]
    named = join_first_names([entry.headline for entry in gone if entry.affects_verdict], 3)
    if names is not None and (names.lines or (named and result.verdict != model.NEW_FAILS)):
        yield Step(_describe_script_names(names, named))
    elif names is None and named and result.verdict != model.NEW_FAILS:
        yield Step(f"Search your code for what is gone or incompatible: {named}.")


def _describe_script_names(names: ScriptNames, description: str) -> str:
    """Describe where a script uses names that are gone or incompatible.

    Args:
        description: description of the names that are gone or incompatible.
    """
    unread = f"; {join_first_names(list(names.unread))} could not be read" if names.unread else ""
    if names.lines:
        lines = [f"{line.file}:{line.line} {line.text} ({line.why})" for line in names.lines]
        verb = "names" if len(lines) == 1 else "name"
        return (
            f"Change {format_count(len(lines), 'line')} that {verb} what is gone or incompatible: "
            f"{join_first_names(lines, 3)}{unread}."
        )
    files = join_first_names(list(names.files), 4) or "the script"
    verb = "name" if len(names.files) > 1 else "names"
    return (
        f"Search your other code: {files} {verb} nothing of what is gone or incompatible "
        f"({description}){unread}."
    )


def _list_lost_packages_in_errors(result: Upgrade) -> list[str]:
    """Return packages that are no longer installed and that an error names."""
    reasons = [entry.reason for entry in result.entries if entry.state == model.NEW_FAILS]
    missing = [reason for reason in reasons if "ImportError" in reason or "NotFound" in reason]
    gone = [e.name for e in result.entries if e.kind == model.PACKAGE and e.state == model.DIFFERS]
    return [name for name in gone if any(name in reason for reason in missing)]


def _suggest_step_for_unchecked_entries(
    unfinished: Sequence[Entry], result: Upgrade, command: str
) -> Step:
    """Suggest how to execute unexecuted pieces, or name why checks have no result.

    Args:
        unfinished: entries that count and were not fully checked.
    """
    if result.cut:
        longer_command = returns_page.remove_options_from_command(command, "--minutes")
        return Step("Give it more time, which goes on with what was recorded:", longer_command)
    pieces = [entry for entry in unfinished if entry.kind in model.CHANGES]
    if not pieces:
        names = join_first_names([entry.headline for entry in unfinished], 3)
        return Step(f"Read why {format_count(len(unfinished), 'check')} gave no result: {names}.")
    idle = model.list_packages_without_comparison(result.entries)
    idle_text = f" of {', '.join(idle)}" if idle else ""
    were = "was" if len(pieces) == 1 else "were"
    text = (
        f"{format_count(len(pieces), 'changed piece')}{idle_text} {were} not executed and compared "
        "as a whole;"
    )
    modules = {idle_text.module for idle_text in result.frameworks}
    foreign = {name for name in idle if name.replace("-", "_") not in modules}
    given_arguments = shlex.split(command)
    if "--scenario" in given_arguments and "--script" not in given_arguments and not foreign:
        return Step(
            f"{text} trace every scenario:",
            returns_page.remove_options_from_command(command, "--scenario"),
        )
    is_whole = returns_page.remove_options_from_command(command, "--algorithm", "--script")
    return Step(
        f"{text} if you use any, trace a script that does:", f"{is_whole} --script yours.py"
    )


def _make_script_card(result: Upgrade, script: ScriptResult) -> Card:
    training = script.training
    text = str(training) if isinstance(training, UncomparedTraining) else training.verdict_in_words
    own = script.judgement.soften_unchanged_of_part(result.verdict)
    sentence = f"{text[0].upper()}{text[1:]}. {own.first_reason}"
    return Card(training.name, Badge(own.verdict), sentence, share=own.share)


# -- below -----------------------------------------------------------------------------------------


def _make_entries_section(result: Upgrade) -> Section:
    """Return all entries that differ, folded by file, and counts of the others."""
    parts: list[object] = [[f"Accepted, but no entry has this key any more: {key}"
                            for key in result.stale]]  # fmt: skip
    for state in (*model.INCOMPLETE, *model.DIFFERENT, *model.EXECUTED_SAME, *model.WITHOUT_EFFECT):
        own = [entry for entry in result.entries if entry.state == state]
        for title, of_title in group_entries_by_title(own).items():
            parts.append(Heading(f"{title} ({len(of_title)})"))
            files: dict[str, list[Entry]] = {}
            for listed_entry in of_title:
                files.setdefault(listed_entry.file or listed_entry.kind, []).append(listed_entry)
            parts += [
                Folded(f"{file} ({len(of_file)})", [_make_table_of_entries(of_file)])
                for file, of_file in files.items()
            ]
    lead = (
        "Every difference between the two versions, and every check, in the one state it ended in."
    )
    return Section("entries", "Everything that differs", lead, parts)


def group_entries_by_title(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Return title of a list -> its entries; unexecuted entries are listed by their progress."""
    lists: dict[str, list[Entry]] = {}
    for entry in entries:
        title = (
            model.choose_title_of_unexecuted_entry(entry)
            if entry.state == model.NEVER
            else _TITLES[entry.state]
        )
        lists.setdefault(title, []).append(entry)
    return lists


def _get_shown_notes(entry: Entry) -> list[str]:
    accepted = [f"accepted: {entry.accepted}"] if entry.accepted else []
    return [*filter(None, [entry.standing]), *accepted, *entry.notes[:4]]


def _make_table_of_entries(entries: Sequence[Entry]) -> Table:
    rows = [
        [entry.kind, entry.name if entry.kind not in model.CODE else entry.headline, entry.summary,
         entry.reason or join_first_names(list(entry.by), 4), "; ".join(_get_shown_notes(entry)),
         entry.key]
        for entry in entries
    ]  # fmt: skip
    return Table(("kind", "name", "difference", "why, or by what", "notes", "key"), rows)


def _make_framework_sections(framework: FrameworkResult, title: str, command: str) -> list[Section]:
    key, title_suffix = re.sub(r"\W+", "-", framework.name), f" of {title}" if title else ""
    details = framework.details
    probed = f"{len(details.changed)} of {details.probed_count} that were probed on both versions."
    sections = [
        Section(f"not-asked-{key}", f"Not compared{title_suffix}", "",
                _make_parts_of_unprobed_details(framework)),
        Section(f"details-{key}", f"Details that differ{title_suffix}", probed,
                _make_parts_of_changed_details(framework)),
        Section(f"traces-{key}", f"Traces{title_suffix}", "",
        _make_parts_of_traces(framework, command)),
        Section(f"code-{key}", f"Source of what differs{title_suffix}",
                "What nothing has executed comes first, "
                "folded.",
                [*_make_parts_of_changed_code(framework), *_make_parts_of_direct_calls(framework)]),
    ]  # fmt: skip
    if framework.returns is not None:
        title_ = f"Returns of the new version{title_suffix}"
        section = returns_page.make_returns_section(
            f"returns-{key}", title_, framework.returns.verdicts, framework.returns.runs,
            f"rlregress check --framework {framework.name.partition('@')[0]}",
        )  # fmt: skip
        lead = "The new version's runs are the new ones."
        parts = [list(framework.returns.lines), *section.parts]
        sections.append(Section(section.id, title_, lead, parts))
    return sections


def _make_parts_of_unprobed_details(framework: FrameworkResult) -> list[object]:
    kinds: Counter[tuple[str, str, str]] = Counter()
    for missing in framework.details.not_probed:
        is_known = missing.why == ERROR and missing.error_origin in (SUITE, FRAMEWORK)
        why = _WHY[missing.error_origin if is_known else missing.why]
        place = f" ({missing.place})" if missing.place else ""
        kinds[missing.label, why, f"{missing.text}{place}"] += 1
    rows = [[describe_version_label(label), why, text, count]
            for (label, why, text), count in kinds.most_common()]  # fmt: skip
    absent = [
        f"{missing.id} [{missing.scope}]: {missing.text}" for missing in framework.details.absent
    ]
    return [
        Table(("version", "why", "message", "details"), rows, 1),
        Folded(f"{format_count(len(absent), 'detail')} about what neither version has", [absent]),
    ]


def _make_parts_of_changed_details(framework: FrameworkResult) -> list[object]:
    changed = [execution.function for execution in framework.executions]
    elements: list[object] = []
    for finding in group_details_by_functions(framework.details.changed, changed):
        hunks = [framework.hunks[f] for f in finding.functions[:2] if f in framework.hunks]
        for number, detail in enumerate(finding.details):
            # details with one culprit have one source
            elements.append(
                _make_finding_of_detail(framework, detail, hunks if number == 0 else [])
            )
    return elements


def _make_finding_of_detail(
    framework: FrameworkResult, detail: ChangedDetail, hunks: Sequence[Hunk]
) -> Finding:
    stands = framework.standing.get((detail.id, detail.scope), UNDOCUMENTED)
    documented = framework.documented.get((detail.id, detail.scope), ())
    lines = [detail.question, *filter(None, [detail.consequence]), *detail.describe_numbers()]
    lines += [f"Documented: {'; '.join(documented)}"] if documented else []
    return Finding(
        f"{detail.id} [{detail.scope}]",
        Badge(stands, _STANDING[stands]),
        [line for line in lines if line],
        [(label, describe_variant(answer.text), meaning)
         for label, answer, meaning in zip(
             traces_page.VERSION_TITLES, (detail.old, detail.new), detail.meanings, strict=True)],
        [SourcePair(hunk, traces_page.VERSION_TITLES) for hunk in hunks],
    )  # fmt: skip


def _make_parts_of_traces(framework: FrameworkResult, command: str) -> list[object]:
    shown = [
        t
        for t in framework.traced
        if t.comparison.verdict != "equal" or t.has_no_scenario or not t.repeats
    ]
    equal = [t.name for t in framework.traced if t not in shown]
    differing = [t for t in shown if t.comparison.verdict != "equal" or not t.repeats]
    absent = [
        str(training)
        for training in framework.not_traced
        if not training.is_supported_by_both_versions
    ]
    return [
        traces_page.make_table_of_traces(shown),
        Folded(f"Equal to the bit: {format_count(len(equal), 'scenario')}", [equal]),
        Folded(f"Not traced, as no code that differs is run: {len(framework.same_code)}",
               [list(framework.same_code)]),
        *(
            traces_page.make_finding_of_trainings(
                group, framework.culprits.get(group[0].name), framework.details.changed,
                _make_command_of_training(command, group[0].name),
            )
            for group in traces_page.group_trainings_by_divergence(
                differing, framework.culprits, framework.details.changed
            )
        ),
        Folded("Not supported by one version, or by both", [absent]),
    ]  # fmt: skip


def _make_command_of_training(command: str, training: str) -> str:
    """Return the command of an upgrade, restricted to one training."""
    algorithm, _, scenario = training.partition(" ")
    shortened = returns_page.remove_options_from_command(command, *_OF_TRAININGS)
    return f"{shortened} --algorithm {algorithm} --scenario {shlex.quote(scenario or 'none')}"


def _make_parts_of_changed_code(framework: FrameworkResult) -> list[object]:
    idle = {entry.name for entry in framework.unexecuted_entries if not entry.was_executed}
    parts: list[object] = []
    for heading, is_executed in (("Never executed", False), ("Executed", True)):
        own = [
            r for r in framework.executions if (r.function.entry_name not in idle) == is_executed
        ]
        hunks = [
            framework.hunks[r.function] for r in own[:MOST_HUNKS] if r.function in framework.hunks
        ]
        pairs = [
            SourcePair(hunk, traces_page.VERSION_TITLES, open=is_executed)
            for hunk in hunks
            if hunk.groups
        ]
        parts += [Heading(f"{heading} ({len(pairs)})"), *pairs]
    return parts


def _make_parts_of_direct_calls(result: TrainingResult) -> list[object]:
    """Return a heading and a list of the functions whose results differ if called directly."""
    calls = [f"{execution.function}: {execution.calls}" for execution in result.executions
             if execution.calls is not None and execution.calls.arguments]  # fmt: skip
    return [Heading("Functions that differ when they are called directly"), calls]


def _make_parts_of_script(result: ScriptResult, command: str) -> list[object]:
    lines = result.names.lines if result.names is not None else ()
    parts: list[object] = [
        Heading("Lines that name what is gone or incompatible"),
        [f"{line.file}:{line.line} {line.text}: {line.why}" for line in lines],
        *_make_parts_of_direct_calls(result),
    ]
    if isinstance(result.training, UncomparedTraining):
        return [[str(result.training)], *parts]
    culprits = result.culprits.get(result.training.name)
    finding = traces_page.make_finding_of_trainings([result.training], culprits, (), command)
    return [traces_page.make_table_of_traces([result.training]), finding, *parts]


def _make_costs_section(result: Upgrade) -> Section:
    rows = [
        [cost.name, cost.time_ratio_in_words, cost.turns,
         f"{cost.memory[0]:.0f} -> {cost.memory[1]:.0f}{', larger' if cost.is_larger else ''}"]
        if cost.turns
        else [cost.name, cost.time_ratio_in_words, 0, ""]
        for cost in result.costs
    ]  # fmt: skip
    head = ("training", "CPU time, new over old (95 % interval)", "turns", "memory in MiB")
    lead = "A hint: rlregress check --throughput measures many runs."
    return Section("costs", "Time and memory", lead, [Table(head, rows)])


def _make_not_executed_section(result: Upgrade) -> Section:
    rows = [
        [file, format_line_ranges(numbers)]
        for file, numbers in list_missed_lines(result.traced).items()
    ]
    excluded = [f"{branch.file}:{branch.line} {branch.summary}" for branch in result.one_way]
    parts = [
        Folded(f"Lines in {format_count(len(rows), 'file')}", [Table(("file", "lines"), rows)]),
        Folded(f"Branches, clamps and masks taken one way only: {len(excluded)}", [excluded]),
    ]
    lead = "Equal traces say nothing about these lines of the new version."
    return Section("not-reached", "What the traces did not execute", lead, parts)


def _make_versions_section(result: Upgrade) -> Section:
    rows = [[name, old, new] for name, (old, new) in result.differing.items()]
    parts = [
        [line.strip() for version in (result.old, result.new) for line in version.lines],
        Table(("package", *traces_page.VERSION_TITLES), rows),
    ]
    lead = "Both versions ran on the machine that is named above."
    return Section("sides", "Versions", lead, parts)
