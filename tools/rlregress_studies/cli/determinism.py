"""``rlregress study determinism``: the effect of each source of chance on DQN."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from rlregress import missing_packages
from rlregress.catalogue import requested_names
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.cli import output
from rlregress.cli.options import Frameworks
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.probing.interface import Unsupported
from rlregress_studies.determinism import chance, determinism_study, discrete
from rlregress_studies.determinism.discrete import Protocol, Starts


def train_and_report(
    frameworks: Sequence[str], plan: determinism_study.DeterminismPlan, folder: Path
) -> int:
    """Train, print the table and write the report; return 1 if a result is unexpected, else 0."""
    if plan.steps < 100 or plan.steps < plan.checkpoints:
        raise UserError(
            f"--steps is {plan.steps}; expected at least 100, and one for each of the "
            f"{plan.checkpoints} checkpoints"
        )
    missing_packages.require_module("matplotlib")
    discrete.check_dqn_can_be_trained(plan.environment)
    check_folder_is_writable(folder, "the report")
    adapters = requested_names.select_adapters(frameworks)
    starts = Starts(
        partial(discrete.make_environment, plan.environment, training=False), plan.protocol
    )
    spreads, sources_drawn, absent = {}, {}, {}
    try:
        for adapter in adapters:
            name = f"{adapter} {adapter.label}".rstrip()
            try:
                runs = determinism_study.train_all_members(
                    adapter, plan, starts, folder / "runs", typer.echo
                )
            except Unsupported as error:
                absent[name] = str(error)
                continue
            spreads[name] = {
                group: chance.compute_spread_of_runs(run) for group, run in runs.items()
            }
            sources_drawn[name] = adapter.train.describe_sources_of_chance()
    finally:
        starts.close()
    if not spreads:
        reasons = "; ".join(f"{name}: {why}" for name, why in absent.items())
        raise UserError(f"no framework trains DQN here ({reasons}); expected at least one")
    wrong = [
        line
        for name, spread in spreads.items()
        for line in chance.describe_unexpected_spreads(name, spread)
    ]
    output.mark_exit_code_decided()
    lines = [
        f"DQN on {plan.environment}, {plan.steps} steps, after the last of which:",
        "",
        *chance.make_table_of_spreads(spreads),
        "",
        *(
            f"- {name}, {group}: {words}"
            for name, by in sources_drawn.items()
            for group, words in by.items()
        ),
        *(f"- {name} was not checked: {why}" for name, why in absent.items()),
        *wrong,
    ]
    frameworks_text = {
        name: {"sources": dict(sources_drawn[name]), "groups": groups}
        for name, groups in spreads.items()
    }
    plain = {"plan": plan, "frameworks": frameworks_text, "not_asked": absent, "wrong": wrong}
    text = json.dumps(plain, indent=1, default=vars)
    write_text_atomically(folder / "determinism.json", text + "\n")
    typer.echo("\n".join(lines))
    for name, spread in spreads.items():
        figure = folder / f"determinism-{name.lower().replace(' ', '-')}.svg"
        write_text_atomically(figure, chance.draw_spreads(name, spread))
    typer.echo(f"report: {folder} (determinism.json, and a figure for each framework)")
    return 1 if wrong else 0


def determinism(
    framework: Frameworks = None,
    environment: Annotated[
        str, typer.Option(metavar="ID", help="Environment with discrete actions.")
    ] = "ALE/Breakout-v5",
    steps: Annotated[
        int, typer.Option(metavar="N", help="Environment steps of a training.")
    ] = 10_000,
    runs: Annotated[int, typer.Option(min=2, metavar="N", help="Trainings of each source.")] = 5,
    checkpoints: Annotated[
        int, typer.Option(min=1, metavar="N", help="Evaluations of a training.")
    ] = 10,
    vary: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Vary initialisation, exploration, environment, sampling, threads; default: each.",
        ),
    ] = None,
    sticky: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, metavar="P", help="Probability that an action repeats."),
    ] = 0.0,
    starts: Annotated[int, typer.Option(min=1, metavar="N", help="Starts of an evaluation.")] = 100,
    cap: Annotated[
        int, typer.Option(min=1, metavar="N", help="Steps after which an evaluation episode ends.")
    ] = 4500,
    states: Annotated[
        int, typer.Option(min=1, metavar="N", help="Held-out states for the maximum Q.")
    ] = 500,
    report: Annotated[
        str, typer.Option(metavar="PATH", help="Folder of the report and of finished trainings.")
    ] = "report",
) -> None:
    """Example:

    rlregress study determinism --framework sb3 --vary sampling --runs 3

    Trains DQN with one source of chance varied and the others held. With all held, weights have to
    be identical to the bit at every checkpoint. Prints by how much each source alone makes score
    and maximum Q differ, and draws figure 1 of Nagarajan, Warnell and Stone (2018) for each
    framework. Trainings that are done stay in the report's folder: the same command goes on where
    it was stopped.

    Exit code 0; 1 if trainings with all held differ, or a source that is varied changes nothing.
    """
    folder = resolve_real_path(report)
    plan = determinism_study.DeterminismPlan(
        environment=environment,
        sticky=sticky,
        steps=steps,
        checkpoints=checkpoints,
        runs=runs,
        groups=determinism_study.parse_groups(split_comma_separated_names("--vary", vary)),
        protocol=Protocol(starts=starts, cap=cap, states=states),
    )
    raise typer.Exit(
        train_and_report(split_comma_separated_names("--framework", framework), plan, folder)
    )
