"""Folders of the suite: its tests and its data, in a checkout or in an installed wheel.

A wheel holds in this very folder what a checkout holds at its top: ``pyproject.toml``,
``conftest.py``, ``baselines/`` and ``tests_*/``. What is installed is never written to.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path
from types import ModuleType

from rlregress import files
from rlregress.errors import UserError

_MARKS = ("baselines", "tests_unit", "tests_behavior", "tests_performance")
CACHE_VARIABLE = "RLREGRESS_CACHE"


def find_suite_root() -> Path:
    """Return the folder of tests and baselines.

    It is the nearest folder above this file, or above the current folder, that holds all of them.
    """
    return _find_root_above(os.getcwd())


@functools.cache
def _find_root_above(current: str) -> Path:
    for start in (Path(__file__).resolve(), Path(current).resolve() / "here"):
        for folder in start.parents:
            if all((folder / mark).is_dir() for mark in _MARKS):
                return folder
    raise UserError(
        "the suite's folders baselines/ and tests_*/ were not found above the current folder; "
        "install rlregress from a wheel, or run it from a checkout of its repository"
    )


def locate_baselines() -> Path:
    """Return the folder of baselines: expectations, stored runs and other data of the suite."""
    return find_suite_root() / "baselines"


def locate_data_of_package(package: ModuleType, folder_name: str) -> Path:
    """Return a folder of data that only a further package reads.

    The package's wheel holds the folder; in a checkout it is one of the baselines.
    """
    in_wheel = Path(package.__path__[0]) / "baselines" / folder_name
    return in_wheel if in_wheel.is_dir() else locate_baselines() / folder_name


def is_installed_from_wheel() -> bool:
    """Return whether tests and data are those of an installed wheel."""
    return find_suite_root() == Path(__file__).resolve().parent


def require_checkout(purpose: str) -> Path:
    """Return the top of the checkout, for commands that write into it; UserError for a wheel.

    Args:
        purpose: what needs it, such as "recording stored runs".
    """
    if is_installed_from_wheel():
        raise UserError(
            f"{purpose} writes into a checkout of rlregress, and this was installed from a "
            "wheel; clone the repository and install that: pip install -e <clone>"
        )
    return find_suite_root()


def locate_checkout_or_current_folder() -> Path:
    """Return the folder where pytest starts and results lie by default.

    The top of a checkout; the current folder if a wheel is installed.
    """
    return Path.cwd() if is_installed_from_wheel() else find_suite_root()


def make_test_path(name: str) -> str:
    """Return the path of tests, such as "tests_unit", for pytest.

    It is absolute in an installed wheel, otherwise relative to the top of the checkout.
    """
    return str(find_suite_root() / name) if is_installed_from_wheel() else name


def make_pytest_arguments(*tests: str) -> list[str]:
    """Return what follows ``python`` on the command line that runs these tests.

    It is to be run in ``locate_checkout_or_current_folder()``. The ids of the tests are the same in
    a checkout and in an installed wheel.
    """
    settings = [
        "-c",
        str(find_suite_root() / "pyproject.toml"),
        "--rootdir",
        str(find_suite_root()),
    ]
    return [
        "-m",
        "pytest",
        *map(make_test_path, tests),
        *(settings if is_installed_from_wheel() else ()),
    ]


def make_safe_path_variable() -> dict[str, str]:
    """Return the variable that stops Python from importing modules of the current folder.

    Empty in a checkout, where modules of the top folder are to be imported.
    """
    return {"PYTHONSAFEPATH": "1"} if is_installed_from_wheel() else {}


def locate_cache() -> Path:
    """Return the folder of cached files, such as environments.

    Raises:
        UserError: this user has no home folder.
    """
    named = os.environ.get(CACHE_VARIABLE) or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or "~/.cache", "rlregress"
    )
    expanded = os.path.expanduser(named)
    if expanded.startswith("~"):
        raise UserError(
            f"the cache {named} cannot be found, because the user {os.getuid()} has no home "
            f"folder; set {CACHE_VARIABLE} or HOME to a folder"
        )
    return files.resolve_real_path(expanded)


def locate_folder_with_only_library() -> Path:
    """Return a folder for the module path of another environment: it holds this library alone.

    Other packages in the folder of an installed wheel would hide those of the other environment.

    Raises:
        UserError: the cache cannot be written.
    """
    # not resolved: on a side of an upgrade this file is found through such a link
    package = Path(os.path.abspath(__file__)).parents[1]
    if not is_installed_from_wheel() or os.listdir(package.parent) == [package.name]:
        return package.parent
    return locate_folder_with_only(package)


def locate_folder_with_only(package: Path) -> Path:
    """Return a folder of the cache that holds a link to a package, or to a module, alone.

    Raises:
        UserError: the cache cannot be written.
    """
    folder = locate_cache() / "library" / hashlib.sha256(os.fsencode(package)).hexdigest()[:16]
    link = folder / package.name
    try:
        if not link.is_symlink():
            folder.mkdir(parents=True, exist_ok=True)
            # created outside the folder and moved in, because another process may do the same
            new = folder.with_name(f"{folder.name}.{os.getpid()}")
            new.symlink_to(package, target_is_directory=True)
            new.replace(link)
    except OSError as error:
        raise UserError(describe_unwritable_cache(error)) from None
    return folder


def describe_unwritable_cache(error: OSError) -> str:
    """Return the message for a cache that cannot be written."""
    return (
        f"the cache {locate_cache()} cannot be written: {error}; name another folder in the "
        "environment "
        f"variable {CACHE_VARIABLE}"
    )
