"""``report.html``: the verdicts of a check on the installed frameworks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rlregress.model import tones
from rlregress.model.check_result import AlgorithmCoverage, CheckResult, Deviation, FrameworkOutcome
from rlregress.model.detail_answers import describe_variant
from rlregress.model.quantities import RETURNS, TRAINING, get_quantity_of_verdict_name
from rlregress.model.verdict import (
    COULD_NOT_JUDGE,
    FORMULAS_HOLD,
    HOLDS,
    IMPROVED,
    INCONCLUSIVE,
    MOVED,
    REGRESSED,
    find_worst_verdict,
    severity,
)
from rlregress.report import check_report, grouped_failures, throughput_text, words
from rlregress.report.html import returns_page
from rlregress.report.html.page import (
    Badge,
    Card,
    CodeLines,
    Finding,
    Folded,
    Page,
    PageInfo,
    Quoted,
    Section,
    SourcePair,
    Step,
    Table,
)

#: most names in a sentence of the first screen
_NAMED = 4
#: most earlier nightly runs
_NIGHTS = 14
_COPIES = ("installed", "on the path in its place")


def make_page_info(result: CheckResult) -> PageInfo:
    """Return title, time, duration, machine and command of a check."""
    report_data = result.report_data
    return PageInfo(
        _format_title(result),
        report_data.started,
        result.seconds,
        report_data.machine,
        report_data.command,
    )


def make_cards_of_check(result: CheckResult) -> list[Card]:
    """Return the cards of the first screen, the worst first; at a tie the suite's card is last."""
    all_cards = [_make_framework_card(result, outcome) for outcome in result.outcomes]
    if result.unjudged or any(not failure.get("framework") for failure in result.broken):
        all_cards.append(_make_card_of_suite_errors(result))
    return sorted(all_cards, key=lambda card: severity(card.badge.word))


def make_page_of_check(result: CheckResult) -> Page:
    """Return the page of a check."""
    report_data = result.report_data
    sections = [
        _make_details_section(result),
        _make_files_section(result),
        _make_failures_section(result),
    ]
    for outcome in result.outcomes:
        own = {
            name: cell_runs
            for name, cell_runs in report_data.runs.items()
            if name.startswith(_make_id_prefix(outcome))
        }
        title = f"Returns of {outcome.framework}"
        id = re.sub(r"\W+", "-", title.lower())
        sections.append(
            returns_page.make_returns_section(id, title, outcome.verdicts, own, report_data.command)
        )
    sections += [
        _make_replays_section(result),
        _make_old_files_section(result),
        _make_throughput_section(result),
        _make_probe_counts_section(result),
    ]
    sections += [_make_earlier_nights_section(result), _make_versions_section(result)]
    closing = ""
    if result.error_rate is not None:
        closing = (
            "If nothing changed, returns or critics of some framework are called regressed in at "
            f"most {words.format_error_rate(result.error_rate)} of such checks."
        )
    return Page(
        make_page_info(result), make_cards_of_check(result), sections, result.notes, closing
    )


def _format_title(result: CheckResult) -> str:
    verdicts = [f"{outcome.framework} {outcome.verdict}" for outcome in result.outcomes]
    return "Check: " + (", ".join(verdicts) or "no framework was judged")


def _make_id_prefix(outcome: FrameworkOutcome) -> str:
    return f"{outcome.framework}-"


# -- the first screen ------------------------------------------------------------------------------


def _make_framework_card(result: CheckResult, outcome: FrameworkOutcome) -> Card:
    meaning = check_report.describe_verdict(outcome)
    installed = result.versions[outcome.framework]
    named = ", ".join(f"{name} {version}" for name, version in _select_own_packages(installed))
    return Card(
        f"{outcome.framework} ({named})" if named else outcome.framework,
        Badge(outcome.verdict),
        f"{meaning[0].upper()}{meaning[1:]}.",
        _describe_unjudged_parts(result, outcome),
        list(_describe_changes_of_framework(result, outcome)),
        list(_describe_effects_on_training(result, outcome)),
        _make_next_steps(result, outcome),
    )


