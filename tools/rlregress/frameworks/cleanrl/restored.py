"""Changes of the process that last as long as a script runs."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import torch

from rlregress.probing.random_generators import restore_generator_states_after

#: beside the scripts in a checkout; what is imported from one checkout must not serve another.
_UTILITIES = "cleanrl_utils"


@contextlib.contextmanager
def restore_random_state_after() -> Iterator[None]:
    """Restore the global random generators after the block, as if nothing had been drawn."""
    deterministic = torch.backends.cudnn.deterministic
    with restore_generator_states_after():
        try:
            yield
        finally:
            torch.backends.cudnn.deterministic = deterministic


@contextlib.contextmanager
def import_as_modules(stubs: Mapping[str, types.ModuleType]) -> Iterator[None]:
    """Make imports of these names return these modules within the block."""
    # only these keys: torch imports submodules when they are first used, and they must stay
    before = {name: sys.modules.get(name) for name in stubs}
    sys.modules.update(stubs)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def _list_loaded_utility_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == _UTILITIES]


@contextlib.contextmanager
def make_utilities_importable(root: Path) -> Iterator[None]:
    """Make ``cleanrl_utils`` of this copy importable in the block, and forget it afterwards."""
    before = {name: sys.modules.pop(name) for name in _list_loaded_utility_modules()}
    has_modules = (root / _UTILITIES).is_dir()
    path, written = list(sys.path), sys.dont_write_bytecode
    if has_modules:
        sys.path.insert(0, str(root))
        # the copy is the user's: nothing is left in it
        sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:] = path
        sys.dont_write_bytecode = written
        for name in _list_loaded_utility_modules():
            del sys.modules[name]
        sys.modules.update(before)


@contextlib.contextmanager
def enter_temporary_folder() -> Iterator[None]:
    """Make an empty folder the working directory, and remove it afterwards."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def make_folder_and_output_restorer() -> Callable[[], AbstractContextManager[None]]:
    """Return a maker of contexts that restore the folder and output of now, for callbacks."""
    folder, output = os.getcwd(), sys.stdout

    @contextlib.contextmanager
    def restore_folder_and_output() -> Iterator[None]:
        inside = os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(output):
                yield
        finally:
            os.chdir(inside)

    return restore_folder_and_output
