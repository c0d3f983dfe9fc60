"""``rlregress launch``, ``run``, ``status``, ``watch``, ``verify``, ``merge``: many runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlregress import files
from rlregress.cli.options import (
    Algorithms,
    Cells,
    Environments,
    Frameworks,
    Hyperparameters,
    Inconclusive,
    StoreFolder,
    UsualBudget,
    check_inconclusive,
    gate_code,
    refuse,
    selection_of,
)
from rlregress.errors import UserError
from rlregress.files import absolute

#: options of ``launch`` that choose runs, which a manifest has chosen already.
_CHOICE = (
    "framework", "algorithm", "environment", "budget", "cells", "hyperparameters", "seeds",
    "first_seed",
)  # fmt: skip

#: of a file of lines of shell, in bytes.
_LARGEST_LINES = 1 << 20
_OF_SLURM = ("at_once", "sbatch", "before", "dry_run")
_OF_WAVES = ("wait", "report", "alpha", "fixed", "inconclusive")

Listed = Annotated[
    str, typer.Option("--manifest", metavar="FILE", help="Runs, as rlregress launch listed them.")
]


def run(
    manifest: Annotated[str, typer.Option(metavar="FILE", help="Runs, as launch listed them.")],
    index: Annotated[int, typer.Option(help="Which of them, from 0.")],
    store: StoreFolder = "",
) -> None:
    """Do one run of a manifest unless it is done: what any scheduler may call.

    Exit code 0 if it is done, also if its training ended in an error, which is recorded; 75 if it
    was stopped by a signal (such as TERM or USR1), or another process does it: start it again; 1
    if its worker was killed; 2 if it cannot be done here.
    """
    from rlregress.commands import cluster as cluster_command

    raise typer.Exit(cluster_command.run(Path(manifest), index, store))


def launch(
    context: typer.Context,
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    budget: UsualBudget = "",
    cells: Cells = "default",
    hyperparameters: Hyperparameters = "",
    seeds: Annotated[
        int,
        typer.Option(
            min=0, help="Runs of each cell; 0: the budget's number; of --waves as a gate."
        ),
    ] = 0,
    first_seed: Annotated[
        int, typer.Option(help="Seed of the first run: new ones from 1000, stored ones from 0.")
    ] = 1000,
    manifest: Listed = "",
    store: StoreFolder = "",
    versions: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="VERSIONS",
            help="Train with these instead of what is installed, as --from of gate takes them.",
        ),
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Do them on this machine.")] = False,
    workers: Annotated[
        int,
        typer.Option(
            "-j", "--workers", min=0, help="Of --local and --waves: at a time; 0: one per core."
        ),
    ] = 0,
    slurm: Annotated[bool, typer.Option("--slurm", help="Submit them to Slurm.")] = False,
    at_once: Annotated[
        int, typer.Option("--max", min=0, help="Of --slurm: of each array, so many at a time.")
    ] = 0,
    sbatch: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION", help="Of --slurm: as in account=x; may be repeated."),
    ] = None,
    before: Annotated[
        str, typer.Option(metavar="FILE", help="Of --slurm: lines of shell before a run.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Of --slurm: print the scripts, submit nothing.")
    ] = False,
    waves: Annotated[
        bool,
        typer.Option("--waves", help="Start what the next look of a gate needs, then judge."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Of --waves: until there is a verdict.")
    ] = False,
    report: Annotated[
        str, typer.Option(metavar="PATH", help="Of --waves: folder of the gate's report.")
    ] = "report",
    alpha: Annotated[
        float, typer.Option(help="Of --waves: probability of a false alarm of the gate.")
    ] = 0.05,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Of --waves: one look, after the budget's runs.")
    ] = False,
    inconclusive: Inconclusive = "code",
) -> None:
    """List the runs of chosen cells in a manifest and start those that are not done.

    With --local or --slurm; with neither the manifest is written and nothing is started. Launched
    again it starts what is left. Exit code 0 if all is done or submitted, 75 if runs are left to
    launch again, 1 if runs could not be done, 2 if nothing can be launched.

    With --with, an environment of these versions is made once in the store, for all nodes.

    With --waves only the runs are started that the next look of a gate needs of undecided cells;
    when they are done it is judged, until the gate has its verdict, which is printed with its exit
    code. 75 while a wave goes on: call again.
    """
    from rlregress.cluster.slurm import Site
    from rlregress.commands import cluster as cluster_command
    from rlregress.training.store import store_in

    if local and slurm:
        raise UserError("--local and --slurm both do the runs; give one of them")
    if not slurm:
        refuse(context, _OF_SLURM, "only --slurm takes", "leave it out, or give --slurm")
    if not (local or waves):
        refuse(context, ("workers",), "only --local takes", "leave it out, or give --local")
    if not waves:
        refuse(context, _OF_WAVES, "only --waves takes", "leave it out, or give --waves")
    site = Site(tuple(sbatch or ()), _lines(before), at_once)
    if versions is not None:
        from rlregress.commands import versions as versions_command

        # this command again, there
        versions_command.go(versions, store_in(store), sys.argv[1:])
    if waves:
        from rlregress.commands import waves as waves_command
        from rlregress.gate.run import GateOptions
        from rlregress.gate.selection import usual_budget

        if not (local or slurm):
            raise UserError("--waves does runs; say where with --local or --slurm")
        refuse(context, ("manifest",), "--waves chooses runs and does not take", "leave it out")
        check_inconclusive(inconclusive)
        gate = GateOptions(
            report=absolute(report),
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
        )
        asked = waves_command.Waves(gate, site if slurm else None, wait)
        if dry_run:
            waves_command.dry_run(asked)
            return
        raise typer.Exit(gate_code(waves_command.run(asked), inconclusive))
    if manifest:
        refuse(context, _CHOICE, "a manifest has chosen its runs and does not take", "leave it out")
        listed = cluster_command.listed(Path(manifest), store)
    else:
        chosen = selection_of(framework, algorithm, environment, budget, cells, hyperparameters)
        listed = cluster_command.chosen(chosen, seeds, first_seed, store)
    folder = store_in(store)
    if local:
        raise typer.Exit(cluster_command.launch_here(listed, folder, workers))
    if slurm:
        cluster_command.slurm(listed, folder, site, dry_run, lambda: folder.contents().done)
    else:
        cluster_command.show(listed, store)


def _lines(file: str) -> str:
    """What a file of lines of shell holds; empty where none is named."""
    if not file:
        return ""
    try:
        return files.read(Path(file), _LARGEST_LINES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(
            f"--before is '{file}', which cannot be read ({reason}); expected lines of shell"
        ) from None


def status(manifest: Listed = "", store: StoreFolder = "") -> None:
    """Print what of a store is done, running, stuck, failed and why, and the time left.

    Of the runs of --manifest, or of all that were launched to the store. Exit code 0, also if runs
    failed; 2 if there is no store.
    """
    from rlregress.commands import cluster as cluster_command

    cluster_command.status(manifest, store)


def watch(
    manifest: Listed = "",
    store: StoreFolder = "",
    every: Annotated[float, typer.Option(min=0.1, help="Seconds from one look to the next.")] = 5.0,
) -> None:
    """Show the status again and again until all runs are done.

    Exit code 0 if they are, 2 if there is no store, 130 if it was interrupted.
    """
    from rlregress.commands import cluster as cluster_command

    cluster_command.watch(manifest, store, every)


def verify(
    manifest: Listed = "",
    store: StoreFolder = "",
    set_aside: Annotated[
        bool, typer.Option("--set-aside", help="Rename damaged records: launch does them again.")
    ] = False,
) -> None:
    """Read every record of a store: seal, key, protocol, versions, duplicates.

    Exit code 0 if nothing is wrong, 1 if something is, 2 if there is no store.
    """
    from rlregress.commands import cluster as cluster_command

    raise typer.Exit(cluster_command.verify(manifest, store, set_aside))


def merge(
    stores: Annotated[list[str], typer.Argument(metavar="STORE...", help="Folders of records.")],
    into: Annotated[str, typer.Option("-o", "--into", metavar="STORE", help="Where they go.")],
) -> None:
    """Bring the records of several stores into one, by what was run; nothing is overwritten.

    Exit code 0; 1 if a run has different results, which are named, or a record is damaged; 2 if
    there is no such store.
    """
    from rlregress.commands import cluster as cluster_command

    raise typer.Exit(cluster_command.merge(stores, Path(into)))
