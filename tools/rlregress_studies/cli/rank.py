"""``rlregress study rank`` and ``thesis``: compare implementations by runs that exist."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rlregress import missing_packages
from rlregress.catalogue.requested_names import split_comma_separated_names
from rlregress.check import report_data
from rlregress.cli import output
from rlregress.cli.options import Budget, Report, get_typed_command, reject_given_options
from rlregress.errors import UserError
from rlregress.files import resolve_real_path
from rlregress.inside.run_record import check_folder_is_writable, write_text_atomically
from rlregress.report import short_summary
from rlregress.report.html.page import PageInfo
from rlregress_studies.rank import ranking_report, run_ranking
from rlregress_studies.thesis import thesis_questions, thesis_text

#: options that select stored runs
_SELECTING_OPTIONS = ("framework", "algorithm", "budget", "store")


@dataclass(frozen=True)
class Options:
    """The options of the comparison; see ``run_ranking.rank_implementations``.

    Attributes:
        command: the command line, for the page.
    """

    runs: int
    looks: int | None
    alpha: float
    beta: float
    report: Path
    command: str = ""


def rank_runs_of_csv(path: Path, environments: Sequence[str], options: Options) -> int:
    """Rank the runs of a CSV file, and write the report. Return the exit code."""
    return _rank_and_report(
        run_ranking.select_runs_by_environment(run_ranking.read_runs_of_csv(path), environments),
        options,
    )


def rank_stored_runs(
    store: str, run_filter: run_ranking.RunFilter, environments: Sequence[str], options: Options
) -> int:
    """Rank the runs of a store, by default of ``baselines/returns``. Return the exit code."""
    runs, lacking = run_ranking.read_runs_and_missing_names(store, run_filter, environments)
    if lacking:
        typer.echo(lacking)
    return _rank_and_report(runs, options)


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a report, or none if one of them is a folder."""
    for name in files:
        if (folder / name).is_dir():
            raise UserError(
                f"{folder / name} is a folder, expected a file of the report; remove it, or choose "
                "another folder with --report"
            )
    try:
        for name, text in files.items():
            write_text_atomically(folder / name, text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def _format_json(plain: Any) -> str:
    return json.dumps(plain, indent=1) + "\n"


def _rank_and_report(runs: Sequence[run_ranking.ImplementationRun], options: Options) -> int:
    """Rank, print and write; return 0, or 3 if a pair needs more runs."""
    check_folder_is_writable(options.report, "the report")
    missing_packages.require_module("matplotlib")
    started, date = time.monotonic(), report_data.format_time_with_offset()
    ranked = run_ranking.rank_implementations(
        runs, options.runs, options.looks, options.alpha, options.beta, log=typer.echo
    )
    figure = ranking_report.draw_ranking_figure(ranked)
    seconds = round(time.monotonic() - started, 1)
    facts = PageInfo(
        ranking_report.format_ranking_title(ranked),
        date,
        seconds,
        report_data.describe_machine(),
        options.command,
    )
    files = {
        "rank.json": _format_json(run_ranking.convert_ranking_to_plain_data(ranked)),
        "rank.svg": figure,
        "rank.html": ranking_report.make_ranking_page(ranked, facts),
    }
    _write_files(options.report, files)
    for line in ranking_report.describe_ranking(ranked):
        typer.echo(line)
    typer.echo(f"report: {options.report} (rank.html, rank.json, rank.svg)")
    output.print_next_steps(
        short_summary.format_first_steps(ranking_report.make_cards_of_tasks(ranked))
    )
    return 3 if ranked.undecided_count else 0


def answer_and_print_thesis_questions(report: Path) -> None:
    """Print and write the answers to the thesis' questions."""
    check_folder_is_writable(report, "the report")
    answered = thesis_questions.answer_thesis_questions()
    _write_files(
        report, {"study.json": _format_json(thesis_questions.convert_study_to_plain_data(answered))}
    )
    for line in thesis_text.describe_study(answered):
        typer.echo(line)
    typer.echo(f"report: {report} (study.json)")
    output.print_next_steps([suggest_after_study()])


def rank(
    context: typer.Context,
    csv: Annotated[
        Path | None,
        typer.Argument(
            help="Runs with the columns implementation,environment,seed,return; default: "
            "baselines/returns."
        ),
    ] = None,
    framework: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names, comma-separated; default: all.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names, comma-separated; default: all.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option(metavar="IDS", help="Gymnasium ids; default: all.")
    ] = None,
    budget: Budget = "short",
    store: Annotated[
        str, typer.Option("--store", help="Folder of run records; default: baselines/returns.")
    ] = "",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each implementation at each look.")] = 5,
    looks: Annotated[
        int, typer.Option(min=0, help="Looks in all; default: 0, as many as there are runs for.")
    ] = 0,
    alpha: Annotated[
        float, typer.Option(help="Probability of separating equals, over all pairs.")
    ] = 0.05,
    beta: Annotated[
        float, typer.Option(help="Probability of accepting a pair early; 0: never.")
    ] = 0.0,
    report: Report = "report",
) -> None:
    """Example:

    rlregress study rank returns.csv --report ranking/

    Ranks implementations by their runs, with AdaStop: which pairs differ, look by look. Trains
    nothing. Writes rank.html, rank.json and rank.svg. Exit code 0: every pair is separated, or is
    not after the last planned look; 3: some pair needs more runs; 2: nothing can be compared.
    """
    environments = split_comma_separated_names("--environment", environment)
    options = Options(
        runs, looks or None, alpha, beta, resolve_real_path(report), get_typed_command()
    )
    if csv is not None:
        reject_given_options(
            context, _SELECTING_OPTIONS, "a CSV file does not take", "leave it out"
        )
        raise typer.Exit(rank_runs_of_csv(csv, environments, options))
    run_filter = run_ranking.RunFilter(
        split_comma_separated_names("--framework", framework),
        split_comma_separated_names("--algorithm", algorithm),
        budget,
    )
    raise typer.Exit(rank_stored_runs(store, run_filter, environments, options))


def thesis(report: Report = "report") -> None:
    """Example:

    rlregress study thesis

    Answers the thesis' three questions from its published tables and from stored runs. Do
    implementations reach the papers, do frameworks agree, is the ranking of algorithms the same in
    each, do stored runs return what the thesis printed? Trains nothing, writes study.json. Exit
    code 0, or 2 if data cannot be read.
    """
    answer_and_print_thesis_questions(resolve_real_path(report))


def suggest_after_study() -> str:
    """Suggest the next step after answering the questions of the thesis."""
    return "See what it costs to train the study again: rlregress plan --cells thesis"
