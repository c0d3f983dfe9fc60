"""Call changed functions directly, with both versions of their code.

While a training runs the new code, some calls of each changed function are captured. A forked child
repeats each call with the old and the new code; the training continues unaffected.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and what is
traced only, Python 3.10 syntax.

``inside.batch`` does the jobs, each with ``functions``, file below its root and qualified name of
each that is captured. What they share holds ``folders`` of the code; ``changes`` as of
``inside.swap``; ``uses``, for a function the pieces of code, each with ``file``, ``name`` and the
old ``text`` of the file, that give names which it reads another value when they are imported;
and ``seconds`` of CPU time for the first call of each. The answer of a training is a JSON file: a
list of the calls, each with ``file``, ``name`` and what ``Call.compare_with_perturbations``
returns. A job with a ``mutant``, a change as of ``inside.swap``, compares the code that it runs
with this one, as the new version.
"""

from __future__ import annotations

import contextlib
import difflib
import dis
import functools
import inspect
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from rlregress import marks, source
from rlregress.inside import (
    bindings,
    events,
    leaves,
    perturbed,
    repeat,
    swap,
    trace_worker,
    values_read,
    written_by_calls,
)
from rlregress.inside.copies import NoCopy
from rlregress.inside.handed_locals import NamesByDictionary, find_locals_read_by_dictionary
from rlregress.inside.methods import Defaults, Misfit
from rlregress.inside.recorder import Recorder
from rlregress.model.code import SAME_VALUES
from rlregress.probing.option_trainings import find_function_of_frame

#: numbers, from 1, of the calls that are captured of those with arguments of the same types: early
#: and late ones. Others are if they take a new path through the lines that differ.
CAPTURED, BY_PATH = (1, 3, 20), (2, 5, 10, 50, 100, 200, 500)
#: limits for one function: calls that are looked at, copies of the process, calls that are
#: examined; and the limit for parts of an argument by which its kind is told.
_LOOKED, _COPIES, _MOST, _PARTS = 1000, 16, 8, 16
#: a later call gets the time of the first call divided by this.
_LESS = 4
#: a function is captured no more after this many times the limit of its first call: arguments are
#: also copied, read and compared, which the limit of a single call does not include.
_WHOLE = 4
#: how many attributes away from the arguments an object's methods are still read.
_HOPS = 2
#: seconds that a repetition may wait without using CPU time.
_PATIENCE = 10
_Function = tuple[str, str]
_NAME = re.compile(r"[A-Za-z_]\w*")


