"""Environments of the two versions: an overlay on the installed packages, or separate ones.

Resolved packages that differ from the installed ones go into an overlay, in front of the installed
environment; torch never does. Both kinds are cached by their exact content, so they are made once.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.upgrade_result import VersionInfo
from rlregress.trace.recording_processes import Runtime, list_user_pythonpath_folders
from rlregress.upgrade.versions import (
    affected,
    cached_folders,
    closures,
    dependencies,
    distribution_metadata,
    installed,
    interpreters,
    wheels,
    working_tree,
)
from rlregress.upgrade.versions.requested import RequestedVersion, find_interpreter_of_environment
from rlregress.upgrade.versions.resolved import ResolvedPair, ResolvedVersion
from rlregress.upgrade.versions.version_resolution import ResolvedPins, map_versions_by_name

#: version of a package that states none: below all that are documented.
_UNKNOWN = "0+unknown"
#: recordings keep no bytecode of their own, and an upgrade starts dozens of processes.
_COMPILE = "--compile-bytecode"


@dataclass(frozen=True)
class PreparedVersion:
    """A version that is installed, with the runtime in which it is measured.

    Attributes:
        how: "installed", "tree", "overlay", "environment" or "your environment"; the first two may
            be "on your environment".
        cached: it was in the cache already.
        why: reasons why it is no overlay, or why the installed packages could not be used.
        further: sentences on unpinned packages in another version than the installed one.
        notes: conflicts between packages that are run all the same.
        absent: distributions that only the other version installs: they are not found here.
        not_checked: sentences on metadata that a folder does not state.
    """

    requested: RequestedVersion
    runtime: Runtime
    how: str
    cached: bool = False
    why: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    absent: closures.HiddenPackages = closures.HiddenPackages()
    not_checked: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Return sentences that describe this version."""
        source = ", from the cache" if self.cached else ""
        first = f"{self.runtime.label}: {self.requested.text} ({self.how}{source})"
        rows = [f"  {x}" for x in self.requested.understood]
        rows += [f"  because {why}" for why in self.why]
        rows += [f"  with {', '.join(self.further)}"] if self.further else []
        if self.absent.direct:
            below = len(self.absent.below)
            suffix = f" (and {below} that only they require)" if below else ""
            who = ", ".join(self.absent.users) or self.requested.text
            does = "do" if len(self.absent.users) > 1 else "does"
            pronoun = "them" if len(self.absent.direct) + below > 1 else "it"
            rows.append(
                f"  without {', '.join(self.absent.direct)}{suffix}: {who} {does} not install "
                f"{pronoun}"
            )
        rows += [f"  although {note}" for note in self.notes]
        return [first, *rows, *(f"  not checked: {pronoun}" for pronoun in self.not_checked)]

    @property
    def info(self) -> VersionInfo:
        """Return the description of this version for a report."""
        return VersionInfo(
            label=self.runtime.label,
            text=self.requested.text,
            how=self.how,
            why=self.why,
            notes=self.notes,
            not_checked=self.not_checked,
            lines=tuple(self.lines),
            lock=self.requested.lock,
        )


def prepare_versions(
    resolved: ResolvedPair,
    log: cached_folders.Log = cached_folders.ignore_message,
    lent: Sequence[str] = (),
) -> tuple[PreparedVersion, PreparedVersion]:
    """Make both versions, or find them; packages that only one installs are hidden from the other.

    Args:
        lent: distributions that stay importable on both versions.

    Raises:
        UserError: no network, a tree without a framework, an unknown distribution to lend.
    """
    old, new = (
        prepare_version(version, resolved.adapters, log) for version in (resolved.old, resolved.new)
    )
    distributions = (
        closures.map_distributions_of_version(old.runtime),
        closures.map_distributions_of_version(new.runtime),
    )
    closures.require_lent_distributions_exist(lent, distributions)
    if any(x.requested.tree or x.requested.environment for x in (old, new)):
        # as they are: the user made them
        return old, new
    rows = [
        _list_requested_package_names(x, y, resolved.adapters) for x, y in ((old, new), (new, old))
    ]
    suite = dependencies.list_measuring_packages()
    old_absent = closures.find_distributions_to_hide(rows[0], rows[1], distributions, suite, lent)
    new_absent = closures.find_distributions_to_hide(
        rows[1], rows[0], distributions[::-1], suite, lent
    )
    return _hide_packages(old, old_absent), _hide_packages(new, new_absent)


def _list_requested_package_names(
    version: PreparedVersion, other_version: PreparedVersion, adapters: Sequence[Adapter]
) -> list[str]:
    """Return the names of packages that a version pins, or else the other, and of frameworks."""
    requested = [
        Requirement(row)
        for row in version.requested.requirements or other_version.requested.requirements
    ]
    rows = [f"{r.name}[{','.join(sorted(r.extras))}]" if r.extras else r.name for r in requested]
    return sorted({*rows, *(p for adapter in adapters for p in adapter.framework.packages)})


