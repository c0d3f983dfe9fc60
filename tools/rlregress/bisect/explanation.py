"""Explains a step with the machinery of an upgrade on its two versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.version import InvalidVersion, Version

from rlregress.bisect.symptoms import Symptom, TestedVersion
from rlregress.catalogue import registry
from rlregress.catalogue.registry import Detail
from rlregress.frameworks.base import Adapter
from rlregress.model import explain
from rlregress.model.bisect_result import ChangedFunction, SymptomChange
from rlregress.model.code import WORDING, ChangedPiece, Hunk
from rlregress.model.upgrade_result import ChangedDetail, group_details_by_functions
from rlregress.upgrade import cascade
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences import inventory, known_changes, public_names
from rlregress.upgrade.differences.known_changes import Change
from rlregress.upgrade.evidence import version_fingerprints
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.versions import affected, prepared_versions, resolved
from rlregress.upgrade.versions.requested import RequestedVersion

#: how many changed functions are listed if none is known to explain a step.
_LISTED = 20
#: how many lines of one of them are shown.
_LINES = 24


def explain_changing_step(
    step: SymptomChange,
    symptom: Symptom,
    versions: tuple[TestedVersion, TestedVersion],
    adapters: Sequence[Adapter],
) -> SymptomChange:
    """Add to a step the changed functions, the first difference, and changelog entries.

    Args:
        versions: the two versions of the step; their stored measurements are used again.

    Raises:
        UserError: a version cannot be made or checked again.
    """
    if symptom.traced:
        explained, functions = _explain_step_by_trace(step, symptom, versions)
        explains = bool(explained.culprit)
    else:
        pieces, explains = _explain_step_by_code(symptom, versions, adapters)
        explained, functions = step, _sort_nearest_first(pieces, step, symptom, adapters)
    listed = [*dict.fromkeys(functions)][:_LISTED]
    return replace(
        explained,
        functions=tuple(
            ChangedFunction(place=str(function), lines=tuple(_format_differing_lines(hunk)))
            for function, hunk in attribution.collect_differing_lines(listed, {}).items()
        ),
        explains=explains,
        changelog=tuple(
            _list_changelog_entries(step, symptom, functions if explains else (), adapters)
        ),
    )


def _format_differing_lines(hunk: Hunk) -> list[str]:
    """Return the lines that differ, with "-" or "+" before each."""
    lines: list[str] = []
    for group in hunk.groups:
        rows = [row for row in group if not row.is_same]
        lines += [f"-{row.old[1]}" for row in rows if row.old is not None]
        lines += [f"+{row.new[1]}" for row in rows if row.new is not None]
    left_out = hunk.left_out + len(lines[_LINES:])
    return [*lines[:_LINES], *([f"... and {left_out} more lines"] if left_out else [])]


def _explain_step_by_trace(
    step: SymptomChange, symptom: Symptom, versions: tuple[TestedVersion, TestedVersion]
) -> tuple[SymptomChange, list[ChangedPiece]]:
    """Return the first difference of traces, and the functions whose reversal removes it."""
    with TemporaryDirectory(prefix="rlregress-bisect-") as folder:
        result = cascade.judge_upgrade(
            Options(
                report=Path(folder),
                algorithms=[symptom.algorithm] if symptom.algorithm else (),
                scenarios=[symptom.scenario] if symptom.scenario else (),
                only_scenarios=bool(symptom.scenario),
                script=symptom.script,
                returns=False,
                files=False,
            ),
            _get_requested_versions(versions),
        )
    culprits = [c for part in result.parts for c in part.culprits.values()]
    diverging = [t.comparison.first for t in result.traced if t.comparison.first is not None]
    explained = replace(
        step,
        first=tuple(explain.describe_divergence(diverging[0])) if diverging else (),
        culprit=tuple(
            f"reverting {c.alone} restores the old behaviour"
            for c in culprits
            if c.alone is not None
        ),
    )
    return explained, [f for c in culprits for f in c.confirmed_functions or c.likely_functions]


def _explain_step_by_code(
    symptom: Symptom, versions: tuple[TestedVersion, TestedVersion], adapters: Sequence[Adapter]
) -> tuple[list[ChangedPiece], bool]:
    """Return the differing functions that explain a symptom without trace, and whether any does.

    If none does, return all differing functions, and False.
    """
    requested_versions = _get_requested_versions(versions)
    pair = resolved.ResolvedPair(
        *resolved.resolve_versions(*requested_versions, adapters),
        affected.list_packages_pinned_apart(*requested_versions),
        adapters,
    )
    prepared = prepared_versions.prepare_versions(pair)
    pieces = [p for p in inventory.list_differences(pair, *prepared).pieces if p.how != WORDING]
    near: list[ChangedPiece] = []
    if symptom.details:
        details = [registry.get_detail(id) for id in symptom.details]
        changed: list[ChangedDetail] = []
        for prints in _fingerprint_both(versions, adapters, details):
            changed += version_fingerprints.compare_fingerprints(*prints).changed
        near = [
            f for finding in group_details_by_functions(changed, pieces) for f in finding.functions
        ]
    elif " " in symptom.name:
        near = _find_definition_of_default(
            symptom.name, pieces, _fingerprint_both(versions, adapters)
        )
    elif symptom.name:
        folders = [
            inventory.find_module(version, symptom.name.partition(".")[0]) for version in prepared
        ]
        paths: set[str] = set()
        for folder in [folder for folder in folders if folder is not None]:
            paths |= public_names.read_package(folder).list_paths_of_definition(symptom.name)
        near = _select_defining_pieces(paths, pieces)
    return (near, True) if near else ([p for p in pieces if p.can_change_results], False)


def _get_requested_versions(
    versions: tuple[TestedVersion, TestedVersion],
) -> tuple[RequestedVersion, RequestedVersion]:
    old, new = versions
    return old.resolved.requested, new.resolved.requested


def _fingerprint_both(
    versions: tuple[TestedVersion, TestedVersion],
    adapters: Sequence[Adapter],
    details: Sequence[Detail] = (),
) -> Iterator[tuple[Fingerprint, Fingerprint]]:
    """Return the fingerprints of both versions, for each framework."""
    old, new = versions
    return (
        (old.fingerprint_details(a, details), new.fingerprint_details(a, details)) for a in adapters
    )


def _find_definition_of_default(
    full_name: str,
    pieces: Sequence[ChangedPiece],
    prints: Iterable[tuple[Fingerprint, Fingerprint]],
) -> list[ChangedPiece]:
    """Return the definition of a parameter whose default changes like the searched one."""
    owner, _, parameter = full_name.rpartition(" ")
    owners = {owner}
    for old, new in prints:
        changed = version_fingerprints.list_changed_defaults(old, new)
        own = [c for c in changed if c.owner.split(" ")[0] == owner and c.name == parameter]
        moves = {(c.old, c.new) for c in own}
        of_class = [c for c in changed if c.owner.rpartition(".")[2].lower() == owner]
        owners |= {c.owner for c in of_class if (c.old, c.new) in moves}
    near = _select_defining_pieces(owners, [p for p in pieces if not p.name.startswith("<class>")])
    algorithm = owner.rpartition(".")[2].lower()
    return near or [
        piece
        for piece in pieces
        if algorithm in piece.file
        and any(
            parameter in line
            for hunk in attribution.collect_differing_lines([piece], {}).values()
            for line in _format_differing_lines(hunk)
        )
    ]


def _select_defining_pieces(
    paths: Collection[str], pieces: Iterable[ChangedPiece]
) -> list[ChangedPiece]:
    """Return the pieces of code that define dotted paths, or parts of them."""
    begins = tuple(f"{path}." for path in paths)
    return [
        piece
        for piece in pieces
        if f"{known_changes.make_dotted_name(' '.join(piece.key))}.".startswith(begins)
    ]


def _sort_nearest_first(
    functions: Iterable[ChangedPiece],
    step: SymptomChange,
    symptom: Symptom,
    adapters: Sequence[Adapter],
) -> list[ChangedPiece]:
    """Sort functions: known culprits, then the package's own; a probe's set-up comes last."""
    known_functions = {
        function
        for change in _find_known_changes(step, adapters)
        if {*change.details, *change.defaults} & {*symptom.details, symptom.name}
        for function in change.functions
    }
    own = {adapter.framework.modules[0] for adapter in adapters} | {step.package.replace("-", "_")}
    families = [registry.get_detail(id).family for id in symptom.details]

    def measure_distance(function: ChangedPiece) -> tuple[bool, ...]:
        setup = function.name.rpartition(".")[2].startswith("__")
        return (
            function.entry_name not in known_functions,
            function.file.partition("/")[0] not in own,
            not any(family in function.file for family in families),
            bool(families) and setup,
        )

    return sorted(functions, key=measure_distance)


def _find_known_changes(step: SymptomChange, adapters: Sequence[Adapter]) -> list[Change]:
    """Return changes between the two releases of a step that the suite knows."""
    changes = [
        change
        for adapter in adapters
        if step.package in adapter.framework.packages
        and adapter.name in known_changes.list_frameworks_with_history()
        for change in known_changes.load_changes(adapter.name)
    ]
    return [change for change in changes if _is_release_within_step(step, change.release)]


def _list_changelog_entries(
    step: SymptomChange,
    symptom: Symptom,
    functions: Sequence[ChangedPiece],
    adapters: Sequence[Adapter],
) -> list[str]:
    """Return the changelog entries that the suite knows for this step."""
    named = {function.entry_name for function in functions}
    exact = {*symptom.details, symptom.name}
    entries = []
    for change in _find_known_changes(step, adapters):
        about = {*change.details, *change.defaults}
        if {*about, *change.functions} & {*named, *exact}:
            entries.append((not about & exact, f"{change.what} ({change.source})"))
    return [text for _, text in sorted(entries, key=lambda row: row[0])]


def _is_release_within_step(step: SymptomChange, release: str) -> bool:
    try:
        low, high = sorted((Version(step.old), Version(step.new)))
        return low < Version(release) <= high
    except InvalidVersion:
        return False
