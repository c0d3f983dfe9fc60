"""Stored runs: ``baselines/returns/<cell id>.toml``, one file per cell.

A file carries the raw values of every run and what it was recorded with, so that a verdict can be
traced to the numbers that it rests on. ``rlregress baseline record`` writes it, never a hand.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from rlregress import datafiles, suite
from rlregress.datafiles import Line, Number, Value, expected, one_of
from rlregress.errors import UserError
from rlregress.inside import machine, run_record
from rlregress.inside.critic import CriticAccuracy, judged_number
from rlregress.inside.diagnostics import DIAGNOSTICS
from rlregress.inside.episodes import learning_curve
from rlregress.model import quantities
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity
from rlregress.training import recorded_runs
from rlregress.training.budgets import MOST_SEEDS
from rlregress.training.cell import Cell, Job, Protocol
from rlregress.verdicts.rules import Rules

SCHEMA = 1
#: field of a machine in a record -> in the provenance of stored runs
_MACHINE = {name: name for name in machine.FIELDS} | {"torch_threads": "threads"}
#: modules of this suite, beside those of what is tested
_OWN = "rlregress."
FINISHED = recorded_runs.FINISHED
#: new runs have seeds that no stored run has, so that the two samples are independent
FIRST_NEW_SEED = MOST_SEEDS

#: a year is below it
_Seconds = Annotated[Number, Field(ge=0, lt=1e8)]
_Diagnostic = Annotated[str, one_of(tuple(quantities.DIAGNOSTICS))]


@dataclass(frozen=True)
class StoredRun:
    """One stored run.

    Attributes:
        seed: below those of new runs.
        steps: environment steps.
        final_return: of the last evaluation; None where the run failed.
        failure: why it failed.
        training_return: of the training episodes that ended in its last third; None of older and
            failed runs.
        critic: how well it predicts the returns of its policy; None of older and failed runs.
        diagnostics: name -> number at the end of the training (``inside/diagnostics.py``), of
            those that the framework exposes; None of older and failed runs.
        learning_curve: (steps, mean return) of the training episodes that ended in each twentieth
            of the training; empty of older runs.
        sources: digests of the suite's own code, where it was another than that of the other runs.
    """

    seed: Annotated[int, Field(ge=0, lt=FIRST_NEW_SEED)]
    status: Annotated[str, one_of((FINISHED, recorded_runs.FAILED))]
    episode_returns: tuple[Number, ...]
    steps: Annotated[int, Field(ge=0)]
    cpu_seconds: _Seconds
    final_return: Annotated[Number | None, Field(alias="return")] = None
    wall_seconds: _Seconds = 0.0
    started_at: str = ""
    parameters_sha256: str = ""
    failure: str = ""
    training_return: Number | None = None
    critic: CriticAccuracy | None = None
    diagnostics: Mapping[_Diagnostic, Number] | None = None
    learning_curve: tuple[tuple[Number, Number], ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status == FINISHED and self.final_return is None:
            raise ValueError("key 'return' is missing; only a run that failed has none")
        if self.status != FINISHED and self.final_return is not None:
            raise ValueError(
                f"key 'return' is {self.final_return}, of a run that failed; expected none"
            )
        if self.critic is not None:
            _check_critic(self.critic)

    @property
    def secondary(self) -> SecondaryMetrics:
        """What it tells beside its return."""
        if self.status != FINISHED:
            return _NOTHING
        return SecondaryMetrics(self.training_return, self.critic, self.diagnostics)


def _check_critic(critic: CriticAccuracy) -> None:
    """ValueError if a critic is none that ``inside.critic.assess`` can come to."""
    explained, bias = critic.explained_variance, critic.bias
    for name, fits, wanted in (
        ("states", critic.states >= 1, "a number of at least 1"),
        ("bootstrapped", 0 <= critic.bootstrapped <= 1, "a number from 0 to 1"),
        (
            "explained_variance",
            explained is None or -math.inf < explained <= 1,
            "a finite number of at most 1",
        ),
        ("bias", bias is None or math.isfinite(bias), "a finite number"),
    ):
        if not fits:
            found = getattr(critic, name)
            raise ValueError(f"key 'critic.{name}' is {found}, expected {wanted}")
    if (explained is None) != (bias is None):
        raise ValueError(
            "key 'critic' has one of 'explained_variance' and 'bias', expected both or none"
        )
    if critic.finite and None in (critic.mean, critic.spread):
        raise ValueError(
            "key 'critic' lacks 'mean' or 'spread': an older version recorded the run, without "
            "the critic's values of the training episodes"
        )


@dataclass(frozen=True)
class SecondaryMetrics:
    """What a run that finished tells beside its return; None where it does not tell."""

    training_return: float | None
    critic: CriticAccuracy | None
    diagnostics: Mapping[str, float | None] | None

    def judged_by(self, quantity: Quantity) -> float:
        """The number that a quantity is; nan where there is none."""
        if quantity is CRITIC:
            return judged_number(self.critic)
        if quantity is TRAINING:
            number = self.training_return
        else:
            number = None if self.diagnostics is None else self.diagnostics.get(quantity.name)
        return math.nan if number is None else number

    def has(self, quantity: Quantity) -> bool:
        """Whether it is known if there is such a number: older runs tell nothing."""
        if quantity is TRAINING:
            return self.training_return is not None
        return (self.critic if quantity is CRITIC else self.diagnostics) is not None


_AGAIN = "record it again, with --replace"
#: of a run that failed
_NOTHING = SecondaryMetrics(None, None, None)


def numbers_of(run_record: Mapping[str, Any]) -> dict[Quantity, float]:
    """What a record says of all that a run can be judged by; nan where it does not tell."""
    final, critic_record = run_record["final_return"], run_record.get("critic")
    # older records tell of other episodes, and later ones may tell more
    known = {spec.name for spec in fields(CriticAccuracy)} & set(critic_record or ())
    critic = (
        CriticAccuracy(**{name: critic_record[name] for name in known})
        if critic_record and "mean" in critic_record
        else None
    )
    of = SecondaryMetrics(run_record.get("training_return"), critic, run_record.get("diagnostics"))
    if run_record["status"] != FINISHED:
        of = _NOTHING
    secondary = {quantity: of.judged_by(quantity) for quantity in quantities.SECONDARY}
    return {RETURNS: math.nan if final is None else final, **secondary}


def secondary_quantities(algorithm: str) -> tuple[Quantity, ...]:
    """What the runs of an algorithm can be judged by beside their returns."""
    return (TRAINING, CRITIC, *(quantities.DIAGNOSTICS[name] for name in DIAGNOSTICS[algorithm]))


@dataclass(frozen=True)
class Baseline:
    """The stored runs of one cell.

    Attributes:
        hyperparameters: as they were resolved for the runs.
        provenance: versions, digests of the code under test, processor, Python.
    """

    cell: Cell
    protocol: Protocol
    hyperparameters: Mapping[str, Any]
    provenance: Mapping[str, Any]
    runs: Sequence[StoredRun]

    @property
    def machine(self) -> dict[str, Any]:
        """What is known of the machine of the runs, by the names of ``inside.machine``."""
        there = self.provenance
        return {name: there[stored] for name, stored in _MACHINE.items() if there.get(stored)}

    @property
    def returns(self) -> list[float]:
        """Final return of every run that ended well, by seed."""
        returns = (run.final_return for run in self.runs if run.status == FINISHED)
        return [value for value in returns if value is not None]

    def numbers(self, quantity: Quantity) -> list[float]:
        """What every run is judged by, by seed; nan for one that has no number, or failed."""
        if quantity is RETURNS:
            return self.returns + [math.nan] * self.failed
        return [run.secondary.judged_by(quantity) for run in self.runs]

    def why_not(self, quantity: Quantity) -> str:
        """Why new runs cannot be compared with these by a quantity, in words; empty: they can.

        Args:
            quantity: one that the algorithm has.
        """
        ended = [run for run in self.runs if run.status == FINISHED]
        if quantity is RETURNS:
            return ""
        if not all(run.secondary.has(quantity) for run in ended):
            return "its stored runs are older and tell nothing about it; record them again"
        numbers = [run.secondary.judged_by(quantity) for run in ended]
        if not any(map(math.isnan, numbers)):
            if not ended:
                return "all of its stored runs failed"
            far = quantity.largest_loss(numbers) < Rules().must_detect
            return "its stored critics are as far off as is counted" if far else ""
        if quantity is CRITIC:
            return f"the returns of {_without(numbers)} do not vary from state to state"
        if not all(map(math.isnan, numbers)):
            return f"it is missing in {_without(numbers)}"
        return "its framework does not expose it"

    @property
    def failed(self) -> int:
        """How many of the runs failed."""
        return sum(run.status != FINISHED for run in self.runs)

    @property
    def cpu_seconds(self) -> float:
        """Median CPU seconds of a run, for planning."""
        seconds = sorted(run.cpu_seconds for run in self.runs)
        return float(seconds[len(seconds) // 2])


def _without(numbers: Sequence[float]) -> str:
    """The stored runs that have no number, of one number each, in words."""
    count = sum(map(math.isnan, numbers))
    return f"{count} of {len(numbers)} stored runs" if count < len(numbers) else "its stored runs"


def folder() -> Path:
    """Where the stored runs lie."""
    return suite.baselines() / "returns"


def path_of(cell: Cell) -> Path:
    """The file of a cell, whether it exists or not."""
    return folder() / f"{cell.id}.toml"


@dataclass(frozen=True)
class _File:
    schema: Annotated[int, expected(str(SCHEMA), lambda schema: schema == SCHEMA)]
    seeds: Annotated[int, Field(ge=2)]
    cell: Cell
    protocol: Protocol
    hyperparameters: Mapping[Line, Value]
    provenance: Mapping[Line, Value]
    run: tuple[StoredRun, ...]

    def __post_init__(self) -> None:
        seeds = [run.seed for run in self.run]
        if len(seeds) != self.seeds or len(set(seeds)) < len(seeds):
            raise ValueError(
                f"found runs of the seeds {seeds}, expected {self.seeds} distinct ones"
            )


def load(path: Path) -> Baseline:
    """Read and validate a file; UserError that names the file, the place and what was expected."""
    content: _File = datafiles.remembered(path, _File, remedy=_AGAIN)
    if path.stem != content.cell.id:
        raise UserError(
            f"{path} holds the cell {content.cell.id}; expected the cell that names the file"
        )
    return Baseline(
        content.cell, content.protocol, content.hyperparameters, content.provenance, content.run
    )


def find(cell: Cell, protocol: Protocol) -> Baseline | None:
    """The stored runs of ``cell``, or None; UserError if they were made with another protocol."""
    path = path_of(cell)
    if not path.exists():
        return None
    stored = load(path)
    check_protocol(stored, protocol)
    return stored


def check_protocol(stored: Baseline, protocol: Protocol) -> None:
    """UserError if the runs were made with another protocol."""
    if stored.protocol != protocol:
        raise UserError(
            f"{path_of(stored.cell)} was recorded with another budget: found "
            f"{asdict(stored.protocol)}, expected {asdict(protocol)}; {_AGAIN}"
        )


def how_to_record(cell: Cell) -> str:
    """What to do about a cell without stored runs, in one sentence."""
    own = {**asdict(cell), "budget": ""}
    others = sorted(
        stored.cell.budget for stored in every() if {**asdict(stored.cell), "budget": ""} == own
    )
    there = f"there are stored runs of budget {', '.join(others)}; " if others else ""
    foreign = cell.hyperparameters != cell.framework
    named = f" --hyperparameters {cell.hyperparameters}" if foreign else ""
    return (
        f"no stored runs of {cell.id}; {there}record some with: rlregress baseline record "
        f"--framework {cell.framework} --algorithm {cell.algorithm} "
        f"--environment {cell.environment} --budget {cell.budget}{named}"
    )


def _without_null(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: what is switched off is written as ``none``."""
    return {name: "none" if value is None else value for name, value in hyperparameters.items()}