def _hide_packages(version: PreparedVersion, absent: closures.HiddenPackages) -> PreparedVersion:
    notes = version.notes
    if absent.needed:
        stays, pronoun = ("stay", "them") if len(absent.needed) > 1 else ("stays", "it")
        notes += (f"{', '.join(absent.needed)} {stays}: rlregress itself needs {pronoun}",)
    hidden = (*absent.direct, *absent.below)
    runtime = replace(version.runtime, hidden=hidden, hidden_modules=absent.modules)
    return replace(version, runtime=runtime, notes=notes, absent=absent)


def prepare_version(
    version: ResolvedVersion,
    adapters: Sequence[Adapter],
    log: cached_folders.Log = cached_folders.ignore_message,
    parent: Path | None = None,
) -> PreparedVersion:
    """Make one version, or find it in the cache; raise errors as ``prepare_versions``.

    Args:
        parent: a folder for what has to be made, where no other command looks for it; None: the
            cache.
    """
    label, requested, resolved = version.label, version.requested, version.versions
    if requested.environment is not None:
        runtime = Runtime(label, python=find_interpreter_of_environment(requested.environment))
        return PreparedVersion(requested, runtime, "your environment")
    # an overlay in front of the user's environment acts as an installation in it
    python = find_interpreter_of_environment(requested.base) if requested.base is not None else ""
    suffix = " on your environment" if python else ""
    if requested.tree is not None:
        runtime, unknown = _prepare_working_tree(label, requested.tree, adapters, log)
        if resolved is not None and resolved.problem.complete:
            folder, _ = _reuse_or_install(resolved, log, parent)
            python = str(folder / "bin" / "python")
        elif resolved is not None and resolved.missing_rows and not python:
            folder, _ = _reuse_or_install(resolved, log, parent)
            runtime = replace(runtime, paths=(runtime.paths[0], str(folder), *runtime.paths[1:]))
        if python:
            copies = list_user_pythonpath_folders()
            own_paths = tuple(path for path in runtime.paths if path not in copies)
            runtime = replace(runtime, python=python, paths=own_paths)
        return PreparedVersion(requested, runtime, f"tree{suffix}", not_checked=unknown)
    if resolved is not None and resolved.problem.complete:
        folder, cached = _reuse_or_install(resolved, log, parent)
        runtime = Runtime(label, python=str(folder / "bin" / "python"))
        because = "an overlay cannot hold another torch"
        if requested.python:
            because = f"an overlay cannot hold another Python, {requested.python}"
        notes = tuple(resolved.notes)
        return PreparedVersion(requested, runtime, "environment", cached, (because,), notes=notes)
    runtime = Runtime(
        label, python or sys.executable, () if python else list_user_pythonpath_folders()
    )
    rows = resolved.missing_rows if resolved is not None else []
    if resolved is None or not rows:
        how = suffix.removeprefix(" on ") or "installed"
        return PreparedVersion(requested, runtime, how)
    folder, cached = _reuse_or_install(resolved, log, parent)
    runtime = replace(runtime, paths=(str(folder), *runtime.paths))
    notes = (*resolved.notes, *(() if python else _describe_conflicts(folder, adapters)))
    further = tuple(_describe_further_packages(rows, requested, resolved.problem.base))
    why = () if python else tuple(_describe_altered_packages(rows))
    return PreparedVersion(
        requested, runtime, f"overlay{suffix}", cached, why, further=further, notes=notes
    )


def _describe_altered_packages(rows: Iterable[str]) -> list[str]:
    """Describe packages that are installed in the pinned version and are not its release."""
    return [
        f"the installed {name} {version} is not that release: {why}"
        for name, version in map_versions_by_name(rows).items()
        if installed.find_installed_version(name) == version
        and (why := installed.explain_altered_package(name))
    ]


def _describe_conflicts(folder: Path, adapters: Sequence[Adapter]) -> list[str]:
    """Describe unmet requirements of an overlay's packages, and of frameworks below it."""
    overlaid = distribution_metadata.map_distributions_in_folder(folder)
    present = {**installed.map_installed_distributions(), **overlaid}
    versions = distribution_metadata.map_versions_by_name(present)
    packages = {package for adapter in adapters for package in adapter.framework.packages}
    return sorted(
        {
            f"{user} {versions[user]} asks for {requirement}, not {versions[name]}"
            for user in (overlaid.keys() | packages) & present.keys()
            for requirement in distribution_metadata.list_requirements(present[user])
            if (name := str(canonicalize_name(requirement.name))) in present
            and {user, name} & overlaid.keys()
            and not distribution_metadata.does_range_admit(
                requirement.specifier, installed.strip_local_version(versions[name])
            )
        }
    )


def _describe_further_packages(
    rows: Iterable[str], requested: RequestedVersion, base: Mapping[str, str] | None
) -> Iterator[str]:
    """Describe unpinned packages whose version differs from that in the environment below.

    Args:
        base: name -> version in the user's environment below; None: this process's is below.
    """
    for name, version in map_versions_by_name(rows).items():
        if name not in requested.pins:
            below = installed.find_installed_version(name) if base is None else base.get(name)
            if below is not None:
                yield f"{name} {version} instead of {below}"
            elif base is not None:
                yield f"{name} {version}"


