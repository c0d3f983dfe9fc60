"""Many nights: what changed, from which night on, and which versions changed there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np

from rlregress.errors import UserError
from rlregress.gate.nightly_record import MACHINE, SURROUNDINGS
from rlregress.inside import machine
from rlregress.model.quantities import CRITIC, RETURNS, TRAINING, Quantity, scale_of
from rlregress.model.verdict import (
    HOLDS,
    IMPROVED,
    INCONCLUSIVE,
    REGRESSED,
)
from rlregress.studies.trend import change_points, nightly_reports
from rlregress.studies.trend.nightly_reports import NightlyRun
from rlregress.studies.trend.trend_result import SMALL, Row, Series, Shift, Trend
from rlregress.verdicts import throughput_alarms
from rlregress.verdicts.rules import FloatArray, Rules

#: z of the correlation of consecutive nights from which on they are said to resemble each other,
#: in one of a thousand histories by chance
_RESEMBLANCE = 3.3
#: what precedes the name of a module whose digest is told
_CODE = "code of "
_QUANTITIES: tuple[Quantity, ...] = (RETURNS, TRAINING, CRITIC)


@dataclass
class _Gathered:
    """The nights of one history before it is judged; lists of one length."""

    framework: str
    subject: str
    quantity: str
    nights: list[int] = field(default_factory=list)
    values: list[Sequence[float]] = field(default_factory=list)
    strata: list[str] = field(default_factory=list)
    loss: int = 1
    own_scale: Callable[[FloatArray], float] = scale_of
    floor: float = Rules().floor
    must_detect: float = Rules().must_detect

    def add(self, night: int, values: Sequence[float], stratum: str) -> None:
        """Add the numbers of a night."""
        self.nights.append(night)
        self.values.append(values)
        self.strata.append(stratum)

    @cached_property
    def means(self) -> FloatArray:
        """Mean of each night [T]."""
        return np.asarray([sum(values) / len(values) for values in self.values])

    @cached_property
    def history(self) -> change_points.History:
        """For the test."""
        numbers = {stratum: place for place, stratum in enumerate(dict.fromkeys(self.strata))}
        strata = np.asarray([numbers[stratum] for stratum in self.strata], dtype=np.intp)
        return change_points.History(np.asarray(self.nights, dtype=np.intp), self.means, strata)

    def scale(self, begin: int = 0, end: int | None = None) -> float:
        """What a change is a share of, from the runs of some of the nights, by place."""
        return self.own_scale(np.asarray(list(chain.from_iterable(self.values[begin:end]))))


def read(given: Sequence[Path], since: str = "") -> tuple[list[NightlyRun], list[str]]:
    """The nights below these folders in the order of their dates, and what is left out of them.

    Args:
        since: a date; earlier nights are left out.

    Raises:
        UserError: there is no night.
    """
    read_, left_out, there = [], [], nightly_reports.folders(given)
    for folder in there:
        try:
            read_.append(nightly_reports.read(folder))
        except UserError as error:
            left_out.append(f"not read: {error}")
    if not read_:
        raise UserError(f"no night of {len(there)} can be read; the first: {left_out[0]}")
    ordered = sorted(_unique(read_), key=lambda night: night.started)
    if len(ordered) < len(read_):
        left_out.append(f"{len(read_) - len(ordered)} reports are copies of others")
    kept = [night for night in ordered if night.started >= since]
    if not kept:
        raise UserError(
            f"no night is left since {since}; the last of {len(ordered)} is of "
            f"{ordered[-1].started[:10]}"
        )
    if len(kept) < len(ordered):
        left_out.append(f"{len(ordered) - len(kept)} nights before {since}, as asked")
    return kept, left_out


def _unique(nights: Sequence[NightlyRun]) -> list[NightlyRun]:
    """Without copies: no two gates begin at the same moment and have the same results."""
    of_moment: dict[str, list[NightlyRun]] = {}
    for night in nights:
        there = of_moment.setdefault(night.started, [])
        if not any(_same_results(night, known) for known in there):
            there.append(night)
    return list(chain.from_iterable(of_moment.values()))


def _same_results(first: NightlyRun, second: NightlyRun) -> bool:
    return list(first.cells) == list(second.cells) and all(
        (cell.parameters, cell.returns)
        == (second.cells[name].parameters, second.cells[name].returns)
        for name, cell in first.cells.items()
    )


def _of_cells(nights: Sequence[NightlyRun]) -> tuple[dict[tuple[str, str], _Gathered], list[str]]:
    """(cell, quantity) -> its history, and what is left out.

    A run whose trained parameters are those of an earlier night, to the bit, is that run again,
    and no further evidence. A failed run counts as the lowest return of its cell.
    """
    gathered: dict[tuple[str, str], _Gathered] = {}
    unjudged: Counter[str] = Counter()
    again = 0
    counted: dict[str, set[tuple[int, str]]] = {}
    lowest: dict[str, float] = {}
    for number, night in enumerate(nights):
        where = [machine.text(machine_, MACHINE) for machine_ in night.machines]
        for name, cell in night.cells.items():
            if not cell.verdict:
                unjudged[name] += 1
                continue
            known = counted.setdefault(name, set())
            runs = list(zip(cell.seeds, cell.parameters, strict=True))
            # whole nights are new as a rule: a thousand of them are read in seconds
            every = known.isdisjoint(runs) and "" not in cell.parameters
            new: Sequence[int] = range(len(runs))
            if not every:
                new = [place for place in new if not runs[place][1] or runs[place] not in known]
            known.update(runs if every else [run for run in runs if run[1]])
            again += len(runs) - len(new)
            if not new:
                continue
            stratum = _stratum(
                frozenset(
                    [where[machine_] for machine_ in {cell.machines[place] for place in new}]
                ),
                tuple(cell.protocol.items()),
                cell.hyperparameters,
            )
            for quantity in _QUANTITIES:
                numbers: Sequence[float | None] = getattr(cell, quantity.name)
                numbers = numbers if every else [numbers[place] for place in new]
                values = cast("Sequence[float]", numbers)
                if None in numbers:
                    if name not in lowest:
                        lowest[name] = _lowest(nights, name)
                    filled = quantity is RETURNS and math.isfinite(lowest[name])
                    instead = [lowest[name]] if filled else []
                    values = [
                        number_
                        for value in numbers
                        for number_ in ([value] if value is not None else instead)
                    ]
                if values:
                    key = name, quantity.name
                    if key not in gathered:
                        gathered[key] = _Gathered(cell.framework, *key, own_scale=quantity.scale)
                    of = gathered[key]
                    of.add(number, values, stratum)
    lines = []
    if unjudged:
        count = max(unjudged.values())
        named = ", ".join(sorted(unjudged)[:3]) + (", ..." if len(unjudged) > 3 else "")
        lines.append(
            f"{len(unjudged)} cells without a verdict in up to {count} nights, whose runs there "
            f"are left out: {named}"
        )
    if again:
        lines.append(
            f"{again} runs are bit-identical to runs of earlier nights (the same seeds, "
            "nothing changed): they count once; give every night other seeds"
        )
    return gathered, lines


def _lowest(nights: Sequence[NightlyRun], name: str) -> float:
    """The lowest return of a cell in all nights that judged it; inf: there is none."""
    cells = [night.cells[name] for night in nights if name in night.cells]
    values = [
        value for cell in cells if cell.verdict for value in cell.returns if value is not None
    ]
    return min(values, default=math.inf)


@cache
def _stratum(
    machines: Collection[str], protocol: tuple[tuple[str, int], ...], hyperparameters: str
) -> str:
    """What runs have to share to be compared, in words."""
    steps = ", ".join(f"{name} {value}" for name, value in protocol)
    return f"{' and '.join(sorted(machines))}|{steps}|{hyperparameters}"


def _of_groups(
    cells: Mapping[tuple[str, str], _Gathered], nights: Sequence[NightlyRun]
) -> dict[tuple[str, str], _Gathered]:
    """(group, quantity) -> mean over its cells of what a night lacks to the cell's own mean.

    As a share of the cell's scale; of groups of two cells and more.
    """
    group_of = {name: cell.group for night in nights for name, cell in night.cells.items()}
    members: dict[tuple[str, str], list[_Gathered]] = {}
    for (name, quantity), of in cells.items():
        members.setdefault((group_of[name], quantity), []).append(of)
    made = {}
    for (group, quantity), several in members.items():
        if len(several) < 2:
            continue
        total, count = np.zeros(len(nights)), np.zeros(len(nights))
        for of in several:
            history = of.history
            for stratum in np.unique(history.strata):
                here = history.strata == stratum
                rest = history.values[here] - history.values[here].mean()
                total[history.nights[here]] += rest / of.scale()
                count[history.nights[here]] += 1
        pooled = _Gathered(several[0].framework, group, quantity, own_scale=lambda _: 1.0)
        for number in np.flatnonzero(count).tolist():
            # one number a night: cells are no runs of one another
            pooled.add(number, [float(total[number] / count[number])], "")
        made[group, quantity] = pooled
    return made


def _of_throughput(nights: Sequence[NightlyRun]) -> dict[tuple[str, str], _Gathered]:
    """(framework and algorithm, quantity) -> its history, of nights that measured it."""
    gathered: dict[tuple[str, str], _Gathered] = {}
    for number, night in enumerate(nights):
        where = " and ".join(
            sorted({machine.text(machine_, MACHINE) for machine_ in night.machines})
        )
        for pair, quantities in night.throughput.items():
            for quantity, values in quantities.items():
                of = gathered.setdefault(
                    (pair, quantity),
                    _Gathered(
                        pair.partition(" ")[0],
                        pair,
                        quantity,
                        loss=-1 if quantity == "peak memory" else 1,
                        floor=throughput_alarms.TOLERATED,
                        must_detect=throughput_alarms.MUST_DETECT,
                    ),
                )
                of.add(number, values, where)
    return gathered


def _what(night: NightlyRun, framework: str) -> dict[str, str]:
    """Everything of a night that may have changed what a framework does, by name."""
    described: dict[str, str] = {}
    for name, of in night.frameworks.items():
        if name.partition("@")[0] == framework.partition("@")[0]:
            described.update({"rlregress": night.rlregress, **of.versions})
            described.update({f"{_CODE}{module}": digest for module, digest in of.sources.items()})
    if not described:
        return {}
    for name in SURROUNDINGS:
        if values := sorted(
            {str(machine_[name]) for machine_ in night.machines if name in machine_}
        ):
            described[name] = " and ".join(values)
    return described


def changed_versions(nights: Sequence[NightlyRun], framework: str) -> list[tuple[str, ...]]:
    """By night, what differs from the last night that told it, in words.

    It is what the framework is made of. Changed code is named where no version did change.
    """
    known: dict[str, str] = {}
    changes_of = []
    for night in nights:
        new = _what(night, framework)
        differing = [name for name in new if name in known and known[name] != new[name]]
        versions = [name for name in differing if not name.startswith(_CODE)]
        code = [] if versions else differing
        changes_of.append((*(f"{name} {known[name]} -> {new[name]}" for name in versions), *code))
        known.update(new)
    return changes_of


def _judged(
    of: _Gathered, found: change_points.Found, versions: Sequence[tuple[str, ...]]
) -> Series:
    """What is found in one history; ``versions``: by night, which versions changed."""
    means = of.means
    places = [0, *(change.first for change in found.changes), len(means)]
    shifts = []
    for number, change in enumerate(found.changes):
        begin, end = places[number], places[number + 2]
        scale = of.scale(begin, change.first)
        share = change.effect / scale
        direction = REGRESSED if share * of.loss < 0 else IMPROVED
        verdict = SMALL if abs(share) < of.floor else direction
        later = [row.effect / scale for row in found.changes[number:]]
        back = len(later) > 1 and sum(later) * of.loss > -of.floor
        first, last = of.nights[max(change.earliest - 1, 0)], of.nights[change.latest]
        within = [
            (place, versions[place]) for place in range(first + 1, last + 1) if versions[place]
        ]
        shifts.append(
            Shift(
                verdict=verdict,
                night=of.nights[change.first],
                earliest=of.nights[change.earliest],
                latest=of.nights[change.latest],
                before=float(means[begin : change.first].mean()),
                after=float(means[change.first : end].mean()),
                share=share,
                p=change.p,
                versions=tuple(within),
                recovered=verdict == REGRESSED and back,
            )
        )
    last_level = means[places[-2] :]
    visible = found.visible / of.scale(places[-2])
    lasting = [shift for shift in shifts if shift.verdict == REGRESSED and not shift.recovered]
    if lasting:
        verdict = REGRESSED
    elif not found.tested or not visible <= of.must_detect:
        verdict = INCONCLUSIVE
    else:
        verdict = IMPROVED if any(shift.verdict == IMPROVED for shift in shifts) else HOLDS
    return Series(
        subject=of.subject,
        quantity=of.quantity,
        nights=tuple(of.nights),
        means=tuple(means.tolist()),
        runs=sum(map(len, of.values)),
        level=float(last_level.mean()),
        visible=visible,
        needed=found.needed,
        verdict=verdict,
        shifts=tuple(shifts),
        alike=found.resemblance if found.resemblance > _RESEMBLANCE else 0.0,
    )


def _strata_notes(gathered: Mapping[tuple[str, str], _Gathered]) -> list[str]:
    """What is not compared although it is of one cell, in words."""
    of_machines: dict[tuple[str, ...], list[str]] = {}
    others: dict[str, set[str]] = {"protocol": set(), "hyperparameters": set()}
    for (name, _), of in gathered.items():
        apart = [stratum.split("|") for stratum in dict.fromkeys(of.strata)]
        machines = tuple(sorted({parts[0] for parts in apart}))
        if len(machines) > 1:
            of_machines.setdefault(machines, []).append(name)
        for place, what in ((1, "protocol"), (2, "hyperparameters")):
            if len({parts[place] for parts in apart if len(parts) > place}) > 1:
                others[what].add(name)
    lines = [
        f"nights of {len(machines)} classes of machine ({'; '.join(machines)}) are compared within "
        f"each class only: {_named(names)}"
        for machines, names in of_machines.items()
    ]
    return lines + [
        f"nights of another {what} are compared among themselves only: {_named(names)}"
        for what, names in others.items()
        if names
    ]


def _named(names: Iterable[str]) -> str:
    every = sorted(set(names))
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


def _speed(nights: Sequence[NightlyRun], name: str) -> tuple[float, float]:
    """Median steps per CPU second of the first and of the last tenth of a cell's nights."""
    notes = [
        [value for value in night.cells[name].steps_per_cpu_second if value]
        for night in nights
        if name in night.cells
    ]
    notes = [values for values in notes if values]
    if not notes:
        return math.nan, math.nan
    tenth = max(1, len(notes) // 10)
    ends = (notes[:tenth], notes[-tenth:])
    first, last = (float(np.median(np.concatenate(values))) for values in ends)
    return first, last


def judge(nights: Sequence[NightlyRun], left_out: Sequence[str] = (), alpha: float = 0.05) -> Trend:
    """Look for changes in all histories of some nights.

    Args:
        nights: in the order of their dates.
        left_out: of other nights, in words.
        alpha: probability of a false alarm on a page without a change.

    Raises:
        UserError: no cell was judged in any night.
    """
    if not 0 < alpha < 1:
        raise UserError(f"--alpha is {alpha}, expected a probability between 0 and 1, such as 0.05")
    lines = list(left_out)
    if failed := [night.started[:10] for night in nights if night.exit_code == 2]:
        lines.append(
            f"{len(failed)} nights could not judge all their cells ({failed[0]} to "
            f"{failed[-1]}); of these only cells with a verdict count"
        )
    cells, of_cells = _of_cells(nights)
    gathered = {**cells, **_of_groups(cells, nights), **_of_throughput(nights)}
    if not gathered:
        why = f": {'; '.join(lines + of_cells)}" if lines + of_cells else ""
        raise UserError(
            f"none of {len(nights)} nights has judged returns or measured throughput{why}"
        )
    lines += of_cells + _strata_notes(gathered)
    found = change_points.find({"\n".join(key): of.history for key, of in gathered.items()}, alpha)
    histories = {
        name: changed_versions(nights, name) for name in {of.framework for of in gathered.values()}
    }
    series = {
        key: _judged(of, found["\n".join(key)], histories[of.framework])
        for key, of in gathered.items()
    }
    rows: dict[str, dict[str, Series]] = {}
    for (subject, quantity), of in series.items():
        rows.setdefault(subject, {})[quantity] = of
    verdicts: dict[str, list[str]] = {}
    for night in nights:
        for name, cell in night.cells.items():
            if cell.verdict:
                verdicts.setdefault(name, []).append(cell.verdict)
    made = [
        Row(
            name=name,
            series=of,
            verdicts=Counter(verdicts.get(name, ())),
            last=verdicts.get(name, [""])[-1],
            steps_per_cpu_second=_speed(nights, name),
        )
        for name, of in rows.items()
    ]
    return Trend(
        dates=tuple(night.started for night in nights),
        left_out=tuple(lines),
        rows=tuple(made),
        alpha=alpha,
        histories=sum(result.tested for result in found.values()),
    )
