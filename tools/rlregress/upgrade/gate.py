"""The cascade: fingerprints, traces, physics, and returns only where traces have parted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.upgrade import (
    concerned,
    coverage,
    environments,
    fingerprints,
    making,
    returns,
    stages,
    wanted,
)
from rlregress.upgrade.environments import Prepared

UNCHANGED, CHANGED = "unchanged", "changed"
HOLDS, IMPROVED, REGRESSED, INCONCLUSIVE = "holds", "improved", "regressed", "inconclusive"
COULD_NOT_JUDGE = returns.COULD_NOT_JUDGE
_CODES = {UNCHANGED: 0, HOLDS: 0, IMPROVED: 0, REGRESSED: 1, COULD_NOT_JUDGE: 2}
_FINISHED = ".finished"


@dataclass(frozen=True)
class Options:
    """What ``rlregress gate --from A --to B`` was asked; see the command's help."""

    a: str
    b: str
    report: Path
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    returns: bool = True
    workers: int = 2
    say: Callable[[str], None] = field(default=making.silent)


@dataclass(frozen=True)
class OfFramework:
    """What was found of one framework.

    Attributes:
        details: those that are not done alike.
        alone: those that only one side could be asked.
        asked: how many details each side was asked.
        traced: by algorithm.
        reached: algorithm -> share of executable lines reached, on either side.
        returns: verdict of the trainings of diverged algorithms on side B; None: not trained.
    """

    adapter: Adapter
    versions: tuple[dict[str, str], dict[str, str]]
    details: list[fingerprints.ChangedDetail]
    alone: list[fingerprints.OneSided]
    asked: tuple[int, int]
    traced: list[stages.Traced]
    reached: dict[str, coverage.Reached]
    returns: returns.Verdict | None = None

    @property
    def diverged(self) -> list[str]:
        """Algorithms that do not do the same on both sides, or of which nothing is proved."""
        return [t.algorithm for t in self.traced if not t.proved]

    @property
    def failed(self) -> list[str]:
        """In a sentence each, trainings that ended in an error."""
        return [sentence for t in self.traced for sentence in t.failed]

    @property
    def moved(self) -> bool:
        """Whether a detail is done otherwise, or can no longer be asked for no outer reason."""
        return bool(self.details) or any(one.counts for one in self.alone)

    @property
    def verdict(self) -> str:
        """Of this framework alone; see ``Upgrade.verdict``."""
        if self.returns is not None and self.returns.verdict == REGRESSED:
            return REGRESSED
        if self.failed:
            return COULD_NOT_JUDGE
        if not self.diverged:
            return CHANGED if self.moved else UNCHANGED
        if self.returns is None:
            return CHANGED
        untrained = set(self.diverged) - returns.stored(self.adapter)
        if untrained and self.returns.verdict in (HOLDS, IMPROVED):
            return CHANGED
        return self.returns.verdict


@dataclass(frozen=True)
class Upgrade:
    """Everything that was found of A and B."""

    a: Prepared
    b: Prepared
    frameworks: list[OfFramework]
    physics: list[stages.Moved]

    @property
    def verdict(self) -> str:
        """The worst of all frameworks; physics that moved is a change that no training judged.

        "unchanged", "changed", "could not judge", or what the trainings say: holds, improved,
        regressed, inconclusive.
        """
        found = [of.verdict for of in self.frameworks]
        # physics that moved has been judged where returns have
        judged = any(of.returns is not None for of in self.frameworks)
        if any(m.moves for m in self.physics) and not judged:
            found.append(CHANGED)
        order = (REGRESSED, COULD_NOT_JUDGE, INCONCLUSIVE, CHANGED, HOLDS, IMPROVED)
        return next((verdict for verdict in order if verdict in found), UNCHANGED)

    @property
    def exit_code(self) -> int:
        """0: unchanged or holds; 1: regressed; 2: could not judge; 3: changed, undecided."""
        return _CODES.get(self.verdict, 3)

    @property
    def differing(self) -> dict[str, tuple[str, str]]:
        """Package -> versions on both sides, of all that differ and are on both."""
        one, other = environments.versions(self.a), environments.versions(self.b)
        return {n: (v, other[n]) for n, v in sorted(one.items()) if other.get(n, v) != v}