class Capture:
    """Captures calls of functions; use it as a context manager.

    Args:
        functions: file below its root, and qualified name.
        examine: called in a child of this process with the function, the frame of a call that
            begins, CPU seconds, and paths through the function that need no further call. Returns
            a row as of ``Call.compare_with_perturbations``.
        seconds: CPU time for the first call of each function; later calls get a part of it.

    Attributes:
        rows: of all examined calls, each with ``file`` and ``name``.
    """

    def __init__(
        self,
        places: events.Places,
        functions: Sequence[_Function],
        examine: Callable[[_Function, Any, float, Collection[str]], dict[str, Any]],
        seconds: float,
    ) -> None:
        self._places, self._wanted = places, set(functions)
        self._examine, self._seconds = examine, seconds
        self._thread = threading.get_ident()
        self._captured: dict[_Function, _CallCounts] = {}
        self.rows: list[dict[str, Any]] = []
        marks.mark_imports(places.find_path_below_root)

    def __enter__(self) -> Capture:
        marks.set_calls_at_function_entries(self._choose_capture_of_function)
        return self

    def __exit__(self, *_: Any) -> None:
        marks.set_calls_at_function_entries(None)

    def _choose_capture_of_function(
        self, marked: marks.MarkedFunction
    ) -> Callable[[Any], bool] | None:
        function = str(self._places.find_path_below_root(marked.file)), marked.name
        if function not in self._wanted:
            return None
        captured = self._captured.setdefault(function, _CallCounts())
        return functools.partial(self._capture_call, function, captured)

    def _capture_call(self, function: _Function, captured: _CallCounts, frame: Any) -> bool:
        """Capture a call that begins; return whether further calls may be captured."""
        # a copy of the process has no other thread
        if captured.is_over or threading.get_ident() != self._thread:
            return not captured.is_over
        types_of_arguments = _describe_types_of_arguments(frame)
        captured.calls += 1
        captured.with_types[types_of_arguments] += 1
        number, paths = captured.with_types[types_of_arguments], captured.paths[types_of_arguments]
        if number in (*CAPTURED, *BY_PATH):
            seconds = self._seconds / (_LESS if captured.examined else 1)
            known_paths = () if number in CAPTURED else tuple(paths)
            started = _measure_seconds_of_children()
            try:
                row = self._compare_call_in_child(function, frame, seconds, known_paths)
            except Exception as error:  # the training goes on, whatever happens here
                row = {"why": f"no process could be made for it: {error}"}
            captured.copies += 1
            captured.seconds += _measure_seconds_of_children() - started
            # another call need not raise on its arguments
            raises = row.pop("raises", False)
            if not row.pop("known", False):
                captured.examined += not raises
                paths.add(row.pop("path", ""))
                self.rows.append({"file": function[0], "name": function[1], **row})
            captured.is_over = "differs" in row or ("why" in row and not raises)
        captured.is_over |= (
            captured.seconds >= _WHOLE * self._seconds
            or captured.copies >= _COPIES
            or captured.examined >= _MOST
            or captured.calls >= _LOOKED
        )
        return not captured.is_over

    def _compare_call_in_child(
        self, function: _Function, frame: Any, seconds: float, paths: Collection[str]
    ) -> dict[str, Any]:
        """Compare both versions of a call in a forked child, within ``seconds`` of CPU time."""
        read, write = os.pipe()
        child = _fork_without_reseeding()
        if not child:
            _separate_child_from_training(write, seconds)
            answer: dict[str, Any] = {}
            try:
                answer = self._examine(function, frame, seconds, paths)
            except (Misfit, NoCopy) as why:
                answer = {"why": str(why)}
            except BaseException:
                answer = {"why": f"this suite failed: {traceback.format_exc(limit=-3)}"}
            finally:
                try:
                    os.write(write, json.dumps(answer).encode() + b"\n")
                finally:
                    os._exit(0)
        os.close(write)
        with os.fdopen(read, encoding="utf-8", errors="replace") as answered:
            # one line, not to the end: processes that the child started may keep the pipe open
            text = answered.readline()
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        shutil.rmtree(written_by_calls.name_output_folder(child), ignore_errors=True)
        if not text:
            ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "no answer"
            return {"why": f"its repetition ended with {ended}"}
        row: dict[str, Any] = json.loads(text)
        return row


@dataclass
class _CallCounts:
    """Counts captured calls of one function.

    Attributes:
        copies: number of copies of the process; examined: number of examined calls.
        seconds: CPU seconds that the copies have taken.
        is_over: whether no call is captured any more.
        with_types: types of arguments -> number of calls with these.
        paths: types of arguments -> paths through the function of calls with these.
    """

    calls: int = 0
    copies: int = 0
    examined: int = 0
    seconds: float = 0.0
    is_over: bool = False
    with_types: Counter[Any] = field(default_factory=Counter)
    paths: defaultdict[Any, set[str]] = field(default_factory=lambda: defaultdict(set))


def _measure_seconds_of_children() -> float:
    """Return the CPU seconds of all ended children."""
    times = os.times()
    return times.children_user + times.children_system


def _describe_types_of_arguments(frame: Any) -> tuple[Any, ...]:
    """Return types, shapes, devices and flags of a call's arguments and of parts of these."""
    values = frame.f_locals
    try:
        return tuple(
            _describe_type(values[name])
            for name in _list_parameters(frame.f_code)
            if name in values
        )
    except Exception:  # whatever a class makes of its own shape
        return ()
    finally:
        # before Python 3.13 it is a copy, and keeps the values for as long as the call lasts
        if isinstance(values, dict):
            values.clear()