def check_hyperparameters(stored: Baseline, given: Mapping[str, Any]) -> None:
    """UserError if the runs were recorded with other hyperparameters than ``given``."""
    expected = _without_null(given)
    differing = sorted(
        f"{name} ({stored.hyperparameters.get(name)}, now {expected.get(name)})"
        for name in set(expected) | set(stored.hyperparameters)
        if expected.get(name) != stored.hyperparameters.get(name)
    )
    if differing:
        raise UserError(
            f"{path_of(stored.cell)} was recorded with other hyperparameters: "
            f"{', '.join(differing)}; {_AGAIN}"
        )


def seconds_per_step(cell: Cell, known: Sequence[Baseline]) -> float:
    """CPU seconds per environment step, the mean over the stored runs most alike; 0 without any.

    Those of the cell; else of its environment and hyperparameters at another budget; else of its
    framework and algorithm; else of its algorithm.
    """
    its_own = ("group", "environment", "hyperparameters")
    for same_keys in ((*its_own, "budget"), its_own, ("group",), ("algorithm",)):
        speeds = [
            stored.cpu_seconds / stored.protocol.total_steps
            for stored in known
            if all(getattr(stored.cell, name) == getattr(cell, name) for name in same_keys)
        ]
        if speeds:
            return sum(speeds) / len(speeds)
    return 0.0


