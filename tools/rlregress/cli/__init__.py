"""The ``rlregress`` command."""

from __future__ import annotations

import errno
import getpass
import os
import signal
import sys
import traceback
from contextlib import suppress

import typer

from rlregress import frameworks, missing_packages
from rlregress.cli import commands, output, parsing
from rlregress.errors import UserError, show_damaged_records_as_sentences
from rlregress.inside import checkpoint, process_tree
from rlregress.report import harmless
from rlregress.trace import child_processes


def _describe_interruption(arguments: list[str]) -> str:
    names = [" ".join(arguments[:count]) for count in (1, 2)]
    note = next((row.kept for row in commands.ROWS if row.name in names and row.kept), "")
    return f"interrupted; {note or 'nothing is stored; start it again'}"


#: set by the shell that asks for completions
_COMPLETING = "_RLREGRESS_COMPLETE"

#: variables with the width of the terminal, which libraries use unchecked
_WIDTHS = ("COLUMNS", "TERMINAL_WIDTH")


def _exit_on_signal(number: int, _: object) -> None:
    # other threads wait for their child processes, and would keep this one alive
    child_processes.end_all_processes()
    raise SystemExit(128 + number)


def _apply_common_options(arguments: list[str]) -> list[str]:
    """Apply the options that every command takes. Return the other arguments.

    These are ``--<framework> FOLDER`` for frameworks that can be checked out, and
    ``--trust-pickle``. Child processes inherit both through environment variables.
    """
    remaining: list[str] = []
    words = iter(arguments)
    checkouts = {f"--{a.name}": a for a in frameworks.list_adapters() if a.framework.checkout}
    for argument in words:
        if argument == "--":
            # the rest are arguments of a script
            return [*remaining, argument, *words]
        option, equals, folder = argument.partition("=")
        if argument == parsing.TRUST:
            os.environ[checkpoint.TRUST] = "1"
            continue
        if option not in checkouts:
            remaining.append(argument)
            continue
        frameworks.use_checkout_from_now_on(
            checkouts[option], folder if equals else next(words, "")
        )
    return remaining


def _repair_environment_variables() -> None:
    """Check and repair environment variables of this process that would make libraries fail."""
    try:
        os.getcwd()
    except OSError as error:
        raise UserError(
            f"the working directory is gone ({error.strerror}); change to a folder that exists"
        ) from None
    try:
        getpass.getuser()
    except (KeyError, OSError):
        # a user id without a name, as in containers: torch asks for one when it is imported
        os.environ["USER"] = f"uid-{os.getuid()}"
    for name in _WIDTHS:
        value = os.environ.get(name, "")
        if not (value.isdecimal() and len(value) <= 4 and 20 <= int(value) <= 1000):
            os.environ.pop(name, None)


def _run_command() -> int:
    """Run the command of the command line. Return the exit code."""
    # a shell waits for completions, and passes the words in a variable
    if _COMPLETING not in os.environ:
        _repair_environment_variables()
        sys.argv[1:] = _apply_common_options(sys.argv[1:])
    try:
        code = commands.program(prog_name="rlregress", standalone_mode=False)
    except parsing.UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            # nothing follows the name of the program or of a group of commands
            error.show()
            return 2
        raise UserError(parsing.describe_parser_error(error)) from None
    return code if isinstance(code, int) else 0


def _describe_os_error(error: OSError) -> str:
    """Describe an error of the operating system and its remedy."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"the operating system refuses what the command needs: {reason}"
    remedy = (
        "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else "expected a file or folder that exists and that you may use"
    )  # fmt: skip
    return f"{os.fsdecode(error.filename)} cannot be used: {reason}; {remedy}"


def main() -> None:
    """Run the program. A user error is one sentence on stderr and exit code 2.

    An error of the suite itself is exit code 2 as well: it is no verdict on a framework.
    """
    # a cancelled or interrupted job must end its child processes
    handled = [n for n in checkpoint.STOPPING if signal.getsignal(n) is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _exit_on_signal)
    show_damaged_records_as_sentences()
    try:
        with process_tree.use_own_temporary_folder(), process_tree.end_children():
            try:
                with output.escape_standard_streams():
                    sys.exit(_run_and_report_errors())
            finally:
                # a second signal must not stop the clean-up
                for number in handled:
                    signal.signal(number, signal.SIG_IGN)
    finally:
        # the clean-up is done: a signal while Python ends may end it at once
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _run_and_report_errors() -> int:
    """Run the command and report its error, if any. Return the exit code."""
    try:
        code = _run_command()
        sys.stdout.flush()
        return code
    except UserError as error:
        message = str(error)
    except OSError as error:
        message = _describe_os_error(error)
    except MemoryError:
        message = "there is not enough memory for this command"
    except SystemExit as ended:
        if ended.code == 128 + signal.SIGINT:
            typer.echo(f"\nrlregress: {_describe_interruption(sys.argv[1:])}", err=True)
        raise
    except Exception as error:
        message = missing_packages.describe_missing_package(error)
        if not message:
            with suppress(UserError):
                traceback.print_exc()
            message = "this is an error of the suite; please report it"
    # the exit code counts even if the message cannot be written
    output.mark_exit_code_decided()
    with suppress(UserError):
        typer.echo(f"rlregress: {harmless.escape_into_one_line(message)}", err=True)
    return 2
