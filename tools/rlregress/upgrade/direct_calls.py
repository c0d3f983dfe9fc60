"""Changed functions called directly: their captured calls repeated with the old and the new code.

A training may execute a changed line and show nothing, because a bound is never met, a mask is all
ones or a factor is 1. So the calls that it makes of the function are repeated with both versions of
it, as they were and with perturbed arguments. So are those of functions that read a constant, or an
attribute of a class, that is given another value when its module is imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import progress
from rlregress.model.code import BODY, CHANGED, MODULE, Changed
from rlregress.model.recorded_traces import Trace, Traced
from rlregress.model.upgrade_result import Calls, Cause, PieceExecution
from rlregress.tracing import child_processes, recording_processes
from rlregress.tracing.recording_processes import Side
from rlregress.upgrade.compared_trainings import Training
from rlregress.upgrade.coverage import Users
from rlregress.upgrade.delta_debugging import find_rebound_names, list_old_code
from rlregress.upgrade.sides import Sides

#: of a command, with a duration in ``baselines/durations.toml``.
STAGE = "repeating calls of changed functions"
#: CPU seconds for the first captured call of a function, at most and at least, and for those of all
#: functions together; later calls of a function get a part of it.
_MOST, _LEAST, _TOGETHER = 6.0, 0.5, 120.0
#: trainings in which calls of a function are captured.
TRAININGS = 2
#: functions that are called for one piece of code that gives names another value.
_USERS = 24
_Key = tuple[str, str]
#: seconds that a training may take with all calls of it repeated.
_PATIENCE = 900


def called(
    sides: Sides,
    executions: Sequence[PieceExecution],
    trainings: Iterable[Training],
    traces: Mapping[str, Trace],
    causes: Iterable[Cause],
    folders: Sequence[str],
    until: float | None = None,
) -> list[PieceExecution]:
    """The pieces of code, each with what came of its captured calls.

    Args:
        trainings: those that may be repeated.
        traces: of them, by name, of the new version.
        causes: what makes trainings differ: its functions need no further evidence.
        folders: of the new version's code.
        until: the time at which trainings are ended.
    """
    known = {function.key for cause in causes for function in cause.movers}
    executed = [
        execution
        for execution in executions
        if execution.trainings and execution.function.key not in known
    ]
    by_name = {training.name: training for training in trainings if training.name in traces}
    executing = _executing({name: traces[name] for name in by_name})
    uses = _uses([execution.function for execution in executed], Users(folders), executing)
    # by piece of code, the functions whose calls speak for it
    callees = {execution.function.key: [execution.function.key] for execution in executed
               if _callable(execution.function)}  # fmt: skip
    for function, pieces in uses.items():
        for piece in pieces if function not in callees else ():
            # one that differs itself says nothing of what it reads
            callees.setdefault(piece.key, []).append(function)
    wanted = list(
        dict.fromkeys(changed_function for of in callees.values() for changed_function in of)
    )
    functions: dict[str, list[list[str]]] = {}
    for function_ in wanted:
        for name in chosen(executing.get(function_, ()), traces):
            functions.setdefault(name, []).append(list(function_))
    if not functions:
        return list(executions)

    seconds = seconds_of_first(len(wanted))
    differing = [execution.function for execution in executions if _callable(execution.function)]
    differing += [execution.function for execution in executed if execution.function.at_import
                  and execution.function.key in callees]  # fmt: skip
    job = {"changes": list_old_code(differing), "folders": list(folders), "seconds": seconds,
             "uses": _as_jobs(uses)}  # fmt: skip

    def work(part: Sequence[Training], side: Side) -> dict[str, Any]:
        return _answers(part, side, functions, job, until)

    capturing = [by_name[name] for name in functions]
    size = seconds * sum(map(len, functions.values())) / len(capturing)
    progress.begin(STAGE, len(capturing), size)
    answers = sides.on("B", capturing, work)
    found: dict[_Key, list[Mapping[str, Any]]] = {}
    for name in functions:
        for call in answers.get(name, {}).get("calls", ()):
            found.setdefault((call["file"], call["name"]), []).append(call)
    return [
        replace(execution, calls=_of([_as_of(execution.function, call)
                                      for key in callees[execution.function.key]
                                 for call in found.get(key, ())]))
        if execution in executed and execution.function.key in callees else execution
        for execution in executions
    ]  # fmt: skip


def seconds_of_first(functions: float) -> float:
    """Return CPU seconds for the first captured call of each of so many functions."""
    return min(_MOST, max(_LEAST, _TOGETHER / functions))


def _as_of(piece: Changed, call: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call of a function that speaks for a piece of code: it names the function."""
    if "differs" not in call or not piece.at_import:
        return call
    differs = call["differs"]
    return {**call, "differs": {**differs, "path": f"{call['name']}: {differs['path']}"}}


def _executing(traces: Mapping[str, Trace]) -> dict[_Key, list[str]]:
    """File and name of a function -> trainings that execute it."""
    found: dict[_Key, list[str]] = {}
    for name, trace in traces.items():
        for file, functions in trace.header.get("functions", {}).items():
            for function in functions:
                found.setdefault((file, function), []).append(name)
    return found


def _uses(
    pieces: Iterable[Changed], users: Users, executing: Mapping[_Key, Sequence[str]]
) -> dict[_Key, list[Changed]]:
    """Executed function -> pieces that give names which it reads another value."""
    found: dict[_Key, list[Changed]] = {}
    for piece in pieces:
        names = find_rebound_names(piece)
        every = (
            {key for keys in users.find_users(piece, names).values() for key in keys}
            if names
            else set()
        )
        # those of its own file and class first
        near = sorted(every & executing.keys(), key=lambda key: (not _is_near(key, piece), key))
        for key in near[:_USERS]:
            found.setdefault(key, []).append(piece)
    return found


