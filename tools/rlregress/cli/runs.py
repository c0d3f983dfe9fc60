"""``rlregress runs``: launch, run, list, verify and merge many runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from rlregress import files
from rlregress.check import check_run
from rlregress.check_options import CheckOptions
from rlregress.cli import many_runs, with_versions
from rlregress.cli import waves as waves_of
from rlregress.cli.options import (
    Inconclusive,
    Store,
    check_inconclusive_option,
    make_command_of_function,
    reject_given_options,
    replace_inconclusive_exit_code,
    set_default_budget,
)
from rlregress.cluster.slurm_arrays import Site
from rlregress.errors import UserError
from rlregress.training.store import open_store_of_option

#: fields of ``launch`` that choose runs; a manifest lists its runs already
_CHOICE = (
    "frameworks", "algorithms", "environments", "budget", "cells", "hyperparameters", "seeds",
    "first_seed",
)  # fmt: skip
_OPTIONS = (*_CHOICE, "alpha", "one_look", "report", "store")

#: limit for a file of lines of shell
_MAX_SHELL_BYTES = 1 << 20
_SLURM_OPTIONS = ("at_once", "sbatch", "before", "dry_run")
_WAVE_OPTIONS = ("wait", "report", "alpha", "one_look", "inconclusive")

ManifestOption = Annotated[
    str, typer.Option("--manifest", metavar="FILE", help="Manifest, as written by 'runs launch'.")
]


def run(
    manifest: Annotated[
        str, typer.Option(metavar="FILE", help="Manifest, as written by 'runs launch'.")
    ],
    index: Annotated[int, typer.Option(metavar="N", help="Number of the run, from 0.")],
    store: Store = "",
) -> None:
    """Example:

    rlregress runs run --manifest runs/manifests/0123456789ab.jsonl --index 0

    Does one run of a manifest unless it is done: what any scheduler may call. Exit code 0 if it is
    done, also if its training ended in an error, which is recorded; 75 if it was stopped by a
    signal (such as TERM or USR1), or another process does it: start it again; 1 if its worker was
    killed; 2 if it cannot be done here.
    """
    raise typer.Exit(many_runs.do_run_of_manifest(Path(manifest), index, store))


@make_command_of_function(CheckOptions, _OPTIONS, budget="")
def launch(
    options: CheckOptions,
    context: typer.Context,
    manifest: ManifestOption = "",
    versions: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="VERSIONS", help="Versions to train with, as 'upgrade' takes them."
        ),
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Do the runs on this machine.")] = False,
    workers: Annotated[
        int,
        typer.Option(
            "-j", "-n", "--workers", min=0, metavar="N", help="Processes; 0: one per core."
        ),
    ] = 0,
    slurm: Annotated[bool, typer.Option("--slurm", help="Submit the runs to Slurm.")] = False,
    at_once: Annotated[
        int, typer.Option("--max", min=0, metavar="N", help="Runs at a time on Slurm; 0: any.")
    ] = 0,
    sbatch: Annotated[
        list[str] | None, typer.Option(metavar="OPTION", help="Option of sbatch; repeatable.")
    ] = None,
    before: Annotated[
        str, typer.Option(metavar="FILE", help="File of shell lines before each run, with --slurm.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the scripts for Slurm, and submit nothing.")
    ] = False,
    waves: Annotated[
        bool, typer.Option("--waves", help="Do the runs that a check needs next, then judge.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="With --waves: wait for a verdict.")] = False,
    inconclusive: Inconclusive = "code",
) -> None:
    """Example:

    rlregress runs launch --local -j 24 --cells all --seeds 5

    Lists the runs of chosen cells in a manifest and starts those that are not done. Exit code 0 if
    all is done or submitted, 75 if runs are left to launch again, 1 if runs could not be done, 2 if
    nothing can be launched; with --waves, when all are done, that of the check.
    """
    if local and slurm:
        raise UserError("--local and --slurm both do the runs; give one of them")
    if not slurm:
        reject_given_options(
            context, _SLURM_OPTIONS, "only --slurm takes", "leave it out, or give --slurm"
        )
    if not (local or waves):
        reject_given_options(
            context, ("workers",), "only --local takes", "leave it out, or give --local"
        )
    if not waves:
        reject_given_options(
            context, _WAVE_OPTIONS, "only --waves takes", "leave it out, or give --waves"
        )
    site = Site(tuple(sbatch or ()), _read_shell_lines(before), at_once)
    if versions is not None:
        # this process becomes the same command in the environment of those versions
        with_versions.restart_with_versions(
            versions, open_store_of_option(options.store), sys.argv[1:]
        )
    if waves:
        if not (local or slurm):
            raise UserError(
                "--waves starts training runs; choose where they run with --local or --slurm"
            )
        reject_given_options(
            context, ("manifest",), "--waves chooses runs and does not take", "leave it out"
        )
        check_inconclusive_option(inconclusive)
        checked = replace(set_default_budget(options), workers=workers, fresh_seeds=True)
        requested = waves_of.WaveOptions(checked, site if slurm else None, wait)
        if dry_run:
            waves_of.print_scripts_of_next_wave(requested)
            return
        raise typer.Exit(
            replace_inconclusive_exit_code(waves_of.run_waves_to_verdict(requested), inconclusive)
        )
    if manifest:
        reject_given_options(
            context, _CHOICE, "a manifest has chosen its runs and does not take", "leave it out"
        )
        manifest_file = many_runs.load_and_copy_manifest(Path(manifest), options.store)
    else:
        options = set_default_budget(options)
        selection = check_run.build_cell_selection(options)
        manifest_file = many_runs.write_manifest_of_selection(
            selection, options.seeds, options.first_seed, options.store
        )
    folder = open_store_of_option(options.store)
    if local:
        raise typer.Exit(many_runs.do_runs_here_and_suggest_next(manifest_file, folder, workers))
    if slurm:
        many_runs.submit_runs_to_slurm(
            manifest_file, folder, site, dry_run, lambda: folder.list_runs_by_state().done
        )
    else:
        many_runs.print_run_command_of_manifest(manifest_file, options.store)


def _read_shell_lines(file: str) -> str:
    """Return the content of a file of shell lines; empty without a file."""
    if not file:
        return ""
    try:
        return files.read_regular_file(Path(file), _MAX_SHELL_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UserError(
            f"--before is '{file}', which cannot be read ({reason}); expected lines of shell"
        ) from None


def status(
    context: typer.Context,
    manifest: ManifestOption = "",
    store: Store = "",
    watch: Annotated[
        bool, typer.Option("--watch", help="Repeat the status until all runs are done.")
    ] = False,
    every: Annotated[
        float,
        typer.Option(min=0.1, metavar="SECONDS", help="Seconds between repetitions; default: 5."),
    ] = 5.0,
    verify: Annotated[bool, typer.Option("--verify", help="Read and check every record.")] = False,
    set_aside: Annotated[
        bool,
        typer.Option("--set-aside", help="Rename damaged records, so that they are done again."),
    ] = False,
) -> None:
    """Example:

    rlregress runs status --watch

    Prints what of a store is done, running, stuck, failed and why, and the time left: of the runs
    of --manifest, or of all that were launched to the store. --verify instead reads every record:
    seal, key, protocol, versions, duplicates. Exit code 0, also if runs failed; 1 if --verify finds
    something wrong, 2 if there is no store, 130 if --watch was interrupted.
    """
    if not verify:
        reject_given_options(
            context, ("set_aside",), "only --verify takes", "leave it out, or give --verify"
        )
    if verify and watch:
        raise UserError("--verify and --watch are two ways to read a store; give one of them")
    if verify:
        raise typer.Exit(many_runs.verify_and_print_store(manifest, store, set_aside))
    if watch:
        many_runs.watch_store(manifest, store, every)
    else:
        many_runs.print_status_of_store(manifest, store)


def merge(
    stores: Annotated[list[str], typer.Argument(metavar="STORE...", help="Folders of records.")],
    into: Annotated[str, typer.Option("-o", "--into", metavar="STORE", help="Folder to copy to.")],
) -> None:
    """Example:

    rlregress runs merge node-1/ node-2/ --into runs/

    Brings the records of several stores into one, by what was run; nothing is overwritten. Exit
    code 0; 1 if a run has different results, which are named, or a record is damaged; 2 if there is
    no such store.
    """
    raise typer.Exit(many_runs.merge_and_print_stores(stores, Path(into)))
