"""Differences between two versions, read from files and metadata before anything runs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress.frameworks.base import Adapter
from rlregress.model.code import WORDING, ChangedPiece
from rlregress.model.differences import GONE
from rlregress.source import list_files_below
from rlregress.trace import child_processes
from rlregress.upgrade.differences import (
    changed_functions,
    package_users,
    public_names,
    requirements,
    training_selection,
)
from rlregress.upgrade.differences.public_names import PublicChange
from rlregress.upgrade.differences.requirements import RequirementChange
from rlregress.upgrade.versions import (
    affected,
    closures,
    declarations,
    distribution_metadata,
    installed,
    working_tree,
)
from rlregress.upgrade.versions.distribution_metadata import Distributions
from rlregress.upgrade.versions.prepared_versions import PreparedVersion
from rlregress.upgrade.versions.resolved import ResolvedPair


@dataclass(frozen=True, kw_only=True)
class ComparedPackage:
    """An importable package or module, and its place in each version.

    Attributes:
        old, new: its folder, or its file; None: that version has none.
    """

    name: str
    old: Path | None
    new: Path | None


@dataclass(frozen=True, kw_only=True)
class OtherFile:
    """A file that differs, but in which no piece of code differs.

    Attributes:
        how: "changed", "added" or "removed".
        without_effect: why it can have no effect; empty: it may have one.
        content: a digest of the file's content in both versions.
    """

    file: str
    how: str
    without_effect: str = ""
    content: str = ""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Everything that differs between two versions.

    Attributes:
        packages: whose files were compared.
        pieces: pieces of code that differ; files: other files that differ.
        public: changed public names and signatures of these packages.
        requirements: changed declarations of their distributions.
        versions: name -> old and new version of every other distribution; "": not installed.
        lost: distributions that the new version no longer installs: first those that its
            packages required, then those that only these required.
        needed: distributions that the packages no longer require -> the public functions of the new
            version that use them.
        installed: name -> version of everything on the new version, "python" included.
        extras: extras of distributions that the user requested.
        parts: top folder, or file, of a package -> its distribution, for pinned distributions.
        unrelated: distributions in ``versions`` that neither require a framework or its
            dependencies, nor are required by one.
        users: folders and files of other distributions that require compared ones, in the old
            version.
    """

    packages: tuple[ComparedPackage, ...] = ()
    pieces: tuple[ChangedPiece, ...] = ()
    files: tuple[OtherFile, ...] = ()
    public: tuple[PublicChange, ...] = ()
    requirements: tuple[RequirementChange, ...] = ()
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    needed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unrelated: frozenset[str] = frozenset()
    installed: Mapping[str, str] = field(default_factory=dict)
    extras: frozenset[str] = frozenset()
    parts: Mapping[str, str] = field(default_factory=dict)
    users: tuple[str, ...] = ()

    @property
    def broken_names(self) -> set[str]:
        """Public names that are gone or incompatible."""
        return {change.name for change in self.public if change.breaks_callers}

    @property
    def summary(self) -> str:
        """Return a sentence that counts the differences."""
        wording = sum(piece.how == WORDING for piece in self.pieces)
        return (
            f"differences found in the files and metadata of both versions: {len(self.pieces)} "
            f"pieces of code ({wording} in wording only), {len(self.files)} other files, "
            f"{len(self.public)} public names, {len(self.requirements)} requirements, "
            f"{len(self.versions)} other packages"
        )

    def list_differing_packages_except(self, modules: Collection[str]) -> list[str]:
        """Return the names of differing packages that are not among ``modules``."""
        return [p.name for p in self.packages if p.name not in modules and p.old != p.new]

    def list_package_folders(self, label: str) -> list[str]:
        """Return the folders of all packages of the version "old" or "new"."""
        return [str(f) for package in self.packages if (f := getattr(package, label)) is not None]


