"""The errors that a user can mend."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Bad input or a missing part of the environment.

    The message is one sentence (or a few short ones) that says what was found, what was
    expected and what to do. The command line prints it without a traceback and exits with 2;
    pytest reports it as a usage error or as the failure of the one test that it concerns.
    """


#: more known names than this are not listed.
_LISTED = 30


def nearest(name: str, known: Iterable[str]) -> str:
    """The clause that follows an unknown name: up to three that are near, and the known ones.

    ``did you mean 'short'? (known: full, short, smoke)``
    """
    names = sorted(known)
    if not names:
        return "none is known"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    listed = len(names) <= _LISTED
    every, quoted = ", ".join(names), "' or '".join(near)
    if near:
        question = f"did you mean '{quoted}'?"
        return f"{question} (known: {every})" if listed else question
    some = "', '".join(difflib.get_close_matches(name, names, n=3, cutoff=0.0))
    return f"known: {every}" if listed else f"{len(names)} are known, such as '{some}'"
