"""Trends over many nightly runs: regressions, their dates, and what else changed at each date.

The checks themselves raise the alarms, with their error rate. Here an alarm is only dated: by the
split of the nights in two that leaves the smallest squared deviations from the two means.
The interval of the date is a 95 % confidence set: the splits whose likelihood ratio to the best one
is within the quantile of P(x <= c) = (1 - exp(-c / 2))^2 (Bai 1997, Hansen 2000).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rlregress import files
from rlregress.check import nightly_record
from rlregress.check.nightly_record import (
    MACHINE_FIELDS,
    NUMBERS,
    SOFTWARE_FIELDS,
    VERDICT_FILE,
    NightlyRun,
)
from rlregress.check.stored_throughput import MEMORY, QUANTITIES
from rlregress.errors import UserError
from rlregress.model.quantities import BY_NAME, get_cell_of_verdict_name
from rlregress.model.trend_result import Shift, Trend, TrendRow
from rlregress.model.verdict import COULD_NOT_JUDGE, IMPROVED, INCONCLUSIVE, REGRESSED, REPRODUCED

_LIKELIHOOD_QUANTILE = -2 * math.log(1 - math.sqrt(0.95))
_UNDECIDED_VERDICTS = (INCONCLUSIVE, COULD_NOT_JUDGE)


@dataclass
class _History:
    """The verdicts and numbers of one judged name, by number of the night.

    Attributes:
        measure: a quantity of returns or an attribute of a measured process; empty: no numbers.
    """

    name: str
    framework: str
    verdicts: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, list[float | None]] = field(default_factory=dict)
    measure: str = ""


def find_report_folders(folders: Iterable[Path]) -> list[Path]:
    """Return the folders with a report among these and all folders below, links excepted.

    Raises:
        UserError: a folder does not exist, may not be read, or holds no report.
    """
    folders_found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder; expected one with reports of checks")
        walked = os.walk(folder, onerror=_raise_unreadable_folder)
        folders_with_report = sorted(
            files.resolve_real_path(Path(place))
            for place, _, names in walked
            if VERDICT_FILE in names
        )
        if not folders_with_report:
            raise UserError(
                f"{folder} holds no report of a check ({VERDICT_FILE}), nor does a folder below "
                "it; name the folder of --report, or one that holds many of them"
            )
        folders_found.update(dict.fromkeys(folders_with_report))
    return list(folders_found)


def _raise_unreadable_folder(error: OSError) -> None:
    """Raise UserError, because ``os.walk`` skips unreadable folders and a missed night matters."""
    raise UserError(
        f"{error.filename} cannot be read: {error.strerror}; expected a folder that you may read"
    )


def read_nightly_runs(
    folders: Sequence[Path], start_date: str = ""
) -> tuple[list[NightlyRun], list[str]]:
    """Return the nights below these folders by date, and descriptions of those left out.

    Args:
        start_date: a date; earlier nights are left out.

    Raises:
        UserError: there is no night.
    """
    by_date: dict[str, list[NightlyRun]] = {}
    left_out, copies, reports = [], 0, find_report_folders(folders)
    for folder in reports:
        try:
            night = nightly_record.read_nightly_run(folder)
        except UserError as error:
            left_out.append(f"not read: {error}")
            continue
        same_date = by_date.setdefault(night.started, [])
        copies += night in same_date
        if night not in same_date:
            same_date.append(night)
    if not by_date:
        raise UserError(
            f"none of the {len(reports)} nightly reports can be read; the first: {left_out[0]}"
        )
    nights = [night for date in sorted(by_date) for night in by_date[date]]
    recent = [night for night in nights if night.started >= start_date]
    if not recent:
        raise UserError(
            f"no nightly run is from {start_date} or later; the last of {len(nights)} is from "
            f"{nights[-1].started[:10]}; name an earlier date with --since"
        )
    if copies:
        left_out.append(f"reports that are copies of others: {copies}")
    if len(recent) < len(nights):
        left_out.append(f"nights before {start_date}, as --since says: {len(nights) - len(recent)}")
    return recent, left_out


def summarize_nightly_runs(nights: Sequence[NightlyRun], left_out: Sequence[str] = ()) -> Trend:
    """Summarize how the results of many nightly runs developed.

    Args:
        nights: in the order of their dates.
        left_out: descriptions of nights that were left out.

    Raises:
        UserError: no framework was judged in any night.
    """
    frameworks: dict[str, _History] = {}
    for number, night in enumerate(nights):
        for name, framework_run in night.frameworks.items():
            history = frameworks.setdefault(f"{name} ({night.budget})", _History(name, name))
            history.verdicts[number] = framework_run.verdict
    if not frameworks:
        raise UserError(f"none of {len(nights)} nights judged a framework; name completed checks")
    histories = _build_histories(nights)
    return Trend(
        dates=tuple(night.started for night in nights),
        left_out=(*left_out, *_describe_unjudged_subjects(nights)),
        frameworks=tuple(_build_row_of_history(nights, *item) for item in frameworks.items()),
        rows=tuple(_build_row_of_history(nights, *item) for item in histories.items()),
    )


def _build_histories(nights: Sequence[NightlyRun]) -> dict[str, _History]:
    """Return name -> history of cells, secondary quantities and throughput."""
    histories: dict[str, _History] = {}
    for number, night in enumerate(nights):
        owners = {name: cell.framework for name, cell in night.cells.items()}
        owners |= {cell.group: cell.framework for cell in night.cells.values()}
        for name, cell in night.cells.items():
            for measure, quantity in NUMBERS.items():
                named = quantity.make_verdict_name(name)
                history = histories.setdefault(named, _History(named, cell.framework))
                history.numbers[number], history.measure = list(getattr(cell, measure)), measure
            histories[name].verdicts[number] = cell.verdict or COULD_NOT_JUDGE
        for pair, measured in night.throughput.items():
            for measure, values in measured.items():
                named = f"{pair} {measure}"
                history = histories.setdefault(named, _History(named, pair.partition(" ")[0]))
                history.numbers[number], history.measure = list(values), QUANTITIES[measure]
        for name, verdict in night.verdicts.items():
            owner = owners.get(get_cell_of_verdict_name(name), name.partition(" ")[0])
            histories.setdefault(name, _History(name, owner)).verdicts[number] = verdict
        for name in night.list_reproduced_cells_and_groups():
            if name in night.replays:
                histories.setdefault(name, _History(name, night.replays[name].framework))
            # earlier nights judged these by new runs
            for named in {quantity.make_verdict_name(name) for quantity in NUMBERS.values()} & set(
                histories
            ):
                histories[named].verdicts[number] = REPRODUCED
    return histories


def _describe_unjudged_subjects(nights: Sequence[NightlyRun]) -> list[str]:
    """Describe the subjects that the last checks did not judge."""
    lines = []
    if failed := [night.started[:10] for night in nights if night.exit_code == 2]:
        lines.append(f"nights that could not judge everything: {_join_first_three(failed)}")
    #: cell -> its last night, its framework and its verdict there
    last: dict[str, tuple[NightlyRun, str, str]] = {}
    latest: dict[tuple[str, str], NightlyRun] = {}
    for night in nights:
        latest |= {(name.partition("@")[0], night.budget): night for name in night.frameworks}
        last |= {
            name: (night, result.framework, result.verdict) for name, result in night.cells.items()
        }
        last |= {
            name: (night, result.framework, REPRODUCED)
            for name, result in night.replays.items()
            if result.state == REPRODUCED
        }
    missing = [
        f"{name} ({night.started[:10]})"
        for name, (night, framework, _) in last.items()
        if latest.get((framework, night.budget), night) is not night
    ]
    without = [name for name, (_, _, verdict) in last.items() if not verdict]
    if missing:
        lines.append(
            f"not in the last check of their framework and budget: {_join_first_three(missing)}"
        )
    if without:
        lines.append(f"without a verdict in their last check: {_join_first_three(without)}")
    return lines


def _join_first_three(names: Sequence[str]) -> str:
    ending = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + ending


def _build_row_of_history(
    nights: Sequence[NightlyRun], history_name: str, history: _History
) -> TrendRow:
    """Summarize the nights of one judged name: last verdict, means, and date of a change."""
    conclusive = {n: v for n, v in history.verdicts.items() if v not in _UNDECIDED_VERDICTS}
    last = [*history.verdicts.values(), INCONCLUSIVE][len(history.verdicts) - 1]
    verdict = INCONCLUSIVE if last in _UNDECIDED_VERDICTS else last
    # an undecided night does not end a regression
    if conclusive and [*conclusive.values()][-1] == REGRESSED:
        verdict = REGRESSED
    means = _compute_mean_of_each_night(history)
    shift = None
    if verdict in (REGRESSED, IMPROVED):
        shift = _find_date_of_shift(nights, history, conclusive, verdict, means)
    return TrendRow(
        name=history_name,
        quantity=history.measure,
        verdict=verdict,
        verdicts=Counter(history.verdicts.values()),
        first=next((n for n, v in history.verdicts.items() if v == REGRESSED), None),
        nights=tuple(means),
        means=tuple(means.values()),
        runs=sum(map(len, history.numbers.values())),
        shift=shift,
    )


def _compute_mean_of_each_night(history: _History) -> dict[int, float]:
    """Return the mean of each night; a failed run counts as the lowest return of all nights."""
    finite = [value for values in history.numbers.values() for value in values if value is not None]
    failed = [min(finite)] if finite and history.measure == "returns" else []
    by_night = {
        night: [n for value in values for n in (failed if value is None else [value])]
        for night, values in history.numbers.items()
    }
    return {night: sum(values) / len(values) for night, values in by_night.items() if values}


def _find_date_of_shift(
    nights: Sequence[NightlyRun],
    history: _History,
    conclusive: Mapping[int, str],
    verdict: str,
    means: Mapping[int, float],
) -> Shift:
    """Return the date from which a history has its verdict, by its numbers or else its verdicts."""
    other_nights = [
        night for night, night_verdict in conclusive.items() if night_verdict != verdict
    ]
    first = next(
        n
        for n, night_verdict in conclusive.items()
        if night_verdict == verdict and n > max(other_nights, default=-1)
    )
    if not other_nights:
        return Shift(night=first, earliest=first, latest=first, is_dated=False)
    numbers, values = [*means], np.asarray([*means.values()])
    down = (verdict == REGRESSED) != (history.measure == QUANTITIES[MEMORY])
    night = earliest = latest = first
    before = after = share = None
    if (places := locate_drop_and_interval(values if down else -values)) is not None:
        night, earliest, latest = (numbers[place] for place in places)
        old, new = np.split(values, [places[0]])
        before, after = float(old.mean()), float(new.mean())
        quantity = BY_NAME.get(history.measure)
        share = (after - before) / (quantity.compute_scale(old) if quantity else before)
    last = max(n for n in (*history.numbers, *history.verdicts) if n < earliest)
    versions, conditions = _list_differences_between_nights(nights[last], nights[latest], history)
    return Shift(
        night=night,
        earliest=earliest,
        latest=latest,
        before=before,
        after=after,
        share=share,
        versions=versions,
        conditions=conditions,
    )


def locate_drop_and_interval(values: ArrayLike) -> tuple[int, int, int] | None:
    """Return indices of the first night of a lower level, and of the ends of its 95 % interval.

    Args:
        values: by night [T].

    Returns:
        None if no split of the nights has a lower mean after it.
    """
    centred = np.asarray(values, dtype=np.float64)
    count = len(centred)
    if count < 2:
        return None
    centred = centred - centred.mean()
    places = np.arange(1, count)
    # the drop of the mean at each place over its standard error, up to the common variance
    falls = np.cumsum(centred)[:-1] / np.sqrt(places * (count - places) / count)
    best = int(np.argmax(falls))
    if falls[best] <= 0:
        return None
    # what remains after the best division; at least 0 in floating point
    variance = max(float((centred**2).sum() - falls[best] ** 2), 0.0) / max(count - 2, 1)
    likely_places = places[
        (falls > 0) & (falls[best] ** 2 - falls**2 <= _LIKELIHOOD_QUANTILE * variance + 1e-12)
    ]
    return int(places[best]), int(likely_places.min()), int(likely_places.max())


def _list_differences_between_nights(
    old: NightlyRun, new: NightlyRun, history: _History
) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    """Return the packages (name, old, new) and other conditions that differ between two nights."""
    versions, other_conditions = (
        [(n, before[n], after[n]) for n in after if n in before and before[n] != after[n]]
        for before, after in zip(
            _split_versions_and_conditions(old, history),
            _split_versions_and_conditions(new, history),
            strict=True,
        )
    )
    return tuple(versions), tuple(f"{n} {was} -> {now}" for n, was, now in other_conditions)


def _split_versions_and_conditions(
    night: NightlyRun, history: _History
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the versions of a night, and its other conditions that may change results."""
    versions: dict[str, str] = {}
    other_conditions = {"rlregress": night.rlregress}
    for name, framework_run in night.frameworks.items():
        if name.partition("@")[0] == history.framework.partition("@")[0]:
            versions |= framework_run.versions
            other_conditions |= {
                f"code of {module}": digest for module, digest in framework_run.sources.items()
            }
    for condition in (*MACHINE_FIELDS, *SOFTWARE_FIELDS):
        if values := {
            str(framework_run[condition])
            for framework_run in night.machines
            if condition in framework_run
        }:
            other_conditions[condition] = " and ".join(sorted(values))
    if cell := night.cells.get(get_cell_of_verdict_name(history.name)):
        other_conditions |= {key: str(value) for key, value in cell.protocol.items()}
        other_conditions["hyperparameters"] = cell.hyperparameters
    return versions, other_conditions
