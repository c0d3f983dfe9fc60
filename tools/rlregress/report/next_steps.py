"""The next step in words: the last line of a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rlregress.model.golden_result import GoldenResult


def _quote_word_for_shell(word: str | Path) -> str:
    """Quote a word for a shell, so that users can copy the command."""
    return shlex.quote(str(word))


def suggest_after_probe(differing: Sequence[str]) -> str:
    """Suggest the next step after details were probed.

    Args:
        differing: details with an answer that is not documented.
    """
    if differing:
        id = differing[0].split()[0]
        return (
            "Read its documentation and its consequences: rlregress details "
            f"{_quote_word_for_shell(id)}"
        )
    return "Judge behaviour and returns too: rlregress check"


def suggest_after_trace(output: Path, repeats: bool) -> str:
    """Suggest the next step after recording a trace twice."""
    if repeats:
        return (
            "Record the other version in the same way, and compare: rlregress diff "
            f"{_quote_word_for_shell(output)} OTHER"
        )
    return (
        "Seed or fix what the lines above name: it differs between two runs of the same code. Then "
        "record again"
    )


def suggest_after_diff(diverged: bool) -> str:
    """Suggest the next step after comparing two traces."""
    if diverged:
        return "Find the change of the framework that causes it: rlregress upgrade OLD NEW"
    return "Nothing: both have the same results."


def suggest_after_golden_file(output: Path, script: Path | str, repeats: bool) -> str:
    """Suggest the next step after recording a golden file."""
    if not repeats:
        return suggest_after_trace(output, repeats=False)
    return (
        "Commit it, and compare on any machine: rlregress diff "
        f"{_quote_word_for_shell(output)} --script {_quote_word_for_shell(script)}"
    )


def suggest_after_golden_comparison(
    result: GoldenResult, golden_file: Path, script: Path, arguments: Sequence[str]
) -> str:
    """Suggest the next step after comparing a script with its golden file."""
    has_changed = [*result.versions, *result.sources]
    if result.is_same and not has_changed:
        return "Nothing: the script has the same results."
    arguments_text = (
        "".join(f" {word}" for word in ("--", *map(_quote_word_for_shell, arguments)))
        if arguments
        else ""
    )
    old = [
        f"{name}=={pair[0]}"
        for name, pair in result.versions.items()
        if name != "python" and all(pair)
    ]
    upgrade = f"rlregress upgrade {_quote_word_for_shell(' '.join(old))} installed"
    record_command = (
        f"rlregress trace {_quote_word_for_shell(script)} --golden "
        f"{_quote_word_for_shell(golden_file)}{arguments_text}"
    )
    if result.is_same:
        # equal results show nothing about code that the script does not execute
        if old:
            return f"See which changed code this script does not execute: {upgrade}"
        return f"Record again, to compare later runs with the present code: {record_command}"
    if old:
        script_ = f"--script {_quote_word_for_shell(script)}{arguments_text}"
        return f"Find the change of the packages that causes it: {upgrade} {script_}"
    return f"Read the changes in these files; if they are intended, record again: {record_command}"


def suggest_after_launch(store: Path) -> str:
    """Suggest the next step after all runs of a manifest are done."""
    return (
        f"Verify all records: rlregress runs status --verify --store {_quote_word_for_shell(store)}"
    )


def suggest_after_verify(store: Path, has_wrong: bool, has_damaged: bool, has_missing: bool) -> str:
    """Suggest the next step after reading every record of a store.

    Args:
        has_wrong: whether some records are wrong.
        has_damaged: whether some are damaged and not set aside.
        has_missing: whether some runs have no record.
    """
    if has_damaged:
        return (
            "Set damaged records aside: rlregress runs status --verify --set-aside, and launch "
            "again to repeat their runs"
        )
    if has_wrong:
        return "Remove the wrong records, then launch again to repeat their runs"
    if has_missing:
        return "Launch again to do the missing runs"
    return (
        f"Judge by these runs: rlregress check --fresh-seeds --store {_quote_word_for_shell(store)}"
    )