def every() -> list[Baseline]:
    """All stored cells, by id."""
    return [load(path) for path in datafiles.listed(folder(), "*.toml")]


def _run_table(run_record: Mapping[str, Any]) -> dict[str, Any]:
    table = {
        "seed": run_record["job"]["seed"],
        "status": run_record["status"],
        "return": run_record["final_return"],
        "episode_returns": run_record["episode_returns"],
        "steps": run_record["steps"],
        "cpu_seconds": run_record["time"].get("cpu_seconds", 0.0),
        "wall_seconds": run_record["time"].get("wall_seconds", 0.0),
        "started_at": run_record["time"].get("started_at", ""),
        "parameters_sha256": run_record["parameters_sha256"] or "",
        "failure": run_record["failure"],
    }
    if table["return"] is None:
        del table["return"]
    table["episode_returns"] = [r for r in table["episode_returns"] if r is not None]
    if not table["failure"]:
        del table["failure"]
    if run_record.get("training_return") is not None:
        table["training_return"] = run_record["training_return"]
    if run_record.get("episodes"):
        steps = run_record["job"]["protocol"]["total_steps"]
        table["learning_curve"] = learning_curve(run_record["episodes"], steps)
    critic = run_record.get("critic")
    if critic is not None:
        # TOML has no null: a number that could not be computed is left out
        table["critic"] = {name: value for name, value in critic.items() if value is not None}
    diagnostics = run_record.get("diagnostics")
    if diagnostics is not None:
        known = {name: value for name, value in diagnostics.items() if value is not None}
        table["diagnostics"] = known
    return table


