"""What options name: frameworks, algorithms and details; and which details that leaves to probe."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rlregress import frameworks
from rlregress.details import catalogue
from rlregress.details.expectations import Cell
from rlregress.details.implementation import documented
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter


def names(option: str, given: str | None) -> list[str]:
    """The names of a comma-separated option; none if it was not given.

    Raises:
        UserError: it was given, and names nothing.
    """
    if given is None:
        return []
    listed = [name.strip() for name in given.split(",") if name.strip()]
    if not listed:
        raise UserError(f"{option} names nothing; expected names, comma-separated, or no {option}")
    return listed


def adapters(names: Sequence[str]) -> list[Adapter]:
    """The named adapters, all with their packages installed; without names the installed ones."""
    if names:
        chosen = [frameworks.get(name) for name in names]
        for adapter in chosen:
            adapter.code.versions()
        return chosen
    chosen = frameworks.installed()
    if not chosen:
        raise UserError(
            "no framework is installed; install one of: "
            + ", ".join(frameworks.get(name).framework.packages[0] for name in frameworks.names())
            + "; all of them with: pip install 'rlregress[all]'"
        )
    return chosen


def not_installed(names: Sequence[str]) -> list[str]:
    """Of the frameworks that are not installed, if none is named: how each is, in a sentence."""
    sentences = []
    for name in () if names else frameworks.names():
        try:
            frameworks.get(name).code.versions()
        except UserError as error:
            sentences.append(str(error))
    return sentences


def details(names: Sequence[str]) -> frozenset[str]:
    """The ids of the details that are named, or whose ids begin with a name (``sac.critic_loss``).

    Raises:
        UserError: no id is, or begins with, one of the names.
    """
    chosen: set[str] = set()
    for name in names:
        below = {id for id in catalogue.ids() if f"{id}.".startswith(f"{name}.")}
        chosen |= below or {catalogue.get(name).id}
    return frozenset(chosen)


def algorithms() -> frozenset[str]:
    """The algorithms of all known frameworks."""
    return frozenset(
        a for name in frameworks.names() for a in frameworks.get(name).framework.algorithms
    )


def behavior_only() -> frozenset[str]:
    """The algorithms of all known frameworks that are asked how they behave, and no cell trains."""
    return frozenset(
        a for name in frameworks.names() for a in frameworks.get(name).framework.behavior_only
    )


def other_families(chosen: Sequence[str]) -> frozenset[str]:
    """The families of details that ``--algorithm`` leaves out."""
    others = (algorithms() | behavior_only()) - set(chosen)
    return families_of_only(others) if chosen else frozenset()


def families_of_only(names: Collection[str]) -> frozenset[str]:
    """The families of details that are of these algorithms, and of no other."""
    return frozenset(
        [*names, *(family for family, users in catalogue.USERS.items() if users <= set(names))]
    )


def to_probe(adapter: Adapter, algorithms: Sequence[str] = ()) -> frozenset[Cell]:
    """Return every (detail, scope) that the tests have to ask of the installed version.

    These are documented: a probe of which nothing is documented fails its test. So the framework
    is imported by the processes that ask it, and by no other.

    Args:
        algorithms: as ``--algorithm`` names them; none: all.

    Raises:
        UserError: what is documented of the framework cannot be read.
    """
    others = other_families(algorithms)
    return frozenset(
        cell for cell in documented(adapter) if cell[0].partition(".")[0] not in others
    )


def not_probed(wanted: Collection[Cell], answered: Collection[Cell]) -> tuple[str, ...]:
    """The details that have no answer in some scope, sorted, with these scopes."""
    scopes: dict[str, list[str]] = {}
    for detail, scope in sorted(set(wanted) - set(answered)):
        scopes.setdefault(detail, []).append(scope)
    return tuple(f"{detail} ({', '.join(names)})" for detail, names in scopes.items())
