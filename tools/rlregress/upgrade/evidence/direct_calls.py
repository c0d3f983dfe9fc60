"""Repeats captured calls of changed functions directly, with the old and the new code.

A training may execute a changed line without an effect, because a bound is never met, a mask is all
ones or a factor is 1. So its calls of the function are repeated with both versions of the code,
with their own and with perturbed arguments. Calls of functions that read a constant or a class
attribute are repeated, too, if its value differs between the versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import progress
from rlregress.model.code import BODY, CODE_CHANGED, MODULE, SAME_VALUES, ChangedPiece
from rlregress.model.recorded_traces import ComparedTraining, Trace
from rlregress.model.upgrade_result import Culprits, PieceExecution, RepeatedCalls
from rlregress.trace import child_processes
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.differences.old_code import find_names_with_new_values, list_old_code
from rlregress.upgrade.evidence.compared_trainings import Training
from rlregress.upgrade.evidence.coverage import (
    NameUsers,
    index_users_of_names,
    map_functions_to_trainings,
)
from rlregress.upgrade.evidence.runtimes import Runtimes

#: CPU seconds for repeating the first captured call of a function, at most and at least, and those
#: of all functions together; a function's later calls get a part of its seconds.
_MOST, _LEAST, _TOGETHER = 6.0, 0.5, 120.0
#: in how many trainings calls of one function are captured.
TRAININGS = 2
#: how many functions are called to show the effect of one changed value of a module or class.
_USERS = 24
_Key = tuple[str, str]
#: seconds after which a training whose calls are repeated is ended.
_PATIENCE = 900


def compare_captured_calls(
    runtimes: Runtimes,
    executions: Sequence[PieceExecution],
    trainings: Iterable[Training],
    traces: Mapping[str, Trace],
    all_culprits: Iterable[Culprits],
    folders: Sequence[str],
) -> list[PieceExecution]:
    """Repeat captured calls with the old and the new code; add the results to the executions.

    Args:
        trainings: those that may be repeated.
        traces: the new version's traces, by the name of the training.
        all_culprits: the culprits of trainings that differ: they need no further evidence.
        folders: of the new version's code.
    """
    explained = {
        function.key for culprits in all_culprits for function in culprits.confirmed_functions
    }
    executed = [
        execution.function
        for execution in executions
        if execution.trainings and execution.function.key not in explained
    ]
    by_name = {training.name: training for training in trainings if training.name in traces}
    executing = map_functions_to_trainings({name: traces[name] for name in by_name})
    uses = _map_readers_to_pieces(executed, index_users_of_names(tuple(folders)), executing)
    functions_of = _list_functions_to_call(executed, uses)
    functions_called = list(dict.fromkeys(key for keys in functions_of.values() for key in keys))
    functions: dict[str, list[list[str]]] = {}
    for function in functions_called:
        for name in choose_shortest_trainings(executing.get(function, ()), traces):
            functions.setdefault(name, []).append(list(function))
    if not functions:
        return list(executions)

    # each function's first captured call may take this long
    seconds = min(_MOST, max(_LEAST, _TOGETHER / len(functions_called)))
    differing = [x.function for x in executions if _is_function_in_both_versions(x.function)]
    differing += [piece for piece in executed if piece.runs_at_import and piece.key in functions_of]
    job = {"changes": list_old_code(differing), "folders": list(folders), "seconds": seconds,
           "uses": _list_readers_as_rows(uses)}  # fmt: skip
    capturing = [by_name[name] for name in functions]
    rows: dict[_Key, list[Mapping[str, Any]]] = {}
    stage = "repeating calls of changed functions"
    for answer in _capture_calls(runtimes, capturing, functions, job, stage).values():
        for row in answer.get("calls", ()):
            rows.setdefault((row["file"], row["name"]), []).append(row)
    return [
        replace(execution, calls=_summarise_calls_of_function([
            _name_function_in_difference(execution.function, row)
            for key in functions_of[execution.function.key]
            for row in rows.get(key, ())
        ]))
        if execution.function in executed and execution.function.key in functions_of
        else execution
        for execution in executions
    ]  # fmt: skip


def _list_functions_to_call(
    executed: Sequence[ChangedPiece], uses: Mapping[_Key, Sequence[ChangedPiece]]
) -> dict[_Key, list[_Key]]:
    """Return piece of code -> the functions whose calls can show its effect."""
    functions = {
        piece.key: [piece.key] for piece in executed if _is_function_in_both_versions(piece)
    }
    for function, pieces in uses.items():
        # if a function itself changed, a difference need not come from the values that it reads
        for piece in pieces if function not in functions else ():
            functions.setdefault(piece.key, []).append(function)
    return functions


def _name_function_in_difference(piece: ChangedPiece, call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a call's result; for a piece that runs at import, it names the called function."""
    if "differs" not in call or not piece.runs_at_import:
        return call
    differs = call["differs"]
    return {**call, "differs": {**differs, "path": f"{call['name']}: {differs['path']}"}}


