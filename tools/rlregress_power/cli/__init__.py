"""The commands ``rlregress selftest ...``."""

from __future__ import annotations

from rlregress.cli.parsing import CommandGroup, CommandRow

_PACKAGE = "rlregress_power.cli"

SELFTEST = CommandGroup(
    name="selftest",
    line="What does this suite detect itself? faults, histories.",
    rows=(
        CommandRow(
            name="selftest faults",
            function=f"{_PACKAGE}.faults:faults",
            line="Inject known faults: is each of them detected?",
        ),
        CommandRow(
            name="selftest histories",
            function=f"{_PACKAGE}.histories:histories",
            line="Judge real releases whose changes are known.",
            kept="judged pairs are kept, and the same command continues from there",
        ),
    ),
)
