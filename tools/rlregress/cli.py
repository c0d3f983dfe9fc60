"""The ``rlregress`` command."""

from __future__ import annotations

import math
import signal
import sys
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from rlregress import __version__, frameworks
from rlregress.errors import UserError
from rlregress.training.store import warn_in_words

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Frameworks = Annotated[
    str | None,
    typer.Option("--framework", help="Names, comma-separated; default: the installed ones."),
]
Algorithms = Annotated[
    str | None, typer.Option("--algorithm", help="Names, comma-separated; default: all.")
]
Environments = Annotated[
    str | None,
    typer.Option("--environment", help="Gymnasium ids, comma-separated; default: as --cells."),
]
Seeds = Annotated[
    int,
    typer.Option(
        min=0, help="So many new runs of each cell, 1000 at most, at one look; 0: as the looks ask."
    ),
]
OneLook = Annotated[
    bool,
    typer.Option("--fixed", help="Judge at one look, after the budget's number of new runs."),
]
Cells = Annotated[
    str,
    typer.Option(help="Cells to train: default, all, patterns of ids of stored cells, or a study."),
]
BudgetName = Annotated[str, typer.Option("--budget", help="smoke, short, pilot or full.")]
UsualBudget = Annotated[
    str,
    typer.Option(
        "--budget", help="smoke, short or full; default: short, of a study that of its table."
    ),
]
Hyperparameters = Annotated[
    str,
    typer.Option(
        "--hyperparameters",
        metavar="SET",
        help="A set of baselines/hyperparameters, by name; default: each framework's own.",
    ),
]
Workers = Annotated[int, typer.Option("-n", "--workers", min=0, help="0: one per core.")]
Packages = Annotated[
    str | None, typer.Option(help="Packages whose lines are named in a trace, comma-separated.")
]
Steps = Annotated[int, typer.Option(min=0, help="Environment steps to record; 0: all.")]
StoreFolder = Annotated[str, typer.Option("--store", help="Folder of run records; default: runs/.")]


def _names(option: str, given: str | None) -> list[str]:
    from rlregress.gate.selection import names

    return names(option, given)


def _path(what: str, given: str) -> Path:
    """The path of a name; UserError for an empty one, which would be the current folder."""
    if not given:
        raise UserError(f"{what} is empty; expected the name of a file or folder")
    return Path(given)


def _refuse(context: typer.Context, options: Collection[str], who: str, advice: str) -> None:
    """UserError that names those of the options that were given, and who does not take them."""
    given = [
        (parameter.secondary_opts or parameter.opts)[0]
        for parameter in context.command.params
        if parameter.name in options
        and "COMMANDLINE" in str(context.get_parameter_source(parameter.name))
    ]
    if given:
        raise UserError(f"{who} {', '.join(given)}; {advice}")


def _share(option: str, given: str) -> float:
    """A share written as 20% or as 0.2."""
    try:
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(f"{option} is '{given}', expected a share up to 100%, such as 20% or 0.2")
    return share


def _gate_code(code: int, inconclusive: str) -> int:
    """The exit code, with that of 'inconclusive' as it was asked for."""
    return {"pass": 0, "fail": 1}.get(inconclusive, code) if code == 3 else code


