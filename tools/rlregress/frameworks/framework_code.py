"""Location and version of a framework's code."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rlregress.errors import UserError
from rlregress.missing_packages import MissingPackage
from rlregress.model.extra_packages import explain_installation
from rlregress.probing import installed_metadata
from rlregress.probing.framework_errors import find_error_origin

if TYPE_CHECKING:
    from rlregress.frameworks.base import Framework


class Code:
    """The installed code of a framework.

    Args:
        extra: the extra of rlregress that installs the framework; "": there is none.
    """

    def __init__(self, framework: Framework, extra: str) -> None:
        self._framework, self._extra = framework, extra

    def map_package_versions(self) -> Mapping[str, str]:
        """Return versions of ``packages``; raises UserError that names the first missing one."""
        try:
            return installed_metadata.map_installed_versions(self._framework.packages)
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingPackage(
                f"{self._framework.title} cannot be tested: "
                f"{explain_installation(error.args[0], self._extra)}"
            ) from None

    def version(self) -> str:
        """Return the version of the package under test."""
        return self.map_package_versions()[self._framework.packages[0]]

    def digest_unpackaged_sources(self) -> Mapping[str, str]:
        """Return name -> SHA-256 of tested files that lie outside of importable packages."""
        return {}

    def find_installed_path(self, file: str) -> Path | None:
        """Return the path of an installed source file "package/module.py"; None: not installed."""
        package, _, below = file.partition("/")
        try:
            spec = importlib.util.find_spec(package)
        except (ImportError, ValueError):  # no package of that name can be
            return None
        for folder in (spec.submodule_search_locations if spec else None) or ():
            if (Path(folder) / below).is_file():
                return Path(folder) / below
        return None

    def copy_package_to_change(self, file: str, folder: Path) -> Mapping[str, str]:
        """Copy the package that contains ``file`` into ``folder``, where it can be changed.

        Args:
            file: path of a source file, below the folder of its packages.
            folder: an empty one; the copy of the file is ``folder / file``, perhaps as a link.

        Returns:
            Environment variables of a process that is to use the copy; a caller puts ``PYTHONPATH``
            in front of the value that it has.

        Raises:
            UserError: the package of ``file`` is not installed.
        """
        package = file.partition("/")[0]
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(f"the package '{package}' of {file} is not installed; install it")
        source = next(iter(spec.submodule_search_locations))
        # links, so that the compiled files of what is not changed still serve
        shutil.copytree(source, folder / package, copy_function=os.symlink)
        return {"PYTHONPATH": str(folder)}

    def is_checkout_of_framework(self, folder: Path) -> bool:
        """Return whether a folder is a checkout of this framework."""
        return False

    def list_code_folders(self) -> Sequence[str]:
        """Return the folders of the code under test."""
        return _list_package_folders(self._framework.modules)

    def list_code_and_base_folders(self) -> Sequence[str]:
        """Return the folders of the code under test, and of the framework that this one extends."""
        return [*self.list_code_folders(), *_list_package_folders(self._framework.beneath)]

    def has_raised(self, error: BaseException) -> bool:
        """Return whether an error is of the code under test, and not of the suite that calls it."""
        modules, folders = self._framework.modules, self.list_code_and_base_folders()
        return find_error_origin(error, modules, folders) == "framework"


def _list_package_folders(modules: Sequence[str]) -> list[str]:
    specs = [importlib.util.find_spec(module) for module in modules]
    return [f for spec in specs if spec for f in spec.submodule_search_locations or ()]
