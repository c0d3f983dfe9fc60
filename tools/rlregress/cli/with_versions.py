"""Runs a command with other package versions, in an environment that all nodes can use."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rlregress import files
from rlregress.errors import UserError
from rlregress.inside.checkpoint import TRUST
from rlregress.inside.run_record import check_folder_is_writable
from rlregress.trace.recording_processes import Runtime
from rlregress.training.store import Store
from rlregress.upgrade.versions import (
    affected,
    cached_folders,
    prepared_versions,
    requested,
    resolved,
)

OPTION = "--with"


def find_or_make_environment(versions: str, store: Store) -> Runtime:
    """Find or make an environment with some package versions, by default in the store.

    Raises:
        UserError: the versions do not exist or are the installed ones, or others may write the
            environments of the store.
    """
    new_request, base = (
        requested.parse_requested_version(versions),
        requested.parse_requested_version(requested.INSTALLED),
    )
    concerned = affected.list_affected_adapters(base, new_request) if new_request != base else []
    if not concerned:
        raise UserError(
            f"{OPTION} is '{versions}', and that is installed; leave it out, or name another "
            "version"
        )
    check_folder_is_writable(store.folder, "run records")
    if not os.environ.get(cached_folders.CACHE_VARIABLE):
        environments_folder = store.folder / "environments"
        for folder in (store.folder, environments_folder):
            _check_nobody_else_can_write(folder)
        os.environ[cached_folders.CACHE_VARIABLE] = str(environments_folder)
    _, version = resolved.resolve_versions(base, new_request, concerned, _print_line)
    prepared = prepared_versions.prepare_version(version, concerned, _print_line)
    _, *remaining_lines = prepared.lines
    origin = f"{prepared.how}{', made before' if prepared.cached else ''}"
    place = prepared.runtime.paths[0] if prepared.how == "overlay" else prepared.runtime.python
    _print_line("\n".join([f"with {new_request.text} ({origin}): {place}", *remaining_lines]))
    return prepared.runtime


def _check_nobody_else_can_write(folder: Path) -> None:
    """Raise UserError if others than this user, root or a private group may write to the folder.

    Files in it are run as code: anybody who may write there could run code as this user.
    """
    try:
        status = folder.stat()
    except FileNotFoundError:
        return
    why = files.describe_possible_writers(status, "it", files.is_group_writable(status))
    if why and not os.environ.get(TRUST):
        raise UserError(
            "the environments in this store are run as code, and others may change them: "
            f"{why} ({folder}); name a store that only you or your group may write to, or "
            "give --trust-pickle"
        )


def restart_with_versions(versions: str, store: Store, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the same command with other versions.

    Args:
        arguments: arguments of the command, with the option that names the versions.
    """
    runtime = find_or_make_environment(versions, store)
    os.environ.update({**runtime.make_path_variables(), **runtime.variables})
    # the process id stays the same, so this temporary folder is still removed at its end
    os.environ["TMPDIR"] = tempfile.gettempdir()
    sys.stdout.flush()
    command = [runtime.python, "-m", "rlregress", *_remove_versions_option(arguments)]
    os.execv(runtime.python, command)


def _remove_versions_option(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without the option and its value."""
    remaining, words = [], iter(arguments)
    for argument in words:
        if argument == OPTION:
            next(words, None)
        elif not argument.startswith(f"{OPTION}="):
            remaining.append(argument)
    return remaining


def _print_line(line: str) -> None:
    print(line, flush=True)
