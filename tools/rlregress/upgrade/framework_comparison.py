"""Compares one framework in both versions: its differences, its trainings, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rlregress.frameworks.base import Adapter
from rlregress.model.code import REMOVED, ChangedPiece
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import LATE, FrameworkResult
from rlregress.trace.child_processes import note_skipped_task
from rlregress.upgrade import recordings
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences import early_answers, training_selection
from rlregress.upgrade.differences.inventory import Inventory
from rlregress.upgrade.evidence import compared_trainings, version_fingerprints
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import NotedFunctions
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.recordings import Recorded
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries, not_checked


class FrameworkDifferences:
    """The differences that belong to one framework, and its trainings, which may execute them.

    Args:
        fingerprints: of both versions, from its probes.
        selects: the old version records only the trainings that execute something that differs.
        left_out: families of details that are not probed.

    Attributes:
        trainings: those to record.
        one_sided: title of a training that only one version has -> this version.
    """

    def __init__(
        self,
        adapter: Adapter,
        inventory: Inventory,
        fingerprints: tuple[Fingerprint, Fingerprint],
        options: Options,
        selects: bool,
        left_out: Sequence[str],
    ) -> None:
        self.adapter, self.prints, self.selects = adapter, fingerprints, selects
        built_in = [title for fingerprint in fingerprints for title in fingerprint.algorithms]
        self.not_checked = tuple(
            not_checked.list_unchecked_subjects(adapter, options, left_out, built_in)
        )
        self.trainings, self.one_sided = list_common_and_one_sided_trainings(
            adapter, fingerprints, options
        )
        more = inventory.list_differing_packages_except(adapter.framework.modules)
        self.trainings = [training.add_packages_to_note(more) for training in self.trainings]
        # with a script, pieces of code belong to the script
        has_code = options.script is None
        package = adapter.framework.packages[0]
        versions = [fingerprint.versions.get(package, "") for fingerprint in fingerprints]
        elsewhere = attribution.find_details_documented_for_other_versions(adapter, *versions)
        self.details = version_fingerprints.compare_fingerprints(*fingerprints, elsewhere)
        self.defaults = tuple(version_fingerprints.list_changed_defaults(*fingerprints))
        self.unread = tuple(version_fingerprints.describe_unread_defaults(*fingerprints))
        changed = {(d.id, d.scope): d for d in self.details.changed}
        self.standing = {
            key: attribution.classify_new_variant_by_documentation(adapter, d, versions[1])
            for key, d in changed.items()
        }
        self.documented = {
            key: attribution.describe_documented_variants(adapter, d) for key, d in changed.items()
        }
        self.pieces = [
            piece for piece in inventory.pieces if has_code and _owns_piece(adapter, piece)
        ]
        unowned = list_pieces_of_no_framework([adapter], inventory) if has_code else []
        #: those above, and those of packages of no framework, which its trainings may run, too.
        self.differing = [piece for piece in (*self.pieces, *unowned) if piece.can_change_results]

    @property
    def name(self) -> str:
        return self.adapter.full_name

    @property
    def sentences_on_probes(self) -> list[str]:
        """Return sentences: how many details and defaults differ, and which."""
        details = self.details
        counts = (
            f"{details.probed_count} of {details.total_count} details probed on both versions, "
            f"{len(details.changed)} differ; "
        )
        return [
            f"{self.name}: {counts if details.total_count else ''}"
            f"{len(self.defaults)} changed defaults",
            *early_answers.describe_changed_details_and_defaults(details.changed, self.defaults),
        ]

    @property
    def details_by_probed_function(self) -> dict[tuple[str, str], list[str]]:
        """Return function -> details whose probes executed it and have answers on both versions."""
        old, new = self.prints
        details: dict[tuple[str, str], list[str]] = {}
        for key, answer in new.found.items():
            old_answer = old.found.get(key)
            if answer.observed is None or old_answer is None or old_answer.observed is None:
                continue
            for function in answer.called | old_answer.called:
                details.setdefault(function, []).append(f"{key[0]} [{key[1]}]")
        return details

    def map_versions_to_noted_functions(self, keeps_traces: bool) -> dict[str, NotedFunctions]:
        """Return label of a version -> the functions whose lines are noted there.

        Args:
            keeps_traces: traces are kept and compared with further versions: only functions are
                noted, no lines.
        """
        if keeps_traces:
            return {"old": [], "new": []}
        lines: dict[str, NotedFunctions] = {
            label: [[piece.get_file_in_version(label), piece.name] for piece in self.differing]
            for label in VERSIONS
        }
        if not any(piece.how == REMOVED for piece in self.differing):
            del lines["old"]
        return lines


def _owns_piece(adapter: Adapter, piece: ChangedPiece) -> bool:
    package = piece.file.partition("/")[0]
    return package in adapter.framework.modules or bool(
        adapter.framework.checkout and package.startswith(adapter.name)
    )


def list_pieces_of_no_framework(
    adapters: Iterable[Adapter], inventory: Inventory
) -> list[ChangedPiece]:
    """Return pieces of code in packages that belong to none of these frameworks."""
    return [piece for piece in inventory.pieces if not any(_owns_piece(x, piece) for x in adapters)]


def list_common_and_one_sided_trainings(
    adapter: Adapter, fingerprints: tuple[Fingerprint, Fingerprint], options: Options
) -> tuple[list[Training], dict[str, str]]:
    """Return the traced trainings of a framework: every algorithm, plain and through its scenarios.

    Return also title -> the version that alone has this training.
    """
    old, new = fingerprints
    # if the algorithms of a version cannot be listed, its trainings fail with the reason
    in_old = set(new.algorithms if old.no_algorithms else old.algorithms)
    in_new = set(old.algorithms if new.no_algorithms else new.algorithms)
    titles = dict.fromkeys((*old.algorithms, *new.algorithms)) if options.script is None else {}
    chosen = [title for title in titles if options.includes_training(title)]
    make_training = partial(compared_trainings.make_built_in_training, adapter)
    trainings = [make_training(title) for title in chosen if title in in_old & in_new]
    alone = {label: sorted(titles.intersection(chosen))
             for label, titles in (("old", in_old - in_new), ("new", in_new - in_old))}  # fmt: skip
    return trainings, {title: label for label, titles in alone.items() for title in titles}


def compare_framework(
    versions: BothVersions, diff: FrameworkDifferences
) -> tuple[FrameworkResult, ExecutedCode]:
    """Compare one framework by probes and trainings; return the result and the executed code."""
    if late := sum(detail.why == LATE for detail in diff.details.not_probed):
        note_skipped_task(f"{late} of {diff.details.total_count} details of {diff.name}")
    recorded = versions.explain_differing_trainings(
        _record_and_compare(versions, diff),
        diff.trainings,
        diff.differing,
        diff.pieces,
        diff.details_by_probed_function,
    )
    checks = entries.make_training_entries(
        recorded.traced, recorded.not_traced, recorded.same, diff.name
    )
    # for represented trainings no search has shown which changed functions matter
    evident = [check for check in checks if check.name not in recorded.stand_ins]
    details = entries.make_detail_entries(diff.details, diff.standing, diff.name)
    executed = ExecutedCode(
        *recorded.traces, entries.map_checks_to_states([*evident, *details], recorded.culprits)
    )
    functions = [
        *attribution.select_functions_that_explain(
            recorded.culprits.values(), diff.details.changed, diff.differing, recorded.executions
        ),
        *attribution.choose_functions_to_show(recorded.executions),
    ]
    modules, (old, new) = diff.adapter.framework.modules, diff.prints
    described = FrameworkResult(
        name=diff.name,
        title=diff.adapter.framework.title,
        module=modules[0] if modules else "",
        versions=(old.versions, new.versions),
        details=diff.details,
        standing=diff.standing,
        documented=diff.documented,
        defaults=diff.defaults,
        unread=diff.unread,
        traced=tuple(recorded.traced),
        not_traced=tuple(recorded.not_traced),
        same_code=tuple(recorded.same),
        entries=(
            *checks,
            *details,
            *entries.make_default_entries(diff.defaults, diff.unread, diff.name),
            *versions.list_entries_of_code(recorded.executions, executed, diff.name),
            *entries.make_one_sided_training_entries(diff.one_sided, diff.name),
        ),
        executions=tuple(recorded.executions),
        culprits=recorded.culprits,
        hunks=attribution.collect_differing_lines(
            functions, recordings.collect_executed_lines(recorded.traces[1])
        ),
        costs=recorded.costs,
        not_checked=diff.not_checked,
    )
    return described, executed


def _record_and_compare(versions: BothVersions, diff: FrameworkDifferences) -> Recorded:
    difference = None
    if diff.selects:
        files = {file.file: file.without_effect for file in versions.inventory.files}
        difference = training_selection.group_differences_by_effect(
            versions.inventory.pieces, files, diff.prints[0].versions != diff.prints[1].versions
        )
    lines = diff.map_versions_to_noted_functions(versions.options.keep is not None)
    return recordings.record_and_compare_trainings(
        versions.runtimes, diff.trainings, lines, difference, diff.differing, versions.options
    )