def _of_framework(sources: Mapping[str, str]) -> dict[str, str]:
    """The digests of what is tested, without those of the suite's own code."""
    return {name: digest for name, digest in sources.items() if not name.startswith(_OWN)}


def _differs(stored: Baseline, job: Job) -> list[str]:
    """What stored runs were done with and a job is not, in words."""
    there, here = stored.provenance, dict(job.versions)
    sources = there.get("sources", {})
    same = {
        f"{there.get('versions')}, here {here}": there.get("versions") == here,
        "other code of the framework": _of_framework(sources) == _of_framework(job.sources),
        "another protocol": stored.protocol == job.protocol,
        "other hyperparameters": stored.hyperparameters == _without_null(job.hyperparameters),
    }
    return [what for what, is_same in same.items() if not is_same]


def kept(jobs: Sequence[Job]) -> dict[int, StoredRun]:
    """Stored runs of a cell that need not be done again, by seed, each with its ``sources``.

    They were done with the framework, the versions, the protocol and the hyperparameters of
    ``jobs``, and tell all that runs tell now. The suite's own code may have been another: what a
    run was done with stands beside it.
    """
    path, job = path_of(jobs[0].cell), jobs[0]
    if not path.exists():
        return {}
    stored = load(path)
    own = stored.provenance.get("sources", {})
    secondary = secondary_quantities(job.cell.algorithm)
    seeds = set() if _differs(stored, job) else {job.seed for job in jobs}
    return {
        run.seed: replace(run, sources=run.sources or own)
        for run in stored.runs
        if run.seed in seeds
        and run.status == FINISHED
        and all(run.secondary.has(quantity) for quantity in secondary)
    }


