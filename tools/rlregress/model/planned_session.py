"""The plan of a session: trainings, cost, power of each gate, and progress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rlregress.model.cells import Verdict


@dataclass(frozen=True, kw_only=True)
class CellPlan:
    """One cell.

    Attributes:
        damaged: what is wrong with records that cannot be read.
        done: runs that have a record.
        until: runs in all that its next look waits for; 0 if it is decided.
        undone: those of them that have no record yet.
        seconds: CPU seconds of one run, as far as stored runs tell.
        replay: what a replay of it executes, in words; empty: it has none.
        replay_seconds: CPU seconds of the replay.
        banded: it is judged against a published band, not against stored runs.
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
    def decided(self) -> bool:
        """Return whether the finished runs decide all verdicts on the cell."""
        return self.until == 0


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The power of one gate (80 %), and its cost if no run is done yet.

    Attributes:
        seeds: new runs of a cell, judged at one look; 0: the sequential gate.
        chosen: it is the gate of the session.
        cells: cells, and what of them is judged by the training too -> share of the stored mean
            that a drop needs to be seen; None: none is.
        groups: the same of groups -> share of the stored means that the cells must lose together.
        critics: cells and then groups whose critics are judged -> how many times as large an
            error has to be to be seen; None: none is.
        expected: CPU seconds on average, if nothing changed.
        most: CPU seconds, if every cell comes to the last look.
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
class Wanted:
    """Which gate sees a drop that is asked for.

    Attributes:
        what: the drop, and the cells that it is about, in words.
        gate: one that sees it in all of them, or in their groups: that of a session that has begun,
            or the cheapest; None: none does.
        missing: of each cell or group in which none does, what would.
        unknown: why what a gate sees is not known; empty if it is.
    """

    what: str
    gate: Gate | None
    missing: Mapping[str, str]
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Makespan:
    """Seconds from the first start to the last end.

    Attributes:
        seconds: on average; ``low`` and ``high``: 90 % of what was drawn lies between.
        bound: less is not possible, if runs take as long as expected.
    """

    seconds: float
    low: float
    high: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class SessionPlan:
    """The plan and progress of a session.

    Attributes:
        description: cells, runs, and what is already there, in one phrase.
        looks: new runs of a cell in all at each look.
        judged: whether the budget's returns are judged.
        begun: any of its runs has a record.
        gates: the gate of the session and others.
        measured: how many runs are done and tell how long runs take here.
        seconds: of the runs of the next look that are left, one after the other, without
            evaluations on the way.
        makespan: of these runs on the workers, each with its start; None: not known.
        evaluations: of one run, the one after the training among them.
        not_judged: cells with stored runs -> what they are not judged by beside returns -> why.
        excluded: what is left out and why, a line for each framework, algorithm and set.
        wanted: which gate sees the drop that was asked for; empty if none was.
        detects: framework -> algorithm -> the smallest drops that the chosen gate would detect, as
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
    wanted: tuple[Wanted, ...]
    detects: Mapping[str, Mapping[str, tuple[float | None, float | None]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The verdicts of the looks so far.

    Attributes:
        look: how many looks were taken.
        verdicts: of the cells that get no more runs and of their groups, and of what is judged
            beside their returns. All but ``regressed`` may still change with the other cells.
        undecided: ids of the cells that get more runs.
    """

    look: int
    verdicts: Mapping[str, Verdict]
    undecided: tuple[str, ...]
