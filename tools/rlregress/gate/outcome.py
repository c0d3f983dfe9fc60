"""From the evidence of a session to one verdict per framework."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rlregress import evidence
from rlregress.details import requested_names
from rlregress.details.expectations import Cell
from rlregress.model.extra_packages import EXTRAS
from rlregress.model.gate_result import FrameworkOutcome
from rlregress.model.quantities import RETURNS, TRAINING, Quantity, quantity_of
from rlregress.model.verdict import (
    CHANGES,
    COULD_NOT_JUDGE,
    EXIT_CODES,
    FORMULAS_HOLD,
    HOLDS,
    INCONCLUSIVE,
    REGRESSED,
    worst_verdict,
)
from rlregress.training import cell
from rlregress.verdicts.rules import Rules

#: a cell whose own p-value, its looks considered, is larger shows no sign of a drop
SIGN_OF_A_DROP = 0.2


def _covers(other: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    """Whether a verdict that holds speaks for the returns of a cell that alone see too little.

    It is that of the cell's group, or of the training of one of them. It does not speak for the
    cell if runs of the cell failed, or if the cell itself shows a drop of more than what the other
    can see: that drop may be real, and it is not what the other was asked about. It shows one if
    its own p-value is small, or if the drop is one that matters.
    """
    detectable = other["visible_fraction"]
    if cell.get("failed") or detectable is None:
        return False
    drop = -cell["effect_fraction"]
    return drop <= detectable or (cell["p_drop"] > SIGN_OF_A_DROP and drop <= Rules().must_detect)


def _covered(name: str, verdicts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether another verdict speaks for a cell or a group that is inconclusive."""
    groups = [group for group, of in verdicts.items() if name in of.get("cells", ())]
    names = [*groups, *(TRAINING.named(judged_name) for judged_name in (name, *groups))]
    return any(
        verdicts[known_name]["verdict"] == HOLDS and _covers(verdicts[known_name], verdicts[name])
        for known_name in names
        if known_name in verdicts
    )


def _counts(quantity: Quantity, verdict: str) -> bool:
    """Whether a verdict counts for its framework.

    What is judged beside returns counts where it shows something; that critics hold says nothing of
    returns, that training returns hold does.
    """
    return quantity is RETURNS or verdict in CHANGES or (quantity is TRAINING and verdict == HOLDS)


def _verdict(
    failures: list[dict[str, Any]],
    verdicts: Mapping[str, Mapping[str, Any]],
    throughput: Collection[str],
) -> str:
    """The verdict of a framework: of its returns, and of its throughput where that was asked."""
    if failures:
        return REGRESSED
    counted = [
        verdict["verdict"]
        for name, verdict in verdicts.items()
        if not (verdict["verdict"] == INCONCLUSIVE and _covered(name, verdicts))
        and _counts(quantity_of(name), verdict["verdict"])
    ]
    return worst_verdict([*counted, *throughput])


def _trained(framework: str, trained: Collection[str] | None) -> bool:
    # a copy of a framework, "name@label", is judged by the runs of that name
    return trained is None or framework.partition("@")[0] in trained