def _map_readers_to_pieces(
    pieces: Iterable[ChangedPiece], users: NameUsers, executing: Mapping[_Key, Sequence[str]]
) -> dict[_Key, list[ChangedPiece]]:
    """Return executed function -> differing pieces that change values of names it reads."""
    uses: dict[_Key, list[ChangedPiece]] = {}
    for piece in pieces:
        names = find_names_with_new_values(piece)
        used_by = users.find_functions_using(piece, names) if names else {}
        readers = executing.keys() & {key for keys in used_by.values() for key in keys}
        # those of its own file and class first
        near = sorted(readers, key=lambda key: (not _shares_class_or_file(key, piece), key))
        for key in near[:_USERS]:
            uses.setdefault(key, []).append(piece)
    return uses


def _shares_class_or_file(function: _Key, piece: ChangedPiece) -> bool:
    """Return whether a function is in the file, and in the class, of a piece of code."""
    owner = piece.name.removeprefix(BODY).strip()
    return function[0] == piece.file and (piece.name == MODULE or function[1].startswith(owner))


def _list_readers_as_rows(uses: Mapping[_Key, Sequence[ChangedPiece]]) -> list[dict[str, Any]]:
    """Return functions that read changed values, with these pieces' old code, as plain data."""
    return [
        {"file": file, "name": name, "pieces": [
            {"file": piece.file, "name": piece.name, "text": str(change["text"])}
            for piece in pieces for change in list_old_code([piece])
        ]}
        for (file, name), pieces in uses.items()
    ]  # fmt: skip


def compare_calls_of_mutants(
    runtimes: Runtimes, trainings: Sequence[Training], folders: Sequence[str]
) -> dict[str, RepeatedCalls]:
    """Return training -> the result of calls of the function that its ``mutant`` changes."""
    functions = {t.name: [[t.job["mutant"]["file"], t.job["mutant"]["functions"][0]]]
                 for t in trainings}  # fmt: skip
    job = {"changes": [], "folders": list(folders), "seconds": _MOST}
    answers = _capture_calls(
        runtimes, trainings, functions, job, "repeating calls of functions with faults"
    )
    return {
        name: _summarise_calls_of_function(answer.get("calls", ()))
        for name, answer in answers.items()
    }


