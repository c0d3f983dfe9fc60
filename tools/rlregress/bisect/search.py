"""``rlregress bisect``: checks both ends, searches the versions between, explains the step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from uuid import uuid4

from packaging.version import Version

from rlregress import progress
from rlregress.bisect import bisection, explanation, versions
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step
from rlregress.bisect.symptoms import NOT_THERE, Symptom, TestedVersion, Value
from rlregress.bisect.versions import Pins
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.model.bisect_result import BisectResult, SymptomChange
from rlregress.upgrade.versions import (
    cached_folders,
    installed,
    installer,
    interpreters,
    prepared_versions,
    resolved,
    revisions,
    state,
)
from rlregress.upgrade.versions.requested import RequestedVersion
from rlregress.upgrade.versions.resolved import ResolvedVersion

_CHECKING = "checking versions"


@dataclass(frozen=True)
class Candidate:
    """A version that may be checked.

    Attributes:
        text: its name in reports.
        requested: returns the version; a commit is written to a folder only at this call.
    """

    text: str
    requested: Callable[[], RequestedVersion]


@dataclass
class Search:
    """A bisection: measures a symptom in versions, once each, and notes those that it skips.

    Attributes:
        own: a folder for environments, each of which is removed after its measurement.
        shared: pins of packages that every version runs with, if it can.
        values: version -> its measured value, compared with the present old end.
        skipped: version -> why it is left out.
        checked: versions that were measured.
        apart: version -> description of its packages, if it cannot run with ``shared``.
        ends: the present old and new end, by their text.
    """

    symptom: Symptom
    adapters: Sequence[Adapter]
    say: cached_folders.Log
    own: Path
    shared: Sequence[str] = ()
    values: dict[str, Value] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)
    apart: dict[str, str] = field(default_factory=dict)
    ends: Mapping[str, TestedVersion] = field(default_factory=dict)
    _asked: Value = field(default_factory=dict)
    _folders: set[Path] = field(default_factory=set)
    _repeated: set[str] = field(default_factory=set)

    def measure_ends(self, old: Candidate, new: Candidate) -> bool:
        """Measure the symptom in both end versions, and return whether its values differ.

        Raises:
            UserError: an end cannot be checked, or neither end has the searched name.
        """
        if list(self.ends) == [old.text, new.text]:
            return self._are_ends_different()
        try:
            ends = self._prepare_and_measure_ends(old, new)
        except installer.Unreachable:
            raise
        except UserError as error:
            if not self.shared:
                raise
            self.say(f"{error}; every version is checked with what its release runs on instead")
            self.apart["every version"] = "what its release runs on"
            self.shared = ()
            ends = self._prepare_and_measure_ends(old, new)
        if {*ends[0].values(), *ends[1].values()} == {NOT_THERE}:
            suggestion = suggest_names(
                self.symptom.name, self.symptom.candidate_names(self.ends[new.text])
            )
            raise UserError(
                f"{self.symptom.title} is neither in {old.text} nor in {new.text}; {suggestion}"
            )
        self._asked = {scope: ends[0][scope] for scope in ends[0].keys() & ends[1].keys()}
        if not self._asked:
            scopes = [", ".join(sorted(end)) or "no scope" for end in ends]
            raise UserError(
                f"{self.symptom.title}: no scope is answered by both versions, {old.text} answers "
                f"for {scopes[0]} and {new.text} for {scopes[1]}; choose versions that share one"
            )
        return self._are_ends_different()

    def _prepare_and_measure_ends(self, old: Candidate, new: Candidate) -> list[Value]:
        for end in self.ends.values():
            shutil.rmtree(end.own, ignore_errors=True)
        self.values.clear()
        self._asked = {}
        self.ends = {end.text: self.make_tested_version(end) for end in (old, new)}
        ends = []
        for which, candidate in (("OLD", old), ("NEW", new)):
            self.skipped.pop(candidate.text, None)
            value = self.measure_value(candidate)
            if value is None:
                reason = self.skipped[candidate.text]
                raise UserError(f"{which}, {candidate.text}, cannot be checked: {reason}")
            self.check_version_repeats(candidate)
            ends.append(value)
        return ends

    def check_version_repeats(self, candidate: Candidate) -> None:
        """Measure a version once more if the user's own code runs.

        Raises:
            UserError: the second measurement differs from the first.
        """
        if not self.symptom.foreign or candidate.text in self._repeated:
            return
        self._repeated.add(candidate.text)
        checked = self.ends.get(candidate.text) or self.make_tested_version(
            candidate, candidate.text not in self.apart
        )
        second = replace(checked, folder=checked.folder / "again")
        second.folder.mkdir(exist_ok=True)
        try:
            value = self.symptom.value(second, self._old_end)
        finally:
            self.remove_files_of_version(checked)
        before = self.values[candidate.text]
        if value != before:
            answers = [", ".join(sorted(scope_values.values())) for scope_values in (before, value)]
            raise UserError(
                f"{candidate.text} does not repeat itself: {answers[0]}, then {answers[1]}; "
                f"expected the same {self.symptom.title} each time; fix the seeds it uses"
            )

    def remove_files_of_version(self, checked: TestedVersion) -> None:
        """Remove the files of a measured version; the ends stay."""
        if checked.folder in [end.folder for end in self.ends.values()]:
            return
        shutil.rmtree(checked.own, ignore_errors=True)
        checkout = self._find_checkout_folder(checked.resolved.requested)
        if checkout is not None:
            shutil.rmtree(checkout, ignore_errors=True)

    def _find_checkout_folder(self, version: RequestedVersion) -> Path | None:
        """Return the folder into which this search has checked out a commit; None: it has not."""
        checkouts = self.own / "revisions"
        if version.tree is None or checkouts not in version.tree.parents:
            return None
        return checkouts / version.tree.relative_to(checkouts).parts[0]

    def remove_user_code_measurements(self) -> None:
        """Remove stored measurements of user code, which may read files of no version."""
        if self.symptom.foreign:
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)

    def describe_one_sided_values(self) -> list[str]:
        """Describe values that only one of the two ends has."""
        return [
            f"{scope or self.symptom.title}, which {end} does not answer"
            for end in self.ends
            for other_end in self.ends
            for scope in sorted(self.values[other_end].keys() - self.values[end].keys())
        ]

    def _are_ends_different(self) -> bool:
        new = self.values[list(self.ends)[1]]
        return any(new[scope] != text for scope, text in self._asked.items())

    def measure_value(self, candidate: Candidate) -> Value | None:
        """Return the value of a version; None if it cannot be checked."""
        name = candidate.text
        if name not in self.values and name not in self.skipped:
            try:
                self.values[name] = self._measure_candidate(candidate)
                self.checked.add(name)
                self.say(f"{name}: {self.describe_value_of_version(name)}")
            except installer.Unreachable:
                raise
            except UserError as error:
                self.skipped[name] = str(error)
                self.say(f"{name}: skipped, {error}")
            progress.count_done_parts()
        return self.values.get(name)

    def compare_with_old_end(self, candidate: Candidate) -> str:
        """Return OLD, NEW or SKIPPED: whether a version has the values of the old end."""
        value = self.measure_value(candidate)
        if value is None:
            return SKIPPED
        if any(value.get(scope, text) != text for scope, text in self._asked.items()):
            return NEW
        unanswered = sorted(self._asked.keys() - value.keys())
        if unanswered:
            self.skipped[candidate.text] = f"it does not answer {', '.join(unanswered)}"
            return SKIPPED
        return OLD

    def describe_value_of_version(self, version: str) -> str:
        """Describe the measured value of a version, for scopes that differ from the old end."""
        value = self.values[version]
        compared = {s: text for s, text in value.items() if s in self._asked} or dict(value)
        differing = {s: text for s, text in compared.items() if self._asked.get(s) != text}
        named = differing or compared
        if len(set(named.values())) == 1:
            return next(iter(named.values()))
        return ", ".join(f"{scope}: {text}" for scope, text in sorted(named.items()))

    def _measure_candidate(self, candidate: Candidate) -> Value:
        end = self.ends.get(candidate.text)
        if end is not None:
            return self.symptom.value(end, self._old_end)
        try:
            return self._measure_and_remove(self.make_tested_version(candidate))
        except installer.Unreachable:
            raise
        except UserError:
            if not (self.shared and candidate.requested().requirements):
                raise
        # packages that both ends share do not fit this version; those of its release may
        checked = self.make_tested_version(candidate, with_shared=False)
        value = self._measure_and_remove(checked)
        rows = set(checked.resolved.versions.rows.values()) if checked.resolved.versions else set()
        own = sorted(rows - {*self.shared, *checked.resolved.requested.requirements})
        names = {row.partition("==")[0] for row in self.shared}
        self.apart[candidate.text] = ", ".join(r for r in own if r.partition("==")[0] in names)
        return value

    def _measure_and_remove(self, checked: TestedVersion) -> Value:
        try:
            return self.symptom.value(checked, self._old_end)
        finally:
            self.remove_files_of_version(checked)

    @property
    def _old_end(self) -> TestedVersion:
        return next(iter(self.ends.values()))

    @cached_property
    def _cache_key_texts_of_search(self) -> list[str]:
        """Return texts of the cache key that all versions of this search share."""
        ours = state.digest_own_code("bisect", "upgrade", "training", "check")
        return [ours, state.describe_machine_for_recordings(), self.symptom.key]

    @cached_property
    def _installed_base(self) -> list[str]:
        """Return pins and digests of the installed packages below versions that are overlays."""
        digests = [
            str(sorted(state.digest_modules_of_framework(adapter).items()))
            for adapter in self.adapters
        ]
        pins = [f"{name}=={v}" for name, v in installed.map_installed_versions().items()]
        return [*pins, *digests]

    def make_tested_version(self, candidate: Candidate, with_shared: bool = True) -> TestedVersion:
        """Return a version to measure; it is installed when something is measured in it.

        Args:
            with_shared: whether it runs with the packages that both ends share.
        """
        version = candidate.requested()
        if with_shared and self.shared and version.requirements:
            version = version.add_missing_pins(self.shared)
        _, resolved_version = resolved.resolve_versions(
            RequestedVersion("installed"), version, self.adapters
        )
        parts = [*self._list_cache_key_texts(resolved_version), *self._cache_key_texts_of_search]
        folder = cached_folders.locate_cache() / "versions" / state.name_recordings_folder(parts)
        folder.mkdir(parents=True, exist_ok=True)
        self._folders.add(folder)
        return TestedVersion(resolved_version, self.adapters, self.own / uuid4().hex, folder)

    def _list_cache_key_texts(self, version: ResolvedVersion) -> list[str]:
        """Return texts that identify a version's content, if possible before it is installed."""
        checkout = self._find_checkout_folder(version.requested)
        files = [checkout.name] if checkout is not None else []
        if version.versions is None:
            prepared = prepared_versions.prepare_version(version, self.adapters)
            return [state.describe_version_state(prepared, self.adapters), *files]
        return [
            interpreters.make_installation_tag(version.requested.python),
            *files,
            *sorted(version.versions.rows.values()),
            *version.versions.problem.build,
            *([] if version.versions.problem.complete else self._installed_base),
        ]


