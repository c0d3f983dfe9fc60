"""Derives one verdict per framework from the evidence of a session."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rlregress import evidence
from rlregress.catalogue import requested_names
from rlregress.catalogue.expectations import DetailScope
from rlregress.model.check_result import FrameworkOutcome
from rlregress.model.extra_packages import EXTRAS
from rlregress.model.quantities import RETURNS, TRAINING, Quantity, get_quantity_of_verdict_name
from rlregress.model.replay_result import Replay
from rlregress.model.verdict import (
    CHANGES,
    COULD_NOT_JUDGE,
    EXIT_CODES,
    FORMULAS_HOLD,
    HOLDS,
    INCONCLUSIVE,
    REGRESSED,
    find_worst_verdict,
)
from rlregress.training import cell
from rlregress.verdicts.rules import Rules

#: a cell with a larger p-value (over its looks) shows no sign of a drop
SIGN_OF_A_DROP = 0.2


def _does_verdict_cover_cell(covering: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Return whether a ``holds`` verdict covers an ``inconclusive`` cell.

    The covering verdict is that of the cell's group, or of the training returns of either. It does
    not cover a cell with failed runs. Nor does it cover a cell that shows a drop larger than the
    detectable one: that drop may be real, and the covering verdict does not test it. A cell shows a
    drop if its p-value is small, or if the drop is large enough to matter.
    """
    detectable = covering["visible_fraction"]
    if cell.get("failed") or detectable is None:
        return False
    drop = -cell["effect_fraction"]
    return drop <= detectable or (cell["p_drop"] > SIGN_OF_A_DROP and drop <= Rules().must_detect)


