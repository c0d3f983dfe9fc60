"""``rlregress bisect``: both ends, then what lies between, then what explains the step."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rlregress.bisect import bisection, explanation, versions
from rlregress.bisect.bisection import NEW, OLD, SKIPPED, Step
from rlregress.bisect.symptoms import Checked, Symptom
from rlregress.bisect.versions import Pins
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.bisect_result import Bisected, ChangedAt
from rlregress.upgrade import (
    cached_folders,
    installer,
    resolved,
    revisions,
    side_environments,
    state,
)
from rlregress.upgrade.requested import Requested
from rlregress.upgrade.side_environments import Prepared


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
        values: version -> what was measured; skipped: version -> why nothing was.
    """

    symptom: Symptom
    adapters: Sequence[Adapter]
    say: cached_folders.Say
    base: Sequence[str] = ()
    values: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    _old: Checked | None = None

    def begin(self, old: Candidate, new: Candidate) -> tuple[str, str]:
        """The values of both ends.

        Raises:
            UserError: an end cannot be made or checked.
        """
        ends = []
        for which, candidate in (("OLD", old), ("NEW", new)):
            value = self.value(candidate)
            if value is None:
                reason = self.skipped[candidate.text]
                raise UserError(f"{which}, {candidate.text}, cannot be checked: {reason}")
            ends.append(value)
        return ends[0], ends[1]

    def value(self, candidate: Candidate) -> str | None:
        """Of a version; None: it cannot be checked."""
        name = candidate.text
        if name not in self.values and name not in self.skipped:
            try:
                self.values[name] = self._measured(candidate)
                self.say(f"{name}: {self.values[name]}")
            except installer.Unreachable:
                raise
            except UserError as error:
                self.skipped[name] = str(error)
                self.say(f"{name}: skipped, {error}")
        return self.values.get(name)

    def answer(self, candidate: Candidate, old: str) -> str:
        """Whether a version is as the old end."""
        value = self.value(candidate)
        return SKIPPED if value is None else OLD if value == old else NEW

    def _measured(self, candidate: Candidate) -> str:
        side = candidate.requested()
        if self.base and side.requirements:
            side = side.on(self.base)
        here = self._made(side)
        if self._old is None:
            # the old end stays: others are compared with it
            self._old = here
            return self.symptom.value(here, here)
        try:
            return self.symptom.value(here, self._old)
        finally:
            _remove(here.prepared)

    def _made(self, side: Requested) -> Checked:
        nothing = Requested("installed")
        _, of_side = resolved.with_versions(nothing, side, self.adapters, cached_folders.silent)
        prepared = side_environments.prepared(of_side, self.adapters, cached_folders.silent)
        parts = [state.state(prepared, self.adapters), state.own_digest(), state.machine()]
        folder = cached_folders.cache() / "versions" / state.key_of([*parts, self.symptom.key])
        folder.mkdir(parents=True, exist_ok=True)
        return Checked(prepared, folder)

    def end(self) -> None:
        """Remove what was made for the old end."""
        if self._old is not None:
            _remove(self._old.prepared)


