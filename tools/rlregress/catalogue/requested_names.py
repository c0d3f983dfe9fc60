"""Resolves option values to frameworks, algorithms and details, and lists the probes they need."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rlregress import frameworks
from rlregress.catalogue import registry
from rlregress.catalogue.expectations import DetailScope
from rlregress.catalogue.implementation import load_expectations_of_installed_version
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter


def split_comma_separated_names(option: str, value: str | None) -> list[str]:
    """Split a comma-separated option; empty if it was not given.

    Raises:
        UserError: it was given but has no names.
    """
    if value is None:
        return []
    parts = [name.strip() for name in value.split(",") if name.strip()]
    if not parts:
        raise UserError(f"{option} names nothing; expected names, comma-separated, or no {option}")
    return parts


def select_adapters(names: Sequence[str]) -> list[Adapter]:
    """Return the named adapters, all installed; without names, all installed ones."""
    if names:
        adapters = [frameworks.get_adapter(name) for name in names]
        for adapter in adapters:
            adapter.code.map_package_versions()
        return adapters
    adapters = frameworks.list_installed_adapters()
    if not adapters:
        raise UserError(
            "no framework is installed; install one of: "
            + ", ".join(adapter.framework.packages[0] for adapter in frameworks.list_adapters())
            + "; all of them with: pip install 'rlregress[all]'"
        )
    return adapters


def describe_frameworks_not_installed(names: Sequence[str]) -> list[str]:
    """Describe all frameworks that are not installed; nothing if the user named frameworks."""
    sentences = []
    for name in () if names else frameworks.list_framework_names():
        try:
            frameworks.get_adapter(name).code.map_package_versions()
        except UserError as error:
            sentences.append(str(error))
    return sentences


def find_detail_ids(names: Sequence[str]) -> frozenset[str]:
    """Return the ids that equal a name or begin with it (``sac.critic_loss``).

    Raises:
        UserError: no id is, or begins with, one of the names.
    """
    ids: set[str] = set()
    for name in names:
        start = f"{name.removesuffix('.')}."
        ids_below = {id for id in registry.list_detail_ids() if f"{id}.".startswith(start)}
        ids |= ids_below or {registry.get_detail(name).id}
    return frozenset(ids)


def list_algorithms() -> frozenset[str]:
    """Return the algorithms of all known frameworks."""
    return frozenset(
        a for adapter in frameworks.list_adapters() for a in adapter.framework.algorithms
    )


def list_algorithms_without_returns() -> frozenset[str]:
    """Return the algorithms that are only tested for behaviour, over all known frameworks."""
    return frozenset(
        a for adapter in frameworks.list_adapters() for a in adapter.framework.behavior_only
    )


def list_families_excluded_by_algorithms(names: Sequence[str]) -> frozenset[str]:
    """Return the families of details that no named algorithm uses; without names, none."""
    other_algorithms = (list_algorithms() | list_algorithms_without_returns()) - set(names)
    return list_families_only_of_algorithms(other_algorithms) if names else frozenset()


def list_families_only_of_algorithms(names: Collection[str]) -> frozenset[str]:
    """Return the families of details that only these algorithms use."""
    return frozenset(
        [*names, *(family for family, users in registry.USERS.items() if users <= set(names))]
    )


def list_details_to_probe(
    adapter: Adapter, algorithms: Sequence[str] = ()
) -> frozenset[DetailScope]:
    """Return every (detail, scope) that the tests must probe on the installed version.

    These are the documented ones: an undocumented probe fails its test. So only the processes that
    probe a framework import it.

    Args:
        algorithms: as ``--algorithm`` names them; none: all.

    Raises:
        UserError: the expectations of the framework cannot be read.
    """
    excluded = list_families_excluded_by_algorithms(algorithms)
    return frozenset(
        cell
        for cell in load_expectations_of_installed_version(adapter)
        if cell[0].partition(".")[0] not in excluded
    )


def list_unprobed_details(
    requested: Collection[DetailScope], answered: Collection[DetailScope]
) -> tuple[str, ...]:
    """Describe requested details without a result, each as "detail (scopes without it)", sorted."""
    scopes: dict[str, list[str]] = {}
    for detail, scope in sorted(set(requested) - set(answered)):
        scopes.setdefault(detail, []).append(scope)
    return tuple(f"{detail} ({', '.join(names)})" for detail, names in scopes.items())
