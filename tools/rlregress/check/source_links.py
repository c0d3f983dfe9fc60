"""Links to published source code of releases: ``baselines/source_links.toml``."""

from __future__ import annotations

import hashlib
import importlib.metadata
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from packaging.version import Version

from rlregress import datafiles, suite
from rlregress.datafiles import Text, expect_value


@dataclass(frozen=True)
class _Source:
    package: Text
    url: Annotated[str, expect_value("an https address", lambda text: text.startswith("https://"))]


@dataclass(frozen=True)
class _File:
    source: tuple[_Source, ...]


@dataclass(frozen=True)
class _Release:
    """A release that was installed from an index.

    Attributes:
        files: path -> file with its hash, as recorded by the installer.
    """

    url: str
    files: dict[str, importlib.metadata.PackagePath]


def is_as_installed(path: Path, recorded: importlib.metadata.PackagePath) -> bool:
    """Return whether a file has the hash that its installer recorded, or none is recorded.

    Raises:
        OSError: the file cannot be read.
    """
    if recorded.hash is None:
        return True
    digest = urlsafe_b64encode(hashlib.new(recorded.hash.mode, path.read_bytes()).digest())
    return digest.rstrip(b"=").decode() == recorded.hash.value.rstrip("=")


def find_source_url(path: Path | None, file: str) -> str:
    """Return the published address of a file; empty if it has none or was changed since.

    Args:
        file: path below the folder that contains the package.
    """
    if path is None or not path.as_posix().endswith(f"/{file}"):
        return ""
    for release in _find_releases_in_folder(path.parents[file.count("/")]):
        if file in release.files:
            is_unchanged = is_as_installed(path, release.files[file])
            return release.url.replace("{file}", file) if is_unchanged else ""
    return ""


@cache
def _find_releases_in_folder(folder: Path) -> list[_Release]:
    """Return the releases in a folder of packages that were installed from an index."""
    path = suite.locate_baselines() / "source_links.toml"
    link_file: _File = datafiles.read_data_file(path, _File)
    releases = []
    for source in link_file.source:
        for distribution in importlib.metadata.distributions(
            name=source.package, path=[str(folder)]
        ):
            version = Version(distribution.version)
            # installers write direct_url.json for anything that does not come from an index
            plain = not (
                version.is_prerelease or version.local or distribution.read_text("direct_url.json")
            )
            files = (distribution.files or ()) if plain else ()
            recorded = {path.as_posix(): path for path in files if path.hash is not None}
            url = source.url.replace("{version}", distribution.version)
            releases.append(_Release(url, recorded))
    return releases
