"""The cascade: fingerprints, traces, physics, and returns only where traces have parted."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import current
from rlregress.upgrade import (
    concerned,
    fingerprints,
    ground,
    interpreters,
    making,
    physics,
    returns,
    state,
    wanted,
)
from rlregress.upgrade.both import Both
from rlregress.upgrade.environments import Prepared
from rlregress.upgrade.fingerprints import Fingerprint
from rlregress.upgrade.found import OfFramework, Upgrade
from rlregress.upgrade.traced import Training, built_in, script_training

_FINISHED = ".finished"


@dataclass(frozen=True)
class Options:
    """What ``rlregress gate --from A --to B`` was asked; see the command's help.

    Attributes:
        script: the job of a script that is traced instead of the built-in trainings.
    """

    a: str
    b: str
    report: Path
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    returns: bool = True
    workers: int = 2
    script: Mapping[str, Any] | None = None
    say: Callable[[str], None] = field(default=making.silent)


def run(options: Options) -> Upgrade:
    """Judge an upgrade.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    if options.script is not None and options.algorithms:
        raise UserError(
            "a script is traced instead of the built-in trainings, and --algorithm chooses among "
            "those; leave one of the two out"
        )
    asked = (wanted.parse(options.a), wanted.parse(options.b))
    adapters = concerned.adapters(asked, options.frameworks, options.script is not None)
    if not adapters and options.script is None:
        idle = [Prepared(side, current(x), "not made") for x, side in zip("AB", asked, strict=True)]
        return Upgrade(idle[0], idle[1], [], [])
    a, b = ground.prepare(*asked, adapters, options.say)
    for line in (*a.lines, *b.lines):
        options.say(line)
    _check(a, b)
    script = script_training(options.script, *asked) if options.script is not None else None
    with _work(a, b, adapters, options, script) as folder:
        found = _compared(a, b, adapters, folder, options, script)
        judged = [_judged(of, b, options) for of in found.frameworks]
    return replace(found, frameworks=judged)


def _check(a: Prepared, b: Prepared) -> None:
    pythons = [interpreters.python_of(side.side) for side in (a, b)]
    if pythons[0] != pythons[1]:
        raise UserError(
            f"side A runs on Python {pythons[0]} and side B on {pythons[1]}; bits can only be "
            "compared under one interpreter: make both sides with the same one"
        )


@contextmanager
def _work(
    a: Prepared,
    b: Prepared,
    adapters: Sequence[Adapter],
    options: Options,
    script: Training | None,
) -> Iterator[Path]:
    """Where traces are kept until the gate has ended: one that was interrupted goes on there.

    A gate that had ended is done anew: both sides are recorded in one session on one machine.
    """
    parts = [state.state(side, adapters) for side in (a, b)]
    parts += [state.own_digest(), state.machine()]
    parts += [script.key] if script is not None else []
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder = making.cache() / "gates" / key
    with making.locked(folder, options.say):
        if (folder / _FINISHED).exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        left = len(list(folder.glob("*.trace")))
        if left:
            options.say(f"going on where an interrupted gate ended: {left} traces are there")
        try:
            yield folder
        except UserError:
            # what cannot be judged once is not gone on with
            shutil.rmtree(folder)
            raise
        (folder / _FINISHED).touch()


def _compared(
    a: Prepared,
    b: Prepared,
    adapters: Sequence[Adapter],
    folder: Path,
    options: Options,
    script: Training | None,
) -> Upgrade:
    """Everything that is asked of both sides."""
    with Both(a.side, b.side, folder, options.workers, options.say) as both:
        scripted = both.record(script) if script is not None else None
        prints = [
            both.ask(f"{adapter.full_name}-details", fingerprints.fingerprint, adapter)
            for adapter in adapters
        ]
        asks_physics = concerned.physics(a.wanted, b.wanted)
        played = both.ask("physics", physics.played) if asks_physics else None
        asked = [(one.result(), other.result()) for one, other in prints]
        tasks = [
            [(training, both.record(training)) for training in chosen]
            for chosen in _trainings(adapters, asked, options)
        ]
        found = []
        for adapter, pair, recorded in zip(adapters, asked, tasks, strict=True):
            of = _found(adapter, *pair, options.say)
            traces = [both.compared(training, futures) for training, futures in recorded]
            found.append(replace(of, traced=traces))
        of_script = None
        if script is not None and scripted is not None:
            of_script = both.compared(script, scripted)
        moved = []
        if played is not None:
            moved = physics.compared(played[0].result(), played[1].result())
            options.say(f"physics: {sum(m.moves for m in moved)} of {len(moved)} moved")
    return Upgrade(a, b, found, moved, of_script)


def _trainings(
    adapters: Sequence[Adapter],
    asked: Sequence[tuple[Fingerprint, Fingerprint]],
    options: Options,
) -> list[list[Training]]:
    """By framework, the algorithms that have a built-in training on both sides."""
    if options.script is not None:
        return [[] for _ in adapters]
    common = [[name for name in a.algorithms if name in b.algorithms] for a, b in asked]
    known = sorted({name for names in common for name in names})
    for name in options.algorithms:
        if name not in known:
            raise UserError(
                f"there is no built-in training of '{name}'; known: {', '.join(known) or 'none'}"
            )
    return [
        [
            built_in(adapter, name)
            for name in names
            if not options.algorithms or name in options.algorithms
        ]
        for adapter, names in zip(adapters, common, strict=True)
    ]


def _found(adapter: Adapter, one: Fingerprint, other: Fingerprint, say: making.Say) -> OfFramework:
    """What the fingerprints of a framework say."""
    details, alone = fingerprints.changed(one, other)
    defaults = fingerprints.changed_defaults(one, other)
    say(
        f"{adapter.full_name}: {len(one.found)} and {len(other.found)} details asked, "
        f"{len(details)} not done alike; {len(defaults)} other defaults"
    )
    pairs = zip("AB", (one, other), strict=True)
    return OfFramework(
        adapter,
        (dict(one.versions), dict(other.versions)),
        details,
        alone,
        (len(one.found), len(other.found)),
        [],
        defaults,
        tuple(f"side {x}: {side.defaults}" for x, side in pairs if isinstance(side.defaults, str)),
    )


def _judged(found: OfFramework, b: Prepared, options: Options) -> OfFramework:
    failing = {t.name for t in found.traced if t.failures}
    names = [name for name in found.diverged if name not in failing]
    if not options.returns or not names:
        return found
    options.say(f"{found.adapter.name}: trainings of {', '.join(names)} on side B")
    folder = options.report / f"returns-{found.adapter.name}"
    return replace(found, returns=returns.judge(found.adapter, names, b.side, folder))