@contextmanager
def _start_search(
    symptom: Symptom,
    adapters: Sequence[Adapter],
    log: cached_folders.Log,
    packages: Sequence[str] = (),
) -> Iterator[Search]:
    """Start a search with its own temporary folder; a context manager.

    A repeated search uses the measurements of one that was interrupted or had no network.
    """
    with cached_folders.make_temporary_folder("bisect") as own:
        search = Search(symptom, adapters, log, own, packages)
        try:
            yield search
        except installer.Unreachable:
            raise
        except UserError:
            search.remove_user_code_measurements()
            raise
        search.remove_user_code_measurements()


def search_changing_release(
    symptom: Symptom,
    ends: tuple[RequestedVersion, RequestedVersion],
    adapters: Sequence[Adapter],
    log: cached_folders.Log,
    finds_all: bool = False,
) -> BisectResult:
    """Find the package and its release that changed the symptom.

    Args:
        finds_all: find all steps, not only one.

    Raises:
        UserError: an end cannot be checked, or there is nothing between them.
    """
    old, new, unsearched = versions.list_pins_of_ends(*ends)
    differing = _list_differing_packages(ends, old, new, unsearched)
    python = ends[1].python
    progress.begin_stage(_CHECKING)

    make_candidate = partial(_make_candidate_of_pins, differing, python)
    shared = _list_shared_packages(old, new, python, adapters, log)
    with _start_search(symptom, adapters, log, shared) as search:
        both = make_candidate(old), make_candidate(new)
        differ = search.measure_ends(*both)
        result = _make_result_from_both_ends(search, ends[0].text, ends[1].text, *both)
        result = replace(result, unsearched=(*unsearched, *result.unsearched))
        _require_environments_match_releases(search, ends, both)
        if not differ:
            return result

        needed = bisection.find_smallest_differing_set(
            differing,
            lambda names: search.compare_with_old_end(
                make_candidate({**old, **{name: new[name] for name in names}})
            ),
        )
        pins = {**old, **{name: new[name] for name in needed}}
        steps: list[SymptomChange] = []
        count = 0
        for package in needed:
            dates = versions.map_releases_to_dates(package)
            releases = versions.list_releases_between(
                package, old[package], new[package], dates, python
            )
            row = [make_candidate({**pins, package: release}) for release in releases]
            count += len(row)
            progress.begin_stage(_CHECKING)
            first = row[0] if search.measure_value(row[0]) else both[0]
            if search.measure_ends(first, row[-1]):
                for step in _find_changing_steps(search, row, finds_all):
                    change = _explain_found_step(search, row, step, releases, package)
                    steps.append(_add_date_and_direction(change, dates))
                if steps and not finds_all:
                    # the next package is searched with this one at the release found here
                    pins[package] = steps[-1].new
        return _add_checked_and_skipped_versions(
            search, replace(result, steps=tuple(steps), together=needed), count
        )


