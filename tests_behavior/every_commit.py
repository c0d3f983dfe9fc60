"""The frameworks that the tests of every commit run: two, and those that the commits touch.

``-m "not nightly"`` leaves the others out; without that option all run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache, partial
from pathlib import Path

from rlregress import frameworks

_ALWAYS_RUN = frozenset({"sb3", "torchrl"})


@cache
def find_touched_frameworks(checkout: Path) -> frozenset[str]:
    """Return the frameworks named by paths that edits and commits changed.

    The commits are the last one and those that the upstream branch does not have. All frameworks
    where git cannot compare with the commit before.
    """
    names = frozenset(frameworks.list_framework_names())
    program = shutil.which("git")
    if program is None or not (checkout / ".git").exists():
        return names
    git = partial(subprocess.run, cwd=checkout, capture_output=True, text=True, check=False)
    base = git([program, "merge-base", "HEAD~1", "@{upstream}"]).stdout.strip() or "HEAD~1"
    changed = []
    for words in (["diff", "--name-only", base], ["ls-files", "--others", "--exclude-standard"]):
        ran = git([program, *words])
        if ran.returncode:
            return names
        changed += ran.stdout.splitlines()
    return names & {name for path in changed for name in re.split(r"[/.-]", path)}


def is_touched(framework: str) -> bool:
    """Return whether the commit touches the adapter, the data or the probes of a framework."""
    checkout = Path(__file__).parents[1]
    return framework.partition("@")[0] in find_touched_frameworks(checkout)


def is_shown(framework: str) -> bool:
    """Return whether every commit runs a framework, for one code path or all."""
    return framework.partition("@")[0] in _ALWAYS_RUN or is_touched(framework)