def list_differences(
    resolved: ResolvedPair,
    old: PreparedVersion,
    new: PreparedVersion,
    end_time: float = float("inf"),
) -> Inventory:
    """Compare the files and the metadata of both versions.

    The code of the packages to upgrade is compared; of all other distributions, only the version.

    Args:
        end_time: the time at which the comparison of public names ends.

    Raises:
        OutOfTime: the time of the command was over before the code was compared.
    """
    in_old, in_new = (closures.map_distributions_of_version(v.runtime) for v in (old, new))
    distributions = in_old, in_new
    own = {
        name: [_locate_top_modules(found[name]) if name in found else {} for found in distributions]
        for name in resolved.pinned
    }
    packages = _list_compared_packages(resolved, old, new, own)
    differing_packages = [package for package in packages if package.old != package.new]
    folders = [
        [str(f) for p in differing_packages if (f := getattr(p, label))] for label in ("old", "new")
    ]
    pieces = changed_functions.find_changed_pieces(*folders)
    names = _list_compared_distributions(resolved, differing_packages, own)
    files = _list_other_differing_files(folders[0], folders[1], {piece.file for piece in pieces})
    declared = _list_requirement_changes((old, new), distributions, names)
    paths = [*(piece.file for piece in pieces), *(file.file for file in files)]
    differing = {path.partition("/")[0] for path in paths}
    compared = [
        name
        for name, modules in names.items()
        if _is_compared(name, modules, distributions, differing_packages, differing)
    ]
    other_versions = _map_differing_versions_except((old, new), compared)
    gone = [row.package for row in declared if row.summary.startswith(GONE)]
    with child_processes.limit_stage(end_time):
        public = tuple(_list_public_changes(differing_packages, pieces))
    return Inventory(
        packages=tuple(packages),
        pieces=tuple(pieces),
        files=tuple(files),
        public=public,
        requirements=tuple(declared),
        versions=other_versions,
        lost=tuple(n for n in (*new.absent.direct, *new.absent.below) if n in other_versions),
        needed=_map_packages_to_dependent_functions(
            [*gone, *new.absent.direct], in_old, folders[1]
        ),
        unrelated=frozenset(affected.list_unrelated_distributions(other_versions, distributions)),
        installed=_map_visible_versions(new),
        parts=_map_modules_to_distributions(own),
        users=tuple(_list_code_of_dependents(names, in_old)),
        extras=_list_requested_extras((old, new)),
    )