def _describe_type(value: Any, inside: bool = False) -> Any:
    """Return a value's type and parts; sizes of dimensions only as 0, 1 or more."""
    kind = type(value).__qualname__
    if value is None or isinstance(value, (bool, str)):
        return kind, value
    # a batch has a shape and a type as well, but what it holds tells more
    if leaves.is_tensor_batch(value) and not inside:
        keys = sorted(value.keys(), key=str)[:_PARTS]
        return kind, *((str(key), _describe_type(value.get(key), True)) for key in keys)
    if hasattr(type(value), "dtype") and hasattr(type(value), "shape"):
        sizes = tuple(min(int(size), 2) for size in value.shape)
        return kind, str(value.dtype), str(getattr(value, "device", "")), sizes
    if inside:
        return kind
    if isinstance(value, (list, tuple)):
        return kind, min(len(value), 2), *(_describe_type(item, True) for item in value[:_PARTS])
    if isinstance(value, dict):
        return kind, *((str(key), _describe_type(value[key], True)) for key in list(value)[:_PARTS])
    flags = getattr(value, "__dict__", {}).items()
    return kind, *((name, flag) for name, flag in flags if isinstance(flag, (bool, torch.device)))


def _separate_child_from_training(answer_pipe: int, seconds: float) -> None:
    """Separate a child from files and signals that it shares with the training."""
    marks.set_calls_at_function_entries(None)
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(2 * seconds) + _PATIENCE)
    # a module that a call imports first would be compiled into a file, which is refused
    sys.dont_write_bytecode = True
    written_by_calls.redirect_open_files(answer_pipe)


class Examiner:
    """Repeats captured calls with the old and the new code.

    Args:
        changes: as of ``inside.swap``: the old code of every function that differs, or a mutant.
        uses: function -> pieces that change values of names that it reads; see the module.
        mutant: ``changes`` is a mutant, which takes the place of the new version.
    """

    def __init__(
        self,
        changes: Sequence[dict[str, Any]],
        uses: dict[_Function, list[dict[str, Any]]],
        roots: Sequence[str],
        mutant: bool = False,
    ) -> None:
        self._changes, self._uses, self._roots = changes, uses, roots
        self._mutant = mutant

    def __call__(
        self, function: _Function, frame: Any, seconds: float, paths: Collection[str]
    ) -> dict[str, Any]:
        """Repeat the call that a frame starts with the old and the new code; return the result."""
        file, name = function
        code, variables = frame.f_code, frame.f_globals
        bound, why = self._find_old_values_of_names(function)
        text = source.read_source_text(code.co_filename)
        change = next(
            (c for c in self._changes if c["file"] == file and name in c["functions"]), None
        )
        if change is None:
            if not bound:
                raise Misfit(why or SAME_VALUES)
            change = {"file": file, "functions": [name], "text": text}
        captured = frame.f_locals
        arguments = {n: captured[n] for n in _list_parameters(code) if n in captured}
        cells = {n: captured[n] for n in code.co_freevars if n in captured}
        other_code, defaults = swap.find_other_code_of_function(change, name, code, self._roots)
        if set(cells) != set(code.co_freevars):
            raise Misfit(f"{name} uses variables of an enclosing function that have no value yet")
        if any(map(_sets_outer_variables, (code, other_code))):
            raise Misfit(f"{name} sets variables of an enclosing function, which cannot be copied")
        if bound and defaults == (None, None):
            defaults = bindings.find_present_and_other_defaults(code, bound)

        texts = change["text"], text
        near, differing = _find_differing_statements(name, texts, (other_code, code), bound)
        new_function, old_function = (
            _make_function_of_code(c, variables, cells, own_defaults)
            for c, own_defaults in zip((code, other_code), defaults, strict=True)
        )
        own = _find_arguments_of_old_defaults(old_function, new_function, arguments)
        old = repeat.FunctionVersion(old_function, own, bound, differing[0])
        new = repeat.FunctionVersion(new_function, {}, (), differing[1])
        names = _list_names_read(code if self._mutant else other_code, arguments)

        def is_same_with_other_changes(is_same: Callable[[Any], bool]) -> bool | None:
            if self._mutant:
                return None
            return _answer_in_forked_copy(
                lambda: swap.replace_running_code(self._changes, self._roots), lambda: is_same(old)
            )

        def find_locals_read() -> NamesByDictionary:
            return find_locals_read_by_dictionary(tuple(self._roots))

        versions = (new, old) if self._mutant else (old, new)
        all_names = set(_NAME.findall(text))
        _, called = find_function_of_frame(frame)
        options = (
            perturbed.list_text_and_none_targets(called, arguments) if called is not None else ()
        )
        around = {f"{n} around it": value for n, value in cells.items() if n != "__class__"}
        call = repeat.Call(
            *versions, arguments, names, near, variables, is_same_with_other_changes,
            all_names, find_locals_read, options, self._list_traced_modules(), around,
        )  # fmt: skip
        return call.compare_with_perturbations(seconds, paths)

    def _list_traced_modules(self) -> list[types.ModuleType]:
        """Return the modules of the traced code."""
        names = {os.path.basename(root).removesuffix(".py") for root in self._roots}
        names |= {"__main__" for root in self._roots if root.endswith(".py")}
        return [m for name, m in sys.modules.items() if name.partition(".")[0] in names]

    def _find_old_values_of_names(self, function: _Function) -> tuple[list[bindings.Binding], str]:
        """Return old values of names that a function reads, and why some are not known."""
        old_values: list[bindings.Binding] = []
        why = ""
        for piece in self._uses.get(function, ()):
            try:
                old_values += swap.find_values_in_other_version(
                    piece["file"], piece["name"], piece["text"], self._roots
                )
            except Misfit as misfit:
                why = str(misfit)
        return old_values, why


