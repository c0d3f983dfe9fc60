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
from rlregress.errors import UserError


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
        hashes: file -> algorithm and digest, as recorded by the installer.
    """

    url: str
    hashes: dict[str, tuple[str, str]]


def find_source_url(path: Path | None, file: str) -> str:
    """Return the published address of a file; empty if it has none or was changed since.

    Args:
        file: path below the folder that contains the package.
    """
    if path is None or not path.as_posix().endswith(f"/{file}"):
        return ""
    for release in _find_releases_in_folder(path.parents[file.count("/")]):
        if file in release.hashes:
            algorithm, recorded_digest = release.hashes[file]
            digest = urlsafe_b64encode(hashlib.new(algorithm, path.read_bytes()).digest())
            is_unchanged = digest.rstrip(b"=").decode() == recorded_digest
            return release.url.replace("{file}", file) if is_unchanged else ""
    return ""


@cache
def _find_releases_in_folder(folder: Path) -> list[_Release]:
    """Return the releases in a folder of packages that were installed from an index."""
    try:
        link_file: _File = datafiles.read_data_file(
            suite.locate_baselines() / "source_links.toml", _File
        )
    except UserError:
        # installed without the suite
        return []
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
            hashes = {
                path.as_posix(): (path.hash.mode, path.hash.value)
                for path in (distribution.files or () if plain else ())
                if path.hash is not None
            }
            releases.append(_Release(source.url.replace("{version}", distribution.version), hashes))
    return releases
