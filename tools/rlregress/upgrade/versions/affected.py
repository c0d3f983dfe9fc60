"""Finds the frameworks that an upgrade concerns, and whether physics can change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import canonicalize_name

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.upgrade.versions import closures, installed, interpreters, working_tree
from rlregress.upgrade.versions.distribution_metadata import Distributions
from rlregress.upgrade.versions.requested import RequestedVersion

#: packages that can change what an environment answers.
PHYSICS = frozenset({"gymnasium", "mujoco", "numpy"})
#: packages that every framework stands on.
_BELOW = PHYSICS | {"torch"}


def list_unrelated_distributions(
    names: Iterable[str], distributions: Iterable[Distributions]
) -> set[str]:
    """Return the distributions that have nothing to do with any framework.

    They require neither a framework nor its dependencies, and no framework requires them.

    Args:
        distributions: those that either version finds; a name that is in neither may be related.
    """
    framework_names = list_framework_distributions() | _BELOW
    installed_names: set[str] = set()
    related: set[str] = set()
    for version_distributions in distributions:
        required = closures.map_distributions_to_requirers(
            sorted(framework_names), version_distributions
        ).keys()
        for name in set(names) & version_distributions.keys():
            installed_names.add(name)
            if (
                name in required
                or closures.map_distributions_to_requirers([name], version_distributions).keys()
                & framework_names
            ):
                related.add(name)
    return installed_names - related


def list_packages_pinned_apart(old: RequestedVersion, new: RequestedVersion) -> frozenset[str]:
    """Return the packages that the two versions pin differently.

    With a working tree or an environment, only pins are compared. Otherwise an unpinned package
    counts as the installed release. If nothing differs then, all pinned packages are returned, or
    none for two lock files.
    """
    old_pins, new_pins = old.pins, new.pins
    names = frozenset({**old_pins, **new_pins})
    if any(version.tree or version.environment for version in (old, new)):
        return frozenset(name for name in names if old_pins.get(name) != new_pins.get(name))

    def find_pin_or_installed_release(pins: dict[str, str], name: str) -> str:
        if name in pins and not installed.is_unaltered_release_installed(pins[name]):
            return pins[name]
        installed_version = installed.find_installed_version(name)
        if not installed_version:
            return ""
        release = installed.strip_local_version(installed_version)
        return f"{name}=={release} {installed.explain_altered_package(name)}"

    differing = frozenset(
        name
        for name in names
        if find_pin_or_installed_release(old_pins, name)
        != find_pin_or_installed_release(new_pins, name)
    )
    return differing if differing or (old.lock and new.lock) else names


def list_distributions_of_adapter(adapter: Adapter) -> set[str]:
    """Return the canonical names of the packages that a framework is published as, or may be."""
    named = {*adapter.framework.packages, *adapter.framework.modules} - {"torch"}
    return {str(canonicalize_name(name)) for name in named}


def list_framework_distributions() -> set[str]:
    """Return the canonical names of the packages of all frameworks."""
    return {
        name
        for adapter in frameworks.list_adapters()
        for name in list_distributions_of_adapter(adapter)
    }


def _has_package_of(adapter: Adapter, version: RequestedVersion) -> bool:
    if version.tree is not None:
        if adapter.framework.checkout:
            return adapter.code.is_checkout_of_framework(version.tree)
        return working_tree.find_package_root(adapter.framework.modules, version.tree) is not None
    if version.environment is not None:
        python = version.environment / "bin" / "python"
        installed_names = (
            interpreters.map_interpreter_versions(str(python)) if python.exists() else {}
        )
        return str(canonicalize_name(adapter.framework.packages[0])) in installed_names
    return False


def list_affected_adapters(
    old: RequestedVersion,
    new: RequestedVersion,
    framework_names: Sequence[str] = (),
    for_script: bool = False,
) -> list[Adapter]:
    """Return the frameworks whose packages an upgrade changes, or else all that are installed.

    The result is empty if two lock files differ in no dependency of a framework.

    Args:
        for_script: only the packages of a script count, and they may be none of a framework.

    Raises:
        UserError: none of the packages is a framework or below one, or all are of frameworks that
            ``framework_names`` leaves out.
    """
    pinned = list_packages_pinned_apart(old, new)
    all_adapters = frameworks.list_adapters()
    concerned = [
        adapter
        for adapter in all_adapters
        if list_distributions_of_adapter(adapter) & pinned
        or any(_has_package_of(adapter, version) for version in (old, new))
    ]
    if framework_names:
        named_adapters = [frameworks.get_adapter(name) for name in framework_names]
        chosen_names = {adapter.name for adapter in named_adapters}
        unnamed = {adapter.name for adapter in concerned} - chosen_names
        if unnamed and len(unnamed) == len(concerned) and not pinned & _BELOW:
            names = ",".join(sorted(unnamed))
            raise UserError(
                f"the versions differ in {names}, but --framework names only "
                f"{', '.join(framework_names)}; give --framework {names}, or leave it out"
            )
        return named_adapters
    same = not pinned and not any(version.tree or version.environment for version in (old, new))
    if for_script and not same:
        return concerned
    if pinned & _BELOW:
        owners = [
            adapter
            for adapter in all_adapters
            if list_distributions_of_adapter(adapter) & {*old.pins, *new.pins}
        ]
        return owners or frameworks.list_installed_adapters()
    if concerned or (old.lock and new.lock):
        return concerned
    raise UserError(_explain_no_framework(old, new, pinned, all_adapters))


def explain_tree_without_framework(tree: str) -> str:
    """Explain that a folder holds no framework, and what was expected."""
    adapters = frameworks.list_adapters()
    modules = ", ".join(x.framework.modules[0] for x in adapters if x.framework.modules)
    return (
        f"{tree} holds no framework; expected a working tree with one of the packages {modules}, "
        "a checkout of scripts, or a virtual environment"
    )


def _explain_no_framework(
    old: RequestedVersion,
    new: RequestedVersion,
    pinned: frozenset[str],
    all_adapters: Sequence[Adapter],
) -> str:
    """Explain why an upgrade concerns no framework, and what was expected."""
    trees = [version.text for version in (old, new) if version.tree is not None]
    if trees:
        return explain_tree_without_framework(f"the folder {' and '.join(trees)}")
    packages = [x.framework.packages[0] for x in all_adapters]
    if not pinned and not any(version.environment for version in (old, new)):
        return (
            "old and new are both the installed version; expected another version for one, such as "
            f"{packages[0]}==<version>"
        )
    return (
        f"'{' '.join(sorted(pinned)) or old.text}' concerns no framework known here; "
        f"expected one of {', '.join(packages)}; name it with "
        "--framework, or a script that uses it with --script"
    )


def group_importable_names(old: RequestedVersion, new: RequestedVersion) -> dict[str, list[str]]:
    """Return what a script may import: "distributions" that differ, and modules of "trees"."""
    folders = [version.tree for version in (old, new) if version.tree is not None]
    roots = [root for tree in folders for root in working_tree.list_package_roots(tree)]
    modules = {module for root in roots for module in working_tree.list_modules_in_folder(root)}
    distributions = list_packages_pinned_apart(old, new) - _BELOW
    return {"distributions": sorted(distributions), "trees": sorted(modules)}
