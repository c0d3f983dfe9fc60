"""The environment of every process that imports a framework."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from types import MappingProxyType

from rlregress.inside import arithmetic

#: variables for the number of threads, which numerical libraries read when they are loaded.
THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
#: variables that prevent compilation: compiled code hides its draws and updates from a recorder.
_UNCOMPILED = {"TORCHDYNAMO_DISABLE": "1", "PYTORCH_JIT": "0"}


def make_environment_variables(
    variables: Mapping[str, str] = MappingProxyType({}),
    pinned: bool = True,
    may_compile: bool = True,
    portable: bool = False,
) -> dict[str, str]:
    """Return a child process's environment variables: fixed hash seed, no variables of pytest.

    ``PYTHONPATH`` is for the caller to set.

    Args:
        variables: variables to add to those of this process.
        pinned: one thread for each library.
        may_compile: torch may compile code where a framework asks for it.
        portable: the same bits on every processor; see ``arithmetic``.
    """
    environment = {
        name: value
        for name, value in {**os.environ, **variables}.items()
        if name not in THREAD_LIMITS and not name.startswith("PYTEST_")
    }
    environment["PYTHONHASHSEED"] = "0"
    # below the folder of this process, which removes it; see ``process_tree``
    environment["TMPDIR"] = tempfile.gettempdir()
    if pinned or portable:
        environment.update(dict.fromkeys(THREAD_LIMITS, "1"))
    if not may_compile:
        environment.update(_UNCOMPILED)
    if portable:
        environment.update(arithmetic.make_portable_variables())
    return environment