def mark_trainings_that_differ_by_rounding(
    trainings: Iterable[ComparedTraining],
    culprits_by_training: Mapping[str, Culprits],
    executions: Iterable[PieceExecution],
) -> list[ComparedTraining]:
    """Return the trainings, marked close where only logs or files differ, and only by rounding.

    A logged or saved number may be a small difference of large ones: rounding changes it much.
    """
    by_function = {execution.function.key: execution.calls for execution in executions}

    def differs_by_rounding(name: str) -> bool:
        confirmed = (
            culprits_by_training[name].confirmed_functions if name in culprits_by_training else ()
        )
        calls = [by_function.get(function.key) for function in confirmed]
        compared = [c for c in calls if c is not None and c.same + c.close and not c.arguments]
        # calls that all agree exactly have not reached the code that made the training differ
        return len(compared) == len(calls) and any(c.close for c in compared)

    return [
        replace(training, comparison=replace(training.comparison, verdict="close"))
        if training.comparison.trains_the_same and differs_by_rounding(training.name)
        else training
        for training in trainings
    ]


def _is_function_in_both_versions(function: ChangedPiece) -> bool:
    """Return whether a piece is a function in both versions, with the same file and name."""
    return (
        function.how == CODE_CHANGED and not function.runs_at_import and None not in function.paths
    )


def choose_shortest_trainings(names: Sequence[str], traces: Mapping[str, Trace]) -> list[str]:
    """Return the shortest trainings, first one of each algorithm."""
    ordered = sorted(names, key=lambda name: len(traces[name].events))
    firsts = {name.partition(" ")[0]: name for name in reversed(ordered)}
    return sorted(ordered, key=lambda name: name not in firsts.values())[:TRAININGS]


def _capture_calls(
    runtimes: Runtimes,
    trainings: Sequence[Training],
    functions: Mapping[str, Sequence[Sequence[str]]],
    settings: Mapping[str, Any],
    stage: str,
) -> dict[str, Any]:
    """Run trainings with calls captured, and return training -> answer of ``inside.calls``.

    Args:
        functions: training -> the functions whose calls are captured.
        settings: shared by all jobs, see ``inside.calls``.
    """

    def capture_calls_of_part(part: Sequence[Training], runtime: Runtime) -> dict[str, Any]:
        with TemporaryDirectory(prefix="rlregress-calls-") as folder:
            jobs = [
                {**t.job, "name": t.name, "output": str(Path(folder) / f"{number}.json"),
                 "functions": functions[t.name], "patience": _PATIENCE, "first": len(runtime.paths)}
                for number, t in enumerate(part)
            ]  # fmt: skip
            runtimes.processes.do_jobs_and_explain_early_end(
                runtime, jobs, lambda _: progress.count_done_parts(), calls=settings
            )
            return {str(job["name"]): _read_json_answer(Path(str(job["output"]))) for job in jobs}

    progress.begin_stage(stage, len(trainings))
    answers: dict[str, Any] = runtimes.call_for_trainings_on_version(
        "new", trainings, capture_calls_of_part
    )
    if not all(answers.values()) and child_processes.is_time_over():
        why = child_processes.note_skipped_task("direct calls of some changed functions")
        for name in [name for name, answer in answers.items() if not answer]:
            lost = [{"file": file, "name": own, "why": why} for file, own in functions[name]]
            answers[name] = {"calls": lost}
    return answers


def _read_json_answer(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # whatever ended it, no call of it was compared
        return {}


def _summarise_calls_of_function(calls: Sequence[Mapping[str, Any]]) -> RepeatedCalls:
    """Return the result of all captured calls of one function."""
    compared = [call for call in calls if "why" not in call]
    differing = sorted(
        (call for call in compared if "differs" in call), key=lambda call: not call["given"]
    )
    first = differing[0] if differing else {}
    reasons = [str(call["why"]) for call in calls if "why" in call]
    # a reason of another function comes first: of that one nothing is known
    why = min(reasons, key=lambda reason: reason == SAME_VALUES, default="")
    return RepeatedCalls(
        captured=len(compared),
        same=sum(call["same"] for call in compared),
        close=sum(call["close"] for call in compared),
        skipped=sum(call["skipped"] for call in compared),
        touched=sum(call["touched"] for call in compared),
        given=bool(first.get("given")),
        why=why or ("" if compared else "no call of it was captured"),
        **first.get("differs", {}),
    )
