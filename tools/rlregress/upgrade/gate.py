"""The cascade: fingerprints, traces, physics, and returns only where traces have parted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side, current
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
from rlregress.upgrade.found import OfFramework, Upgrade

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


def run(options: Options) -> Upgrade:
    """Judge an upgrade.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    asked = (wanted.parse(options.a), wanted.parse(options.b))
    adapters = concerned.adapters(asked, options.frameworks)
    if not adapters:
        idle = [Prepared(side, current(x), "not made") for x, side in zip("AB", asked, strict=True)]
        return Upgrade(idle[0], idle[1], [], [])
    a, b = (
        _prepared(label, side, adapters, options)
        for label, side in zip(("A", "B"), asked, strict=True)
    )
    _check(a, b)
    with _work(a, b, adapters, options.say) as folder:
        found, moved = _compared(a, b, adapters, folder, options)
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
def _work(a: Prepared, b: Prepared, adapters: Sequence[Adapter], say: making.Say) -> Iterator[Path]:
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


Tasks = dict[str, "Future[Any]"]


def _compared(
    a: Prepared, b: Prepared, adapters: Sequence[Adapter], folder: Path, options: Options
) -> tuple[list[OfFramework], list[stages.Moved]]:
    """Everything that is asked of both sides, as many at once as there are workers."""
    sides = {"a": a.side, "b": b.side}
    pool = ThreadPoolExecutor(options.workers or 2)
    try:
        prints: dict[str, Tasks] = {}
        for adapter in adapters:
            prints[adapter.full_name] = {
                mark: pool.submit(
                    fingerprints.fingerprint,
                    side,
                    adapter,
                    folder / f"{adapter.full_name}-details-{mark}.json",
                )
                for mark, side in sides.items()
            }
        physics: Tasks = {}
        if concerned.physics(a.wanted, b.wanted):
            for mark, side in sides.items():
                physics[mark] = pool.submit(stages.played, side, folder / f"physics-{mark}.json")
        asked = {name: (of["a"].result(), of["b"].result()) for name, of in prints.items()}
        chosen = _chosen(adapters, asked, options.algorithms)
        tasks = {
            adapter.full_name: _submit(pool, adapter, chosen[adapter.full_name], sides, folder)
            for adapter in adapters
        }
        found = [
            _collected(
                adapter,
                *asked[adapter.full_name],
                tasks[adapter.full_name],
                a.side,
                folder,
                options.say,
            )
            for adapter in adapters
        ]
        moved = []
        if physics:
            moved = stages.physics(physics["a"].result(), physics["b"].result())
            options.say(f"physics: {sum(m.moves for m in moved)} of {len(moved)} moved")
        return found, moved
    finally:
        pool.shutdown(cancel_futures=True)


def _chosen(
    adapters: Sequence[Adapter],
    asked: Mapping[str, tuple[fingerprints.Fingerprint, fingerprints.Fingerprint]],
    names: Sequence[str],
) -> dict[str, list[str]]:
    """By framework, the algorithms that have a built-in training on both sides."""
    found = {
        adapter.full_name: [
            name
            for name in asked[adapter.full_name][0].algorithms
            if name in asked[adapter.full_name][1].algorithms
        ]
        for adapter in adapters
    }
    known = sorted({name for algorithms in found.values() for name in algorithms})
    for name in names:
        if name not in known:
            raise UserError(
                f"there is no built-in training of '{name}'; known: {', '.join(known) or 'none'}"
            )
    return {
        framework: [name for name in algorithms if not names or name in names]
        for framework, algorithms in found.items()
    }


def _submit(
    pool: ThreadPoolExecutor,
    adapter: Adapter,
    algorithms: Sequence[str],
    sides: Mapping[str, Side],
    folder: Path,
) -> dict[str, Tasks]:
    """By algorithm: both traces, and the lines that both sides reach."""
    tasks: dict[str, Tasks] = {}
    for algorithm in algorithms:
        of: Tasks = {}
        for mark, side in sides.items():
            of[mark] = pool.submit(stages.recorded, adapter, algorithm, side, folder, mark)
        for mark, side in sides.items():
            kept = folder / f"{adapter.full_name}-{algorithm}-lines-{mark}.json"
            of[f"lines {mark}"] = pool.submit(coverage.lines, side, adapter, algorithm, kept)
        tasks[algorithm] = of
    return tasks


def _collected(
    adapter: Adapter,
    one: fingerprints.Fingerprint,
    other: fingerprints.Fingerprint,
    tasks: Mapping[str, Tasks],
    side: Side,
    folder: Path,
    say: making.Say,
) -> OfFramework:
    details, alone = fingerprints.changed(one, other)
    say(
        f"{adapter.full_name}: {len(one.found)} and {len(other.found)} details asked, "
        f"{len(details)} not done alike"
    )
    traced, reached = [], {}
    for name, of in tasks.items():
        again = partial(stages.recorded, adapter, name, side, folder, "a2")
        found = stages.compared(name, of["a"].result(), of["b"].result(), again)
        reached[name] = coverage.reached(*(of[f"lines {mark}"].result() for mark in ("a", "b")))
        traced.append(found)
        verdict = "ended in an error" if found.failures else found.comparison.verdict
        say(f"{adapter.full_name} {name}: {verdict}")
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
