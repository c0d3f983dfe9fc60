"""Documented changes between published releases.

``baselines/histories/<framework>.toml`` names the published ``releases``, oldest first, and lists
``[[change]]`` tables: each is one change of behaviour, with the first release that has it and the
published one before. Upgrades are judged against them: changes in scope have to be flagged, and a
pair of neighbouring releases without any change in scope has to pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from packaging.version import Version
from pydantic import AfterValidator, Field

from rlregress import datafiles, suite
from rlregress.datafiles import Pin, Range, Release, Text, expect_one_of
from rlregress.errors import UserError, suggest_names
from rlregress.source import name_module_of_file

KINDS = ("fix", "feature", "default", "breaking", "numerics")
SCOPES = ("in", "out")
ALGORITHMS = (
    "ppo", "a2c", "sac", "td3", "ddpg", "dqn", "trpo", "qrdqn", "tqc", "ars", "crossq",
    "maskableppo", "recurrentppo", "recurrent_ppo", "distillation", "all",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change of behaviour between two neighbouring releases.

    Attributes:
        release: the first published one that has it.
        before: the published one before that.
        scope: "in" if a training or an evaluation computes something else.
        why_out: one clause; only if out of scope.
        condition: what a user has to switch on to see the change; empty for the default path.
        details: ids of the catalogue's details that it changes.
        defaults: "algorithm hyperparameter" in this library's names, if a default changed.
        functions: "file function" where the code of the two releases differs; any of them is the
            right cause.
    """

    id: Text
    release: Release
    before: Release
    algorithms: Annotated[
        tuple[Annotated[str, expect_one_of(ALGORITHMS)], ...], Field(min_length=1)
    ]
    what: Text
    kind: Annotated[str, expect_one_of(KINDS)]
    scope: Annotated[str, expect_one_of(SCOPES)]
    source: Text
    functions: tuple[Text, ...]
    why_out: str = ""
    condition: str = ""
    note: str = ""
    details: tuple[Text, ...] = ()
    defaults: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if self.scope == "out" and not self.why_out:
            raise ValueError("key 'why_out' is missing; expected a clause, as scope is 'out'")
        if self.scope == "in" and self.why_out:
            raise ValueError(
                f"key 'why_out' is '{self.why_out}', expected nothing, as scope is 'in'"
            )

    def concerns_training(self, training: str) -> bool:
        """Return whether a training, such as "ppo gsde", is of an algorithm that changed."""
        algorithm = training.partition(" ")[0]
        return "all" in self.algorithms or any(
            f"_{name}_" in f"_{algorithm}_" for name in self.algorithms
        )


@dataclass(frozen=True)
class ReleasePair:
    """Two neighbouring published releases and what changed from one to the other.

    Attributes:
        requires: pins that both releases are installed with, so that nothing else differs.
    """

    before: str
    release: str
    changes: tuple[Change, ...]
    requires: tuple[str, ...] = ()

    @property
    def changes_to_flag(self) -> tuple[Change, ...]:
        """Return the changes that have to be flagged; none: the pair has to pass."""
        return tuple(change for change in self.changes if change.scope == "in")


def locate_history_file(framework: str) -> Path:
    """Return the path of the file with a framework's known changes."""
    return suite.locate_baselines() / "histories" / f"{framework}.toml"


def list_frameworks_with_history() -> tuple[str, ...]:
    """Return the frameworks that have a history."""
    folder = suite.locate_baselines() / "histories"
    return tuple(path.stem for path in datafiles.list_files_by_name(folder, "*.toml"))


def load_changes(framework: str) -> tuple[Change, ...]:
    """Return the changes of a framework, in the order of the file.

    Raises:
        UserError: there is no history, or it is damaged; names file, entry and key.
    """
    return read_history(_locate_existing_history(framework)).change


def list_release_pairs(framework: str) -> tuple[ReleasePair, ...]:
    """Return pairs of neighbouring releases with their changes, oldest pair first."""
    history = read_history(_locate_existing_history(framework))
    return tuple(
        ReleasePair(
            before,
            release,
            tuple(c for c in history.change if c.release == release),
            next(
                (
                    ground.requires
                    for ground in history.ground
                    if ground.includes_version(before) and ground.includes_version(release)
                ),
                (),
            ),
        )
        for before, release in pairwise(history.releases)
    )


@dataclass(frozen=True)
class _Ground(Range):
    """Versions of other packages with which a range of releases is installed."""

    requires: tuple[Pin, ...]


def _require_oldest_first(releases: tuple[str, ...]) -> tuple[str, ...]:
    for before, release in pairwise(releases):
        if Version(release) <= Version(before):
            raise ValueError(f"{release} follows {before}, expected oldest first")
    return releases


@dataclass(frozen=True)
class _History:
    releases: Annotated[
        tuple[Release, ...], Field(min_length=1), AfterValidator(_require_oldest_first)
    ]
    change: tuple[Change, ...] = ()
    ground: tuple[_Ground, ...] = ()


def read_history(path: Path) -> _History:
    """Read a file of known changes; raise UserError if it is missing or damaged."""
    history: _History = datafiles.read_data_file(path, _History)
    places = datafiles.describe_places_of_tables(path, "change", len(history.change))
    taken: dict[str, str] = {}
    for change, place in zip(history.change, places, strict=True):
        if (change.before, change.release) not in pairwise(history.releases):
            raise UserError(
                f"{place}: keys 'before' and 'release' are '{change.before}' and "
                f"'{change.release}', expected two releases that follow each other in 'releases'"
            )
        if change.id in taken:
            raise UserError(
                f"{place}: key 'id' is '{change.id}', expected an id that no other entry has; "
                f"{taken[change.id]} has it"
            )
        taken[change.id] = place
    return history


def _locate_existing_history(framework: str) -> Path:
    known = list_frameworks_with_history()
    if framework not in known:
        raise UserError(f"no history of '{framework}'; {suggest_names(framework, known)}")
    return locate_history_file(framework)


def make_dotted_name(function: str) -> str:
    """Return the dotted name for "package/file.py Class.name"; for a constructor, its class."""
    file, _, name = function.partition(" ")
    own = name.removeprefix("<class> ").removesuffix(".__init__")
    return f"{name_module_of_file(file)}.{own}"
