"""What an upgrade has changed, one by one, each with its place in the user's repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rlregress.model import differences as model
from rlregress.model import upgrade_result
from rlregress.model.code import Changed, Hunk
from rlregress.model.differences import DOCUMENTED, VIOLATED
from rlregress.model.upgrade_result import OfFramework, Upgrade
from rlregress.model.verdict import REGRESSED

ERROR, WARNING, NOTICE = "error", "warning", "notice"
LEVELS = (ERROR, WARNING, NOTICE)
#: kinds of entries that are findings by themselves.
_LISTED = (model.PUBLIC, model.WARNING, model.REQUIREMENT, model.PACKAGE, model.SCRIPT)


@dataclass(frozen=True)
class Finding:
    """One thing that changed.

    Attributes:
        level: error, warning or notice.
        check: what found it: "detail sac.critic_loss.scale", "trace", "default", "returns".
        file: below the top of the repository; empty: it has no place there.
        line: from 1.
    """

    level: str
    check: str
    title: str
    message: str
    file: str = ""
    line: int = 1


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """The worst first, of one level those with a place."""
    return sorted(found, key=lambda item: (LEVELS.index(item.level), not item.file))


def below(path: Path, top: Path) -> str:
    """The path below the top of a repository; empty: it lies elsewhere."""
    try:
        return path.resolve().relative_to(top.resolve()).as_posix()
    except (ValueError, RuntimeError):  # the latter is that of a loop of links
        return ""


@dataclass(frozen=True)
class PinnedRepository:
    """The one that the upgrade is a change of.

    Attributes:
        top: its folder, absolute.
        lock: the lock file of the new version, below it; empty: there is none.
        pins: package -> line of the lock file.
    """

    top: Path
    lock: str = ""
    pins: Mapping[str, int] = field(default_factory=dict)

    def pin(self, packages: Iterable[str]) -> tuple[str, int]:
        """Lock file and line of the first of some packages that it pins."""
        lines = (self.pins[package] for package in packages if package in self.pins)
        return self.lock, next(lines, 1)

    def place(self, functions: Iterable[Changed], hunks: Mapping[Changed, Hunk]) -> tuple[str, int]:
        """File and changed line of the first of some functions that lies in it.

        ("", 1): none does.
        """
        for function in functions:
            path, own = function.paths[1], function.b
            if path is not None and own is not None and (file := below(path, self.top)):
                line = hunks[function].first_line if function in hunks else None
                return file, line or own.first
        return "", 1


def findings(result: Upgrade, repository: PinnedRepository) -> list[Finding]:
    """Everything that changed, the worst first.

    Its place is the function in a working tree, or the line of the pin in a lock file.
    """
    every = [finding for of in result.frameworks for finding in _of(of, repository)]
    every += [
        Finding(
            ERROR if entry.state == model.NEW_FAILS else WARNING,
            entry.kind,
            f"{entry.state}: {entry.name}",
            entry.summary or entry.reason,
            *repository.pin(sorted(result.pinned)),
        )
        for entry in result.entries
        if entry.kind in _LISTED and entry.verdict in (model.CHANGED, model.NEW_FAILS)
    ]
    every += [
        Finding(
            WARNING,
            "physics",
            f"{moved.environment} moves differently",
            moved.words,
            *repository.pin(sorted(result.pinned)),
        )
        for moved in result.physics
        if moved.moves
    ]
    return ordered(every)


def _of(of: OfFramework, repository: PinnedRepository) -> Iterable[Finding]:
    pinned = repository.pin(of.versions[1])

    def place(functions: Iterable[Changed]) -> tuple[str, int]:
        inside = repository.place(functions, of.hunks)
        return inside if inside[0] else pinned

    changed = [execution.function for execution in of.executions]
    for finding in upgrade_result.findings(of.details.changed, changed):
        for detail in finding.details:
            standing = of.standing.get((detail.id, detail.scope), "")
            level = {VIOLATED: ERROR, DOCUMENTED: NOTICE}.get(standing, WARNING)
            yield Finding(
                level,
                f"detail {detail.id}",
                f"{of.title}: {detail.id} is done differently",
                f"{detail.words} [{detail.scope}], {standing or 'changed'}",
                *place(finding.functions),
            )
    moved: dict[tuple[str, int], list[str]] = {}
    for traced in of.diverged:
        cause = of.causes.get(traced.name)
        moved.setdefault(place(cause.functions if cause is not None else ()), []).append(
            traced.name
        )
    for (file, line), names in moved.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        yield Finding(
            WARNING,
            "trace",
            f"{of.title}: trainings do something else",
            f"{', '.join(names[:5])}{more}",
            file,
            line,
        )
    for default in of.defaults:
        yield Finding(
            WARNING,
            "default",
            f"{of.title}: another default",
            f"{default.owner} {default.name}: {default.a} -> {default.b}",
            *pinned,
        )
    if of.returns is not None and of.returns.verdict == REGRESSED:
        yield Finding(
            ERROR, "returns", f"{of.title}: returns regressed", "\n".join(of.returns.lines), *pinned
        )
