"""The errors that a user can fix."""

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
    """Warns that a run record was damaged, and that its run is done again."""


_usual_format = warnings.formatwarning


def show_damaged_records_as_sentences() -> None:
    """Print each ``DamagedRecord`` warning as its message, without file and line of the code."""
    warnings.formatwarning = _format_warning_of_damaged_record


def _format_warning_of_damaged_record(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    if issubclass(category, DamagedRecord):
        return f"rlregress: {message}\n"
    return _usual_format(message, category, filename, lineno, line)


def refuse_empty_or_repeated_values(
    arguments: Iterable[str], options: Container[str] | None = None
) -> None:
    """Reject a command line with an empty value, such as a variable of the shell that is not set.

    Args:
        options: check only these, and that none is given twice; None: check all options and
            arguments for empty values.

    Raises:
        UserError: a value is empty, or one of ``options`` is given twice.
    """
    previous = ""
    found: set[str] = set()
    for argument in arguments:
        if argument == "--":
            # the rest are arguments of a script
            return
        option, equals, value = argument.partition("=")
        if not argument.strip():
            empty = previous if previous.startswith("-") else "an argument"
        else:
            empty = option if equals and option.startswith("-") and not value.strip() else ""
        if empty and (options is None or empty in options):
            raise UserError(
                f"{empty} is empty; expected a value: is a variable of the shell not set? Leave it "
                "out for the default"
            )
        if options is not None and option in options:
            if option in found:
                raise UserError(describe_repeated_option(option))
            found.add(option)
        previous = argument


def describe_repeated_option(option: str) -> str:
    """Return the sentence for an option that is given twice, of which parsers forget the first."""
    return f"{option} is given twice, and only one would count; give it once, names as a,b"


#: more known names than this are not listed.
_MAX_LISTED = 30


def suggest_names(name: str, known_names: Iterable[str]) -> str:
    """Return the clause for an error on an unknown name: up to three similar names, and all names.

    ``did you mean 'short'? (known: full, short, smoke)``
    """
    names = sorted(known_names)
    if not names:
        return "there is none"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    is_listed = len(names) <= _MAX_LISTED
    known, quoted = ", ".join(names), "' or '".join(near)
    if near:
        question = f"did you mean '{quoted}'?"
        return f"{question} (known: {known})" if is_listed else question
    examples = "', '".join(difflib.get_close_matches(name, names, n=3, cutoff=0.0))
    return f"known: {known}" if is_listed else f"{len(names)} are known, such as '{examples}'"