def _find_differing_statements(
    name: str,
    texts: Sequence[str],
    codes: Sequence[types.CodeType],
    bound: Sequence[bindings.Binding],
) -> tuple[set[str], list[list[Any]]]:
    """Return names that differing statements use, and these statements in both versions.

    Numbers in these statements become bounds for perturbations; see ``perturbed``.

    Args:
        texts, codes: those of the old version, then those of the new one.
    """
    lines = [_number_lines(text, name) for text in texts]
    rows = _select_differing_lines(*lines)
    perturbed.add_perturbations_around_bounds(
        {
            *bindings.list_old_and_new_numbers(bound),
            *bindings.list_literal_numbers(_list_texts_of_rows(rows)),
        }
    )
    # a function that reads another value differs in the lines that name it
    names = {binding.name for binding in bound}
    for version, part in zip(lines, rows, strict=True):
        part.update({n: row for n, row in version.items() if names & set(_NAME.findall(row))})
    rows = rows if any(rows) else lines
    near = set(_NAME.findall("\n".join(_list_texts_of_rows(rows))))
    differing = []
    for text, code, part in zip(texts, codes, rows, strict=True):
        near |= values_read.find_names_with_origins(text, code.co_firstlineno, near)
        differing.append(values_read.list_statements_at_lines(text, code.co_firstlineno, part))
    return near, differing


def _make_function_of_code(
    code: types.CodeType,
    variables: dict[str, Any],
    cells: dict[str, Any],
    defaults: Defaults | None,
) -> types.FunctionType:
    """Return a function made of a code object, a module's variables, closure cells and defaults."""
    around = tuple(types.CellType(cells[name]) for name in code.co_freevars)
    positional, named = defaults or (None, None)
    function = types.FunctionType(code, variables, code.co_name, positional, around)
    function.__kwdefaults__ = named
    return function


def _fork_without_reseeding() -> int:
    """Call ``os.fork``, and keep Python from reseeding ``random`` in the child."""
    drawn, writings = random.getstate(), written_by_calls.current
    if writings is not None:
        writings.forking = True
    child = os.fork()
    if writings is not None:
        writings.forking = False
    if not child:
        random.setstate(drawn)
    return child


def _answer_in_forked_copy(prepare: Callable[[], Any], question: Callable[[], bool]) -> bool | None:
    """Return a question's answer, computed in a copy of this process; None: no answer came."""
    child = _fork_without_reseeding()
    if not child:
        signal.alarm(_PATIENCE)
        status = 2
        try:
            prepare()
            status = 0 if question() else 1
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return {0: True, 1: False}.get(os.WEXITSTATUS(status)) if os.WIFEXITED(status) else None


def _number_lines(text: str, name: str) -> dict[int, str]:
    """Return line number -> text, for the lines of a function."""
    rows = text.splitlines()
    return {
        number: rows[number - 1]
        for function in source.parse_source(text).functions
        if function.name == name
        for number in range(function.first, function.last + 1)
    }


def _select_differing_lines(old: dict[int, str], new: dict[int, str]) -> list[dict[int, str]]:
    """Return the lines that differ, of both versions."""
    matcher = difflib.SequenceMatcher(None, list(old.values()), list(new.values()), autojunk=False)
    differing: list[dict[int, str]] = [{}, {}]
    for how, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if how != "equal":
            differing[0].update(list(old.items())[old_first:old_end])
            differing[1].update(list(new.items())[new_first:new_end])
    return differing


