"""What to do next, in words: the last line of a command whose page does not say it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def _quoted(given: str | Path) -> str:
    """As a shell takes it: a command is there to be copied."""
    return shlex.quote(str(given))


def after_probe(differing: Sequence[str]) -> str:
    """After a fingerprint of which this is not as documented: detail, framework and scope each."""
    if differing:
        id = differing[0].split()[0]
        return f"See what is documented of it, and what follows: rlregress details {_quoted(id)}"
    return "Judge behaviour and returns too: rlregress check"


def after_claims(differing: Sequence[str]) -> str:
    """After claims of which these have another verdict than the recorded one."""
    if differing:
        return (
            "Find out whether the sentence or its probe is wrong now, then record the verdict in "
            "baselines/claims and write the page: rlregress study claims --write"
        )
    return "Nothing: every verdict is the recorded one."


def after_study() -> str:
    """After the answers to the thesis' questions."""
    return "See what it costs to train the study again: rlregress plan --cells thesis"


def after_trace(output: Path, repeats: bool) -> str:
    """After recording a trace twice."""
    if repeats:
        return (
            "Record the other version in the same way, and compare: rlregress diff "
            f"{_quoted(output)} OTHER"
        )
    return (
        "Seed or fix what the lines above name: it differs between two runs of the same code. Then "
        "record again"
    )


def after_diff(diverged: bool) -> str:
    """After comparing two traces."""
    if diverged:
        return "See which change of the framework does it: rlregress upgrade OLD NEW"
    return "Nothing: both have the same results."


def after_faults(unexpected: Sequence[str]) -> str:
    """After injecting faults: those not detected as expected, or not probed."""
    if unexpected:
        return f"Read the result of {unexpected[0]}, and docs/adding-a-fault.md"
    return "Nothing: all is as expected."


def after_histories(unjudged: Sequence[str]) -> str:
    """After the tables of frameworks, of which these have pairs without a result."""
    if unjudged:
        name = _quoted(unjudged[0])
        return f"Judge the rest, which takes hours: rlregress selftest histories --framework {name}"
    return "Nothing: every pair of releases is judged."


def after_launch(store: Path) -> str:
    """After all runs of a manifest were done in a store."""
    return f"Read every record of them: rlregress runs verify --store {_quoted(store)}"


def after_verify(store: Path, wrong: bool, damaged: bool, missing: bool) -> str:
    """After reading every record of a store.

    Args:
        wrong: some records are not what they should be.
        damaged: some are damaged, and still in their place.
        missing: some runs have no record, or no longer.
    """
    if damaged:
        return (
            "Have damaged records done again: rlregress runs verify --set-aside, and launch as "
            "before"
        )
    if wrong:
        return "Remove the records that are wrong, and have their runs done: launch as before"
    if missing:
        return "Have the rest done: launch as before"
    return f"Judge by them: rlregress check --fresh-seeds --store {_quoted(store)}"