def _map_differing_versions_except(
    versions: tuple[PreparedVersion, PreparedVersion], compared: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return the distributions whose code is not compared, and whose versions differ."""
    differing = closures.map_differing_versions(*(version.runtime for version in versions))
    left_out = {*compared, "rlregress", "python"}
    return {name: pair for name, pair in differing.items() if name not in left_out}


def _map_visible_versions(version: PreparedVersion) -> dict[str, str]:
    versions = closures.map_visible_versions(version.runtime)
    return {name: installed.strip_local_version(own) for name, own in versions.items()}


def _map_modules_to_distributions(
    own: Mapping[str, Sequence[Mapping[str, Path]]],
) -> dict[str, str]:
    return {
        path.name: name
        for name, places in own.items()
        for place in places
        for path in place.values()
    }


def _list_requested_extras(versions: Iterable[PreparedVersion]) -> frozenset[str]:
    return frozenset(
        str(canonicalize_name(extra))
        for version in versions
        for row in version.requested.requirements
        for extra in Requirement(row).extras
    )


def _list_public_changes(
    differing_packages: Iterable[ComparedPackage], pieces: Sequence[ChangedPiece]
) -> Iterator[PublicChange]:
    """Yield changes of public names of packages that both versions have."""
    for package in differing_packages:
        # scripts, and packages of one version alone, have no names to compare
        old, new = package.old, package.new
        if old is None or new is None:
            continue
        own = [piece for piece in pieces if piece.file.startswith(f"{new.name}/")]
        is_package = all((folder / "__init__.py").is_file() for folder in (old, new))
        if is_package and public_names.can_change_public_names(own):
            try:
                yield from public_names.list_public_changes(old, new)
            except child_processes.OutOfTime:
                why = child_processes.note_skipped_task(f"public names of {package.name}")
                yield public_names.make_entry_not_compared(package.name, why)


def _list_requirement_changes(
    versions: tuple[PreparedVersion, PreparedVersion],
    distributions: tuple[Distributions, Distributions],
    names: Mapping[str, Collection[str]],
) -> list[RequirementChange]:
    """Return the changed declarations of distributions that both versions have."""
    if _are_trees_with_same_declarations(*versions):
        return []
    changes: list[RequirementChange] = []
    for name in sorted(names):
        pairs = zip(versions, distributions, strict=True)
        old, new = (
            _read_declarations(version, name, names[name], place) for version, place in pairs
        )
        if old is not None and new is not None:
            changes += requirements.list_requirement_changes(old, new)
    return changes


def _list_code_of_dependents(
    names: Mapping[str, Collection[str]], installed_: Distributions
) -> Iterator[str]:
    """Yield folders and files of distributions that require one of the named distributions."""
    # a distribution that is not installed has no users
    required = names.keys() & installed_.keys()
    for name, distribution in installed_.items():
        if required and closures.map_distributions_to_requirers(
            [name], installed_
        ).keys() & required - {name}:
            yield from map(str, _locate_top_modules(distribution).values())


# -- where packages are ----------------------------------------------------------------------------


#: distribution -> for each version: dotted name of a module -> its folder or file.
_ModulePaths = Mapping[str, Sequence[Mapping[str, Path]]]


def _list_compared_packages(
    resolved: ResolvedPair, old: PreparedVersion, new: PreparedVersion, paths: _ModulePaths
) -> list[ComparedPackage]:
    names = {m for adapter in resolved.adapters for m in adapter.framework.modules if m != "torch"}
    names |= {*resolved.imports["trees"]}
    places: tuple[dict[str, Path], dict[str, Path]] = ({}, {})
    for name, modules_of_versions in paths.items():
        for merged, modules in zip(places, modules_of_versions, strict=True):
            merged.update(modules)
        # a distribution without a list of files may have the name of its package
        if not all(modules_of_versions):
            names.add(name.replace("-", "_"))
    names |= {*places[0], *places[1]}
    packages = [
        # a folder in front of the path wins over what is installed
        ComparedPackage(
            name=n,
            old=find_module(old, n) or places[0].get(n),
            new=find_module(new, n) or places[1].get(n),
        )
        for n in sorted(names)
    ]
    for adapter in resolved.adapters:
        if adapter.framework.checkout:
            scripts = [_find_script_folders(version, adapter) for version in (old, new)]
            packages += [
                ComparedPackage(name=n, old=scripts[0].get(n), new=scripts[1].get(n))
                for n in sorted({*scripts[0], *scripts[1]})
            ]
    return [package for package in packages if package.old is not None or package.new is not None]


def _find_script_folders(version: PreparedVersion, adapter: Adapter) -> dict[str, Path]:
    """Return the folders that hold a framework's scripts, by their names."""
    root = version.runtime.variables.get(adapter.framework.checkout)
    if root:
        return {f.name: f for f in Path(root).glob(f"{adapter.name}*") if f.is_dir()}
    return {Path(folder).name: Path(folder) for folder in adapter.code.list_code_folders()}


def find_module(version: PreparedVersion, module: str) -> Path | None:
    """Return the folder of a package, or the file of a module; nothing is imported."""
    # in the order of the import path
    roots = [Path(path) for path in version.runtime.paths]
    if version.runtime.python != sys.executable:
        environment = Path(version.runtime.python).parent.parent
        roots += sorted(environment.glob("lib*/python*/site-packages"))
    for root in roots:
        place = root.joinpath(*module.split("."))
        for path in (place, place.with_name(f"{place.name}.py")):
            if path.is_file() or (path / "__init__.py").is_file():
                return path
    # not for a submodule: find_spec would import the package that it is in
    if version.runtime.python == sys.executable and "." not in module:
        spec = importlib.util.find_spec(module)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if places:
            return Path(places[0])
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            return Path(spec.origin)
    return None


def _locate_top_modules(distribution: importlib.metadata.Distribution) -> dict[str, Path]:
    """Return dotted name -> path of a distribution's top packages, and of modules in no package."""
    files = distribution_metadata.list_module_files(distribution)
    packages = {path.parent for path in files if path.name.partition(".")[0] == "__init__"}
    modules = {}
    for path in files:
        place = next((parent for parent in reversed(path.parents) if parent in packages), path)
        parts = [*place.parts[:-1], place.name.partition(".")[0] if place == path else place.name]
        location = Path(str(distribution.locate_file(place)))
        if (
            all(map(str.isidentifier, parts))
            and not parts[0].startswith("__")
            and location.exists()
        ):
            modules[".".join(parts)] = location
    return modules


# -- metadata --------------------------------------------------------------------------------------


def _list_compared_distributions(
    resolved: ResolvedPair, differing_packages: Iterable[ComparedPackage], paths: _ModulePaths
) -> dict[str, set[str]]:
    """Return canonical name of a distribution whose code is compared -> its packages."""
    packages = {
        m: p
        for x in resolved.adapters
        for m, p in zip(x.framework.modules, x.framework.packages, strict=False)
    }
    names = {
        name: {m for modules in modules_of_versions for m in modules}
        for name, modules_of_versions in paths.items()
    }
    for row in differing_packages:
        name = str(canonicalize_name(packages.get(row.name, row.name)))
        names.setdefault(name, set()).add(row.name)
    return names


def _is_compared(
    distribution: str,
    modules: Collection[str],
    distributions: Sequence[Distributions],
    differing_packages: Sequence[ComparedPackage],
    differing: Collection[str],
) -> bool:
    """Return whether the code of a distribution was found in both versions, and its files differ.

    Of any other distribution the inventory has only the version numbers.

    Args:
        differing: folders and files of packages in which something differs.
    """
    named = Counter(path.name for row in differing_packages if (path := row.new or row.old))
    places = [(row.old, row.new) for row in differing_packages if row.name in modules]
    folders = [
        {place.name for place in version_places if place}
        for version_places in zip(*places, strict=True)
    ]
    return len(folders) == 2 and all(
        # of two packages of one name the files cannot be told apart
        distribution not in version_distributions
        or (own & set(differing) and max(named[folder] for folder in own) == 1)
        for version_distributions, own in zip(distributions, folders, strict=True)
    )


def _map_packages_to_dependent_functions(
    names: Iterable[str], installed_: Distributions, folders: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    needed = {}
    for name in names:
        modules = (
            {m.partition(".")[0] for m in _locate_top_modules(installed_[name])}
            if name in installed_
            else set()
        )
        users = [u for f in folders for u in package_users.list_functions_using(modules, Path(f))]
        if users:
            needed[name] = tuple(users)
    return needed


def _read_declarations(
    version: PreparedVersion, distribution: str, modules: Collection[str], installed_: Distributions
) -> declarations.Declared | None:
    """Return the declarations of a distribution; for a working tree, those in its files."""
    tree = version.requested.tree
    root = working_tree.find_package_root(sorted(modules), tree) if tree is not None else None
    if tree is not None and root is not None:
        project = working_tree.find_project_folder(tree, root)
        return None if project is None else declarations.read_declarations_of_tree(project)
    return (
        declarations.read_declarations(installed_[distribution])
        if distribution in installed_
        else None
    )


def _are_trees_with_same_declarations(old: PreparedVersion, new: PreparedVersion) -> bool:
    """Return whether both versions are working trees with the same declarations, or without any."""
    trees = [version.requested.tree for version in (old, new)]
    files = [
        [
            path.read_bytes() if (path := tree / name).is_file() else b""
            for name in working_tree.PROJECT
        ]
        for tree in trees
        if tree is not None
    ]
    return len(files) == 2 and files[0] == files[1]


# -- files that are not code -----------------------------------------------------------------------


def _list_other_differing_files(
    old: Sequence[str], new: Sequence[str], with_pieces: set[str]
) -> list[OtherFile]:
    """Return files that differ, except those in which a piece of code differs."""
    versions = [changed_functions.map_files_by_name(x, list_files_below) for x in (old, new)]
    files = []
    for file in sorted({*versions[0], *versions[1]} - with_pieces):
        exists = [file in paths for paths in versions]
        texts = [paths[file].read_bytes() if file in paths else b"" for paths in versions]
        if all(exists) and texts[0] == texts[1]:
            continue
        files.append(
            OtherFile(
                file=file,
                how="changed" if all(exists) else "added" if exists[1] else "removed",
                without_effect=training_selection.explain_no_effect(file, texts),
                content=" ".join(hashlib.sha256(text).hexdigest() for text in texts),
            )
        )
    return files
