"""The commands ``rlregress study ...``."""

from __future__ import annotations

from rlregress.cli.parsing import CommandGroup, CommandRow

_PACKAGE = "rlregress_studies.cli"

STUDY = CommandGroup(
    name="study",
    line="Rank, thesis, determinism, claims.",
    rows=(
        CommandRow(
            name="study rank",
            function=f"{_PACKAGE}.rank:rank",
            line="Which implementations differ? AdaStop.",
        ),
        CommandRow(
            name="study thesis",
            function=f"{_PACKAGE}.rank:thesis",
            line="The thesis' three questions.",
        ),
        CommandRow(
            name="study determinism",
            function=f"{_PACKAGE}.determinism:determinism",
            line="What does each source of chance do to DQN?",
            kept="finished trainings are kept, and the same command continues from there",
        ),
        CommandRow(
            name="study claims",
            function=f"{_PACKAGE}.claims:claims",
            line="Is what papers and blogs say true?",
        ),
    ),
)