def _make_candidate_of_pins(differing: Collection[str], python: str, pins: Pins) -> Candidate:
    # without packages that stay the same, which are named once, with the ends
    text = " ".join(f"{n}=={v}" for n, v in sorted(pins.items()) if n in differing)
    return Candidate(text, lambda: versions.request_version_of_pins(pins, python))


def _list_differing_packages(
    ends: tuple[RequestedVersion, RequestedVersion], old: Pins, new: Pins, unsearched: Sequence[str]
) -> list[str]:
    """Return the packages whose versions differ; raise UserError if there are none."""
    differing = sorted(name for name in old if old[name] != new[name])
    if not differing:
        reasons = "".join(f"; not searched: {reason}" for reason in unsearched)
        raise UserError(
            f"'{ends[0].text}' and '{ends[1].text}' pin the same versions of "
            f"{', '.join(sorted(old)) or 'nothing'}; expected two versions of a package{reasons}"
        )
    return differing


def _add_date_and_direction(change: SymptomChange, dates: Mapping[str, str]) -> SymptomChange:
    """Add to a step its release date, and whether OLD is the newer release."""
    back = Version(change.new) < Version(change.old)
    return replace(change, date=dates.get(change.old if back else change.new, ""), back=back)


def _require_environments_match_releases(
    search: Search,
    ends: tuple[RequestedVersion, RequestedVersion],
    new_installations: tuple[Candidate, Candidate],
) -> None:
    """Raise UserError if a user's environment differs from a new one with the same versions."""
    for end, built in zip(ends, new_installations, strict=True):
        if end.environment is None:
            continue
        own = Candidate(f"{end.text} as it is", partial(replace, end))
        if search.measure_value(own) != search.measure_value(built):
            answer = search.skipped.get(own.text, "it answers otherwise")
            raise UserError(
                f"{end.text} differs from a new installation of the same versions: {answer}; no "
                "release has that change, so look for files that were edited there"
            )