def _select_own_packages(versions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the packages of the framework, without those that all frameworks use."""
    common_packages = ("gymnasium", "mujoco", "numpy", "torch")
    return [(name, version) for name, version in versions.items() if name not in common_packages]


def _describe_unjudged_parts(result: CheckResult, outcome: FrameworkOutcome) -> list[str]:
    missing = [
        *words.describe_skipped_for_packages(outcome.lacking),
        *words.describe_files_not_loaded(outcome.not_loaded),
    ]
    lines = [f"{line}." for line in missing]
    if other_algorithms := result.report_data.coverage.get(
        outcome.framework, AlgorithmCoverage()
    ).others:
        named = ", ".join(name.upper() for name in other_algorithms)
        lines.append(f"Returns of {named}: formulas and behaviour alone were judged.")
    for group in _group_unprobed_details(_select_deviations_of_framework(result, outcome)):
        named = words.join_first_names([deviation.id for deviation in group], _NAMED)
        lines.append(
            f"{named} could not be probed: "
            f"{grouped_failures.extract_reason_of_failure(group[0].found[0])}."
        )
    own_errors = [entry for entry in result.broken if entry.get("framework") == outcome.framework]
    lines += [f"{line}." for line in _describe_failures_by_reason(own_errors, "ended in an error")]
    if outcome.not_asked:
        lines.append(f"{words.describe_checked_details(outcome.details, outcome.not_asked)}.")
    lines += [f"No test of {tier} has passed." for tier in outcome.untested]
    missing = [name for name in result.unjudged if name.startswith(_make_id_prefix(outcome))]
    if missing:
        lines.append(f"No verdict was reached on {words.join_first_names(missing, _NAMED)}.")
    lines += [
        f"{line}." for line in words.describe_cells_judged_by_returns_only(outcome.not_judged)
    ]
    unchecked = dict.fromkeys(
        replay.not_checked for replay in outcome.replays.values() if replay.not_checked
    )
    lines += [f"By replays: {text}." for text in unchecked]
    return lines


def _select_deviations_of_framework(
    result: CheckResult, outcome: FrameworkOutcome
) -> list[Deviation]:
    return [
        deviation
        for deviation in result.report_data.deviations
        if deviation.framework == outcome.framework
    ]


def _group_unprobed_details(deviations: Iterable[Deviation]) -> list[list[Deviation]]:
    """Return the details whose code could not be probed, grouped by reason."""
    missing = (deviation for deviation in deviations if not deviation.was_probed)
    return grouped_failures.group_failures_by_reason(missing, lambda item: item.found[0])


def _describe_changes_of_framework(result: CheckResult, outcome: FrameworkOutcome) -> Iterable[str]:
    deviations = _select_deviations_of_framework(result, outcome)
    for deviation in deviations:
        if not deviation.was_probed:
            continue
        documented_variant, found_variant = (
            describe_variant(*deviation.documented),
            describe_variant(*deviation.found),
        )
        variants = f"documented: {documented_variant}, found: {found_variant}"
        yield f"{deviation.id} [{deviation.scope}]: {variants}"
    yield from _describe_failures_by_reason(outcome.failed_tests, "failed")
    if outcome.has_differing_replay:
        yield from words.describe_replays(outcome.replays)
    for name, verdict in sorted(outcome.verdicts.items()):
        if verdict["verdict"] in (REGRESSED, IMPROVED, MOVED):
            yield f"{name}: {verdict['verdict']}, {_describe_changed_verdict(name, verdict)}"
    versions, stored = result.versions[outcome.framework], _get_stored_versions(result, outcome)
    other_versions = [
        f"{package} {stored[package]} -> {version}"
        for package, version in versions.items()
        if stored.get(package, version) != version
    ]
    if other_versions:
        yield f"Versions since the stored runs: {', '.join(other_versions)}"


def _describe_failures_by_reason(failures: Iterable[Mapping[str, Any]], verb: str) -> Iterator[str]:
    """Describe failed tests, those with the same reason in one sentence.

    Args:
        verb: the outcome of each test, such as "failed".
    """
    for group in grouped_failures.group_failures_by_reason(failures, _get_failure_message):
        names = [failure["test"].rpartition("::")[2] for failure in group]
        first = words.select_first_clauses(_get_first_line(group[0]["message"]), 200)
        alike = grouped_failures.describe_further_failures(names)
        yield f"{names[0]} {verb}: {'; '.join(filter(None, (first, alike)))}"


def _describe_changed_verdict(verdict_name: str, verdict: Mapping[str, Any]) -> str:
    if not words.is_from_stored_runs(verdict):
        return f"{words.format_return(verdict['effect'])} against the published mean"
    fraction = verdict["effect_fraction"]
    return (
        "by an unknown amount"
        if fraction is None
        else get_quantity_of_verdict_name(verdict_name).describe_change(fraction)
    )


def _get_stored_versions(result: CheckResult, outcome: FrameworkOutcome) -> Mapping[str, str]:
    for name, cell_runs in result.report_data.runs.items():
        if name.startswith(_make_id_prefix(outcome)) and cell_runs.versions:
            return cell_runs.versions
    return {}


def _describe_effects_on_training(result: CheckResult, outcome: FrameworkOutcome) -> Iterable[str]:
    for deviation in _select_deviations_of_framework(result, outcome):
        if deviation.consequence and deviation.was_probed:
            yield f"{deviation.id}: {deviation.consequence}"
    judged = {
        name: verdict
        for name, verdict in outcome.verdicts.items()
        if get_quantity_of_verdict_name(name) in (RETURNS, TRAINING)
    }
    fallen = [name for name, verdict in judged.items() if verdict["verdict"] == REGRESSED]
    if fallen:
        yield f"Agents learn less: returns fell in {words.join_first_names(fallen, _NAMED)}."
    elif outcome.critics_regressed_alone:
        names = words.join_first_names(list(outcome.critics_regressed_alone), _NAMED)
        yield f"The critic got worse, and no return fell: {names}."
    elif judged and outcome.verdict == HOLDS:
        detectable = sorted(
            verdict["visible_fraction"]
            for verdict in judged.values()
            if verdict["verdict"] == HOLDS and verdict.get("visible_fraction") is not None
        )
        if detectable:
            yield (
                "No drop of returns was detected. The smallest drop that this check would have "
                f"detected is {detectable[0]:.0%} in the best cell and {detectable[-1]:.0%} in the "
                "worst that holds."
            )
    elif not judged and outcome.verdict == FORMULAS_HOLD:
        yield "Whether agents still learn was not checked."
    for name, verdict in judged.items():
        if verdict["verdict"] == INCONCLUSIVE and outcome.verdict == INCONCLUSIVE:
            yield f"{name}: {verdict['reason']}"


def _build_probe_command(deviation: Deviation) -> str:
    """Return the command that probes a detail again."""
    return f"rlregress test tests_unit --detail {deviation.id} --framework {deviation.framework}"


def _make_next_steps(result: CheckResult, outcome: FrameworkOutcome) -> list[Step]:
    steps = []
    deviations = _select_deviations_of_framework(result, outcome)
    if deviations:
        text, first = "See why it gives no answer:", deviations[0]
        if answered := [deviation for deviation in deviations if deviation.was_probed]:
            text, first = "See the numbers, and what to write if it is intended:", answered[0]
        steps.append(Step(text, _build_probe_command(first)))
    fallen = [
        name for name, verdict in outcome.verdicts.items()
        if verdict["verdict"] == REGRESSED and name in result.report_data.runs
    ]  # fmt: skip
    if any(verdict["verdict"] == REGRESSED for verdict in outcome.verdicts.values()):
        repeat_command = f"{result.report_data.command} {check_report.CONFIRM}"
        if fallen and result.report_data.runs[fallen[0]].stored:
            only = returns_page.restrict_command_to_cell(
                result.report_data.command, ",".join(fallen)
            )
            repeat_command = f"{only} {check_report.CONFIRM}"
        steps.append(Step("Confirm with fresh seeds:", repeat_command))
    if outcome.verdict in (REGRESSED, IMPROVED, MOVED):
        versions, stored = (
            result.versions[outcome.framework],
            _get_stored_versions(result, outcome),
        )
        other_packages = [
            f"{package}=={stored[package]}"
            for package, version in _select_own_packages(versions)
            if stored.get(package, version) != version
        ]
        if other_packages:
            pinned = shlex.quote(" ".join(other_packages))
            steps.append(Step("Find the cause:", f"rlregress upgrade {pinned} installed"))
    if outcome.failures and not deviations:
        steps.append(Step("Read the messages of the failed tests."))
    for sentence in outcome.lacking:
        text, _, command = sentence.rpartition(": ")
        steps.append(Step(f"{text[:1].upper()}{text[1:]}:", command))
    if outcome.not_asked and not outcome.lacking:
        steps.append(Step("Check the rest:", f"rlregress test {check_report.TESTS_OF_DETAILS}"))
    if outcome.verdict == COULD_NOT_JUDGE and not (outcome.not_asked or outcome.lacking):
        steps.append(Step("Run the tests that did not pass again:", result.report_data.command))
    if outcome.has_no_verdicts:
        command = f"rlregress check --budget short --framework {outcome.framework}"
        steps.append(Step("Judge returns, too:", command))
    elif outcome.verdict == INCONCLUSIVE:
        text = "Train more seeds. What checks cost, and what they would detect:"
        command = f"rlregress plan --must-detect 50% --framework {outcome.framework}"
        steps.append(Step(text, command))
    return steps or [Step("Nothing: go on.")]


def _make_card_of_suite_errors(result: CheckResult) -> Card:
    """Build the card of problems that belong to no framework."""
    own_errors = [failure for failure in result.broken if not failure.get("framework")]
    lines = [f"{failure['test']}: {_get_first_line(failure['message'])}" for failure in own_errors]
    return Card(
        "The suite itself",
        Badge(COULD_NOT_JUDGE),
        "Not every check has a result.",
        [f"No verdict was reached on {words.join_first_names(result.unjudged, _NAMED)}."]
        if result.unjudged
        else [],
        lines,
        [],
        [Step("Repair these tests, and judge again:", result.report_data.command)],
        heading="What ended in an error",
    )


def _get_first_line(text: str) -> str:
    return str(text).strip().partition("\n")[0]


# -- below -----------------------------------------------------------------------------------------


def _make_details_section(result: CheckResult) -> Section:
    findings = []
    for deviation in result.report_data.deviations:
        if not deviation.was_probed:
            continue
        parts: list[object] = []
        if deviation.code:
            parts.append(CodeLines(deviation.place, deviation.code, deviation.link))
        parts.append(Quoted(deviation.message, "Message of the test", open=not deviation.code))
        findings.append(
            Finding(
                f"{deviation.framework}: {deviation.id} [{deviation.scope}]",
                Badge("not as documented", tones.BAD),
                [deviation.question, deviation.consequence],
                [
                    (label, describe_variant(variant), formula)
                    for label, (variant, formula) in (
                        ("documented", deviation.documented),
                        ("found", deviation.found),
                    )
                ],
                parts,
                _build_probe_command(deviation),
            )
        )
    for group in _group_unprobed_details(result.report_data.deviations):
        first = group[0]
        further_names = [
            f"{further.framework}: {further.id} [{further.scope}]" for further in group[1:]
        ]
        findings.append(
            Finding(
                f"{first.framework}: {first.id} [{first.scope}]",
                Badge("could not be probed", tones.BAD),
                [grouped_failures.extract_reason_of_failure(first.found[0])],
                (),
                [
                    Quoted(first.message, "Message of the test"),
                    Folded(f"{len(further_names)} more for the same reason", [further_names]),
                ],
                _build_probe_command(first),
            )
        )
    return Section("details", "Details that are not as documented", "", findings)


def _make_files_section(result: CheckResult) -> Section:
    lead = (
        "The code that was judged is not the installed one: a copy stands before it on the path. "
        "The copy differs in these lines:"
    )
    parts = [SourcePair(hunk, _COPIES) for hunk in result.report_data.files]
    return Section("files", "Changed copies", lead, parts)


def _make_failures_section(result: CheckResult) -> Section:
    findings: list[Finding] = []
    for outcome in result.outcomes:
        findings += [
            _make_failure_finding(group, "failed", tones.BAD)
            for group in grouped_failures.group_failures_by_reason(
                outcome.failed_tests, _get_failure_message
            )
        ]
    for group in grouped_failures.group_failures_by_reason(result.broken, _get_failure_message):
        findings.append(_make_failure_finding(group, "error", tones.NOTHING))
    return Section("failures", "Tests that failed", "With their messages.", findings)


def _get_failure_message(failure: Mapping[str, Any]) -> str:
    return str(failure["message"])


def _make_failure_finding(failures: Sequence[Mapping[str, Any]], word: str, tone: str) -> Finding:
    names = [failure["test"] for failure in failures]
    parts = [
        Quoted(failures[0]["message"] or "The test has no message."),
        Folded(f"{len(names) - 1} more failed in the same way", [names[1:]]),
    ]
    return Finding(names[0], Badge(word, tone), (), (), parts, f"pytest '{names[0]}'")


def _make_throughput_section(result: CheckResult) -> Section:
    parts: list[object] = []
    for outcome in result.outcomes:
        measured = {
            (outcome.framework, algorithm): measured_
            for algorithm, measured_ in outcome.throughput.items()
        }
        parts += [
            throughput_text.make_throughput_table(measured),
            throughput_text.format_throughput_verdicts(measured),
        ]
    return Section("throughput", "Throughput and memory", "", parts)


def _make_replays_section(result: CheckResult) -> Section:
    rows = [
        [cell, replay.seed,
         Badge(replay.state, tones.GOOD if replay.is_reproduced else tones.OTHER),
         f"{replay.reason} ({replay.replayed})", replay.not_checked]
        for outcome in result.outcomes
        for cell, replay in outcome.replays.items()
    ]  # fmt: skip
    head = ("cell", "stored seed", "state", "result", "not checked")
    lead = "Stored runs that were trained again here, and compared to the last bit."
    return Section("replays", "Replays", lead, [Table(head, rows)])


def _make_old_files_section(result: CheckResult) -> Section:
    rows = [
        [outcome.framework, kind, "; ".join(clauses)]
        for outcome in result.outcomes
        for kind, clauses in outcome.old_files.items()
    ]
    parts = [Table(("framework", "kind of file", "result"), rows)]
    lead = "Loaded with the installed version, and compared with the release that wrote each file."
    return Section("old-files", "Files of past releases", lead, parts)


def _make_probe_counts_section(result: CheckResult) -> Section:
    rows = []
    for outcome in result.outcomes:
        probed = outcome.details - len(outcome.not_asked)
        coverage = result.report_data.coverage.get(outcome.framework, AlgorithmCoverage())
        tests = "; ".join(
            f"{tier}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            for tier, counts in outcome.tests.items()
        )
        rows.append(
            [
                outcome.framework,
                f"{probed} of {outcome.details}",
                ", ".join(coverage.returns) or "none",
                ", ".join(coverage.others) or "none",
                tests or "none",
            ]
        )
    head = (
        "framework",
        "details checked",
        "returns judged",
        "formulas and behaviour alone",
        "tests",
    )
    parts: list[object] = [Table(head, rows)]
    for outcome in result.outcomes:
        title = f"{outcome.framework}: {len(outcome.not_asked)} details were not checked"
        parts.append(Folded(title, [list(outcome.not_asked)]))
    parts.append(Folded("No verdict was reached on", [list(result.unjudged)]))
    return Section("asked", "What was checked", "", parts)


def _make_earlier_nights_section(result: CheckResult) -> Section:
    rows = [
        [run.started[:16].replace("T", " "), Badge(find_worst_verdict(run.verdicts.values())),
         ", ".join(f"{name} {verdict}" for name, verdict in run.verdicts.items())]
        for run in result.report_data.earlier[:_NIGHTS]
    ]  # fmt: skip
    parts = [Table(("started (UTC)", "verdict", "of each framework"), rows)]
    lead = "What changed over them, and since when: rlregress trend FOLDER"
    return Section("earlier", "Earlier nightly runs", lead, parts)


def _make_versions_section(result: CheckResult) -> Section:
    rows = []
    for outcome in result.outcomes:
        stored = _get_stored_versions(result, outcome)
        for package, version in result.versions[outcome.framework].items():
            before = stored.get(package, "-")
            changed_word = "changed" if stored and before not in ("-", version) else ""
            rows.append([outcome.framework, package, before, version, changed_word])
    head = ("framework", "package", "stored runs", "this check", "")
    machines = list(
        dict.fromkeys(item.machine for item in result.report_data.runs.values() if item.machine)
    )
    machine_lines = [f"This check: {result.report_data.machine}"]
    machine_lines += [f"Stored runs: {machine}" for machine in machines]
    copies = [
        f"{module} was imported from {place}, not from the installed files"
        for item in result.copies.values()
        for module, place in item.items()
    ]
    return Section(
        "versions", "Versions and machines", "", [Table(head, rows), machine_lines, copies]
    )
