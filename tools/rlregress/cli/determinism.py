"""``rlregress determinism``: what each source of chance does to DQN."""

from __future__ import annotations

from typing import Annotated

import typer

from rlregress.cli.options import Frameworks, names_of
from rlregress.files import absolute


def determinism(
    framework: Frameworks = None,
    environment: Annotated[
        str, typer.Option(help="A Gymnasium id with discrete actions.")
    ] = "ALE/Breakout-v5",
    steps: Annotated[int, typer.Option(help="Environment steps of a training.")] = 10_000,
    runs: Annotated[int, typer.Option(min=2, help="Trainings of each group.")] = 5,
    checkpoints: Annotated[int, typer.Option(min=1, help="Evaluations of a training.")] = 10,
    vary: Annotated[
        str | None,
        typer.Option(
            help="initialisation, exploration, environment, sampling, threads, comma-separated; "
            "default: each of them, alone."
        ),
    ] = None,
    sticky: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Probability that a game repeats the last action."),
    ] = 0.0,
    starts: Annotated[int, typer.Option(min=1, help="Start sequences of an evaluation.")] = 100,
    cap: Annotated[
        int, typer.Option(min=1, help="Environment steps after which its episodes are cut off.")
    ] = 4500,
    states: Annotated[int, typer.Option(min=1, help="Held-out states for the maximum Q.")] = 500,
    report: Annotated[
        str, typer.Option(metavar="PATH", help="Folder of the report, and of trainings done.")
    ] = "report",
) -> None:
    """Train DQN with one source of chance varied and the others held.

    With all held, weights have to be identical to the bit at every checkpoint. Prints by how much
    each source alone makes score and maximum Q differ, and draws figure 1 of Nagarajan, Warnell and
    Stone (2018) for each framework. Trainings that are done stay in the report's folder: the same
    command goes on where it was stopped.

    Exit code 0; 1 if trainings with all held differ, or a source that is varied changes nothing.
    """
    from rlregress.commands import determinism as command
    from rlregress.training.determinism import Plan
    from rlregress.training.starts import Protocol

    folder = absolute(report)
    plan = Plan(
        environment=environment,
        sticky=sticky,
        steps=steps,
        checkpoints=checkpoints,
        runs=runs,
        groups=command.checked(names_of("--vary", vary)),
        protocol=Protocol(starts=starts, cap=cap, states=states),
    )
    raise typer.Exit(command.measure(names_of("--framework", framework), plan, folder))
