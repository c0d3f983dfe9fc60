"""Copies of the scripts: checkouts, folders made with ``pip --target``, the installed package."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlregress import files
from rlregress.errors import UserError
from rlregress.frameworks.cleanrl.script import (
    Script,
    Unreadable,
    imports_gym,
    parse_script_file,
    read_script_text,
)
from rlregress.probing import installed_metadata
from rlregress.source import digest_files

#: names one folder, or several with the path separator between them.
VARIABLE = "CLEANRL_HOME"
#: the label of a checkout.
HEAD = "HEAD"

_PACKAGE = "cleanrl"
#: in a checkout: modules that the scripts import.
_UTILITIES = "cleanrl_utils"
_STATES_VERSION = ("pyproject.toml", "setup.py")
_MARK = "ppo_continuous_action.py"
_HINT = (
    f"set {VARIABLE} to a checkout of https://github.com/vwxyzjn/cleanrl, "
    "or install the scripts with: pip install --no-deps cleanrl==0.4.8"
)


@dataclass(frozen=True)
class Source:
    """One copy of the scripts.

    Attributes:
        label: "HEAD" for a checkout, the version for an installed distribution.
        version: of the package.
        root: the folder that holds ``cleanrl/`` (and, in a checkout, ``cleanrl_utils/``).
    """

    label: str
    version: str
    root: Path

    @property
    def folder(self) -> Path:
        return self.root / _PACKAGE

    @property
    def for_gym(self) -> bool:
        """Whether the scripts were written for gym, so that they can be probed but not trained."""
        return imports_gym(read_script_text(self.folder / _MARK))

    def parse_script(self, name: str) -> Script:
        """Return the parsed script ``name``, "sac_continuous_action" with or without ".py".

        Raises:
            Unreadable: this copy has no such script, or the file is no Python text.
        """
        path = self.folder / (name if name.endswith(".py") else f"{name}.py")
        if not path.is_file():
            raise Unreadable(
                f"CleanRL {self.label} has no script {path.name} in {self.folder}; "
                "expected the scripts as upstream names them",
                False,
            )
        return parse_script_file(path)

    def digest_scripts(self, names: Iterable[str]) -> dict[str, str]:
        """Return SHA-256 digits of each script, by path, and of all modules beside them."""
        digests = {f"{_PACKAGE}/{name}.py": self.parse_script(name).sha256[:16] for name in names}
        utilities = sorted((self.root / _UTILITIES).rglob("*.py"))
        if utilities:
            digests[_UTILITIES] = digest_files(utilities, self.root)[:16]
        return digests

    def copy_as_links_into(self, folder: Path) -> Path:
        """Make a tree of links to the files of this source in ``folder``; return the folder."""
        packages = [self.root / name for name in (_PACKAGE, _UTILITIES)]
        packages += [*self.root.glob(f"{_PACKAGE}-*.dist-info")]
        for source in packages:
            if source.is_dir():
                shutil.copytree(source, folder / source.name, copy_function=os.symlink)
        for name in _STATES_VERSION:
            if (self.root / name).is_file():
                os.symlink(self.root / name, folder / name)
        return folder


def _read_checkout_version(root: Path) -> str:
    for name in _STATES_VERSION:
        path = root / name
        if path.is_file():
            text = read_script_text(path)
            match = re.search(r"^\s*version\s*=\s*[\"']([^\"']+)[\"']", text, re.MULTILINE)
            if match:
                return match.group(1)
    raise UserError(
        f"{root} holds CleanRL's scripts but no version in pyproject.toml; "
        f"expected a whole checkout, or a folder made with pip install --target"
    )


def _read_source_of_folder(root: Path) -> Source:
    if not (root / _PACKAGE / _MARK).is_file():
        raise UserError(
            f"{VARIABLE} names {root}, which holds no {_PACKAGE}/{_MARK}; expected a checkout of "
            "CleanRL or a folder made with pip install --target"
        )
    distributions = importlib.metadata.distributions(name=_PACKAGE, path=[str(root)])
    distribution = next(iter(distributions), None)
    if distribution is not None:
        return Source(distribution.version, distribution.version, root)
    return Source(HEAD, _read_checkout_version(root), root)


def _find_installed_source() -> Source | None:
    installed = installed_metadata.find_distribution(_PACKAGE)
    if installed is None:
        return None
    version, root = installed
    return Source(version, version, root) if (root / _PACKAGE / _MARK).is_file() else None


def list_distinct_sources() -> list[Source]:
    """Return all copies of the scripts, one per label; those in the environment variable first."""
    folders = [f for f in os.environ.get(VARIABLE, "").split(os.pathsep) if f.strip()]
    sources = [
        _read_source_of_folder(files.resolve_real_path(os.path.expanduser(folder)))
        for folder in folders
    ]
    installed = _find_installed_source()
    if installed is not None:
        sources.append(installed)
    by_label = {source.label: source for source in reversed(sources)}
    return [source for source in sources if by_label[source.label] is source]


def find_source(label: str = "") -> Source:
    """Return the copy of the scripts with that label; without a label, the first copy.

    Raises:
        UserError: there is no copy at all, or none of that label.
    """
    sources = list_distinct_sources()
    if not sources:
        raise UserError(f"CleanRL cannot be tested: there are no scripts; {_HINT}")
    for source in sources:
        if label in ("", source.label):
            return source
    labels = ", ".join(known_source.label for known_source in sources)
    raise UserError(f"cleanrl@{label} is not installed, only {labels}; {_HINT}")