def _remove(prepared: Prepared) -> None:
    """Remove an environment that this search made; what was there before stays."""
    if prepared.cached or prepared.how not in ("overlay", "environment"):
        return
    if prepared.how == "overlay":
        folder = Path(prepared.side.paths[0])
    else:
        folder = Path(prepared.side.python).parents[1]
    with cached_folders.locked(folder):
        shutil.rmtree(folder, ignore_errors=True)


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
    search = Search(symptom, adapters, say, _shared(old, new, adapters, say))

    def world(pins: Pins) -> Candidate:
        # the packages that stay are named once, with the ends
        text = " ".join(f"{n}=={v}" for n, v in sorted(pins.items()) if n in moved)
        return Candidate(text, lambda: versions.of_pins(pins))

    try:
        values = search.begin(world(old), world(new))
        result = Bisected(symptom=symptom.title, ends=(ends[0].text, ends[1].text), values=values)
        if values[0] == values[1]:
            return replace(result, skipped=tuple(search.skipped.items()))

        def with_moved(names: frozenset[str]) -> str:
            return search.answer(world({**old, **{n: new[n] for n in names}}), values[0])

        needed = bisection.smallest(moved, with_moved)
        rest = {**old, **{name: new[name] for name in needed}}
        steps: list[ChangedAt] = []
        count = 0
        for package in needed:
            known = versions.releases(package, old[package], new[package])
            row = [world({**rest, package: release}) for release in known]
            count += len(row)
            # in a world where the others have moved, the old release need not be as the old end
            first = search.value(row[0])
            found = _steps(search, row, values[0] if first is None else first, every)
            steps += [_explained(search, row, step, package, known) for step in found]
        return replace(
            result,
            steps=tuple(steps),
            together=needed,
            candidates=count,
            checked=len(search.values),
            skipped=tuple(search.skipped.items()),
        )
    finally:
        search.end()


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


def _steps(search: Search, row: Sequence[Candidate], old: str, every: bool) -> list[Step]:
    if every:
        return bisection.every_change(len(row), lambda n: search.value(row[n]))
    found = bisection.first_new(
        bisection.chain(len(row)), lambda number: search.answer(row[number], old)
    )
    return [found]


def of_commits(
    symptom: Symptom,
    repository: Path,
    ends: tuple[str, str],
    adapters: Sequence[Adapter],
    say: cached_folders.Say,
    first_parent: bool = False,
) -> Bisected:
    """Which commit of a repository changed something.

    Raises:
        UserError: an end cannot be checked, or the old one is no ancestor of the new one.
    """
    old, new = (revisions.commit(repository, revision) for revision in ends)
    if old == new:
        raise UserError(f"'{ends[0]}' and '{ends[1]}' are the same commit, {old[:10]}")
    history = revisions.history(repository, old, new, first_parent)
    names = list(history)
    numbers = {name: number for number, name in enumerate(names)}
    row = [_of_commit(repository, name) for name in names]
    search = Search(symptom, adapters, say)
    try:
        values = search.begin(row[0], row[-1])
        result = Bisected(symptom=symptom.title, ends=ends, values=values, candidates=len(row))
        if values[0] == values[1]:
            return result
        parents = [[numbers[parent] for parent in history[name]] for name in names]
        step = bisection.first_new(parents, lambda n: search.answer(row[n], values[0]))
        found = _explained(search, row, step)
        (old_name, _), (new_name, date) = (
            revisions.described(repository, row[n].text) for n in (step.old, step.new)
        )
        found = replace(found, old=old_name, new=new_name, date=date)
        return replace(
            result,
            steps=(found,),
            checked=len(search.values),
            skipped=tuple(search.skipped.items()),
        )
    finally:
        search.end()


def _explained(
    search: Search,
    row: Sequence[Candidate],
    step: Step,
    package: str = "",
    names: Sequence[str] = (),
) -> ChangedAt:
    """A step with what explains it."""
    names = names or [candidate.text for candidate in row]
    old, new = row[step.old], row[step.new]
    first = next(iter(search.values.values()))
    found = ChangedAt(
        package=package,
        old=names[step.old],
        new=names[step.new],
        # of a merge, the parent may be known to be old without having been checked
        values=(search.values.get(old.text, first), search.values[new.text]),
        between=tuple(names[number] for number in step.between),
    )
    search.say(f"explaining {found.old} -> {found.new}")
    sides = [candidate.requested() for candidate in (old, new)]
    if search.base and sides[0].requirements:
        sides = [side.on(search.base) for side in sides]
    try:
        return explanation.of(found, search.symptom, (sides[0], sides[1]), search.adapters)
    except UserError as error:
        return replace(found, unexplained=str(error))


def _of_commit(repository: Path, name: str) -> Candidate:
    def made() -> Requested:
        return Requested(name[:10], tree=revisions.checkout(repository, name))

    return Candidate(name, made)