def _list_texts_of_rows(rows: Sequence[dict[int, str]]) -> list[str]:
    return [row for lines in rows for row in lines.values()]


def _list_parameters(code: types.CodeType) -> list[str]:
    """Return names of all parameters, those of ``*args`` and ``**kwargs`` last."""
    names, *variadic = inspect.getargs(code)
    return [*names, *filter(None, variadic)]


def _find_arguments_of_old_defaults(
    old: types.FunctionType, new: types.FunctionType, arguments: dict[str, Any]
) -> dict[str, Any]:
    """Return the old version's defaults that differ, for arguments that the caller left out.

    Args:
        old, new: with the defaults that differ between them, and no other ones.
        arguments: captured from the new version.

    Raises:
        Misfit: the old version takes other arguments.
    """
    takes, captured = (inspect.signature(function).parameters for function in (old, new))
    old_defaults, new_defaults = (
        {name: p.default for name, p in parameters.items() if p.default is not p.empty}
        for parameters in (takes, captured)
    )
    left_out = {
        name
        for name, value in new_defaults.items()
        if name in arguments
        and _is_default(arguments[name], value)
        and not (name in old_defaults and _is_default(old_defaults[name], value))
    }
    variadic = [[p for p in parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
                for parameters in (takes, captured)]  # fmt: skip
    if variadic[0] != variadic[1]:
        raise Misfit("the two versions take different arguments")
    if missing := [n for n in takes if n not in arguments and n not in old_defaults]:
        raise Misfit(f"the old code takes one more argument, {missing[0]}")
    if added := [n for n in arguments if n not in takes and n not in left_out]:
        raise Misfit(f"the new code takes one more argument, {added[0]}")
    return {
        name: value
        for name, value in old_defaults.items()
        if name not in arguments or name in left_out
    }


def _is_default(value: Any, default: Any) -> bool:
    primitive = (bool, int, float, str, type(None))
    return value is default or (
        type(value) is type(default) and isinstance(value, primitive) and value == default
    )


def _list_names_read(code: types.CodeType, arguments: dict[str, Any]) -> set[str]:
    """Return names of attributes and globals that a code object reads.

    Names that its methods and properties read are included: those of its arguments, of their
    attributes, and of modules that it calls.
    """
    names = values_read.list_names_read(code)
    objects = list(arguments.values())
    for step in range(_HOPS):
        # an attribute may be called
        called = {"forward"} if step else set()
        for kind in {type(value) for value in objects if leaves.describe_leaf(value) is None}:
            methods = [
                values_read.find_code_of_member(kind, name) for name in sorted(names | called)
            ]
            names = names.union(*(values_read.list_names_read(m) for m in methods if m is not None))
        objects = [
            part
            for value in objects
            for name, part in leaves.list_own_attributes(value).items()
            if name in names
        ]
    return names


def _sets_outer_variables(code: types.CodeType) -> bool:
    """Return whether code assigns variables of enclosing functions."""
    return any(
        instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        for instruction in dis.get_instructions(code)
    )


def train_and_compare_captured_calls(shared: dict[str, Any], job: dict[str, Any]) -> None:
    """Run a training; repeat captured calls with the old and new code, and write the results."""
    trace_worker.prepare_imports(job)
    roots = [*shared["folders"], *trace_worker.find_package_folders(job.get("packages", []))]
    roots += [os.path.abspath(job["script"])] if job.get("script") else []
    places = events.Places(roots)
    mutant = job.get("mutant")
    uses = {(use["file"], use["name"]): use["pieces"] for use in shared.get("uses", ())}
    changes = [mutant] if mutant else shared["changes"]
    examiner = Examiner(changes, uses, roots, bool(mutant))
    functions = [(file, name) for file, name in job["functions"]]
    capture = Capture(places, functions, examiner, shared["seconds"])
    recorder, ended = Recorder(places, int(job.get("steps", 0)), quiet=True), ""
    with recorder, capture:
        recorder.replace_functions_imported_before()
        try:
            trace_worker.make_training_of_job(job)(recorder)
        except BaseException as error:  # how it ends, its trace says
            ended = repr(error)
    with open(f"{job['output']}.new", "w", encoding="utf-8") as file:
        json.dump({"calls": capture.rows, "ended": ended}, file)
    os.replace(f"{job['output']}.new", job["output"])