def _prepare_working_tree(
    label: str, tree: Path, adapters: Sequence[Adapter], log: cached_folders.Log
) -> tuple[Runtime, tuple[str, ...]]:
    """Return a working tree as a version, and sentences on undeclared requirements."""
    root: Path | None = None
    folders: list[str] = []
    variables: dict[str, str] = {}
    unknown: tuple[str, ...] = ()
    for adapter in adapters:
        if adapter.framework.checkout and adapter.code.is_checkout_of_framework(tree):
            root, variables = tree, {adapter.framework.checkout: str(tree)}
            break
        root = working_tree.find_package_root(adapter.framework.modules, tree)
        if root is not None:
            metadata, unknown = _make_tree_metadata(adapter, tree, root, log)
            folders = [str(root), *metadata]
            break
    if not adapters:
        # a script may import any package of the tree
        roots = [
            r
            for r in reversed(working_tree.list_package_roots(tree))
            if working_tree.list_modules_in_folder(r)
        ]
        root, folders = next(iter(roots), None), [*map(str, roots)]
    if root is None:
        raise UserError(affected.explain_tree_without_framework(str(tree)))
    if working_tree.find_project_folder(tree, root) is None:
        unknown += (f"its requirements, as it has none of {', '.join(working_tree.PROJECT)}",)
    paths = (*folders, *list_user_pythonpath_folders())
    return Runtime(label, paths=paths, variables=variables), unknown


def _make_tree_metadata(
    adapter: Adapter, tree: Path, root: Path, log: cached_folders.Log
) -> tuple[list[str], tuple[str, ...]]:
    """Return folders with metadata for packages of a tree without any, and what is unknown.

    Code that asks for the version of a package in a clone, its own included, then gets the one that
    its files state; if they state none, the one of the installed package.
    """
    folders: list[str] = []
    unknown: tuple[str, ...] = ()
    distributions = distribution_metadata.map_distributions_in_folder(root)
    for module, package in zip(adapter.framework.modules, adapter.framework.packages, strict=False):
        name = str(canonicalize_name(package))
        if name in distributions or not (root / module / "__init__.py").is_file():
            continue
        project = working_tree.find_project_folder(tree, root)
        stated = working_tree.read_package_version(root / module, project)
        installed_version = installed.find_installed_version(name)
        if installed_version is not None and (
            not stated or stated == installed.strip_local_version(installed_version)
        ):
            continue
        if not stated:
            unknown = (f"what is documented of its version, as {module} states none",)
        folders.append(_make_metadata_folder(name, stated or _UNKNOWN, log))
    return folders, unknown


def _make_metadata_folder(distribution: str, version: str, log: cached_folders.Log) -> str:
    """Return a folder with the metadata of a distribution, and nothing else."""
    folder = cached_folders.locate_cache() / "metadata" / f"{distribution}-{version}"

    def write_metadata(target: Path) -> None:
        described = target / f"{distribution.replace('-', '_')}-{version}.dist-info"
        described.mkdir()
        text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        (described / "METADATA").write_text(text, encoding="utf-8")

    cached_folders.reuse_or_make_folder(folder, write_metadata, log)
    return str(folder)


# -- what is installed ---------------------------------------------------------------------------


def _reuse_or_install(
    resolved: ResolvedPins, log: cached_folders.Log, parent: Path | None
) -> tuple[Path, bool]:
    """Return a folder with exactly the resolved packages, and whether it existed before.

    It is an overlay to put on the path, with what is not installed, or an environment with
    everything and an interpreter.
    """
    is_environment, python = resolved.problem.complete, resolved.problem.python
    kind = "environments" if is_environment else "overlays"
    rows = list(resolved.rows.values()) if is_environment else resolved.missing_rows
    digest = hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16]
    name = f"{interpreters.make_installation_tag(python)}-{digest}"
    folder = cached_folders.locate_cache() / kind / name
    if parent is not None and not cached_folders.is_ready(folder):
        folder = parent / kind / name
    own_python = Path("bin", "python")
    is_gone = is_environment and not (folder / own_python).exists()
    if is_gone and cached_folders.is_ready(folder):
        # its interpreter is a link that leads nowhere
        (folder / cached_folders.READY).unlink()

    def install(target: Path) -> None:
        log(f"installing {' '.join(rows)}{' into a separate environment' * is_environment}")
        into = ["--python", python or sys.executable, "--target", str(target)]
        if is_environment:
            command = [python or sys.executable, "-m", "venv", "--without-pip", str(target)]
            subprocess.run(command, check=True, capture_output=True)
            into = ["--python", str(target / own_python)]
        wheels.install_exact_pins([*into, _COMPILE], rows, resolved.problem.build, log, python)

    return folder, cached_folders.reuse_or_make_folder(folder, install, log)
