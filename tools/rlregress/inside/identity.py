"""The identity of a run: versions of the packages, and digests of the code under test."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from pathlib import Path

from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.model.extra_packages import EXTRAS, explain_installation
from rlregress.source import digest_files, list_sources_below

#: packages that change results beside the framework itself
_SURROUNDINGS = ("gymnasium", "mujoco", "numpy", "torch")


def map_package_versions(adapter: Adapter) -> dict[str, str]:
    """Return versions of the adapter's packages, and of others that can change results."""
    by_name = dict(adapter.code.map_package_versions())
    for package in _SURROUNDINGS:
        try:
            by_name[package] = _read_package_version(package)
        except importlib.metadata.PackageNotFoundError:
            # a package of an extra may be missing: what needs it is not trained
            if package not in EXTRAS:
                raise UserError(
                    f"nothing can be trained: {explain_installation(package)}"
                ) from None
    return dict(sorted(by_name.items()))


_read_package_version = functools.cache(importlib.metadata.version)


@functools.cache
def digest_module_sources(module: str) -> str:
    """Return the SHA-256 over names and contents of the Python files of an importable package.

    The package is found by Python's import path and not imported. A changed copy that is first on
    the path has another digest than the installed package of the same version.
    """
    spec = importlib.util.find_spec(module)
    if spec is None:
        raise UserError(f"the package '{module}' was not found on the path; install it")
    if spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations)))
        files = list(list_sources_below(folder))
    else:
        folder = Path(str(spec.origin)).parent
        files = [Path(str(spec.origin))]
    return digest_files(files, folder)[:16]


def digest_tested_sources(adapter: Adapter) -> dict[str, str]:
    """Return the digest of each module under test, and of the adapter that drives it."""
    modules = (*adapter.framework.modules, adapter.package)
    return {
        **{module: digest_module_sources(module) for module in modules},
        **adapter.code.digest_unpackaged_sources(),
    }


def find_modules_outside_distribution(adapter: Adapter) -> dict[str, str]:
    """Return the tested modules that lie outside of their distribution, with their folders."""
    copies = {}
    for module in adapter.framework.modules:
        spec = importlib.util.find_spec(module)
        place = Path(next(iter(spec.submodule_search_locations or ()))) if spec else None
        installed = {
            Path(str(importlib.metadata.distribution(package).locate_file(module))).resolve()
            for package in adapter.framework.packages
        }
        if place is not None and place.resolve() not in installed:
            copies[module] = str(place)
    return copies
