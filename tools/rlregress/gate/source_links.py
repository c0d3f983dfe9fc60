"""Where the source of a release is published: ``baselines/source_links.toml``."""

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
from rlregress.datafiles import Text, expected
from rlregress.errors import UserError


@dataclass(frozen=True)
class _Source:
    package: Text
    url: Annotated[str, expected("an https address", lambda text: text.startswith("https://"))]


@dataclass(frozen=True)
class _File:
    source: tuple[_Source, ...]


@dataclass(frozen=True)
class _Release:
    """One that came from an index.

    Attributes:
        hashes: file -> algorithm and digest, as its installer wrote them down.
    """

    url: str
    hashes: dict[str, tuple[str, str]]


def address(path: Path | None, file: str) -> str:
    """Where a file of a release is published; empty: it is of none, or was changed since.

    Args:
        file: below the folder that its package lies in.
    """
    if path is None or not path.as_posix().endswith(f"/{file}"):
        return ""
    for release in _releases(path.parents[file.count("/")]):
        if file in release.hashes:
            algorithm, written = release.hashes[file]
            digest = urlsafe_b64encode(hashlib.new(algorithm, path.read_bytes()).digest())
            same = digest.rstrip(b"=").decode() == written
            return release.url.replace("{file}", file) if same else ""
    return ""


@cache
def _releases(folder: Path) -> list[_Release]:
    """The releases in a folder of packages; none of what came from a folder, file or repository."""
    try:
        known: _File = datafiles.read(suite.baselines() / "source_links.toml", _File)
    except UserError:
        # installed without the suite
        return []
    found = []
    for source in known.source:
        for of in importlib.metadata.distributions(name=source.package, path=[str(folder)]):
            version = Version(of.version)
            # an installer writes direct_url.json where it was no index that it installed from
            plain = not (version.is_prerelease or version.local or of.read_text("direct_url.json"))
            hashes = {
                path.as_posix(): (path.hash.mode, path.hash.value)
                for path in (of.files or () if plain else ())
                if path.hash is not None
            }
            found.append(_Release(source.url.replace("{version}", of.version), hashes))
    return found
