"""``rlregress baseline record``: measures and stores baselines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from rlregress.catalogue import requested_names
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check import recording, stored_throughput
from rlregress.cli import output
from rlregress.cli.options import Budget, Hyperparameters, Store, Workers
from rlregress.errors import UserError
from rlregress.report import terminal, throughput_text


def record(
    framework: Annotated[str, typer.Option(metavar="NAMES", help="Names, comma-separated.")] = "",
    algorithm: Annotated[str, typer.Option(metavar="NAMES", help="Names, comma-separated.")] = "",
    environment: Annotated[str, typer.Option(metavar="IDS", help="Gymnasium ids.")] = "",
    saved: Annotated[
        str, typer.Option(metavar="RELEASE", help="Release, or installed: store its saved files.")
    ] = "",
    throughput: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Processes whose speed to store; 0: print it."),
    ] = None,
    budget: Budget = "short",
    hyperparameters: Hyperparameters = "",
    seeds: Annotated[
        int, typer.Option(metavar="N", help="Runs to store of each cell, from seed 0; default: 10.")
    ] = 10,
    workers: Workers = 0,
    store: Store = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Repeat stored runs, and replace them.")
    ] = False,
) -> None:
    """Example:

    rlregress baseline record --framework sb3 --algorithm ppo --environment Ant-v4

    Trains cells and writes their returns to baselines/returns. One that was interrupted goes on
    from there, and stored runs of the same code are kept: more seeds add to them. Exit code 0, or 2
    if a cell cannot be recorded. --saved stable-baselines3==2.3.0 instead lets a release save its
    files, and writes them to baselines/saved. --throughput 10 instead measures how fast trainings
    are, and writes that to baselines/throughput; rlregress check --throughput judges by it.
    """
    if saved and throughput is not None:
        raise UserError("--saved and --throughput store different data; give one of them")
    if saved:
        if framework or algorithm or environment:
            raise UserError(
                "--saved records files of a release, and no cells; leave out --framework, "
                "--algorithm and --environment"
            )
        _record_saved_files_of_release(saved)
        return
    if throughput is not None:
        if algorithm or environment:
            raise UserError(
                "--throughput measures every algorithm; leave --algorithm and --environment out"
            )
        _print_stored_throughput(
            split_comma_separated_names("--framework", framework or None), throughput
        )
        return
    cell_options = {
        "--framework": framework,
        "--algorithm": algorithm,
        "--environment": environment,
    }
    for option, value in cell_options.items():
        if not value:
            raise UserError(
                f"{option} is missing; a cell has a framework, an algorithm and an environment"
            )
    request = recording.RecordingRequest(
        split_comma_separated_names("--framework", framework),
        split_comma_separated_names("--algorithm", algorithm),
        split_comma_separated_names("--environment", environment),
        budget,
        hyperparameters,
        seeds,
        store,
        replace,
    )

    def print_recorded_run(run_record: dict[str, Any], done: int, total: int) -> None:
        # a recording takes hours: its lines are read while it goes on
        print(terminal.describe_recorded_run(run_record, done, total), flush=True)

    for line in recording.train_and_record_baselines(request, workers, print_recorded_run):
        typer.echo(line)


def _record_saved_files_of_release(release: str) -> None:
    # most recordings make no environment: loading this would slow them down
    from rlregress.upgrade.evidence import saved_store

    command = shlex.join(["rlregress", "baseline", "record", "--saved", release])
    for line in saved_store.record_files_of_release(release, command, typer.echo):
        typer.echo(line)


def _print_stored_throughput(names: Sequence[str], processes: int) -> None:
    """Print the stored throughput.

    Args:
        processes: measure and store this many first; 0: none.
    """
    # all copies of a framework share one file, but a copy can only be measured if it exists here
    adapters = requested_names.select_adapters(names) if processes or "@" in "".join(names) else []
    for adapter in adapters if processes else []:
        stored_throughput.record_throughput(adapter.full_name, processes)
    stored_by_pair = stored_throughput.load_all_throughput()
    requested = [name.partition("@")[0] for name in names]
    stored_names = {framework for framework, _ in stored_by_pair}
    missing = [f"'{name}'" for name in requested if name not in stored_names]
    if missing or not stored_by_pair:
        raise UserError(
            f"no throughput of {', '.join(missing) or 'any framework'} is stored; measure it with: "
            "rlregress baseline record --throughput 10"
        )
    measured = {
        pair: {"processes": [asdict(process) for process in processes_stored.process]}
        for pair, processes_stored in stored_by_pair.items()
        if not requested or pair[0] in requested
    }
    for line in throughput_text.format_throughput_lines(measured):
        typer.echo(line)
    output.print_next_steps(["Judge the installed frameworks by it: rlregress check --throughput"])
