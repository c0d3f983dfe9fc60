"""How fast trainings are: processes measured until enough are stored, and all that are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import tomli_w

from rlregress import suite
from rlregress.details import requested_names
from rlregress.errors import UserError, nearest
from rlregress.gate import stored_throughput
from rlregress.inside.run_record import check_writable, write_atomically
from rlregress.training import throughput_measurement


def record(
    wanted: Sequence[tuple[str, str]], processes: int, replace_stored: bool
) -> Iterator[str]:
    """Measure until ``processes`` are stored of each pair; yields lines.

    Every process is written at once, so that a recording that was ended goes on; those that
    replace stored ones are written when they are complete.

    Raises:
        UserError: fewer than two processes, or what is stored was measured with something else.
    """
    if processes < 2:
        raise UserError(f"--record is {processes}, expected 2 or more processes of each algorithm")
    suite.checkout("recording throughput")
    check_writable(stored_throughput.folder(), "stored throughput")
    done: dict[tuple[str, str], stored_throughput.Stored] = {}
    replaced: set[tuple[str, str]] = set()
    for pair in wanted:
        here, known = stored_throughput.here(*pair), stored_throughput.load(pair[0]).get(pair[1])
        if known is not None and not replace_stored:
            if others := stored_throughput.differences(known, here):
                raise UserError(
                    f"{stored_throughput.path_of(pair[0])} holds {len(known.process)} processes of "
                    f"{pair[1]} that were measured with something else, which new ones would "
                    f"replace: {others}; "
                    "give --replace if that is meant"
                )
            here = known
        elif known is not None:
            replaced.add(pair)
        done[pair] = here
    # in turns, so that what the machine does beside it meets all of them
    for number in range(processes):
        for pair in wanted:
            if len(done[pair].process) > number:
                continue
            process = throughput_measurement.measure(*pair, number)
            done[pair] = replace(done[pair], process=(*done[pair].process, process))
            if pair not in replaced or number + 1 == processes:
                _write(*pair, done[pair])
            yield f"[{number + 1}/{processes}] {' '.join(pair)}: ratio to the floor {process.ratio}"


def _write(framework: str, algorithm: str, now: stored_throughput.Stored) -> None:
    content = {**stored_throughput.load(framework), algorithm: now}
    tables = {
        name: stored_throughput.without_null(asdict(of)) for name, of in sorted(content.items())
    }
    write_atomically(stored_throughput.path_of(framework), tomli_w.dumps(tables))


def measured(
    frameworks: Sequence[str], algorithms: Sequence[str]
) -> dict[tuple[str, str], dict[str, Any]]:
    """(framework, algorithm) -> its stored ``processes``; of those named, or of all.

    Raises:
        UserError: nothing is stored of them.
    """
    # the table is that of all copies of a framework; one that is named has to be here
    for name in frameworks:
        if "@" in name:
            requested_names.adapters([name])
    every = stored_throughput.every()
    known = sorted({framework for framework, _ in every})
    names = {framework.partition("@")[0] for framework in frameworks}
    for given, stored in ((names, known), (algorithms, sorted({of for _, of in every}))):
        for name in given:
            if every and name not in stored:
                raise UserError(f"no throughput is stored of '{name}'; {nearest(name, stored)}")
    found = {
        (framework, algorithm): {"processes": [asdict(process) for process in stored.process]}
        for (framework, algorithm), stored in every.items()
        if framework in (names or (framework,)) and algorithm in (algorithms or (algorithm,))
    }
    if not found:
        requested = ", ".join([*frameworks, *algorithms]) or "any framework"
        raise UserError(
            f"no throughput is stored of {requested}; measure it with: rlregress baseline "
            "throughput --record 10"
        )
    return found
