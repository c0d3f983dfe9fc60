"""Compares one framework in both versions: its differences, its trainings, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from rlregress.catalogue import registry
from rlregress.frameworks.base import Adapter
from rlregress.model.code import REMOVED, ChangedPiece
from rlregress.model.recorded_traces import VERSIONS
from rlregress.model.upgrade_result import LATE, FrameworkResult
from rlregress.trace.child_processes import OutOfTime, note_skipped_task
from rlregress.upgrade.both_versions import BothVersions, ExecutedCode
from rlregress.upgrade.culprits import attribution
from rlregress.upgrade.differences import early_answers, training_selection
from rlregress.upgrade.evidence import compared_trainings, version_fingerprints
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.runtimes import Answers, NotedFunctions
from rlregress.upgrade.evidence.version_fingerprints import Fingerprint
from rlregress.upgrade.recordings import RecordedTrainings
from rlregress.upgrade.upgrade_options import Options
from rlregress.upgrade.verdict import entries, not_checked


class FrameworkComparison:
    """One framework in both versions: its probes, its trainings, and their results.

    Args:
        left_out: families of details that are not probed.

    Attributes:
        result: the results so far: first of the probes, then of the trainings, too.
        prints: fingerprints of both versions, from the probes.
    """

    result: FrameworkResult
    prints: tuple[Fingerprint, Fingerprint]

    def __init__(self, versions: BothVersions, adapter: Adapter, left_out: Sequence[str]) -> None:
        """Begin to probe details on both versions."""
        self._versions, self.adapter, self._left_out = versions, adapter, left_out
        details = select_details(left_out, versions.options)
        with versions.options.limit_stage("details"):
            self._answers = versions.runtimes.call_for_each_version(
                "-".join([adapter.full_name, "details" if details else "no-details", *left_out]),
                version_fingerprints.fingerprint_version,
                adapter,
                details,
            )

    def wait_for_probes(self) -> None:
        """Wait for the probes, and compare their answers.

        Raises:
            UserError: a version gave no answers.
        """
        old, new = self.prints = wait_for_answers(self._answers, self.adapter)
        unchecked = not_checked.list_unchecked_subjects(
            self.adapter,
            self._versions.options,
            self._left_out,
            [*old.algorithms, *new.algorithms],
        )
        compared = _compare_probes(self.adapter, self.prints)
        self.result = replace(compared, not_checked=tuple(unchecked))

    @property
    def sentences_on_probes(self) -> list[str]:
        """Return sentences: how many details and defaults differ, and which."""
        details, defaults = self.result.details, self.result.defaults
        counts = (
            f"{details.probed_count} of {details.total_count} details probed on both versions, "
            f"{len(details.changed)} differ; "
        )
        return [
            f"{self.result.name}: {counts if details.total_count else ''}"
            f"{len(defaults)} changed defaults",
            *early_answers.describe_changed_details_and_defaults(details.changed, defaults),
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

    def record_and_compare(self, selects: bool) -> None:
        """Record and compare the trainings.

        Args:
            selects: the old version records only the trainings that execute something that differs.
        """
        details = self.result.details
        inventory, options = self._versions.inventory, self._versions.options
        if late := sum(detail.why == LATE for detail in details.not_probed):
            note_skipped_task(f"{late} of {details.total_count} details of {self.result.name}")
        difference = None
        if selects:
            files = {file.file: file.without_effect for file in inventory.files}
            difference = training_selection.group_differences_by_effect(
                inventory.pieces, files, self.prints[0].versions != self.prints[1].versions
            )
        trainings, one_sided = list_common_and_one_sided_trainings(
            self.adapter, self.prints, options
        )
        more = inventory.list_differing_packages_except(self.adapter.framework.modules)
        # with a script, pieces of code belong to the script
        all_pieces = inventory.pieces if options.script is None else ()
        pieces = [piece for piece in all_pieces if _owns_piece(self.adapter, piece)]
        # those of packages of no framework, which its trainings may run, too
        unowned = list_pieces_of_no_framework([self.adapter], all_pieces)
        self._recorded = recorded = RecordedTrainings(
            versions=self._versions,
            trainings=[training.add_packages_to_note(more) for training in trainings],
            differing=[piece for piece in (*pieces, *unowned) if piece.can_change_results],
        )
        recorded.record_and_compare(
            _map_versions_to_noted_functions(recorded.differing, options), difference
        )
        self._pieces, self._one_sided = pieces, one_sided

    def explain(self) -> ExecutedCode:
        """Find what changed the trainings, and return the code that they executed."""
        recorded = self._recorded
        recorded.explain(self._pieces, self.details_by_probed_function)
        result, executed = recorded.add_to_result(self.result)
        self.result = replace(
            result,
            entries=(*result.entries, *entries.make_one_sided_training_entries(self._one_sided)),
            traced=tuple(recorded.traced),
            not_traced=tuple(recorded.not_traced),
            same_code=tuple(recorded.same),
        )
        return executed


def select_details(left_out: Sequence[str], options: Options) -> list[registry.Detail]:
    """Return the details to probe.

    Args:
        left_out: families of details that are not probed.
    """
    details = () if options.only_scenarios else registry.list_details()
    return [detail for detail in details if detail.family not in left_out]


def wait_for_answers(answers: Answers, adapter: Adapter) -> tuple[Fingerprint, Fingerprint]:
    """Return the answers of both versions' probes; none if time ran out.

    Raises:
        UserError: a version gave no answers.
    """
    try:
        return answers[0].result(), answers[1].result()
    except OutOfTime:
        why = note_skipped_task(f"details of {adapter.full_name}")
        late = Fingerprint({}, (), {}, unread={"of every algorithm": why}, no_algorithms=why)
        return late, late


def _map_versions_to_noted_functions(
    differing: Sequence[ChangedPiece], options: Options
) -> dict[str, NotedFunctions]:
    """Return label of a version -> the functions whose lines are noted there."""
    if options.keep is not None:
        # traces are kept and compared with further versions: only functions are noted
        return {"old": [], "new": []}
    lines: dict[str, NotedFunctions] = {
        label: [[piece.get_file_in_version(label), piece.name] for piece in differing]
        for label in VERSIONS
    }
    if not any(piece.how == REMOVED for piece in differing):
        del lines["old"]
    return lines


def _compare_probes(
    adapter: Adapter, fingerprints: tuple[Fingerprint, Fingerprint]
) -> FrameworkResult:
    """Compare the details and defaults of both versions, and return them with their entries."""
    name, modules = adapter.full_name, adapter.framework.modules
    package = adapter.framework.packages[0]
    versions = [fingerprint.versions.get(package, "") for fingerprint in fingerprints]
    elsewhere = attribution.find_details_documented_for_other_versions(adapter, *versions)
    details = version_fingerprints.compare_fingerprints(*fingerprints, elsewhere)
    defaults = version_fingerprints.list_changed_defaults(*fingerprints)
    unread = version_fingerprints.describe_unread_defaults(*fingerprints)
    changed = {(d.id, d.scope): d for d in details.changed}
    standing = {
        key: attribution.classify_new_variant_by_documentation(adapter, d, versions[1])
        for key, d in changed.items()
    }
    return FrameworkResult(
        name=name,
        title=adapter.framework.title,
        module=modules[0] if modules else "",
        versions=(fingerprints[0].versions, fingerprints[1].versions),
        details=details,
        standing=standing,
        documented={
            key: attribution.describe_documented_variants(adapter, d) for key, d in changed.items()
        },
        defaults=tuple(defaults),
        unread=tuple(unread),
        entries=(
            *entries.make_detail_entries(details, standing),
            *entries.make_default_entries(defaults, unread),
        ),
    )


def _owns_piece(adapter: Adapter, piece: ChangedPiece) -> bool:
    package = piece.file.partition("/")[0]
    return package in adapter.framework.modules or bool(
        adapter.framework.checkout and package.startswith(adapter.name)
    )


def list_pieces_of_no_framework(
    adapters: Iterable[Adapter], pieces: Iterable[ChangedPiece]
) -> list[ChangedPiece]:
    """Return pieces of code in packages that belong to none of these frameworks."""
    return [piece for piece in pieces if not any(_owns_piece(x, piece) for x in adapters)]


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