def _list_shared_packages(
    old: Pins, new: Pins, python: str, adapters: Sequence[Adapter], log: cached_folders.Log
) -> tuple[str, ...]:
    """Return the packages that both ends have in one version. All versions between use them."""
    old_request, new_request = (
        versions.request_version_of_pins(pins, python) for pins in (old, new)
    )
    pair = resolved.resolve_versions(old_request, new_request, adapters, log)
    old_versions, new_versions = (version.versions for version in pair)
    if old_versions is None or new_versions is None:
        return ()
    rows = {name: row for name, row in old_versions.rows.items()
            if new_versions.rows.get(name) == row and name not in old}  # fmt: skip
    # in an environment of its own none of them is installed
    missing = rows.values() if python else old_versions.missing_rows
    return tuple(sorted({*rows.values()} & {*missing}))


def _find_changing_steps(
    search: Search, candidates: Sequence[Candidate], finds_all: bool
) -> Iterator[Step]:
    """Yield one step, or every step, at which the symptom changes in a list of versions.

    The ends of the list were measured, and differ. A change that was undone before the last
    version may not be found.
    """
    low, last = 0, len(candidates) - 1
    while low < last and (not low or search.measure_ends(candidates[low], candidates[-1])):
        step = _find_first_changing_step(
            search, candidates[low:], bisection.link_versions_in_line(len(candidates) - low)
        ).shift_step_by(low)
        yield step
        if not finds_all:
            break
        low = step.new


