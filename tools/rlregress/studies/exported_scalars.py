"""Run records and verdicts as tables, and as scalars over steps and nights."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rlregress import datafiles, evidence, files
from rlregress.datafiles import TIME
from rlregress.errors import UserError
from rlregress.gate import baseline_runs, nightly_record
from rlregress.inside import machine
from rlregress.inside.episodes import learning_curve
from rlregress.missing_packages import MissingPackage
from rlregress.model.extra_packages import not_installed
from rlregress.reporting import harmless
from rlregress.studies.trend import nightly_reports
from rlregress.studies.trend.nightly_trend import read as read_nights
from rlregress.training import recorded_runs
from rlregress.training.cell import Job
from rlregress.verdicts.descriptive_statistics import interquartile_mean, probability_of_improvement

#: a verdict as a number, as its exit code has it but for what rose
VERDICTS = {"improved": -1, "holds": 0, "moved": 0, "regressed": 1, "inconclusive": 3}
#: how TensorBoard's files begin
_EVENTS = "events.out.tfevents"
#: how formulas of spreadsheets begin
_FORMULAS = ("=", "+", "-", "@")
Table = list[dict[str, Any]]


@dataclass(frozen=True)
class Scalar:
    """One point of a curve.

    Attributes:
        run: which curve, as a path: ``cell/seed``.
        step: environment steps, or the number of the night.
        time: seconds since 1970; 0: not known.
    """

    run: str
    tag: str
    step: int
    value: float
    time: float = 0.0


@dataclass
class Exported:
    """Everything that some stores and reports hold.

    Attributes:
        tables: name of a file -> rows.
        left_out: sentences about what could not be read.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    scalars: list[Scalar] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows to a table."""
        self.tables.setdefault(table, []).extend(rows)


def _seconds(started: str) -> float:
    if not started:
        return 0.0
    return datetime.strptime(started, TIME).replace(tzinfo=UTC).timestamp()


def _run(job: Job, content: Mapping[str, Any]) -> dict[str, Any]:
    """One row of ``runs.csv``."""
    time, critic = content["time"], content.get("critic") or {}
    return {
        "framework": job.cell.framework,
        "algorithm": job.cell.algorithm,
        "environment": job.cell.environment,
        "hyperparameters": job.cell.hyperparameters,
        "budget": job.cell.budget,
        "seed": job.seed,
        "status": content["status"],
        "return": content["final_return"],
        "training_return": content.get("training_return"),
        "explained_variance": critic.get("explained_variance"),
        "critic_bias": critic.get("bias"),
        **{name: (content.get("diagnostics") or {}).get(name) for name in _DIAGNOSTICS},
        "steps": content["steps"],
        "cpu_seconds": time.get("cpu_seconds"),
        "wall_seconds": time.get("wall_seconds"),
        "steps_per_cpu_second": time.get("steps_per_cpu_second"),
        "peak_mib": (content.get("memory") or {}).get("peak_mib"),
        "started": time.get("started_at") or "",
        "machine": machine.text(content["platform"], nightly_record.MACHINE),
        "versions": " ".join(f"{name}=={version}" for name, version in job.versions.items()),
        "failure": (content["failure"].strip().splitlines() or [""])[-1],
        "key": content["key"],
    }


_DIAGNOSTICS = ("entropy", "kl", "temperature")


def of_store(folder: Path, into: Exported) -> None:
    """Add all records of a store: ``runs.csv``, ``evaluations.csv``, ``learning.csv``."""
    returns: dict[tuple[str, str], list[float]] = {}
    jobs: dict[str, Job] = {}
    for path in recorded_runs.paths(folder):
        try:
            job, content = recorded_runs.read(path)
        except UserError as error:
            into.left_out.append(f"not exported: {error}")
            continue
        if (largest := _largest(content)) > nightly_reports.LARGEST:
            into.left_out.append(
                f"not exported: {path}: a number of it is as large as {largest:g}; expected "
                f"numbers between -{nightly_reports.LARGEST:g} and {nightly_reports.LARGEST:g}"
            )
            continue
        row = _run(job, content)
        into.add("runs", [row])
        named = {"cell": job.cell.id, "seed": job.seed, "key": content["key"]}
        learning = learning_curve(content.get("episodes") or (), content["steps"])
        evaluated = [
            (at, float(np.mean(of))) for at, of in content["curve"] if of and None not in of
        ]
        curves: dict[str, Any] = {"evaluations": evaluated, "learning": learning}
        began = _seconds(row["started"])
        run = f"{job.cell.id}/{job.seed:04d}-{content['key']}"
        for table, curve in curves.items():
            points = [(int(at), value) for at, value in curve]
            into.add(table, [{**named, "steps": at, "return": value} for at, value in points])
            tag = "evaluation/return" if table == "evaluations" else "training/return"
            into.scalars += [Scalar(run, tag, at, float(value), began) for at, value in points]
        for name in ("return", "training_return", "explained_variance", "critic_bias",
                     *_DIAGNOSTICS, "steps_per_cpu_second"):  # fmt: skip
            if row[name] is not None:
                steps = content["steps"]
                into.scalars.append(Scalar(run, f"run/{name}", steps, float(row[name]), began))
        if content["final_return"] is not None:
            jobs[job.cell.id] = job
            key = (job.cell.id, row["versions"])
            returns.setdefault(key, []).append(content["final_return"])
    into.add("cells", [_described(jobs[cell], of, values) for (cell, of), values in
                       sorted(returns.items())])  # fmt: skip


def _largest(content: Any) -> float:
    """The largest size of a number of a record: means and spreads are taken of any of them."""
    largest, left = 0.0, [content]
    while left:
        value = left.pop()
        left += value.values() if isinstance(value, Mapping) else ()
        left += value if isinstance(value, list | tuple) else ()
        if isinstance(value, float):
            largest = max(largest, abs(value))
    return largest


def _described(job: Job, versions: str, returns: Sequence[float]) -> dict[str, Any]:
    """One row of ``cells.csv``; what is called descriptive decides nothing."""
    stored = baseline_runs.find(job.cell, job.protocol)
    before = stored.returns if stored is not None else []
    return {
        "cell": job.cell.id,
        "versions": versions,
        "runs": len(returns),
        "mean": float(np.mean(returns)),
        "sd": float(np.std(returns, ddof=1)) if len(returns) > 1 else None,
        "descriptive_interquartile_mean": interquartile_mean(returns),
        "stored_runs": len(before),
        "stored_mean": float(np.mean(before)) if before else None,
        "descriptive_stored_interquartile_mean": interquartile_mean(before),
        "descriptive_probability_of_improvement": probability_of_improvement(before, returns),
    }


def of_reports(folder: Path, into: Exported) -> None:
    """Add the nights below a folder: ``nights.csv``, run by run, and ``verdicts.csv``."""
    nights, left_out = read_nights([folder])
    into.left_out += left_out
    for number, nightly in enumerate(nights):
        at = _seconds(nightly.started)
        for name, cell in nightly.cells.items():
            named = {"night": number, "started": nightly.started, "cell": name}
            columns = (cell.seeds, cell.returns, cell.training, cell.critic,
                       cell.steps_per_cpu_second)  # fmt: skip
            for seed, final, training, critic, speed in zip(*columns, strict=True):
                into.add("nights", [{
                    **named, "seed": seed, "return": final, "training_return": training,
                    "critic": critic, "steps_per_cpu_second": speed,
                }])  # fmt: skip
            returns = [value for value in cell.returns if value is not None]
            if returns:
                mean, middle = float(np.mean(returns)), interquartile_mean(returns)
                into.scalars += [
                    Scalar(name, "night/return", number, mean, at),
                    Scalar(name, "night/descriptive_interquartile_mean", number, middle, at),
                ]
            if cell.verdict:
                value = float(VERDICTS.get(cell.verdict, 2))
                into.scalars.append(Scalar(name, "night/verdict", number, value, at))
    for place in nightly_reports.folders([folder]):
        _verdicts(place, into)


def _verdicts(folder: Path, into: Exported) -> None:
    """Add every verdict of the evidence of one gate, where it is there."""
    try:
        entries = evidence.read(folder / "evidence.json")
    except UserError:
        return
    for name, verdict in evidence.verdicts(entries).items():
        plain = {key: value for key, value in verdict.items() if not isinstance(value, list | dict)}
        interval = verdict.get("interval") or [None, None]
        ends = {"interval_low": interval[0], "interval_high": interval[1]}
        into.add("verdicts", [{"report": folder.name, "judged": name, **plain, **ends}])


def of(folders: Sequence[Path]) -> Exported:
    """Everything that these folders hold: stores of run records, and reports of gates.

    Raises:
        UserError: one of them holds neither.
    """
    made = Exported()
    for folder in folders:
        of_gates = folder.is_dir() and bool(nightly_reports.below(folder))
        if not of_gates and folder.is_dir() and recorded_runs.paths(folder):
            of_store(folder, made)
        elif of_gates:
            of_reports(folder, made)
        else:
            raise UserError(
                f"{folder} holds neither run records nor the report of a gate; expected a folder "
                "that was a --store or a --report"
            )
    if not any(made.tables.values()):
        reason = f"the first reason: {made.left_out[0]}" if made.left_out else "they hold no runs"
        raise UserError(f"nothing could be exported of these folders; {reason}")
    return made


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """A CSV file; empty where a row has no such column, or its number is not defined."""
    cells = [{_cell(name): _cell(value) for name, value in row.items()} for row in rows]
    columns = list(dict.fromkeys(name for row in cells for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A number that is defined, or text in one line that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, str):
        return value
    text = harmless.line(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def tensorboard_writer() -> Any:
    """TensorBoard's writer; UserError where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingPackage(f"--tensorboard needs more: {not_installed('tensorboard')}") from None
    return SummaryWriter


def write_events(scalars: Sequence[Scalar], folder: Path) -> int:
    """Write event files, a folder for each run, below ``folder``; how many runs there are.

    An export is written once: what an earlier one left there under the same name is removed, as
    TensorBoard would show both.
    """
    writer = tensorboard_writer()
    by_run: dict[str, list[Scalar]] = {}
    for scalar in scalars:
        by_run.setdefault(scalar.run, []).append(scalar)
    for run, points in by_run.items():
        # of what is in it, so that it is no link to a folder elsewhere
        place = files.inside(folder, *run.split("/"), _EVENTS).parent
        for old in datafiles.listed(place, f"{_EVENTS}.*"):
            files.remove(folder, old)
        with writer(log_dir=str(place)) as events:
            for of in points:
                events.add_scalar(of.tag, of.value, of.step, walltime=of.time or None)
    return len(by_run)