def outcomes(
    entries: list[dict[str, Any]],
    trained: Collection[str] | None = None,
    to_probe: Mapping[str, Collection[Cell]] = MappingProxyType({}),
    untrained: Mapping[cell.Cell, str] = MappingProxyType({}),
) -> list[FrameworkOutcome]:
    """One outcome per framework that was to be judged, or that a test was about, by name.

    Nothing holds of a framework that was to be judged and was not checked everything: whether the
    rest holds is not known.

    Args:
        trained: frameworks whose returns are judged; None: all. Of others formulas and behaviour
            are all that can hold.
        to_probe: frameworks that were to be judged -> every (detail, scope) to be asked of them.
        untrained: cells that need a package which is not installed -> that sentence.
    """
    made = []
    for framework in sorted(
        {e["framework"] for e in entries if e.get("framework")} | set(to_probe)
    ):
        own = [entry for entry in entries if entry.get("framework") == framework]
        tests: dict[str, dict[str, int]] = {}
        for entry in own:
            tier = tests.setdefault(entry["tier"], {})
            tier[entry["outcome"]] = tier.get(entry["outcome"], 0) + 1
        failures = [entry for entry in own if entry["outcome"] == "failed"]
        verdicts = evidence.verdicts(own)
        throughput = {
            algorithm: measured
            for (name, algorithm), measured in evidence.throughput(entries).items()
            if name == framework
        }
        replays = evidence.replays(own)
        replayed = [of.state for of in replays.values() if of.is_reproduced]
        quantities = [
            verdict["verdict"]
            for measured in throughput.values()
            for verdict in measured.get("verdicts", {}).values()
        ]
        if not failures and not _trained(framework, trained) and set(quantities) <= {HOLDS}:
            verdict = FORMULAS_HOLD
        else:
            verdict = _verdict(failures, verdicts, [*quantities, *replayed])
        without = [entry for entry in own if evidence.LACKING in entry]
        apart = [entry for entry in without if _is_about_what_is_missing(entry)]
        wanted = set(to_probe.get(framework, ())) - {
            (entry.get("detail"), entry.get("scope")) for entry in apart
        }
        missing = requested_names.not_probed(wanted, evidence.answered(own, framework))
        tiers = _untested(tests, _trained(framework, trained)) if framework in to_probe else ()
        cells = {of: why for of, why in untrained.items() if _trained(framework, {of.framework})}
        lacking = _lacking(without, cells)
        old_files = evidence.old_files(own).get(framework, {})
        not_loaded = evidence.not_loaded(own).get(framework, {})
        # one kind of file may be none of this environment; nothing of any says nothing of old files
        unread = bool(old_files) and not_loaded.keys() == old_files.keys()
        if verdict != REGRESSED and (
            missing or tiers or cells or unread or len(apart) < len(without)
        ):
            verdict = COULD_NOT_JUDGE
        made.append(
            FrameworkOutcome(
                framework=framework,
                verdict=verdict,
                tests=tests,
                failures=tuple(failures),
                verdicts=verdicts,
                details=len({id for id, _ in wanted}),
                not_asked=missing,
                untested=tiers,
                throughput=throughput,
                replays=replays,
                not_judged=evidence.not_judged(own),
                lacking=lacking,
                old_files=old_files,
                not_loaded=not_loaded,
            )
        )
    return made


def _is_about_what_is_missing(entry: Mapping[str, Any]) -> bool:
    """Whether a test is about what an extra brings, as its name says: wrappers of Atari.

    That cannot run in this environment at all, so the rest can be judged without it. Whatever else
    needs the package is not checked, be it that a framework has come to need it.
    """
    sentence, test = entry[evidence.LACKING], entry["test"]
    return any(f"[{extra}]" in sentence and extra in test for extra in EXTRAS.values())


def _lacking(
    without: list[dict[str, Any]], untrained: Mapping[cell.Cell, str]
) -> dict[str, tuple[str, ...]]:
    """Package that is not installed, in a sentence -> the tests and cells that need it."""
    needing: dict[str, list[str]] = {}
    for entry in without:
        needing.setdefault(entry[evidence.LACKING], []).append(entry["test"])
    for of, sentence in untrained.items():
        needing.setdefault(sentence, []).append(of.id)
    return {sentence: tuple(names) for sentence, names in sorted(needing.items())}


def _untested(tests: Mapping[str, Mapping[str, int]], trained: bool) -> tuple[str, ...]:
    tiers = ("unit", "behavior", "performance") if trained else ("unit", "behavior")
    return tuple(tier for tier in tiers if not tests.get(tier, {}).get("passed"))


def broken(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failed tests about no framework, and tests that could not be set up: the suite is broken."""
    return [
        entry
        for entry in entries
        if entry["outcome"] == "error"
        or (entry["outcome"] == "failed" and not entry.get("framework"))
    ]


def unjudged(names: Iterable[str], entries: list[dict[str, Any]]) -> list[str]:
    """Cells and groups of the session that no test has given a verdict on."""
    return sorted(set(names) - evidence.verdicts(entries).keys())


def exit_code(
    of_frameworks: list[FrameworkOutcome],
    entries: list[dict[str, Any]],
    missing: Sequence[str] = (),
) -> int:
    """0 holds, 1 regressed, 2 could not judge (also: verdicts are missing), 3 inconclusive."""
    verdicts = [outcome.verdict for outcome in of_frameworks]
    if not of_frameworks or missing or broken(entries):
        verdicts.append(COULD_NOT_JUDGE)
    return EXIT_CODES[worst_verdict(verdicts)]
