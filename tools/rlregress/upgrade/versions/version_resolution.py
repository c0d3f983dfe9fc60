"""The package versions of an old or new version, resolved before anything is installed.

A version has its pins, their requirements, and the packages that probes and recordings need, on top
of the installed packages. These stay unless a requirement forbids it; torch always stays.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.upgrade.versions import (
    cached_folders,
    dependencies,
    distribution_metadata,
    installed,
    installer,
    interpreters,
    known_good_pins,
    wheels,
)
from rlregress.upgrade.versions.distribution_metadata import get_package_name
from rlregress.upgrade.versions.requested import RequestedVersion, find_interpreter_of_environment

#: a marker that is never true: a requirement with it takes its package out of the resolution.
_NEVER = "python_version < '0'"


@dataclass(frozen=True)
class ResolverInput:
    """The input of the resolver for one version: its requirements and how to resolve them.

    Attributes:
        pins: name -> requirement that the user asks for. The metadata of ``fixed`` ones contradicts
            other pins or cannot be read.
        defaults: name -> version on which old releases are known to run.
        build: versions of what builds a package that is published as source only.
        own: further packages that probes and trainings need.
        held: packages that stay as they are installed.
        complete: a separate environment is resolved, which finds no installed packages.
        python: its interpreter; empty: the one that runs this.
        base: name -> version of the packages in a user's environment to install into, as pip
            would: they stay unless a requirement forbids it. None: this process's environment.
    """

    pins: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    build: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    complete: bool = False
    lock: bool = False
    fixed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    python: str = ""
    base: Mapping[str, str] | None = None

    @property
    def rows(self) -> dict[str, str]:
        """Return name -> requirement: what the user asks for, and further defaults."""
        return {**self.pins, **self.defaults}

    @property
    def pinned_versions(self) -> dict[str, str]:
        """Return package -> pinned version, of the user or of an old stack."""
        return map_versions_by_name(self.rows.values())

    def resolve_to_versions(self, preferred: Mapping[str, str] | None = None) -> ResolvedPins:
        """Resolve the requirements; return the version of every package that is needed.

        Args:
            preferred: name -> version to use if it fits; otherwise the installed version.

        Raises:
            UserError: no versions meet the requirements; the message explains why.
        """
        rows = self.rows
        fixed = {name: rows.pop(name) for name in self.fixed}
        present = installed.map_installed_versions() if self.base is None else self.base
        files = {
            "given.in": [*rows.values(), *self.own],
            "never.txt": [f"{name} ; {_NEVER}" for name in sorted({*self.held, *self.fixed})],
            "build.txt": self.build,
            # uv keeps the versions that its output file already holds where they fit
            "found.txt": [f"{name}=={v}" for name, v in {**present, **(preferred or {})}.items()],
        }
        with TemporaryDirectory(prefix="rlregress-resolve-") as folder:
            given, never, build, found = (
                wheels.write_requirements(Path(folder) / name, texts)
                for name, texts in files.items()
            )
            python = self.python or sys.executable
            command = ["pip", "compile", given, "-o", found, "--python", python]
            options = ["--overrides", never, "-b", build, "--no-annotate", "--no-header"]
            installer.run_uv([*command, *options, "--no-strip-extras"], self.requirements_text)
            lines = Path(found).read_text(encoding="utf-8").splitlines()
        compiled = [Requirement(x.partition(" ;")[0]) for x in lines if x and x[0] not in "#- "]
        for requirement in compiled:
            requirement.extras = set()
        resolved = {get_package_name(row): str(row) for row in compiled} | fixed
        return ResolvedPins(resolved, self, self.notes)

    @property
    def requirements_text(self) -> str:
        """Return the requirements to resolve, separated by blanks."""
        return " ".join(self.rows.values())


@dataclass(frozen=True)
class ResolvedPins:
    """The packages of an old or new version, resolved.

    Attributes:
        rows: canonical name -> ``name==version``, or a reference to an address.
        problem: what was resolved.
        notes: sentences on requirements that were relaxed.
    """

    rows: Mapping[str, str]
    problem: ResolverInput
    notes: tuple[str, ...] = ()

    @property
    def missing_rows(self) -> list[str]:
        """Return the packages that are not installed in the resolved version.

        What the user pins is installed as exactly that release. For other packages, an installed
        package with that version number serves.
        """
        if self.problem.base is not None:
            base_rows = {f"{name}=={version}" for name, version in self.problem.base.items()}
            return [row for _, row in sorted(self.rows.items()) if row not in base_rows]
        return [
            row
            for name, row in sorted(self.rows.items())
            if not (
                installed.is_unaltered_release_installed
                if name in self.problem.pins
                else installed.is_version_installed
            )(row)
        ]


def map_versions_by_name(rows: Iterable[str]) -> dict[str, str]:
    """Return package -> version for the requirements that pin one."""
    pinned = {}
    for row in rows:
        for part in Requirement(row).specifier:
            if part.operator in ("==", "===") and not part.version.endswith("*"):
                pinned[get_package_name(row)] = part.version
    return pinned


def make_resolver_input(version: RequestedVersion, adapters: Sequence[Adapter]) -> ResolverInput:
    """Return the requirements to resolve for a version that pins something.

    A version with another torch or Python needs a separate environment.
    """
    pins, is_lock = version.pins, version.lock is not None
    if version.base is not None:
        python = find_interpreter_of_environment(version.base)
        base = interpreters.map_interpreter_versions(python)
        return ResolverInput(pins, lock=is_lock, python=python, base=base)
    defaults, build = known_good_pins.choose_known_good_versions({} if is_lock else pins)
    problem = ResolverInput(pins, defaults, build, lock=is_lock)
    named = frozenset(problem.rows)
    if version.python or ("torch" in pins and not installed.is_version_installed(pins["torch"])):
        ours = (
            # others may not be published for another Python
            sorted(set(map(get_package_name, dependencies.ESSENTIAL)) - named)
            if version.python
            else dependencies.list_suite_requirements(named)
        )
        own = (*ours, *dependencies.list_framework_packages(adapters, named))
        return replace(problem, own=own, complete=True, python=version.python)
    fixed_packages = dependencies.list_fixed_packages(adapters, named)
    own = (
        *dependencies.list_suite_requirements(named),
        *dependencies.list_requirements_of_fixed(fixed_packages, named),
    )
    pins = {name: row for name, row in pins.items() if name not in fixed_packages}
    return replace(problem, pins=pins, own=own, held=fixed_packages)


def resolve_version_relaxing_pins(
    requested: ResolverInput, log_message: cached_folders.Log
) -> ResolvedPins:
    """Resolve a version, relaxed step by step if pins contradict.

    Raises:
        UserError: a pinned version does not exist, or pins contradict each other.
    """
    try:
        if not requested.build:
            return requested.resolve_to_versions()
    except installer.Unreachable:
        raise
    except UserError:
        pass
    # a package is not built a second time only to read its requirements
    eased = _relax_contradicted_pins(requested, log_message)
    try:
        return eased.resolve_to_versions()
    except installer.Unreachable:
        raise
    except UserError as error:
        why = str(error).partition("together: ")[2] or str(error)
    least = replace(eased, own=(), notes=(f"not all that the suite needs fits: {why}",))
    try:
        return least.resolve_to_versions()
    except UserError:
        if not requested.lock:
            raise
    # a lock file is taken at its word
    notes = ("the pins of the lock file contradict each other, and are taken as they are",)
    return ResolvedPins(requested.pins, least, notes)


def _relax_contradicted_pins(requested: ResolverInput, log: cached_folders.Log) -> ResolverInput:
    """Replace requirements of pinned packages that other pins contradict.

    Raises:
        UserError: two pins of the user contradict each other.
    """
    versions, pins = requested.pinned_versions, map_versions_by_name(requested.pins.values())
    fixed, rows = set(), []
    failed: UserError | None = None
    for name in sorted(versions.keys() - {"torch"}):
        row = f"{name}=={versions[name]}"
        try:
            distribution = _find_pinned_distribution(name, row, requested, log)
        except installer.Unreachable:
            raise
        except UserError as error:
            # raised at the end only: two pins that contradict each other would explain more
            failed = failed or error
            continue
        needed = [
            (get_package_name(requirement), requirement)
            for requirement in distribution_metadata.list_requirements(distribution)
        ]
        unfit = [
            (n, r)
            for n, r in needed
            if n in versions
            and not distribution_metadata.does_range_admit(r.specifier, versions[n])
        ]
        if name in pins and not requested.lock:
            _refuse_pins_below_needed(row, unfit, pins)
        if unfit or wheels.locate_folder_of_pin("wheels", row, requested.python).exists():
            fixed.add(name)
            rows += [str(r) for n, r in needed if n not in versions]
    if failed is not None:
        raise failed
    return replace(requested, fixed=frozenset(fixed), own=(*requested.own, *rows))


def _find_pinned_distribution(
    package: str, pin: str, requested: ResolverInput, log: cached_folders.Log
) -> importlib.metadata.Distribution:
    if installed.is_version_installed(pin):
        return importlib.metadata.distribution(package)
    folder = wheels.unpack_package(pin, requested.build, log, requested.python)
    unpacked = distribution_metadata.map_distributions_in_folder(folder)
    if package not in unpacked:
        found = ", ".join(unpacked) or "nothing"
        raise UserError(f"{pin} installed {found}, expected {package}; name another version")
    return unpacked[package]


def _refuse_pins_below_needed(
    pin: str, unfit: Iterable[tuple[str, Requirement]], pins: Mapping[str, str]
) -> None:
    """Raise UserError for a pin below what another pin needs; one above it may well run."""
    for name, requirement in unfit:
        if name in pins and _is_version_below(requirement, pins[name]):
            raise UserError(
                f"{pin} needs {requirement}, and {name}=={pins[name]} is pinned: leave one of the "
                "two out, or pin another version"
            )


def _is_version_below(requirement: Requirement, version: str) -> bool:
    lower = [s.version for s in requirement.specifier if s.operator in (">=", ">", "~=", "==")]
    try:
        return any(Version(version) < Version(bound.removesuffix(".*")) for bound in lower)
    except InvalidVersion:
        return False