def search_changing_commit(
    symptom: Symptom,
    repository: Path,
    ends: tuple[str, str],
    adapters: Sequence[Adapter],
    log: cached_folders.Log,
    first_parent: bool = False,
    pins: Sequence[str] = (),
    python: str = "",
) -> BisectResult:
    """Find the commit of a repository that changed the symptom.

    Args:
        pins: packages that every commit runs with, besides the installed ones.
        python: another interpreter for the commits; empty: this one.

    Raises:
        UserError: an end cannot be checked, or the old one is no ancestor of the new one.
    """
    old, new = (revisions.find_commit(repository, revision) for revision in ends)
    if old == new:
        raise UserError(f"'{ends[0]}' and '{ends[1]}' are the same commit, {old[:10]}; name two")
    with _start_search(symptom, adapters, log) as search:
        candidate = partial(_make_commit_candidate, search, repository, pins, python)
        count, merged = 0, ""
        result: BisectResult | None = None
        while True:
            history = revisions.list_parents_between(repository, old, new, first_parent)
            commits = list(history)
            numbers = {name: number for number, name in enumerate(commits)}
            row = [candidate(name) for name in commits]
            count += len(row)
            progress.begin_stage(_CHECKING)
            differ = search.measure_ends(row[0], row[-1])
            if result is None:
                result = _make_result_from_both_ends(search, *ends, row[0], row[-1])
                empty = revisions.describe_files_without_content(repository, new)
                result = replace(result, unsearched=(*result.unsearched, *empty))
            if not differ:
                return result
            step = _find_first_changing_step(
                search, row, [[numbers[p] for p in parents] for parents in history.values()]
            )
            if step.between or first_parent:
                break
            # what a merge brings from a branch that left before OLD lies on that branch
            branch_ends, merged = _find_merged_branch(
                search, repository, commits[step.new], numbers, candidate
            )
            if branch_ends is None:
                break
            old, new = branch_ends
        change = _explain_found_step(search, row, step)
        (old_name, _), (new_name, date) = (
            revisions.describe_commit(repository, commits[n]) for n in (step.old, step.new)
        )
        change = replace(change, old=old_name, new=new_name, date=date, merged=merged)
        return _add_checked_and_skipped_versions(search, replace(result, steps=(change,)), count)


