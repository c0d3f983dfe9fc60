"""``rlregress bisect``: both ends, then what lies between, then what explains the step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from uuid import uuid4

from rlregress.bisect import bisection, explanation, versions
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step
from rlregress.bisect.symptoms import NOT_THERE, Checked, Symptom, Value
from rlregress.bisect.versions import Pins
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter
from rlregress.model.bisect_result import Bisected, ChangedAt
from rlregress.upgrade import (
    cached_folders,
    installed,
    installer,
    resolved,
    revisions,
    side_environments,
    state,
    wheels,
)
from rlregress.upgrade.requested import Requested
from rlregress.upgrade.resolved import ResolvedSide


@dataclass(frozen=True)
class Candidate:
    """A version that may be checked.

    Attributes:
        text: as a report names it.
        requested: makes it; a commit is written to a folder only when it is checked.
    """

    text: str
    requested: Callable[[], Requested]


@dataclass
class Search:
    """Measures a symptom in versions, each once; remembers what could not be checked.

    Attributes:
        own: a folder for environments, each of which goes when it was measured.
        shared: pins that every version stands on, if it can be checked there.
        values: version -> what was measured, beside the present old end.
        skipped: version -> why it is left out.
        checked: versions that were measured.
        apart: version -> what it stands on instead of what both ends share, in words.
    """

    symptom: Symptom
    adapters: Sequence[Adapter]
    say: cached_folders.Say
    own: Path
    shared: Sequence[str] = ()
    values: dict[str, Value] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    checked: set[str] = field(default_factory=set)
    apart: dict[str, str] = field(default_factory=dict)
    _ends: Mapping[str, Checked] = field(default_factory=dict)
    _asked: Value = field(default_factory=dict)

    def begin(self, old: Candidate, new: Candidate) -> bool:
        """Whether both ends differ; others are compared with the old one from now on.

        Raises:
            UserError: an end cannot be checked, or neither has what is looked for.
        """
        if list(self._ends) == [old.text, new.text]:
            return self._differ()
        try:
            ends = self._measured_ends(old, new)
        except installer.Unreachable:
            raise
        except UserError as error:
            if not self.shared:
                raise
            self.say(f"{error}; every version is checked with what its release runs on instead")
            self.apart["every version"] = "what its release runs on"
            self.shared = ()
            ends = self._measured_ends(old, new)
        if {*ends[0].values(), *ends[1].values()} == {NOT_THERE}:
            known = nearest(self.symptom.name, self.symptom.known(self._ends[new.text]))
            raise UserError(
                f"neither {old.text} nor {new.text} has what is looked for, {self.symptom.title}; "
                f"{known}"
            )
        self._asked = {scope: ends[0][scope] for scope in ends[0].keys() & ends[1].keys()}
        if not self._asked:
            answers = " and ".join(", ".join(sorted(end)) for end in ends)
            raise UserError(
                f"{self.symptom.title} has answers in {old.text} and in {new.text}, but none in "
                f"both: {answers}"
            )
        return self._differ()

    def _measured_ends(self, old: Candidate, new: Candidate) -> list[Value]:
        for end in self._ends.values():
            shutil.rmtree(end.own, ignore_errors=True)
        self.values.clear()
        self._asked = {}
        self._ends = {end.text: self._made(self.with_shared(end.requested())) for end in (old, new)}
        ends = []
        for which, candidate in (("OLD", old), ("NEW", new)):
            self.skipped.pop(candidate.text, None)
            value = self.value(candidate)
            if value is None:
                reason = self.skipped[candidate.text]
                raise UserError(f"{which}, {candidate.text}, cannot be checked: {reason}")
            ends.append(value)
        return ends

    def _differ(self) -> bool:
        new = self.values[list(self._ends)[1]]
        return any(new[scope] != text for scope, text in self._asked.items())

    def value(self, candidate: Candidate) -> Value | None:
        """Of a version; None: it cannot be checked."""
        name = candidate.text
        if name not in self.values and name not in self.skipped:
            try:
                self.values[name] = self._measured(candidate)
                self.checked.add(name)
                self.say(f"{name}: {self.text(name)}")
            except installer.Unreachable:
                raise
            except UserError as error:
                self.skipped[name] = str(error)
                self.say(f"{name}: skipped, {error}")
        return self.values.get(name)

    def answer(self, candidate: Candidate) -> str:
        """Whether a version is as the old end, of what both ends answer."""
        value = self.value(candidate)
        if value is None:
            return SKIPPED
        if any(value.get(scope, text) != text for scope, text in self._asked.items()):
            return NEW
        unanswered = sorted(self._asked.keys() - value.keys())
        if unanswered:
            self.skipped[candidate.text] = f"it does not answer {', '.join(unanswered)}"
            return SKIPPED
        return OLD

    def text(self, name: str) -> str:
        """What was measured of a version, in words; of scopes that differ from the old end."""
        value = self.values[name]
        compared = {s: text for s, text in value.items() if s in self._asked} or dict(value)
        differing = {s: text for s, text in compared.items() if self._asked.get(s) != text}
        named = differing or compared
        if len(set(named.values())) == 1:
            return next(iter(named.values()))
        return ", ".join(f"{scope}: {text}" for scope, text in sorted(named.items()))

    def _measured(self, candidate: Candidate) -> Value:
        end = self._ends.get(candidate.text)
        if end is not None:
            return self.symptom.value(end, *self._ends.values())
        side = candidate.requested()
        try:
            return self._value(self.with_shared(side))
        except installer.Unreachable:
            raise
        except UserError:
            if not (self.shared and side.requirements):
                raise
        # what both ends stand on does not serve this one; what its release stands on may
        value = self._value(side)
        rows = self._resolved(side).versions
        own = sorted(set(rows.rows.values()) - {*self.shared, *side.requirements}) if rows else ()
        names = {row.partition("==")[0] for row in self.shared}
        self.apart[candidate.text] = ", ".join(r for r in own if r.partition("==")[0] in names)
        return value

    def _value(self, side: Requested) -> Value:
        here = self._made(side)
        try:
            return self.symptom.value(here, *self._ends.values())
        finally:
            shutil.rmtree(here.own, ignore_errors=True)

    def with_shared(self, side: Requested) -> Requested:
        """A version on what both ends share."""
        return side.on(self.shared) if self.shared and side.requirements else side

    def _resolved(self, side: Requested) -> ResolvedSide:
        nothing = Requested("installed")
        return resolved.with_versions(nothing, side, self.adapters, cached_folders.silent)[1]

    def _made(self, side: Requested) -> Checked:
        of_side = self._resolved(side)
        parts = [*self._content(of_side), state.own_digest(), state.machine(), self.symptom.key]
        folder = cached_folders.cache() / "versions" / state.key_of(parts)
        folder.mkdir(parents=True, exist_ok=True)
        return Checked(of_side, self.adapters, self.own / uuid4().hex, folder)

    def _content(self, side: ResolvedSide) -> list[str]:
        """What decides what a version does, before it is made: what pins name does not change."""
        if side.versions is None:
            prepared = side_environments.prepared(side, self.adapters)
            return [state.state(prepared, self.adapters)]
        below = [] if side.own_environment else [
            *installed.pins(), *(str(sorted(state.digests(of).items())) for of in self.adapters)
        ]  # fmt: skip
        tree = [side.requested.key] if side.requested.tree is not None else []
        return [
            wheels.TAG,
            *tree,
            *sorted(side.versions.rows.values()),
            *side.versions.tools,
            *below,
        ]


def of_releases(
    symptom: Symptom,
    ends: tuple[Requested, Requested],
    adapters: Sequence[Adapter],
    say: cached_folders.Say,
    every: bool = False,
) -> Bisected:
    """Which package, and which release of it, changed something.

    Args:
        every: name all steps, not one.

    Raises:
        UserError: an end cannot be checked, or there is nothing between them.
    """
    old, new = versions.pins(*ends)
    moved = sorted(name for name in old if old[name] != new[name])
    if not moved:
        raise UserError(
            f"'{ends[0].text}' and '{ends[1].text}' pin the same versions of "
            f"{', '.join(sorted(old)) or 'nothing'}; expected two versions of a package"
        )

    def world(pins: Pins) -> Candidate:
        # the packages that stay are named once, with the ends
        text = " ".join(f"{n}=={v}" for n, v in sorted(pins.items()) if n in moved)
        return Candidate(text, lambda: versions.of_pins(pins))

    with cached_folders.scratch("bisect") as own:
        search = Search(symptom, adapters, say, own, _shared(old, new, adapters, say))
        differ = search.begin(world(old), world(new))
        result = _result(search, ends[0].text, ends[1].text, world(old), world(new))
        if not differ:
            return result

        def with_moved(names: frozenset[str]) -> str:
            return search.answer(world({**old, **{n: new[n] for n in names}}))

        needed = bisection.smallest(moved, with_moved)
        rest = {**old, **{name: new[name] for name in needed}}
        steps: list[ChangedAt] = []
        count = 0
        for package in needed:
            known = versions.releases(package, old[package], new[package])
            row = [world({**rest, package: release}) for release in known]
            count += len(row)
            if not search.begin(row[0] if search.value(row[0]) else world(old), row[-1]):
                continue
            for step in _steps(search, row, every):
                found = _explained(search, row, step, known, package)
                date = versions.dates(package).get(found.new, "")
                steps.append(replace(found, date=date))
        return _ended(search, replace(result, steps=tuple(steps), together=needed), count)


def _shared(
    old: Pins, new: Pins, adapters: Sequence[Adapter], say: cached_folders.Say
) -> tuple[str, ...]:
    """What both ends stand on in one version: every version between is put on it, too."""
    pair = resolved.with_versions(versions.of_pins(old), versions.of_pins(new), adapters, say)
    rows = [dict(side.versions.rows) if side.versions else {} for side in pair]
    moved = [set(side.versions.moved) if side.versions else set() for side in pair]
    return tuple(
        sorted(
            row
            for name, row in rows[0].items()
            if rows[1].get(name) == row and row in moved[0] and name not in old
        )
    )


def _steps(search: Search, row: Sequence[Candidate], every: bool) -> Iterator[Step]:
    """Of a list whose ends differ, where it changed: once, or as often as it does."""

    def after(low: int) -> Step | None:
        if low and not search.begin(row[low], row[-1]):
            return None
        found = bisection.first_new(
            bisection.chain(len(row) - low), lambda number: search.answer(row[low + number])
        )
        return found.moved(low)

    steps = bisection.every_change(len(row), after)
    return steps if every else islice(steps, 1)


def of_commits(
    symptom: Symptom,
    repository: Path,
    ends: tuple[str, str],
    adapters: Sequence[Adapter],
    say: cached_folders.Say,
    first_parent: bool = False,
    pins: Sequence[str] = (),
) -> Bisected:
    """Which commit of a repository changed something.

    Args:
        pins: packages that every commit stands on, beside what is installed.

    Raises:
        UserError: an end cannot be checked, or the old one is no ancestor of the new one.
    """
    old, new = (revisions.commit(repository, revision) for revision in ends)
    if old == new:
        raise UserError(f"'{ends[0]}' and '{ends[1]}' are the same commit, {old[:10]}")
    history: Mapping[str, tuple[str, ...]] = revisions.history(repository, old, new, first_parent)
    numbers = {name: number for number, name in enumerate(history)}
    parents = [[numbers[parent] for parent in of] for of in history.values()]
    with cached_folders.scratch("bisect") as own:

        def candidate(name: str) -> Candidate:
            def made() -> Requested:
                tree = revisions.checkout(repository, name, own)
                return Requested(name[:10], tuple(pins), tree=tree)

            return Candidate(name[:10], made)

        row = [candidate(name) for name in history]
        search = Search(symptom, adapters, say, own)
        differ = search.begin(row[0], row[-1])
        result = _result(search, *ends, row[0], row[-1])
        if not differ:
            return result
        step = bisection.first_new(parents, lambda n: search.answer(row[n]))
        found = _explained(search, row, step)
        (old_name, _), (new_name, date) = (
            revisions.described(repository, row[n].text) for n in (step.old, step.new)
        )
        found = replace(found, old=old_name, new=new_name, date=date)
        return _ended(search, replace(result, steps=(found,)), len(row))


def _result(search: Search, old: str, new: str, first: Candidate, last: Candidate) -> Bisected:
    """What is known when both ends were checked."""
    return Bisected(
        symptom=search.symptom.title,
        ends=(old, new),
        values=(search.text(first.text), search.text(last.text)),
        error=None if search.symptom.error is None else search.symptom.error(0),
    )


def _ended(search: Search, result: Bisected, candidates: int) -> Bisected:
    checked = len(search.checked - search.skipped.keys())
    error = search.symptom.error
    return replace(
        result,
        candidates=candidates,
        checked=checked,
        error=None if error is None else error(checked - 2),
        skipped=tuple(search.skipped.items()),
        apart=tuple(search.apart.items()),
    )


def _explained(
    search: Search,
    row: Sequence[Candidate],
    step: Step,
    names: Sequence[str] = (),
    package: str = "",
) -> ChangedAt:
    """A step with what explains it."""
    names = names or [candidate.text for candidate in row]
    old, new = row[step.old], row[step.new]
    between = [names[number] for number in step.between]
    if old.text in search.skipped:
        # it was taken for old, as nothing shows it to be new
        between.insert(0, names[step.old])
    found = ChangedAt(
        package=package,
        old=names[step.old],
        new=names[step.new],
        # of a merge, the parent may be known to be old without having been checked
        values=(
            search.text(old.text) if old.text in search.values else "as the old version",
            search.text(new.text),
        ),
        between=tuple(between),
    )
    search.say(f"explaining {found.old} -> {found.new}")
    sides = [candidate.requested() for candidate in (old, new)]
    if not {old.text, new.text} & search.apart.keys():
        sides = [search.with_shared(side) for side in sides]
    try:
        return explanation.of(found, search.symptom, (sides[0], sides[1]), search.adapters)
    except UserError as error:
        return replace(found, unexplained=str(error))
