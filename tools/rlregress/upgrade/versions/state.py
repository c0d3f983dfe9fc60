"""Digests of everything that decides the behaviour of a version: stored answers are valid while
the digest is the same.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path

from rlregress import suite
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.inside import identity
from rlregress.source import digest_files, list_sources_below
from rlregress.upgrade.versions import affected, closures
from rlregress.upgrade.versions.prepared_versions import PreparedVersion


def describe_version_state(prepared: PreparedVersion, adapters: Sequence[Adapter]) -> str:
    """Return a text of everything that decides the content of a version and what lies below it."""
    parts = [prepared.how, prepared.requested.key]
    parts += [
        f"{name}=={v}"
        for name, v in sorted(closures.map_visible_versions(prepared.runtime).items())
    ]
    if (folder := prepared.requested.user_environment) is not None:
        # files of an environment may have been edited without a new version
        parts += _list_file_stamps(folder)
    elif prepared.how != "environment":
        # an edited copy on the path, or a checkout, may have the version of the original
        for adapter in adapters:
            parts += [f"{k} {v}" for k, v in sorted(digest_modules_of_framework(adapter).items())]
    return "\n".join(parts)


def has_same_surroundings(old: PreparedVersion, new: PreparedVersion, adapter: Adapter) -> bool:
    """Return whether everything but the tested code is known to be the same on both versions."""
    if old.requested.user_environment != new.requested.user_environment:
        # files of equal versions may have been edited in one of the environments
        return False
    tested = affected.list_distributions_of_adapter(adapter)
    return not closures.map_differing_versions(old.runtime, new.runtime).keys() - tested


def _list_file_stamps(folder: Path) -> list[str]:
    """Return path, bytes and time of change in ns of every source file in an environment."""
    stamps = []
    for packages in sorted(folder.glob("lib*/python*/site-packages")):
        for path in list_sources_below(packages):
            facts = path.stat()
            stamps.append(f"{path.relative_to(folder)} {facts.st_size} {facts.st_mtime_ns}")
    return stamps


def digest_modules_of_framework(adapter: Adapter) -> dict[str, str]:
    """Return tested module -> digest of its sources; or framework -> why there is no digest."""
    try:
        return identity.digest_tested_sources(adapter)
    except UserError as error:
        return {adapter.name: str(error)}


def name_recordings_folder(parts: Sequence[str]) -> str:
    """Return the name of a folder for recordings: a digest of all texts that describe a version."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


#: packages of this library whose code decides how versions are recorded and asked.
OWN_PACKAGES = (
    "inside", "trace", "frameworks", "probing", "measurements", "environments", "catalogue",
    "formulas",
)  # fmt: skip


def digest_own_code(*packages: str) -> str:
    """Return a digest of the code of this library that records and probes.

    Args:
        packages: further packages of the library.
    """
    root = Path(__file__).resolve().parents[2]
    files = [root / "source.py"]
    for part in (*OWN_PACKAGES, *packages):
        files += sorted((root / part).rglob("*.py"))
    return digest_files(files, root)


def digest_own_code_and_tests() -> str:
    """Return a digest of the code that records and probes, and of the behaviour tests."""
    folder = suite.find_suite_root() / "tests_behavior"
    digests = digest_own_code(), digest_files(list_sources_below(folder), folder)
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def describe_machine_for_recordings() -> str:
    """Return a description of the machine: bits are not compared across machines."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        models = {line for line in text.splitlines() if line.startswith(("model name", "flags"))}
    except OSError:
        models = set()
    return "\n".join([*platform.uname(), *sorted(models)])
