"""The cascade: fingerprints, traces, physics, and returns only where traces have parted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side
from rlregress.upgrade import concerned, coverage, environments, returns, stages, wanted
from rlregress.upgrade.environments import Prepared

UNCHANGED, CHANGED = "unchanged", "changed"


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
    say: Callable[[str], None] = field(default=lambda line: None)


@dataclass(frozen=True)
class OfFramework:
    """What was found of one framework.

    Attributes:
        details: those that are not done alike.
        traced: by algorithm.
        reached: algorithm -> share of executable lines reached, on either side.
        returns: verdict of the trainings of diverged algorithms on side B; None: not trained.
    """

    adapter: Adapter
    versions: tuple[dict[str, str], dict[str, str]]
    details: list[stages.ChangedDetail]
    traced: list[stages.Traced]
    reached: dict[str, coverage.Reached]
    returns: returns.Verdict | None = None

    @property
    def diverged(self) -> list[str]:
        """Algorithms that do not do the same on both sides, or of which nothing is proved."""
        return [
            t.algorithm
            for t in self.traced
            if t.comparison.verdict == "diverged" or t.failures or not t.repeats
        ]

    @property
    def failed(self) -> dict[str, str]:
        """Side label -> error, of trainings that ended on one side only."""
        return {
            f"{t.algorithm}, side {side}": text.strip().splitlines()[-1]
            for t in self.traced
            for side, text in t.failures.items()
        }


@dataclass(frozen=True)
class Upgrade:
    """Everything that was found of A and B."""

    a: Prepared
    b: Prepared
    frameworks: list[OfFramework]
    physics: list[stages.Moved]

    @property
    def verdict(self) -> str:
        """ "unchanged", "changed", or what the trainings say: holds, regressed, inconclusive."""
        found = [of.returns.verdict for of in self.frameworks if of.returns is not None]
        for verdict in ("regressed", "could not judge", "inconclusive"):
            if verdict in found:
                return verdict
        diverged = any(of.diverged for of in self.frameworks)
        undecided = any(of.diverged and of.returns is None for of in self.frameworks)
        moved = any(m.step is not None or m.note.startswith("not on") for m in self.physics)
        details = any(of.details for of in self.frameworks)
        if undecided or (moved and not diverged) or (details and not diverged):
            return CHANGED
        return "holds" if diverged else UNCHANGED

    @property
    def exit_code(self) -> int:
        """0: unchanged or holds; 1: regressed; 2: could not judge; 3: changed, undecided."""
        codes = {UNCHANGED: 0, "holds": 0, "regressed": 1, "could not judge": 2}
        return codes.get(self.verdict, 3)


def run(options: Options) -> Upgrade:
    """Judge an upgrade.

    Raises:
        UserError: a side cannot be made, or cannot be asked.
    """
    asked = (wanted.parse(options.a), wanted.parse(options.b))
    adapters = concerned.adapters(asked, options.frameworks)
    a, b = (
        _prepared(label, side, adapters, options)
        for label, side in zip(("A", "B"), asked, strict=True)
    )
    pythons = [stages.python_of(side.side) for side in (a, b)]
    if pythons[0] != pythons[1]:
        raise UserError(
            f"side A runs on Python {pythons[0]} and side B on {pythons[1]}; bits can only be "
            "compared under one interpreter: make both sides with the same one"
        )
    folder = _work(a, b)
    found = [_of(adapter, a.side, b.side, folder, options) for adapter in adapters]
    physics = []
    if concerned.physics(*asked):
        options.say("physics: fixed actions in both environments")
        physics = stages.physics(a.side, b.side)
    return Upgrade(a, b, found, physics)


def _prepared(
    label: str, side: wanted.Wanted, adapters: Sequence[Adapter], options: Options
) -> Prepared:
    made = environments.prepare(label, side, adapters)
    found = ", found in the cache" if made.cached else ""
    options.say(f"side {label}: {side.text} ({made.how}{found})")
    return made


def _work(a: Prepared, b: Prepared) -> Path:
    """Where traces are kept until the gate has ended: one that was interrupted goes on there."""
    parts = [environments.state(side) for side in (a, b)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    folder = environments.cache() / "gates" / key
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _of(adapter: Adapter, a: Side, b: Side, folder: Path, options: Options) -> OfFramework:
    known = stages.algorithms(adapter, a)
    chosen = [name for name in known if not options.algorithms or name in options.algorithms]
    for name in options.algorithms:
        if name not in known:
            raise UserError(
                f"{adapter.title} has no built-in training of '{name}'; known: {', '.join(known)}"
            )
    with ThreadPoolExecutor(options.workers) as pool:
        prints = [pool.submit(stages.fingerprint, side, adapter) for side in (a, b)]
        traces = [pool.submit(stages.traced, adapter, name, a, b, folder) for name in chosen]
        one, other = (task.result() for task in prints)
        options.say(f"{adapter.name}: {len(one.found)} and {len(other.found)} details asked")
        traced = []
        for task in traces:
            traced.append(task.result())
            options.say(f"{adapter.name} {traced[-1].algorithm}: {traced[-1].comparison.verdict}")
        lines = {name: pool.submit(coverage.reached, adapter, name, a, b) for name in chosen}
        reached = {name: task.result() for name, task in lines.items()}
    details = stages.changed_details(one, other)
    found = OfFramework(
        adapter, (dict(one.versions), dict(other.versions)), details, traced, reached
    )
    if not (options.returns and found.diverged) or found.failed:
        return found
    options.say(f"{adapter.name}: trainings of {', '.join(found.diverged)} on side B")
    verdict = returns.judge(adapter, found.diverged, b, options.report / f"returns-{adapter.name}")
    return OfFramework(adapter, found.versions, details, traced, reached, verdict)
