"""Whether a command line is one that the program takes, as far as its own parser says."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess

import pytest
import typer

from rlregress.catalogue import registry
from rlregress.cli import commands
from rlregress.cli.parsing import TRUST
from rlregress.errors import UserError

from .page_contents import ROOT, Command

#: typer carries a copy of click, or takes the installed one
_UsageError = typer.BadParameter.__base__ or Exception


def why_not_understood(command: Command, config: pytest.Config) -> str:
    """What is wrong with a command line as the program itself reads it; empty: nothing."""
    program, *words = command.words()
    if program == "rlregress":
        return _why_not_rlregress(words, command.in_text)
    if program == "pytest":
        return _why_not_pytest(words, config)
    if program == "make":
        ended = subprocess.run(
            ["make", "--dry-run", *words], cwd=ROOT, capture_output=True, text=True
        )
        return ended.stderr
    if words[:2] == ["-m", "pip"]:
        return ""
    return "" if words[0] == "-m" and importlib.util.find_spec(words[1]) else "no such module"


def _why_not_rlregress(words: list[str], named_only: bool) -> str:
    """An ellipsis is left out; what a sentence only names may lack what it takes."""
    # taken before the rest is parsed
    words = [word for word in words if word != TRUST]
    command_group, (name, *further) = commands.program.commands, words
    at_the_top = {flag for param in commands.program.params for flag in param.opts}
    if name in at_the_top or words in [[group] for group in commands.GROUPS]:
        return ""
    if name in commands.GROUPS and further:
        command_group, (name, *further) = command_group[name].commands, further
    if name not in command_group:
        return f"no such command: {name}"
    try:
        with commands.program.make_context("rlregress", [words[0]]) as context:
            command_group[name].make_context(name, further, parent=context).close()
    except typer.Exit:
        # the help
        return ""
    except UserError as error:
        return str(error)
    except _UsageError as error:
        missing = type(error).__name__ == "MissingParameter"
        return "" if missing and named_only else f"{type(error).__name__}: {error}"
    return ""


def _why_not_pytest(words: list[str], config: pytest.Config) -> str:
    parsed, unknown = config._parser.parse_known_and_unknown_args(words)
    if unknown:
        return f"no such option: {' '.join(unknown)}"
    for path in parsed.file_or_dir:
        if not (ROOT / path.partition("::")[0]).exists():
            return f"no such file: {path}"
    registered = {re.split(r"[:(]", line)[0].strip() for line in config.getini("markers")}
    names = {node.id for node in ast.walk(ast.parse(parsed.markexpr)) if isinstance(node, ast.Name)}
    if names - registered:
        return f"no such marker: {', '.join(sorted(names - registered))}"
    for detail_id in (parsed.detail or "").split(","):
        if detail_id and not any(
            f"{id}.".startswith(f"{detail_id}.") for id in registry.list_detail_ids()
        ):
            return f"no such detail: {detail_id}"
    return ""
