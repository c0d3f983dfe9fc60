"""Environments of the two sides: an overlay where only packages change, or one of their own.

Both are kept by their exact requirement set, so that they are made once.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing.run import Side, current_paths
from rlregress.upgrade.wanted import Wanted

CACHE_VARIABLE = "RLREGRESS_CACHE"
_READY = ".ready.json"


def cache() -> Path:
    """Where environments are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(CACHE_VARIABLE) or Path(home) / "rlregress")


@dataclass(frozen=True)
class Prepared:
    """One side, ready to run.

    Attributes:
        how: "installed", "tree", "overlay" or "environment".
        cached: it was there already.
    """

    wanted: Wanted
    side: Side
    how: str
    cached: bool = False


def prepare(label: str, wanted: Wanted, adapters: Sequence[Adapter]) -> Prepared:
    """Make a side, or find it.

    Raises:
        UserError: a version that does not exist, no network, a tree without a framework.
    """
    if wanted.tree is not None:
        return Prepared(wanted, _of_tree(label, wanted.tree, adapters), "tree")
    if not wanted.requirements:
        return Prepared(wanted, Side(label, paths=current_paths()), "installed")
    if wanted.lock is None:
        folder, cached = _overlay(wanted)
        if not _unmet(folder):
            side = Side(label, paths=(str(folder), *current_paths()))
            return Prepared(wanted, side, "overlay", cached)
    folder, cached = _environment(wanted, adapters)
    return Prepared(
        wanted, Side(label, python=str(folder / "bin" / "python")), "environment", cached
    )


def _of_tree(label: str, tree: Path, adapters: Sequence[Adapter]) -> Side:
    for adapter in adapters:
        if adapter.checkout and adapter.is_checkout(tree):
            return Side(label, paths=current_paths(), variables={adapter.checkout: str(tree)})
        for root in (tree, tree / "src"):
            if adapter.modules and (root / adapter.modules[0] / "__init__.py").is_file():
                return Side(label, paths=(str(root), *current_paths()))
    known = ", ".join(m for name in frameworks.names() for m in frameworks.get(name).modules[:1])
    raise UserError(
        f"{tree} holds no framework; expected a working tree with the package {known}, or a "
        "checkout of scripts"
    )


# -- overlays ------------------------------------------------------------------------------------


def _overlay(wanted: Wanted) -> tuple[Path, bool]:
    folder = cache() / "overlays" / f"{sys.implementation.cache_tag}-{wanted.key}"
    return folder, _made(
        folder,
        wanted,
        lambda target: _pip(
            [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(target)],
            wanted.requirements,
        ),
    )


def _unmet(folder: Path) -> list[str]:
    """Requirements of the overlay's packages that the current environment does not meet."""
    here = list(importlib.metadata.distributions(path=[str(folder)]))
    own = {canonicalize_name(found.metadata["Name"]): found.version for found in here}
    unmet = []
    for found in here:
        for row in found.requires or ():
            requirement = Requirement(row)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            version = own.get(canonicalize_name(requirement.name))
            if version is None:
                try:
                    version = importlib.metadata.version(requirement.name)
                except importlib.metadata.PackageNotFoundError:
                    unmet.append(f"{requirement} (not installed)")
                    continue
            if not requirement.specifier.contains(version, prereleases=True):
                unmet.append(f"{requirement} ({version} is installed)")
    return unmet


# -- environments of their own -------------------------------------------------------------------


def _environment(wanted: Wanted, adapters: Sequence[Adapter]) -> tuple[Path, bool]:
    folder = cache() / "environments" / f"{sys.implementation.cache_tag}-{wanted.key}"
    # with what this library needs, so that everything can be asked on this side as well
    needed = {Requirement(row).name for row in _own_requirements()}
    needed |= {package for adapter in adapters for package in adapter.packages} - {"torch"}
    others = [name for name in sorted(needed) if canonicalize_name(name) not in wanted.packages]
    torch = [] if "torch" in wanted.packages else [_current("torch")]

    def make(target: Path) -> None:
        # made where it stays: a virtual environment knows its own path
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        python = str(folder / "bin" / "python")
        base = [python, "-m", "pip", "install"]
        _pip(base, [*wanted.requirements, *torch, *others])
        target.mkdir(exist_ok=True)

    return folder, _made(folder, wanted, make, moved=False)


def _own_requirements() -> list[str]:
    try:
        rows = importlib.metadata.requires("rlregress") or []
    except importlib.metadata.PackageNotFoundError:
        return ["gymnasium[mujoco]", "scipy"]
    return [row for row in rows if "extra ==" not in row and not row.startswith("torch")]


def _current(package: str) -> str:
    try:
        return f"{package}=={importlib.metadata.version(package).partition('+')[0]}"
    except importlib.metadata.PackageNotFoundError:
        return package


# -- making --------------------------------------------------------------------------------------


def _made(folder: Path, wanted: Wanted, make: object, moved: bool = True) -> bool:
    """Make a folder once, whole or not at all; whether it was there already."""
    assert callable(make)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if (folder / _READY).is_file():
            return True
        shutil.rmtree(folder, ignore_errors=True)
        target = Path(mkdtemp(prefix="making-", dir=folder.parent))
        try:
            make(target)
            ready = json.dumps({"requirements": wanted.requirements})
            if moved:
                (target / _READY).write_text(ready)
                os.replace(target, folder)
            else:
                (folder / _READY).write_text(ready)
        except BaseException:
            if not moved:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            shutil.rmtree(target, ignore_errors=True)
    return False


def _pip(command: Sequence[str], requirements: Sequence[str]) -> None:
    ended = subprocess.run(
        [*command, "--quiet", "--disable-pip-version-check", *requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode == 0:
        return
    said = ended.stderr
    asked = " ".join(requirements)
    unreachable = ("NewConnectionError", "name resolution", "Network is unreachable", "timed out")
    if any(sign in said for sign in unreachable) or "(from versions: none)" in said:
        raise UserError(
            f"'{asked}' could not be installed: the package index cannot be reached or does not "
            "know one of them; check the names and the network, what was made before is kept"
        )
    if "No matching distribution" in said:
        missing = said.split("No matching distribution found for")[-1].strip().splitlines()[0]
        raise UserError(
            f"there is no {missing} for this Python; expected a version that the package index has"
        )
    last = (said.strip().splitlines() or ["pip said nothing"])[-1]
    raise UserError(f"'{asked}' could not be installed: {last}")


def state(prepared: Prepared) -> str:
    """What decides what a side does: its content, and the environment below it."""
    here = [f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()]
    return "\n".join([prepared.how, prepared.wanted.key, *prepared.side.paths, *sorted(here)])