def _is_near(function: _Key, piece: Changed) -> bool:
    kind = piece.name.removeprefix(BODY).strip()
    return function[0] == piece.file and (piece.name == MODULE or function[1].startswith(kind))


def _as_jobs(uses: Mapping[_Key, Sequence[Changed]]) -> list[dict[str, Any]]:
    """The same for ``inside.calls``."""
    return [
        {
            "file": file,
            "name": name,
            "pieces": [text for piece in pieces for text in _texts(piece)],
        }
        for (file, name), pieces in uses.items()
    ]


def _texts(piece: Changed) -> Iterable[dict[str, str]]:
    for change in list_old_code([piece]):
        yield {"file": piece.file, "name": piece.name, "text": str(change["text"])}


def of_mutants(
    sides: Sides, trainings: Sequence[Training], folders: Sequence[str]
) -> dict[str, Calls]:
    """What came of the calls of the function that each training's ``mutant`` is in, by name."""
    functions = {t.name: [[t.job["mutant"]["file"], t.job["mutant"]["functions"][0]]]
                 for t in trainings}  # fmt: skip
    job = {"changes": [], "folders": list(folders), "seconds": _MOST}

    def work(part: Sequence[Training], side: Side) -> dict[str, Any]:
        return _answers(part, side, functions, job)

    progress.begin("repeating calls of functions with faults", len(trainings))
    answers = sides.on("B", trainings, work)
    return {name: _of(answer.get("calls", ())) for name, answer in answers.items()}


def rounded(
    held: Iterable[Traced], causes: Mapping[str, Cause], executions: Iterable[PieceExecution]
) -> list[Traced]:
    """The trainings; close is one that trains the same, whose culprits do no more than round.

    What is logged or written may be a small difference of large numbers.
    """
    calls = {execution.function.key: execution.calls for execution in executions}

    def rounds(name: str) -> bool:
        movers = causes[name].movers if name in causes else ()
        of = [calls.get(function.key) for function in movers]
        compared = [x for x in of if x is not None and x.same + x.close and not x.arguments]
        # that nothing differs in direct calls says that they do not see what differs
        return len(compared) == len(of) and any(x.close for x in compared)

    return [
        replace(training, comparison=replace(training.comparison, verdict="close"))
        if training.comparison.trains_the_same and rounds(training.name)
        else training
        for training in held
    ]


def _callable(function: Changed) -> bool:
    """Whether it is a function on both sides, at the same place."""
    return function.how == CHANGED and not function.at_import and None not in function.paths


def chosen(names: Sequence[str], traces: Mapping[str, Trace]) -> list[str]:
    """The shortest trainings, of different algorithms before others of one."""
    ordered = sorted(names, key=lambda name: len(traces[name].events))
    firsts = {name.partition(" ")[0]: name for name in reversed(ordered)}
    return sorted(ordered, key=lambda name: name not in firsts.values())[:TRAININGS]


def _answers(
    trainings: Sequence[Training],
    side: Side,
    functions: Mapping[str, Sequence[Sequence[str]]],
    requested: Mapping[str, Any],
    until: float | None = None,
) -> dict[str, Any]:
    """What the calls of trainings came to, by name: all from one process, which forks for each.

    Args:
        functions: training -> those whose calls are captured.
        requested: what else ``inside.calls`` is given.
    """
    if not trainings:
        return {}
    with TemporaryDirectory(prefix="rlregress-calls-") as made:
        jobs = [
            {**t.job, "name": t.name, "output": str(Path(made) / f"{number}.json"),
             "functions": functions[t.name], "patience": _PATIENCE, "first": len(side.paths)}
            for number, t in enumerate(trainings)
        ]  # fmt: skip
        path = Path(made) / "jobs.json"
        path.write_text(json.dumps({"jobs": jobs, **requested}), encoding="utf-8")
        command = recording_processes.start("calls", side, path)
        child_processes.follow(command, side.environment(), made, lambda _: progress.done(), until)
        answers = {str(job["name"]): _answer(Path(str(job["output"]))) for job in jobs}
    if not all(answers.values()) and child_processes.is_over(until):
        why = child_processes.note_cut("direct calls of some changed functions")
        for name in [name for name, answer in answers.items() if not answer]:
            lost = [{"file": file, "name": own, "why": why} for file, own in functions[name]]
            answers[name] = {"calls": lost}
    return answers


def _answer(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # whatever ended it, nothing is known of its calls
        return {}


def _of(calls: Sequence[Mapping[str, Any]]) -> Calls:
    """All captured calls of one function together."""
    compared = [call for call in calls if "why" not in call]
    differing = sorted(
        (call for call in compared if "differs" in call), key=lambda call: not call["given"]
    )
    first = differing[0] if differing else {}
    why = next((str(call["why"]) for call in calls if "why" in call), "")
    return Calls(
        captured=len(compared),
        same=sum(call["same"] for call in compared),
        close=sum(call["close"] for call in compared),
        skipped=sum(call["skipped"] for call in compared),
        touched=sum(call["touched"] for call in compared),
        given=bool(first.get("given")),
        why=why or ("" if compared else "no call of it was captured"),
        **first.get("differs", {}),
    )