def run(options: Options) -> Upgrade:
    """Judge an upgrade.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    asked = (wanted.parse(options.a), wanted.parse(options.b))
    adapters = concerned.adapters(asked, options.frameworks)
    chosen = {adapter.full_name: _chosen(adapter, options.algorithms) for adapter in adapters}
    a, b = (
        _prepared(label, side, adapters, options)
        for label, side in zip(("A", "B"), asked, strict=True)
    )
    _check(a, b)
    with _work(a, b, adapters, options.say) as folder:
        found, moved = _compared(a, b, adapters, chosen, folder, options)
        judged = [_judged(of, b, options) for of in found]
    return Upgrade(a, b, judged, moved)


def _prepared(
    label: str, side: wanted.Wanted, adapters: Sequence[Adapter], options: Options
) -> Prepared:
    made = environments.prepare(label, side, adapters, options.say)
    for line in made.lines:
        options.say(line)
    return made


def _check(a: Prepared, b: Prepared) -> None:
    pythons = [stages.python_of(side.side) for side in (a, b)]
    if pythons[0] != pythons[1]:
        raise UserError(
            f"side A runs on Python {pythons[0]} and side B on {pythons[1]}; bits can only be "
            "compared under one interpreter: make both sides with the same one"
        )


@contextmanager
def _work(
    a: Prepared, b: Prepared, adapters: Sequence[Adapter], say: making.Say
) -> Iterator[Path]:
    """Where traces are kept until the gate has ended: one that was interrupted goes on there.

    A gate that had ended is done anew: both sides are recorded in one session on one machine.
    """
    parts = [environments.state(side, adapters) for side in (a, b)]
    parts += [environments.own_digest(), environments.machine()]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder = making.cache() / "gates" / key
    with making.locked(folder, say):
        if (folder / _FINISHED).exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        left = len(list(folder.glob("*.trace")))
        if left:
            say(f"going on where an interrupted gate ended: {left} traces are there")
        yield folder
        (folder / _FINISHED).touch()


def _chosen(adapter: Adapter, asked: Sequence[str]) -> list[str]:
    known = list(adapter.trace_trainings())
    for name in asked:
        if name not in known:
            raise UserError(
                f"{adapter.title} has no built-in training of '{name}'; known: {', '.join(known)}"
            )
    return [name for name in known if not asked or name in asked]


Tasks = dict[str, "Future[Any]"]


def _compared(
    a: Prepared,
    b: Prepared,
    adapters: Sequence[Adapter],
    chosen: dict[str, list[str]],
    folder: Path,
    options: Options,
) -> tuple[list[OfFramework], list[stages.Moved]]:
    """Everything that is asked of both sides, as many at once as there are workers."""
    pool = ThreadPoolExecutor(options.workers or 2)
    sides = (("a", a.side), ("b", b.side))
    physics: Tasks = {}
    try:
        tasks = [_submit(pool, x, chosen[x.full_name], sides, folder) for x in adapters]
        if concerned.physics(a.wanted, b.wanted):
            for mark, side in sides:
                kept = folder / f"physics-{mark}.json"
                physics[mark] = pool.submit(stages.played, side, kept)
        found = [
            _collected(adapter, chosen[adapter.full_name], of, options.say)
            for adapter, of in zip(adapters, tasks, strict=True)
        ]
        moved = []
        if physics:
            moved = stages.physics(physics["a"].result(), physics["b"].result())
            options.say(f"physics: {sum(m.moves for m in moved)} of {len(moved)} moved")
        return found, moved
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(
    pool: ThreadPoolExecutor,
    adapter: Adapter,
    algorithms: Sequence[str],
    sides: Sequence[tuple[str, Any]],
    folder: Path,
) -> Tasks:
    tasks: Tasks = {}
    (_, a), _ = sides
    name = adapter.full_name
    for mark, side in sides:
        kept = folder / f"{name}-details-{mark}.json"
        tasks[f"details {mark}"] = pool.submit(fingerprints.fingerprint, side, adapter, kept)
    for algorithm in algorithms:
        for mark, side in (*sides, ("a2", a)):
            tasks[f"{algorithm} {mark}"] = pool.submit(
                stages.recorded, adapter, algorithm, side, folder, mark
            )
        for mark, side in sides:
            kept = folder / f"{name}-{algorithm}-lines-{mark}.json"
            tasks[f"{algorithm} lines {mark}"] = pool.submit(
                coverage.lines, side, adapter, algorithm, kept
            )
    return tasks


def _collected(
    adapter: Adapter, algorithms: Sequence[str], tasks: Tasks, say: making.Say
) -> OfFramework:
    one, other = tasks["details a"].result(), tasks["details b"].result()
    details, alone = fingerprints.changed(one, other)
    say(
        f"{adapter.name}: {len(one.found)} and {len(other.found)} details asked, "
        f"{len(details)} not done alike"
    )
    traced, reached = [], {}
    for name in algorithms:
        found = stages.compared(name, *(tasks[f"{name} {m}"].result() for m in ("a", "a2", "b")))
        reached[name] = coverage.reached(*(tasks[f"{name} lines {m}"].result() for m in ("a", "b")))
        traced.append(found)
        say(f"{adapter.name} {name}: {'failed' if found.failures else found.comparison.verdict}")
    versions = (dict(one.versions), dict(other.versions))
    asked = (len(one.found), len(other.found))
    return OfFramework(adapter, versions, details, alone, asked, traced, reached)


def _judged(found: OfFramework, b: Prepared, options: Options) -> OfFramework:
    failing = {t.algorithm for t in found.traced if t.failures}
    names = [name for name in found.diverged if name not in failing]
    if not options.returns or not names:
        return found
    options.say(f"{found.adapter.name}: trainings of {', '.join(names)} on side B")
    folder = options.report / f"returns-{found.adapter.name}"
    return replace(found, returns=returns.judge(found.adapter, names, b.side, folder))
