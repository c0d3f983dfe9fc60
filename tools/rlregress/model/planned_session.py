"""The plan of a session: trainings, cost, power of each gate, and progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlregress.model.cells import Verdict


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """The plan of one cell.

    Attributes:
        damaged: descriptions of unreadable records.
        done: number of runs with a record.
        until: total number of runs that its next look waits for; 0 if the cell is decided.
        undone: number of these without a record.
        seconds: CPU seconds of one run, estimated from stored runs; 0 without any.
        banded: whether it is judged by a published band.
        replay: description of its replay; empty: it has none.
        replay_seconds: CPU seconds of the replay.
    """

    name: str
    damaged: tuple[str, ...]
    done: int
    until: int
    undone: int
    seconds: float
    banded: bool
    replay: str = ""
    replay_seconds: float = 0.0

    @property
    def is_decided(self) -> bool:
        """Return whether the finished runs decide all verdicts on the cell."""
        return self.until == 0


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The power of one gate (80 %), and its cost if no run is done yet.

    Attributes:
        seeds: new runs of a cell, judged at one look; 0: the sequential gate.
        chosen: whether it is the gate of the session.
        cells: judged name of a cell -> smallest detected drop, as a share of the stored mean; None:
            no drop is detected.
        groups: judged name of a group -> smallest detected common drop, as a share.
        critics: judged name of a critic -> smallest detected factor of its error; None: none.
        expected: average CPU seconds if nothing changed.
        most: CPU seconds if every cell needs the last look.
    """

    seeds: int
    chosen: bool
    cells: Mapping[str, float | None]
    groups: Mapping[str, float | None]
    critics: Mapping[str, float | None]
    expected: float
    most: float

    @property
    def name(self) -> str:
        """Name of the gate: the option that selects it, if any."""
        return f"--seeds {self.seeds}" if self.seeds else "sequential"


@dataclass(frozen=True, kw_only=True)
class GateProposal:
    """The gate that detects a requested drop.

    Attributes:
        what: the drop and its cells, in words.
        gate: the gate that detects it in all cells or groups: that of a session that has begun, or
            else the cheapest; None: no gate does.
        missing: cell or group in which no gate detects it -> how many seeds would.
        unknown: why detectable drops are unknown; empty if they are known.
    """

    what: str
    gate: Gate | None
    missing: Mapping[str, str]
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Makespan:
    """Seconds from the first start to the last end.

    Attributes:
        seconds: average.
        low, high: 90 % of the simulated makespans lie between.
        bound: lower bound if runs take as long as expected.
    """

    seconds: float
    low: float
    high: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class SessionPlan:
    """The plan and progress of a session.

    Attributes:
        description: cells, runs and finished runs, in one phrase.
        looks: new runs of a cell in all at each look.
        judged: whether returns are judged with this budget.
        begun: whether any of its runs has a record.
        gates: the gate of the session and others.
        measured: number of finished runs, from which seconds are estimated.
        seconds: sequential seconds of the remaining runs of the next look, without evaluations
            during the training.
        makespan: makespan of these runs on the workers, starts included; None: unknown.
        evaluations: evaluations of one run, the one after the training included.
        not_judged: cell with stored runs -> secondary quantities that do not judge it -> why.
        excluded: left out cells with reasons, a line for each framework, algorithm and set.
        wanted: the gates that detect the requested drop; empty: none was requested.
        detects: framework -> algorithm -> the smallest drops that the chosen gate detects, as
            shares of the stored mean: of training or evaluation, and of evaluation; None: none.
    """

    description: str
    looks: tuple[int, ...]
    judged: bool
    cells: tuple[CellPlan, ...]
    begun: bool
    gates: tuple[Gate, ...]
    measured: int
    seconds: float
    makespan: Makespan | None
    evaluations: int
    not_judged: Mapping[str, Mapping[str, str]]
    excluded: tuple[str, ...]
    wanted: tuple[GateProposal, ...]
    detects: Mapping[str, Mapping[str, tuple[float | None, float | None]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class InterimVerdicts:
    """The verdicts after some looks of a sequential check, while more may follow.

    Attributes:
        look: number of looks taken.
        verdicts: verdicts on decided cells, their groups and secondary quantities. All except
            ``regressed`` may still change with the other cells.
        undecided: ids of the cells that need more runs.
    """

    look: int
    verdicts: Mapping[str, Verdict]
    undecided: tuple[str, ...]