def _make_commit_candidate(
    search: Search, repository: Path, pins: Sequence[str], python: str, commit: str
) -> Candidate:
    """Return the candidate of a commit; its files are written when it is checked."""

    def request_version() -> RequestedVersion:
        tree = revisions.check_out_commit(repository, commit, search.own)
        return RequestedVersion(commit[:10], tuple(pins), tree=tree, python=python)

    return Candidate(commit[:10], request_version)


def _find_first_changing_step(
    search: Search, candidates: Sequence[Candidate], parents: Sequence[Sequence[int]]
) -> bisection.Step:
    return bisection.find_first_new_version(
        parents, lambda number: search.compare_with_old_end(candidates[number])
    )


def _find_merged_branch(
    search: Search,
    repository: Path,
    merge: str,
    old_commits: Collection[str],
    candidate: Callable[[str], Candidate],
) -> tuple[tuple[str, str] | None, str]:
    """Return the branch whose merge brought the difference, if it forked before the old commit.

    Returns:
        The commit where that branch forked and its last commit, between which to search; or
        nothing, and a sentence on the reason.
    """
    for tip in revisions.list_parents(repository, merge):
        if tip in old_commits or search.compare_with_old_end(candidate(tip)) != NEW:
            continue
        fork = revisions.find_last_common_commit(repository, tip, next(iter(old_commits)))
        if not fork or search.compare_with_old_end(candidate(fork)) != OLD:
            return None, f"it merges {tip[:10]}, whose branch left before OLD and differs, too"
        return (fork, tip), ""
    return None, ""


def _make_result_from_both_ends(
    search: Search, old: str, new: str, first_version: Candidate, last_version: Candidate
) -> BisectResult:
    """Return a search's result so far: the values of both end versions, and no step yet."""
    return BisectResult(
        symptom=search.symptom.title,
        ends=(old, new),
        values=(
            search.describe_value_of_version(first_version.text),
            search.describe_value_of_version(last_version.text),
        ),
        unsearched=tuple(search.describe_one_sided_values()),
        why=search.symptom.why(search.ends[last_version.text]),
    )


def _add_checked_and_skipped_versions(
    search: Search, result: BisectResult, candidates: int
) -> BisectResult:
    return replace(
        result,
        candidates=candidates,
        checked=len(search.checked - search.skipped.keys()),
        skipped=tuple(search.skipped.items()),
        apart=tuple(search.apart.items()),
    )


def _explain_found_step(
    search: Search,
    candidates: Sequence[Candidate],
    step: Step,
    names: Sequence[str] = (),
    package: str = "",
) -> SymptomChange:
    names = names or [candidate.text for candidate in candidates]
    old, new = candidates[step.old], candidates[step.new]
    between = [names[number] for number in step.between]
    if old.text in search.skipped:
        # it could not be checked, and was taken as old: it may have changed here
        between.insert(0, names[step.old])
    change = SymptomChange(
        package=package,
        old=names[step.old],
        new=names[step.new],
        # of a merge, the parent may be known to be old without having been checked
        values=(
            search.describe_value_of_version(old.text)
            if old.text in search.values
            else "as the old version",
            search.describe_value_of_version(new.text),
        ),
        between=tuple(between),
    )
    for candidate in (old, new):
        if candidate.text in search.values:
            search.check_version_repeats(candidate)
    stands = [search.apart.get(end.text, "") for end in (old, new)]
    if stands[0] != stands[1]:
        rows = [text or "what both ends share" for text in stands]
        apart = f"the old one was checked with {rows[0]}, the new one with {rows[1]}"
        change = replace(change, apart=f"{apart}: that may be the cause of the difference")
    search.say(f"explaining {change.old} -> {change.new}")
    progress.begin_stage("explaining the step")
    with_shared = not {old.text, new.text} & search.apart.keys()
    neighbours = (
        search.make_tested_version(old, with_shared), search.make_tested_version(new, with_shared),
    )  # fmt: skip
    try:
        return explanation.explain_changing_step(
            change, search.symptom, neighbours, search.adapters
        )
    except UserError as error:
        return replace(change, unexplained=str(error))
    finally:
        for version in neighbours:
            search.remove_files_of_version(version)
