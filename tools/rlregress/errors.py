"""The errors that a user can mend."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Container, Iterable


class UserError(Exception):
    """Bad input or a missing part of the environment.

    The message is one sentence (or a few short ones) that says what was found, what was
    expected and what to do. The command line prints it without a traceback and exits with 2;
    pytest reports it as a usage error or as the failure of the one test that it concerns.
    """


class DamagedRecord(UserWarning):
    """A run record was damaged, and its run is done again."""


_usual_format = warnings.formatwarning


def warn_in_words() -> None:
    """Show a damaged record as its sentence, without the line of code that warns."""
    warnings.formatwarning = _in_words


def _in_words(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    if issubclass(category, DamagedRecord):
        return f"rlregress: {message}\n"
    return _usual_format(message, category, filename, lineno, line)


def refuse_empty(arguments: Iterable[str], options: Container[str] | None = None) -> None:
    """Refuse a command line with an empty value, such as that of a variable that is not set.

    Args:
        options: those that may not be empty, and nothing else; None: all, and no other argument.

    Raises:
        UserError: one is.
    """
    before = ""
    for argument in arguments:
        if argument == "--":
            # what follows are the arguments of a script
            return
        option, equals, value = argument.partition("=")
        if not argument.strip():
            named = before if before.startswith("-") else "an argument"
        else:
            named = option if equals and option.startswith("-") and not value.strip() else ""
        if named and (options is None or named in options):
            raise UserError(
                f"{named} is empty; expected a value: is a variable of the shell not set? Leave it "
                "out for the default"
            )
        before = argument


#: more known names than this are not listed.
_LISTED = 30


def nearest(name: str, names_known: Iterable[str]) -> str:
    """Return the clause that follows an unknown name: up to three similar names, and the known
    ones.

    ``did you mean 'short'? (known: full, short, smoke)``
    """
    names = sorted(names_known)
    if not names:
        return "there is none"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    is_listed = len(names) <= _LISTED
    known_text, quoted = ", ".join(names), "' or '".join(near)
    if near:
        question = f"did you mean '{quoted}'?"
        return f"{question} (known: {known_text})" if is_listed else question
    examples = "', '".join(difflib.get_close_matches(name, names, n=3, cutoff=0.0))
    return f"known: {known_text}" if is_listed else f"{len(names)} are known, such as '{examples}'"