#: options of ``gate`` that an upgrade has no use for, and that only an upgrade has a use for.
_OF_RETURNS = (
    "environment", "budget", "cells", "hyperparameters", "seeds", "alpha", "first_seed", "store",
    "throughput",
)  # fmt: skip
_OF_UPGRADE = (
    "asked", "scenario", "prove", "every_training", "returns", "script", "package", "steps",
)  # fmt: skip


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": False})
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
    inconclusive: Annotated[
        str, typer.Option(help="Exit code of 'inconclusive': code (3), pass (0) or fail (1).")
    ] = "code",
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
    asked: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Of an upgrade: share of details and of trainings that has to be asked.",
        ),
    ] = 0.8,
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
) -> None:
    """Judge the installed frameworks: formulas, behaviour, returns. Or an upgrade: --from A --to B.

    Ends with one verdict per framework. Exit code 0: holds, 1: regressed, 2: could not judge,
    3: inconclusive. The report folder holds summary.md, verdict.json, evidence.json, junit.xml.

    Of an upgrade 0: unchanged, unchanged as far as asked, changed as documented, holds or improved;
    1: returns regressed or documented behaviour is violated; 2: could not judge; 3: changed, or
    inconclusive. Its report is upgrade.md and upgrade.json; what follows -- are the arguments of
    the script.
    """
    from rlregress.commands import gate as gate_command
    from rlregress.gate.run import GateOptions
    from rlregress.gate.selection import usual_budget

    if inconclusive not in ("code", "pass", "fail"):
        raise UserError(f"--inconclusive is '{inconclusive}', expected code, pass or fail")
    folder = _path("--report", report).resolve()
    if math.isnan(asked):
        raise UserError("--asked is nan, expected a share between 0 and 1")
    if from_ is not None or to is not None:
        _refuse(context, _OF_RETURNS, "an upgrade does not take", "leave it out")
        from rlregress.commands import upgrade as upgrade_command
        from rlregress.tracing import jobs
        from rlregress.upgrade.gate import Options

        job = None
        if script is not None:
            path = _path("--script", script)
            job = jobs.of_script(path, context.args, _names("--package", package), steps)
        options_ = Options(
            a="installed" if from_ is None else from_,
            b="installed" if to is None else to,
            report=folder,
            frameworks=_names("--framework", framework),
            algorithms=_names("--algorithm", algorithm),
            scenarios={"all": None, "none": []}.get(scenario, _names("--scenario", scenario)),
            asked=asked,
            prove=prove,
            every=every_training,
            returns=returns,
            one_look=fixed,
            workers=workers,
            script=job,
            say=typer.echo,
        )
        raise typer.Exit(_gate_code(upgrade_command.judge(options_), inconclusive))
    _refuse(context, _OF_UPGRADE, "only an upgrade takes", "name a side with --from or --to")
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
        store=str(Path(store).resolve()) if store else "",
        workers=workers,
        throughput=throughput,
    )
    raise typer.Exit(_gate_code(gate_command.judge(options), inconclusive))


