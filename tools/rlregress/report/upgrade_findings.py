"""The changes of an upgrade, each with its place in the user's repository."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rlregress.model import differences as model
from rlregress.model.code import ChangedPiece, Hunk
from rlregress.model.differences import Entry
from rlregress.model.upgrade_result import Upgrade, map_entries_to_explaining_functions
from rlregress.model.verdict import REGRESSED
from rlregress.report.words import join_first_names

ERROR, WARNING, NOTICE = "error", "warning", "notice"
LEVELS = (ERROR, WARNING, NOTICE)


@dataclass(frozen=True)
class Finding:
    """One change for annotations in CI: its level, its message, and its place in the repository.

    Attributes:
        level: error, warning or notice.
        check: the check that found it: "detail sac.critic_loss.scale", "training", "default", ...
        file: path below the top of the repository; empty: the change has no place in it.
        line: from 1.
    """

    level: str
    check: str
    title: str
    message: str
    file: str = ""
    line: int = 1


def sort_findings(all_findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: the worst first, and within a level those with a place first."""
    return sorted(all_findings, key=lambda item: (LEVELS.index(item.level), not item.file))


def get_path_below(path: Path, repository: Path) -> str:
    """Return the part of a path below the top of a repository; empty if it is elsewhere."""
    try:
        return path.resolve().relative_to(repository.resolve()).as_posix()
    except (ValueError, RuntimeError):  # the latter is that of a loop of links
        return ""


@dataclass(frozen=True)
class PinnedRepository:
    """The user's repository that pins the upgraded packages, or contains them.

    Attributes:
        top: its folder, absolute.
        lock: the lock file of the new version, below it; empty: there is none.
        pins: package -> line of the lock file.
    """

    top: Path
    lock: str = ""
    pins: Mapping[str, int] = field(default_factory=dict)

    def locate_pin(self, packages: Iterable[str]) -> tuple[str, int]:
        """Return the lock file and the line that pins the first of these packages; else line 1."""
        lines = (self.pins[package] for package in packages if package in self.pins)
        return self.lock, next(lines, 1)

    def locate_function(
        self, functions: Iterable[ChangedPiece], hunks: Mapping[ChangedPiece, Hunk]
    ) -> tuple[str, int]:
        """Return file and line of the first changed function that lies in the repository.

        ("", 1): none lies in it.
        """
        for function in functions:
            path, own = function.paths[1], function.new
            if path is not None and own is not None and (file := get_path_below(path, self.top)):
                line = hunks[function].first_changed_line if function in hunks else None
                return file, line or own.first
        return "", 1


def list_upgrade_findings(result: Upgrade, repository: PinnedRepository) -> list[Finding]:
    """Return every entry that differs, the worst first; for code, only what no training shows.

    A finding's place is the function in a working tree, or the line of the pin in a lock file.
    """
    functions: dict[tuple[str, str], Sequence[ChangedPiece]] = {}
    hunks: dict[ChangedPiece, Hunk] = {}
    pinned = {"": sorted(result.pinned)}
    for framework in result.frameworks:
        functions |= {
            (framework.name, name): own
            for name, own in map_entries_to_explaining_functions(framework).items()
        }
        hunks.update(framework.hunks)
        pinned[framework.name] = list(framework.versions[1])
    # trainings that diverge at one place are one finding
    groups: dict[object, list[tuple[Entry, tuple[str, int]]]] = {}
    for entry in result.entries:
        is_code = entry.kind in model.CODE and entry.state != model.BEYOND
        if entry.state in model.DIFFERENT and not entry.accepted and not is_code:
            place = repository.locate_function(
                functions.get((entry.framework, entry.name), ()), hunks
            )
            place = place if place[0] else repository.locate_pin(pinned.get(entry.framework, ()))
            related = (entry.framework, entry.verdict, place)
            key = related if entry.kind == model.TRAINING else entry
            groups.setdefault(key, []).append((entry, place))
    return sort_findings(
        _make_finding_of_group([entry for entry, _ in group], *group[0][1])
        for group in groups.values()
    )


def _make_finding_of_group(entries: Sequence[Entry], file: str, line: int) -> Finding:
    entry = entries[0]
    level = {REGRESSED: ERROR, model.NEW_FAILS: ERROR, model.CHANGED: WARNING}
    check = entry.kind if entry.kind != model.DETAIL else f"detail {entry.name.split()[0]}"
    other_names = join_first_names([further.name for further in entries[1:]], 5)
    texts = (
        entry.summary,
        entry.reason,
        entry.standing,
        other_names and f"the same: {other_names}",
    )
    return Finding(
        level.get(entry.verdict, NOTICE),
        check,
        f"{entry.framework or 'upgrade'}: {entry.title}",
        "; ".join(filter(None, (entry.state, *texts))),
        file,
        line,
    )
