"""``rlregress gate`` and ``plan``: judge what is installed, or an upgrade."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from rlregress.cli.options import (
    Algorithms,
    Cells,
    Environments,
    Frameworks,
    Hyperparameters,
    Inconclusive,
    OneLook,
    Packages,
    Seeds,
    Steps,
    StoreFolder,
    UsualBudget,
    Workers,
    check_inconclusive,
    gate_code,
    names_of,
    refuse,
    selection_of,
    share_of,
    verdict_of,
)
from rlregress.errors import UserError
from rlregress.files import absolute

#: options of ``gate`` that an upgrade has no use for, and that only an upgrade has a use for.
_OF_RETURNS = (
    "environment", "budget", "cells", "hyperparameters", "seeds", "alpha", "first_seed", "store",
    "throughput",
)  # fmt: skip
_OF_UPGRADE = (
    "min_coverage", "asked", "fail_on", "accepted", "scenario", "prove", "every_training",
    "returns", "script", "package", "steps", "lend", "minutes",
)  # fmt: skip


def gate(
    context: typer.Context,
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    budget: UsualBudget = "",
    cells: Cells = "default",
    hyperparameters: Hyperparameters = "",
    seeds: Seeds = 0,
    fixed: OneLook = False,
    alpha: Annotated[float, typer.Option(help="Probability of a false alarm per gate.")] = 0.05,
    inconclusive: Inconclusive = "code",
    first_seed: Annotated[
        int, typer.Option(help="Seed of the first new run; others confirm or refute an alarm.")
    ] = 1000,
    workers: Workers = 0,
    store: StoreFolder = "",
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
    throughput: Annotated[
        bool,
        typer.Option("--throughput", help="Judge speed and memory too, where they are stored."),
    ] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="End in five lines, for a chat or a mail.")
    ] = False,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Judge an upgrade: pinned requirements, a tree, a lock file, or installed.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="The other side; default: installed.")
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Of an upgrade: the least share of the changed pieces that has to be executed and "
            "compared for exit code 0; default: 0.5, of a script 0.",
        ),
    ] = None,
    asked: Annotated[float | None, typer.Option("--asked", min=0.0, max=1.0, hidden=True)] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="VERDICT",
            help="Of an upgrade: the best verdict whose exit code is not 0, such as changed, "
            "'partly checked' or close; default: could not judge.",
        ),
    ] = "",
    accepted: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Of an upgrade: file of entries that somebody has reviewed."
        ),
    ] = None,
    scenario: Annotated[
        str, typer.Option(help="Of an upgrade: names of scenarios, all, or none.")
    ] = "all",
    prove: Annotated[
        int,
        typer.Option(
            "--prove",
            min=0,
            metavar="FAULTS",
            help="Of an upgrade: seed so many faults into changed functions; count those seen.",
        ),
    ] = 0,
    every_training: Annotated[
        bool,
        typer.Option(
            "--every-training",
            help="Of an upgrade: trace also the trainings that run no code that differs.",
        ),
    ] = False,
    returns: Annotated[
        bool, typer.Option(help="Train what has diverged between the two sides.")
    ] = True,
    script: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Of an upgrade: trace this script, not the built-in trainings."
        ),
    ] = None,
    package: Packages = None,
    steps: Steps = 0,
    minutes: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Of an upgrade: begin nothing more after so many minutes; what executes changed "
            "code comes first, and what is left is listed as never executed.",
        ),
    ] = 0.0,
    lend: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Of an upgrade: distributions, separated by commas, that both versions find, "
            "although only one installs them.",
        ),
    ] = None,
) -> None:
    """Judge the installed frameworks: formulas, behaviour, returns. Or an upgrade: --from A --to B.

    Ends with one verdict per framework. Exit code 0: holds, 1: regressed, 2: could not judge,
    3: inconclusive. The report folder holds report.html (a page to look at),
    summary.md, verdict.json, evidence.json, junit.xml.

    Of an upgrade 0: unchanged, partly checked, repaired, close, changed as documented, holds or
    improved; 1: returns regressed, documented behaviour is violated, or the new version fails; 2:
    could not judge, or less than --min-coverage was checked; 3: changed, or inconclusive. Its
    report is upgrade.html, upgrade.md and upgrade.json; what follows -- are the
    arguments of the script.
    """
    from rlregress.commands import gate as gate_command
    from rlregress.gate.run import GateOptions
    from rlregress.gate.selection import usual_budget

    check_inconclusive(inconclusive)
    folder = absolute(report)
    min_coverage = asked if min_coverage is None else min_coverage
    if min_coverage is not None and math.isnan(min_coverage):
        raise UserError("--min-coverage is nan, expected a share between 0 and 1")
    if math.isnan(minutes):
        raise UserError("--minutes is nan, expected a number of minutes, or 0 for no limit")
    if from_ is not None or to is not None:
        refuse(context, _OF_RETURNS, "an upgrade does not take", "leave it out")
        from rlregress.commands import upgrade as upgrade_command
        from rlregress.tracing import jobs
        from rlregress.upgrade.options import Options

        job = None
        if script is not None:
            path = Path(script)
            job = jobs.of_script(path, context.args, names_of("--package", package), steps)
        options_ = Options(
            a="installed" if from_ is None else from_,
            b="installed" if to is None else to,
            report=folder,
            frameworks=names_of("--framework", framework),
            algorithms=names_of("--algorithm", algorithm),
            scenarios={"all": None, "none": []}.get(scenario, names_of("--scenario", scenario)),
            min_coverage=min_coverage,
            fail_on=verdict_of("--fail-on", fail_on),
            accepted=None if accepted is None else Path(accepted),
            prove=prove,
            every=every_training,
            returns=returns,
            one_look=fixed,
            workers=workers,
            lend=names_of("--lend", lend),
            script=job,
            minutes=minutes,
            say=typer.echo,
        )
        raise typer.Exit(upgrade_command.judge(options_, brief, inconclusive))
    refuse(context, _OF_UPGRADE, "only an upgrade takes", "name a side with --from or --to")
    if context.args:
        raise UserError(
            f"'{' '.join(context.args)}' would be arguments of a script; name it with --script, "
            "and one side of the upgrade with --from or --to"
        )
    options = GateOptions(
        report=folder,
        budget=budget or usual_budget(cells),
        frameworks=framework,
        algorithms=algorithm,
        environments=environment,
        cells=cells,
        hyperparameters=hyperparameters,
        seeds=seeds,
        one_look=fixed,
        alpha=alpha,
        first_seed=first_seed,
        store=str(absolute(store)) if store else "",
        workers=workers,
        throughput=throughput,
    )
    raise typer.Exit(gate_code(gate_command.judge(options, brief), inconclusive))


def plan(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    budget: UsualBudget = "",
    cells: Cells = "default",
    hyperparameters: Hyperparameters = "",
    seeds: Seeds = 0,
    fixed: OneLook = False,
    must_see: Annotated[
        str | None,
        typer.Option(help="A drop, such as 20%: which gate sees it for the least, or what lacks."),
    ] = None,
    workers: Workers = 0,
    store: StoreFolder = "",
) -> None:
    """Print what a gate would train, what it costs, and the smallest drops that gates could see.

    Trains and writes nothing. Exit code 0, or 2 if there is nothing to train.
    """
    from rlregress.commands import gate as gate_command

    chosen = selection_of(framework, algorithm, environment, budget, cells, hyperparameters)
    share = None if must_see is None else share_of("--must-see", must_see)
    gate_command.plan(chosen, seeds, workers, store, fixed, share)