@app.command()
def probe(
    framework: Frameworks = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the fingerprint: which variant of every detail the installed frameworks implement.

    Exit code 0: all is as documented in baselines/details, 1: something is not, 2: could not ask.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    adapters = selection.adapters(_names("--framework", framework))
    raise typer.Exit(frameworks_command.probe(adapters, as_json))


@app.command()
def compare(
    frameworks_: Annotated[
        list[str],
        typer.Argument(metavar="FRAMEWORK...", help="Two or more names, or copies: name@version."),
    ],
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print where frameworks differ in their implementation details, and what follows from it.

    Exit code 0, also where they differ; 1: some detail could not be compared, 2: wrong names.
    """
    from rlregress.gate import comparison, selection
    from rlregress.reporting import compare as compare_report

    if as_markdown and as_json:
        raise UserError("--markdown and --json are two formats; give one of them")
    compared = comparison.compare(selection.adapters(frameworks_))
    if as_json:
        typer.echo(compare_report.as_json(compared))
    elif as_markdown:
        typer.echo(compare_report.markdown(compared))
    else:
        compare_report.show(compared)
    raise typer.Exit(1 if compared.undecided else 0)


@app.command()
def details(
    detail: Annotated[
        str | None, typer.Argument(help="Id of one detail, or a family of them, such as sac.")
    ] = None,
    framework: Frameworks = None,
) -> None:
    """Print the catalogue of implementation details: counts, one family, or one detail in full.

    Exit code 0, or 2 if there is no such detail.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    frameworks_command.details(detail, selection.adapters(_names("--framework", framework)))


@app.command()
def claims(
    framework: Frameworks = None,
    write: Annotated[bool, typer.Option("--write", help="Write docs/claims.md.")] = False,
) -> None:
    """Probe whether what papers and blogs say of the installed frameworks is true.

    Exit code 0: every verdict is the recorded one, 1: some verdict is another, 2: could not judge.
    """
    from rlregress.commands import frameworks as frameworks_command
    from rlregress.gate import selection

    adapters = selection.adapters(_names("--framework", framework))
    raise typer.Exit(frameworks_command.claims(adapters, write))


@app.command()
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
    from rlregress.gate import selection

    chosen = selection.Selection(
        budget or selection.usual_budget(cells),
        _names("--framework", framework),
        _names("--algorithm", algorithm),
        _names("--environment", environment),
        cells,
        hyperparameters,
    )
    share = None if must_see is None else _share("--must-see", must_see)
    gate_command.plan(chosen, seeds, workers, store, fixed, share)


@app.command()
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
        str | None, typer.Option(help="Of stored runs: names, comma-separated; default: all.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Of stored runs: names, comma-separated; default: all.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option(help="Gymnasium ids, comma-separated; default: all.")
    ] = None,
    budget: BudgetName = "short",
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
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Rank implementations by their runs, with AdaStop: which pairs differ, look by look.

    Trains nothing. Writes rank.json and, with Matplotlib, rank.svg. Exit code 0: every pair is
    separated, or is not after the last planned look; 3: some pair needs more runs; 2: nothing can
    be compared.
    """
    from rlregress.commands import rank as rank_command

    environments = _names("--environment", environment)
    options = rank_command.Options(
        runs, looks or None, alpha, beta, _path("--report", report).resolve()
    )
    if csv is not None:
        of_stored = ("framework", "algorithm", "budget", "store")
        _refuse(context, of_stored, "a CSV file does not take", "leave it out")
        raise typer.Exit(rank_command.of_csv(csv, environments, options))
    kept = rank_command.Kept(
        _names("--framework", framework), _names("--algorithm", algorithm), budget
    )
    raise typer.Exit(rank_command.of_stored(store, kept, environments, options))


@app.command()
def study(
    report: Annotated[str, typer.Option(metavar="PATH", help="Folder of the report.")] = "report",
) -> None:
    """Answer the thesis' three questions from its published tables and from stored runs.

    Do implementations reach the papers, do frameworks agree, is the ranking of algorithms the same
    in each? Trains nothing, writes study.json. Exit code 0, or 2 if data cannot be read.
    """
    from rlregress.commands import rank as rank_command

    rank_command.study(_path("--report", report).resolve())


@app.command()
def pilot(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    environment: Environments = None,
    seeds: Annotated[
        int, typer.Option(min=2, help="Runs of each cell, unchanged and with each fault.")
    ] = 10,
    workers: Workers = 0,
    store: StoreFolder = "",
) -> None:
    """Measure what to judge runs by: train with and without known faults; print what shows them.

    With --environment it trains what is missing, resumable; without, it prints what is there.
    Exit code 0, or 2 if nothing has been trained.
    """
    from rlregress.commands import pilot as pilot_command
    from rlregress.gate import pilot as study
    from rlregress.gate import selection

    chosen = None
    if environment is not None:
        chosen = selection.Selection(
            study.BUDGET,
            _names("--framework", framework),
            _names("--algorithm", algorithm),
            _names("--environment", environment),
        )
    pilot_command.run(chosen, seeds, workers, store)


@app.command()
def record(
    framework: Annotated[str, typer.Option(help="Names, comma-separated.")],
    algorithm: Annotated[str, typer.Option(help="Names, comma-separated.")],
    environment: Annotated[str, typer.Option(help="Gymnasium ids, comma-separated.")],
    budget: BudgetName = "short",
    hyperparameters: Hyperparameters = "",
    seeds: Annotated[int, typer.Option(help="Stored runs per cell, from seed 0.")] = 10,
    workers: Workers = 0,
    store: StoreFolder = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite stored runs of other code or more seeds.")
    ] = False,
) -> None:
    """Train cells and write their returns to baselines/returns.

    One that was interrupted goes on from there. Exit code 0, or 2 if a cell cannot be recorded.
    """
    from rlregress.commands import gate as gate_command
    from rlregress.gate.recording import Recording

    recording = Recording(
        _names("--framework", framework),
        _names("--algorithm", algorithm),
        _names("--environment", environment),
        budget,
        hyperparameters,
        seeds,
        store,
        replace,
    )
    gate_command.record(recording, workers)


@app.command()
def throughput(
    framework: Frameworks = None,
    algorithm: Algorithms = None,
    record: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="PROCESSES",
            help="Measure until so many processes of each algorithm are stored.",
        ),
    ] = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite what was stored of other code.")
    ] = False,
) -> None:
    """Print how fast trainings are, as stored in baselines/throughput; --record measures it.

    A recording that was interrupted goes on from there. Exit code 0, or 2 if nothing is stored, or
    something cannot be recorded. New processes are measured and judged by
    pytest tests_performance/test_throughput.py, and by rlregress gate --throughput.
    """
    from rlregress.commands import gate as gate_command

    if replace and not record:
        raise UserError("--replace overwrites what --record measures; give both, or neither")
    gate_command.throughput(
        _names("--framework", framework), _names("--algorithm", algorithm), record, replace
    )


@app.command()
def faults(
    framework: Frameworks = None,
    only: Annotated[
        str | None, typer.Option(help="Names of faults, comma-separated; default: all.")
    ] = None,
    workers: Workers = 0,
    traced: Annotated[
        bool, typer.Option("--traced", help="Find them by traces of short trainings instead.")
    ] = False,
    optional: Annotated[
        bool,
        typer.Option("--optional", help="Those in code that runs only under an option, by traces."),
    ] = False,
    behavior: Annotated[
        bool,
        typer.Option("--behavior", help="Those between several environments, by tests_behavior."),
    ] = False,
    returns: Annotated[
        bool, typer.Option("--returns", help="Those that change what is learnt, by trainings.")
    ] = False,
    algorithm: Algorithms = None,
    unchanged: Annotated[
        int,
        typer.Option(
            min=0, metavar="GATES", help="With --returns: judge so often without any fault."
        ),
    ] = 0,
) -> None:
    """Make known mistakes in copies of the frameworks, and print whether the probes see each.

    Exit code 0, or 1 if a fault is not seen, or changes another detail than it should; with
    --traced, if less than nine in ten are found in the right file and function; with --optional, if
    less than nine in ten are found; with --behavior, if one does not turn its tests red; with
    --returns, if one is not said to have regressed, or with --unchanged if one gate says so. 2: a
    name is unknown.
    """
    from rlregress.commands import faults as faults_command
    from rlregress.gate import selection

    adapters = [adapter.name for adapter in selection.adapters(_names("--framework", framework))]
    catalogues = {
        "--traced": (traced, faults_command.by_traces),
        "--optional": (optional, faults_command.under_options),
        "--behavior": (behavior, faults_command.by_behavior),
    }
    named = [option for option, (given, _) in catalogues.items() if given]
    named += ["--returns"] * returns
    if not returns and (algorithm is not None or unchanged):
        raise UserError("--algorithm and --unchanged go with --returns; give it, or leave them out")
    if len(named) > 1:
        raise UserError(f"{' and '.join(named)} are catalogues of faults; name one of them")
    if returns:
        algorithms = _names("--algorithm", algorithm)
        chosen = _names("--only", only)
        seen = faults_command.by_returns(adapters, algorithms, chosen, unchanged, workers)
        raise typer.Exit(0 if seen else 1)
    seed = catalogues[named[0]][1] if named else faults_command.by_probes
    raise typer.Exit(0 if seed(adapters, _names("--only", only), workers) else 1)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": False})
def trace(
    context: typer.Context,
    script: Annotated[
        str | None, typer.Argument(metavar="SCRIPT", help="A training script.")
    ] = None,
    framework: Annotated[str, typer.Option(help="A built-in training of this framework.")] = "",
    algorithm: Annotated[str, typer.Option(help="Its algorithm.")] = "",
    package: Packages = None,
    steps: Steps = 0,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="PATH", help="The trace.")
    ] = "run.trace",
) -> None:
    """Record what a training does, event by event: rlregress trace SCRIPT [-- its arguments].

    Recorded twice. Exit code 0: the trace repeats itself to the bit, 3: it does not and proves
    nothing, 2: nothing could be recorded.
    """
    from rlregress.commands import traces as traces_command
    from rlregress.tracing import jobs

    path = None if script is None else _path("the name of the script", script)
    job = jobs.job(
        path, list(context.args), framework, algorithm, _names("--package", package), steps
    )
    raise typer.Exit(traces_command.record(job, _path("--output", output)))


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A")], b: Annotated[str, typer.Argument(metavar="B")]
) -> None:
    """Compare two traces, and print where they differ first.

    Exit code 0: equal to the bit or up to rounding, 1: diverged, 2: a trace cannot be read.
    """
    from rlregress.commands import traces as traces_command

    paths = [_path("the name of a trace", name) for name in (a, b)]
    raise typer.Exit(traces_command.diff(*paths))


@app.command()
def histories(
    framework: Annotated[
        str | None, typer.Option(help="Names, comma-separated; default: all that have a history.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Releases to judge against the one before, comma-separated; default: all that "
            "have no result."
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print what is kept; judge nothing.")
    ] = False,
    workers: Workers = 2,
) -> None:
    """Judge every pair of neighbouring releases, and count what is known to have changed.

    Takes hours; every judged pair is kept in baselines/histories, and the same command goes on
    from there. Exit code 0, or 2 if a name is unknown.
    """
    from rlregress.commands import upgrade as upgrade_command
    from rlregress.upgrade import changes

    if show and only is not None:
        raise UserError("--only says what to judge, and --show judges nothing; leave one out")
    names = _names("--framework", framework) or list(changes.known())
    if not show:
        upgrade_command.judge_histories(names, _names("--only", only), workers)
    upgrade_command.show_histories(names)


@app.command()
def version() -> None:
    """Print the versions of this suite and of the frameworks that it finds. Exit code 0."""
    typer.echo(f"rlregress {__version__}")
    for name in frameworks.names():
        adapter = frameworks.get(name)
        try:
            versions = ", ".join(f"{k} {v}" for k, v in adapter.versions().items())
        except UserError as error:
            versions = str(error)
        typer.echo(f"{name}: {versions}")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rlregress {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version of this suite; 'rlregress version': also of the frameworks.",
        ),
    ] = False,
) -> None:
    """Regression tests for reinforcement-learning frameworks.

    Exit codes of every command: 0 if nothing is wrong, 1 if something is, 2 if it could not be
    judged or the command line is wrong, 3 if the data cannot tell, 130 if it was interrupted.
    """


#: command -> what is kept of it when it is interrupted; of the others nothing is.
_KEPT = {
    "gate": "finished trainings and traces are kept, and the same command goes on from there",
    "throughput": "stored processes are kept, and the same command goes on from there",
    "pilot": "finished runs are kept, and the same command goes on from there",
    "record": "finished runs are kept, and the same command goes on from there",
    "histories": "judged pairs are kept, and the same command goes on from there",
}


def _interrupted(command: str) -> str:
    kept = _KEPT.get(command, "nothing is kept; start it again")
    return f"interrupted; {kept}"


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _take_checkouts(arguments: list[str]) -> list[str]:
    """Take ``--<framework> FOLDER`` out of the arguments, of frameworks that can be checked out."""
    left: list[str] = []
    rest = iter(arguments)
    checkouts = {f"--{a.name}": a for a in map(frameworks.get, frameworks.names()) if a.checkout}
    for argument in rest:
        if argument == "--":
            # what follows are the arguments of a script
            return [*left, argument, *rest]
        option, equals, folder = argument.partition("=")
        if option not in checkouts:
            left.append(argument)
            continue
        frameworks.use_checkout(checkouts[option], folder if equals else next(rest, ""))
    return left


def main() -> None:
    """Entry point: a user error is one sentence on stderr and exit code 2.

    An error of the suite itself is exit code 2 as well: it is no verdict on a framework.
    """
    # a job that is cancelled or interrupted takes what it started with it
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    warn_in_words()
    try:
        sys.argv[1:] = _take_checkouts(sys.argv[1:])
        app()
    except UserError as error:
        typer.echo(f"rlregress: {error}", err=True)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == 128 + signal.SIGINT:
            command = sys.argv[1] if len(sys.argv) > 1 else ""
            typer.echo(f"\nrlregress: {_interrupted(command)}", err=True)
        raise
    except Exception:
        traceback.print_exc()
        typer.echo("rlregress: this is an error of the suite; please report it", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