def _is_covered_by_other_verdict(
    verdict_name: str, verdicts: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether another verdict covers an inconclusive cell or group."""
    groups = [
        group for group, verdict in verdicts.items() if verdict_name in verdict.get("cells", ())
    ]
    names = [
        *groups,
        *(TRAINING.make_verdict_name(judged_name) for judged_name in (verdict_name, *groups)),
    ]
    return any(
        verdicts[covering_name]["verdict"] == HOLDS
        and _does_verdict_cover_cell(verdicts[covering_name], verdicts[verdict_name])
        for covering_name in names
        if covering_name in verdicts
    )


def _counts_for_framework(quantity: Quantity, verdict: str) -> bool:
    """Return whether a verdict on a quantity counts in the verdict on its framework.

    Secondary quantities count if they changed. If they hold, training returns count, and critics
    do not.
    """
    return quantity is RETURNS or verdict in CHANGES or (quantity is TRAINING and verdict == HOLDS)


def _derive_framework_verdict(
    failures: Collection[Mapping[str, Any]],
    verdicts: Mapping[str, Mapping[str, Any]],
    throughput: Mapping[str, Mapping[str, Any]],
    replays: Mapping[str, Replay],
    is_trained: bool,
) -> str:
    """Return the verdict of a framework on what was checked of it.

    Its returns count, also as replays with the stored numbers, and its throughput if requested. If
    it is not trained for returns, only formulas and behaviour can hold.
    """
    if failures:
        return REGRESSED
    throughput_verdicts = [
        verdict["verdict"]
        for measured in throughput.values()
        for verdict in measured.get("verdicts", {}).values()
    ]
    if not is_trained and set(throughput_verdicts) <= {HOLDS}:
        return FORMULAS_HOLD
    counted_verdicts = [
        verdict["verdict"]
        for name, verdict in verdicts.items()
        if not (verdict["verdict"] == INCONCLUSIVE and _is_covered_by_other_verdict(name, verdicts))
        and _counts_for_framework(get_quantity_of_verdict_name(name), verdict["verdict"])
    ]
    # fresh seeds judge a cell whose replay differs
    reproduced = [replay.state for replay in replays.values() if replay.is_reproduced]
    return find_worst_verdict([*counted_verdicts, *throughput_verdicts, *reproduced])


def _is_framework_trained(framework: str, trained: Collection[str] | None) -> bool:
    # trainings take the copy with the plain name, so "name@label" is not among them
    return trained is None or framework in trained


def build_framework_outcomes(
    entries: list[dict[str, Any]],
    trained: Collection[str] | None = None,
    to_probe: Mapping[str, Collection[DetailScope]] = MappingProxyType({}),
    untrained: Mapping[cell.Cell, str] = MappingProxyType({}),
) -> list[FrameworkOutcome]:
    """Return one outcome per framework that was requested or tested, by name.

    A requested framework that was not checked completely never gets ``holds``.

    Args:
        trained: frameworks whose returns are judged; None: all. For others only formulas and
            behaviour can hold.
        to_probe: requested frameworks -> every (detail, scope) to be probed.
        untrained: cells that need a missing package -> the sentence that names it.
    """
    names = {entry["framework"] for entry in entries if entry.get("framework")} | set(to_probe)
    return [
        _build_framework_outcome(
            name,
            [entry for entry in entries if entry.get("framework") == name],
            _is_framework_trained(name, trained),
            to_probe.get(name),
            {
                item: reason
                for item, reason in untrained.items()
                if _is_framework_trained(name, {item.framework})
            },
        )
        for name in sorted(names)
    ]


def _build_framework_outcome(
    framework: str,
    entries: list[dict[str, Any]],
    is_trained: bool,
    to_probe: Collection[DetailScope] | None,
    untrained: Mapping[cell.Cell, str],
) -> FrameworkOutcome:
    """Return the outcome of a framework, which was not requested if ``to_probe`` is None."""
    failures = tuple(entry for entry in entries if entry["outcome"] == "failed")
    verdicts = evidence.collect_verdicts(entries)
    throughput = {
        algorithm: measured
        for (_, algorithm), measured in evidence.collect_throughput(entries).items()
    }
    replays = evidence.collect_replays(entries)
    tests = _count_outcomes_by_tier(entries)
    lacking_entries = [entry for entry in entries if evidence.LACKING in entry]
    extra_entries = [entry for entry in lacking_entries if _is_test_about_missing_extra(entry)]
    probes = set(to_probe or ()) - {
        (entry.get("detail"), entry.get("scope")) for entry in extra_entries
    }
    missing = requested_names.list_unprobed_details(
        probes, evidence.list_measured_details_and_scopes(entries, framework)
    )
    tiers = () if to_probe is None else _list_untested_tiers(tests, is_trained)
    old_files = evidence.collect_loading_outcomes_of_old_files(entries).get(framework, {})
    not_loaded = evidence.collect_failures_of_old_files(entries).get(framework, {})
    # one kind of file may not exist in this environment; if no kind was loaded, old files are
    # unknown
    unread = bool(old_files) and not_loaded.keys() == old_files.keys()
    was_all_checked = not (
        missing
        or tiers
        or untrained
        or unread
        or len(extra_entries) < len(lacking_entries)
        or find_broken_tests(entries)
    )
    judged = _derive_framework_verdict(failures, verdicts, throughput, replays, is_trained)
    return FrameworkOutcome(
        framework=framework,
        verdict=judged if was_all_checked or judged == REGRESSED else COULD_NOT_JUDGE,
        tests=tests,
        failures=failures,
        verdicts=verdicts,
        details=len({id for id, _ in probes}),
        not_asked=missing,
        untested=tiers,
        throughput=throughput,
        replays=replays,
        not_judged=evidence.collect_unjudged_quantities(entries),
        lacking=_group_tests_by_missing_package(lacking_entries, untrained),
        old_files=old_files,
        not_loaded=not_loaded,
    )


def _count_outcomes_by_tier(entries: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for entry in entries:
        tier = counts.setdefault(entry["tier"], {})
        tier[entry["outcome"]] = tier.get(entry["outcome"], 0) + 1
    return counts


def _is_test_about_missing_extra(entry: Mapping[str, Any]) -> bool:
    """Return whether a test is about a missing extra by its name, such as wrappers of Atari.

    Such a test cannot run in this environment, and the rest can be judged without it. Any other
    test that needs the package is unchecked, for example because a framework now needs it.
    """
    sentence, test = entry[evidence.LACKING], entry["test"]
    return any(f"[{extra}]" in sentence and extra in test for extra in EXTRAS.values())


def _group_tests_by_missing_package(
    entries: list[dict[str, Any]], untrained: Mapping[cell.Cell, str]
) -> dict[str, tuple[str, ...]]:
    """Return the sentence about a missing package -> the tests and cells that need it."""
    names_by_sentence: dict[str, list[str]] = {}
    for entry in entries:
        names_by_sentence.setdefault(entry[evidence.LACKING], []).append(entry["test"])
    for untrained_cell, sentence in untrained.items():
        names_by_sentence.setdefault(sentence, []).append(untrained_cell.id)
    return {sentence: tuple(names) for sentence, names in sorted(names_by_sentence.items())}


def _list_untested_tiers(
    tests: Mapping[str, Mapping[str, int]], is_trained: bool
) -> tuple[str, ...]:
    tiers = ("unit", "behavior", "performance") if is_trained else ("unit", "behavior")
    return tuple(tier for tier in tiers if not tests.get(tier, {}).get("passed"))


def find_broken_tests(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tests that judged nothing: errors of the suite, or failures without a framework."""
    return [
        entry
        for entry in entries
        if entry["outcome"] == "error"
        or (entry["outcome"] == "failed" and not entry.get("framework"))
    ]


def find_unjudged_names(names_to_judge: Iterable[str], entries: list[dict[str, Any]]) -> list[str]:
    """Return the cells and groups of the session without a verdict."""
    return sorted(set(names_to_judge) - evidence.collect_verdicts(entries).keys())


def compute_exit_code(
    framework_outcomes: list[FrameworkOutcome],
    entries: list[dict[str, Any]],
    missing: Sequence[str] = (),
) -> int:
    """Return the exit code of a session: of the worst verdict, 2 if anything was not judged."""
    # missing verdicts and a broken suite can only worsen the exit code
    verdicts = [outcome.verdict for outcome in framework_outcomes]
    if not framework_outcomes or missing or find_broken_tests(entries):
        verdicts.append(COULD_NOT_JUDGE)
    return EXIT_CODES[find_worst_verdict(verdicts)]
