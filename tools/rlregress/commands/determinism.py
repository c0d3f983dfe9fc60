"""``rlregress determinism``: what each source of chance does to DQN."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer

from rlregress.commands import following, output
from rlregress.environments import discrete
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import NotOffered
from rlregress.gate import selection, shown
from rlregress.reporting import brief
from rlregress.reporting import determinism as report
from rlregress.reporting.html import determinism as page
from rlregress.reporting.html.page import Facts
from rlregress.training import chance, determinism
from rlregress.training.record import check_writable, write_atomically
from rlregress.training.starts import Protocol, Starts


def checked(groups: Sequence[str]) -> tuple[str, ...]:
    """The groups in the order of the figure; UserError for one that there is not."""
    for name in groups:
        if name not in determinism.GROUPS:
            raise UserError(f"--vary names '{name}'; {nearest(name, determinism.GROUPS)}")
    wanted = {determinism.HELD, *(groups or determinism.GROUPS)}
    return tuple(group for group in determinism.GROUPS if group in wanted)


def measure(frameworks: Sequence[str], plan: determinism.Plan, folder: Path) -> int:
    """Train, print the table and write the report; 1 if something is not as it has to be."""
    if plan.steps < 100 or plan.steps < plan.checkpoints:
        raise UserError(
            f"--steps is {plan.steps}; expected at least 100, and one for each of the "
            f"{plan.checkpoints} checkpoints"
        )
    discrete.check(plan.environment)
    check_writable(folder, "the report")
    started, date = time.monotonic(), shown.now()
    adapters = selection.adapters(frameworks)
    starts = Starts(partial(discrete.make, plan.environment, training=False), plan.protocol)
    kept = determinism.Kept(folder / "runs")
    found, drawn, absent = {}, {}, {}
    try:
        for adapter in adapters:
            name = f"{adapter.title} {adapter.label}".rstrip()
            try:
                runs = determinism.every(adapter, plan, starts, kept, typer.echo)
            except NotOffered as error:
                absent[name] = str(error)
                continue
            found[name] = {group: chance.spread(each) for group, each in runs.items()}
            drawn[name] = adapter.sources_of_chance()
    finally:
        starts.close()
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in absent.items())
        raise UserError(f"no framework trains DQN here ({reasons}); expected at least one")
    wrong_of = {name: chance.faults(name, groups) for name, groups in found.items()}
    wrong = [line for said in wrong_of.values() for line in said]
    output.decided()
    lines = [
        f"DQN on {plan.environment}, {plan.steps} steps, after the last of which:",
        "",
        *report.table(found),
        "",
        *report.sources(drawn),
        *(f"- {name} was not asked: {why}" for name, why in absent.items()),
        *wrong,
    ]
    plain = report.as_plain(asdict(plan), found, drawn, absent, wrong)
    write_atomically(folder / "determinism.json", json.dumps(plain, indent=1) + "\n")
    for line in lines:
        typer.echo(line)
    for name, groups in found.items():
        figure = folder / f"determinism-{name.lower().replace(' ', '-')}.svg"
        write_atomically(figure, report.figure(name, groups))
    facts = Facts(
        f"Chance in DQN on {plan.environment}, {plan.steps} steps",
        date,
        round(time.monotonic() - started, 1),
        shown.machine(),
        _command(frameworks, plan),
    )
    written = page.page(found, drawn, absent, wrong_of, facts)
    write_atomically(folder / "determinism.html", written)
    typer.echo(
        f"report: {folder} (determinism.html, determinism.json, and a figure for each framework)"
    )
    following.say(brief.steps(page.cards(found, wrong_of)))
    return 1 if wrong else 0


def _command(frameworks: Sequence[str], plan: determinism.Plan) -> str:
    """The command that measures the same again."""
    usual, protocol = Protocol(), plan.protocol
    command = ["rlregress", "determinism"]
    for name, value, default in (
        ("--framework", ",".join(frameworks), ""),
        ("--environment", plan.environment, ""),
        ("--steps", plan.steps, 0),
        ("--runs", plan.runs, 0),
        ("--checkpoints", plan.checkpoints, 0),
        ("--vary", ",".join(group for group in plan.groups if group != determinism.HELD), ""),
        ("--sticky", plan.sticky, 0.0),
        ("--starts", protocol.starts, usual.starts),
        ("--cap", protocol.cap, usual.cap),
        ("--states", protocol.states, usual.states),
    ):
        if value != default:
            command += [name, str(value)]
    return shlex.join(command)