def _stored_table(run: StoredRun, sources: Mapping[str, str]) -> dict[str, Any]:
    """A run as it stands in a file of runs that were done with ``sources``.

    What is not known of it is left out, and its own sources where they are these.
    """
    table = {**asdict(run), "return": run.final_return}
    del table["final_return"]
    if run.sources == sources:
        del table["sources"]
    for name in ("critic", "diagnostics"):
        if table[name] is not None:
            table[name] = {key: value for key, value in table[name].items() if value is not None}
    return {name: value for name, value in table.items() if value not in (None, "", ())}


def _provenance(job: Job, run_record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "versions": dict(job.versions),
        "sources": dict(job.sources),
        **{stored: run_record["platform"].get(name, "") for name, stored in _MACHINE.items()},
    }


def check_machine(cell: Cell, earlier: Mapping[int, StoredRun]) -> None:
    """UserError if earlier runs would be joined with runs of another processor or Python."""
    if not earlier:
        return
    there, path = load(path_of(cell)).machine, path_of(cell)
    here = {"cpu": machine.cpu_name(), "python": platform.python_version()}
    for name, value in here.items():
        if there.get(name, value) != value:
            raise UserError(
                f"{path} holds {len(earlier)} runs of {machine.text(there)}, and this is "
                f"{machine.text(here)}; go on where they were done, or give --replace to do all of "
                "them here"
            )


def check_replaceable(jobs: Sequence[Job]) -> None:
    """UserError if stored runs would be lost: of other seeds than ``jobs``, or done otherwise."""
    path = path_of(jobs[0].cell)
    if not path.exists():
        return
    stored = load(path)
    differs = _differs(stored, jobs[0])
    lost = sorted({run.seed for run in stored.runs} - {job.seed for job in jobs})
    if lost:
        differs.append(f"seeds that are not asked for: {', '.join(map(str, lost))}")
    if differs:
        raise UserError(
            f"{path} holds {len(stored.runs)} runs of {'; '.join(differs)}; {len(jobs)} new ones "
            "would replace them: give --replace if that is meant"
        )


def write(
    jobs: Sequence[Job],
    records: Sequence[Mapping[str, Any]],
    earlier: Mapping[int, StoredRun] = MappingProxyType({}),
) -> Path:
    """Write the stored runs of one cell out of the records of ``jobs``, by seed.

    Args:
        earlier: of ``kept``; their machine has been compared with this one (``check_machine``).

    Raises:
        UserError: the runs were not made on one kind of machine with one set of versions.
    """
    pairs = sorted(zip(jobs, records, strict=True), key=lambda pair: pair[0].seed)
    provenances = [_provenance(job, run_record) for job, run_record in pairs]
    for provenance in provenances:
        if provenance != provenances[0]:
            raise UserError(
                f"the runs of {jobs[0].cell.id} differ in what they were recorded with: "
                f"{provenances[0]} and {provenance}; record all of them on one machine"
            )
    first = pairs[0][0]
    tables = [_run_table(run_record) for _, run_record in pairs]
    tables += [_stored_table(run, provenances[0]["sources"]) for run in earlier.values()]
    data = {
        "schema": SCHEMA,
        "cell": asdict(first.cell),
        "protocol": asdict(first.protocol),
        "hyperparameters": _without_null(first.hyperparameters),
        "seeds": len(tables),
        "provenance": provenances[0],
        "run": sorted(tables, key=lambda table: table["seed"]),
    }
    path = path_of(first.cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    run_record.write_atomically(path, tomli_w.dumps(data))
    return path
