"""``rlregress study rank`` and ``thesis``: compare implementations by runs that exist."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rlregress import frameworks
from rlregress.cli import output
from rlregress.cli.options import Budget, Report, as_typed, names, refuse
from rlregress.errors import UserError, nearest
from rlregress.files import absolute
from rlregress.gate import baseline_runs, report_data, run_ranking, thesis_questions
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.reporting import next_steps, ranking_text, short_summary, study_text
from rlregress.reporting.html import ranking_page
from rlregress.reporting.html.page import Facts
from rlregress.training import budgets
from rlregress.training.cell import Cell

#: what chooses among stored runs.
_OF_STORED = ("framework", "algorithm", "budget", "store")


@dataclass(frozen=True)
class Kept:
    """Which stored runs are ranked; empty sequences mean no restriction."""

    frameworks: Sequence[str]
    algorithms: Sequence[str]
    budget: str

    def cell(self, cell: Cell) -> bool:
        """Whether runs of ``cell`` are kept."""
        return (
            (not self.frameworks or cell.framework in self.frameworks)
            and (not self.algorithms or cell.algorithm in self.algorithms)
            and cell.budget == self.budget
        )


@dataclass(frozen=True)
class Options:
    """What the command line says of the comparison; see ``run_ranking.rank``.

    Attributes:
        command: that says so, for the page.
    """

    runs: int
    looks: int | None
    alpha: float
    beta: float
    report: Path
    command: str = ""


def of_csv(path: Path, environments: Sequence[str], options: Options) -> int:
    """Rank the runs of a CSV file."""
    return _rank(run_ranking.chosen(run_ranking.of_csv(path), environments), options)


def of_stored(store: str, kept: Kept, environments: Sequence[str], options: Options) -> int:
    """Rank the runs of a store, or those of ``baselines/returns`` where none is named."""
    budgets.budget(kept.budget)
    for name in kept.frameworks:
        frameworks.get(name)
    if store:
        records = run_ranking.records(Path(store))
        cells = {job.cell for job, _ in records}
        runs = run_ranking.of_records([record for record in records if kept.cell(record[0].cell)])
    else:
        stored = baseline_runs.every()
        cells = {stored_cell.cell for stored_cell in stored}
        runs = run_ranking.of_stored(
            stored_cell for stored_cell in stored if kept.cell(stored_cell.cell)
        )
    place = store or str(baseline_runs.folder())
    _check_known(kept, cells, place)
    if not runs:
        raise UserError(
            f"no runs of budget '{kept.budget}' are left after --framework and --algorithm in "
            f"{place}; record some with: rlregress baseline record"
        )
    runs = run_ranking.chosen(runs, environments)
    if lacking := _lacking(kept, cells, environments):
        typer.echo(f"{place} has no runs of budget '{kept.budget}' of {', '.join(lacking)}")
    return _rank(runs, options)


def _check_known(kept: Kept, cells: Iterable[Cell], place: str) -> None:
    """UserError for the name of a framework or an algorithm that has no run at all."""
    for given, name in ((kept.frameworks, "framework"), (kept.algorithms, "algorithm")):
        known = {getattr(cell, name) for cell in cells}
        for wanted in given:
            if wanted not in known:
                raise UserError(
                    f"{place} has no runs of {name} '{wanted}'; {nearest(wanted, known)}"
                )


def _lacking(kept: Kept, cells: Iterable[Cell], environments: Sequence[str]) -> list[str]:
    """The combinations of the names that were given of which there are no runs."""
    there = [
        (cell.framework, cell.algorithm, cell.environment) for cell in cells if kept.cell(cell)
    ]
    # no names: all of them
    requested = (kept.frameworks or [""], kept.algorithms or [""], environments or [""])
    return [
        " ".join(filter(None, names))
        for names in itertools.product(*requested)
        if not any(
            all(name in ("", of_cell) for name, of_cell in zip(names, cell, strict=True))
            for cell in there
        )
    ]


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files of a report; none where one of them is a folder."""
    for name in files:
        if (folder / name).is_dir():
            raise UserError(
                f"{folder / name} is a folder, expected a file of the report; remove it, or choose "
                "another folder with --report"
            )
    try:
        for name, text in files.items():
            write_atomically(folder / name, text)
    except OSError as error:
        raise UserError(f"the report cannot be written to {folder}: {error}") from None


def _json(plain: Any) -> str:
    return json.dumps(plain, indent=1) + "\n"


def _rank(runs: Sequence[run_ranking.ImplementationRun], options: Options) -> int:
    """Print and write; 0, or 3 where a pair needs more runs."""
    check_writable(options.report, "the report")
    started, date = time.monotonic(), report_data.now()
    ranked = run_ranking.rank(
        runs, options.runs, options.looks, options.alpha, options.beta, say=typer.echo
    )
    figure = ranking_text.figure(ranked)
    seconds = round(time.monotonic() - started, 1)
    facts = Facts(ranking_page.title(ranked), date, seconds, report_data.machine(), options.command)
    files = {
        "rank.json": _json(run_ranking.as_dict(ranked)),
        "rank.svg": figure,
        "rank.html": ranking_page.page(ranked, facts),
    }
    _write(options.report, files)
    for line in ranking_text.lines(ranked):
        typer.echo(line)
    typer.echo(f"report: {options.report} (rank.html, rank.json, rank.svg)")
    output.next_steps(short_summary.steps(ranking_page.cards(ranked)))
    return 3 if ranked.undecided else 0


def answer(report: Path) -> None:
    """Print and write the answers."""
    check_writable(report, "the report")
    answered = thesis_questions.study()
    _write(report, {"study.json": _json(thesis_questions.as_plain(answered))})
    for line in study_text.lines(answered):
        typer.echo(line)
    typer.echo(f"report: {report} (study.json)")
    output.next_steps([next_steps.after_study()])


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
        str | None, typer.Option(metavar="NAMES", help="Of stored runs; default: all.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Of stored runs; default: all.")
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
        int, typer.Option(min=0, help="Looks planned in all; 0: as many as there are runs for.")
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
    environments = names("--environment", environment)
    options = Options(runs, looks or None, alpha, beta, absolute(report), as_typed())
    if csv is not None:
        refuse(context, _OF_STORED, "a CSV file does not take", "leave it out")
        raise typer.Exit(of_csv(csv, environments, options))
    kept = Kept(names("--framework", framework), names("--algorithm", algorithm), budget)
    raise typer.Exit(of_stored(store, kept, environments, options))


def thesis(
    report: Report = "report",
) -> None:
    """Example:

    rlregress study thesis

    Answers the thesis' three questions from its published tables and from stored runs. Do
    implementations reach the papers, do frameworks agree, is the ranking of algorithms the same in
    each, do stored runs return what the thesis printed? Trains nothing, writes study.json. Exit
    code 0, or 2 if data cannot be read.
    """
    answer(absolute(report))
