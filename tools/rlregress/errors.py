"""The errors that a user can mend."""

from __future__ import annotations


class UserError(Exception):
    """Bad input or a missing part of the environment.

    The message is one sentence (or a few short ones) that says what was found, what was
    expected and what to do. The command line prints it without a traceback and exits with 2;
    pytest reports it as a usage error or as the failure of the one test that it concerns.
    """
