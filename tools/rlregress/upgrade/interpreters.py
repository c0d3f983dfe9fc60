"""What an interpreter is, and what it finds."""

from __future__ import annotations

import functools
import json
import platform
import subprocess
import sys

from packaging.utils import canonicalize_name

from rlregress.errors import UserError
from rlregress.tracing.child_processes import last_words
from rlregress.tracing.recording_processes import Side


@functools.cache
def distributions(python: str) -> dict[str, str]:
    """Name -> version of everything that an interpreter finds."""
    code = (
        "import importlib.metadata as m, json, platform;"
        "print(json.dumps([platform.python_version(),"
        "{d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}]))"
    )
    # away from a folder that may hold metadata, too
    ended = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, cwd="/"
    )
    if ended.returncode:
        output = last_words(ended.stderr)
        raise UserError(f"the interpreter {python} cannot be used: {output}")
    interpreter, versions = json.loads(ended.stdout)
    return {"python": interpreter, **{canonicalize_name(k): v for k, v in versions.items()}}


def python_of(side: Side) -> str:
    """The version of a side's interpreter."""
    if side.python == sys.executable:
        return platform.python_version()
    return distributions(side.python)["python"]
