"""Call changed functions directly, with both versions of their code: ``-m ...calls JOBS``.

While a training runs the new code, some calls of each changed function are captured. A child of the
process repeats each with the old and the new code; the training goes on as if nothing had happened.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and what is
traced only, Python 3.10 syntax.

The file holds ``jobs`` as for ``inside.batch``, each with ``functions``, file below its root and
qualified name of each that is captured; ``folders`` of the code; ``changes`` as of
``inside.swap``; ``uses``, for a function the pieces of code, each with ``file``, ``name`` and the
old ``text`` of the file, that give names which it reads another value when they are imported;
and ``seconds`` of CPU time for the first call of each. The answer of a training is a JSON file: a
list of the calls, each with ``file``, ``name`` and what ``Call.examine`` returns. A job with a
``mutant``, a change as of ``inside.swap``, compares the code that it runs with this one, as the new
version.
"""

from __future__ import annotations

import contextlib
import difflib
import dis
import inspect
import json
import os
import random
import re
import shutil
import signal
import sys
import traceback
import types
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from rlregress import source
from rlregress.inside import (
    batch,
    bindings,
    events,
    leaves,
    swap,
    trace_worker,
    written_by_calls,
)
from rlregress.inside.copies import NoCopy
from rlregress.inside.handed_locals import NamesRead, names_read
from rlregress.inside.methods import Defaults, Misfit
from rlregress.inside.recorder import Recorder

#: which calls with arguments of one signature are captured, from 1: a training changes as it goes
#: on. Some more are if they take another path through the lines that differ.
CAPTURED, BY_PATH = (1, 3, 20), (2, 5, 10, 50, 100, 200, 500)
#: calls of a function that are looked at, copies of the process that are made for them, calls that
#: are examined, and parts of an argument that tell its kind.
_LOOKED, _COPIES, _MOST, _PARTS = 1000, 16, 8, 16
#: part of the time of the first call that a later one gets.
_LESS = 4
#: steps from the arguments to the objects whose methods are read.
_HOPS = 2
#: seconds that a repetition may wait for something, beside its CPU time.
_PATIENCE = 10
_Function = tuple[str, str]
_NAME = re.compile(r"[A-Za-z_]\w*")


class Capture:
    """Captures calls of functions while it is entered; use it as a context manager.

    Args:
        functions: file below its root, and qualified name.
        examine: called in a child of this process with the function, its frame, whose arguments are
            as they were given, CPU seconds, and paths through it that need no further call; returns
            what is to be known of the call, with its ``path``; ``known``: it is such a path;
            ``raises``: the old code raises on its arguments.
        seconds: of CPU time for the first call of each; later ones get a part of it.

    Attributes:
        found: what was returned, with ``file`` and ``name``.
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
        self._known: dict[int, Any] = {}
        # kept, so that no other code comes to have its identity
        self._codes: list[types.CodeType] = []
        self._captured: dict[_Function, _Captured] = {}
        self.found: list[dict[str, Any]] = []

    def __enter__(self) -> Capture:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        function = self._known.get(id(code), self)
        if function is None:
            return None
        if function is self:
            function = self._known[id(code)] = self._function(code)
            self._codes.append(code)
        if function is None or not _begins(frame):
            return None
        captured = self._captured.setdefault(function, _Captured())
        number, paths = captured.next(_signature(frame))
        if number in (*CAPTURED, *BY_PATH):
            seconds = self._seconds / (_LESS if captured.examined else 1)
            known = () if number in CAPTURED else tuple(paths)
            try:
                found = self._in_a_child(function, frame, seconds, known)
            except Exception as error:  # the training goes on, whatever happens here
                found = {"why": f"no process could be made for it: {error}"}
            captured.copies += 1
            # what one call raises on its arguments, others need not
            raises = found.pop("raises", False)
            if not found.pop("known", False):
                captured.examined += not raises
                paths.add(found.pop("path", ""))
                self.found.append({"file": function[0], "name": function[1], **found})
            if "differs" in found or ("why" in found and not raises):
                self._known[id(code)] = None
        if captured.is_enough():
            self._known[id(code)] = None
        return _release

    def _function(self, code: types.CodeType) -> _Function | None:
        file = self._places.name(code.co_filename)
        parsed = source.parse_file(code.co_filename) if file is not None else None
        if parsed is None or code.co_name.startswith("<"):
            return None
        function = str(file), parsed.function(code.co_firstlineno)
        return function if function in self._wanted else None

    def _in_a_child(
        self, function: _Function, frame: Any, seconds: float, known: Collection[str]
    ) -> dict[str, Any]:
        """What a copy of this process finds out in so much CPU time."""
        read, write = os.pipe()
        child = _forked()
        if not child:
            _alone(write, seconds)
            answer: dict[str, Any] = {}
            try:
                answer = self._examine(function, frame, seconds, known)
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
            # not to its end, which what the child has started may hold open
            text = answered.readline()
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        shutil.rmtree(written_by_calls.folder_of(child), ignore_errors=True)
        if not text:
            ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "no answer"
            return {"why": f"its repetition ended with {ended}"}
        found: dict[str, Any] = json.loads(text)
        return found


class _Captured:
    """What was captured of one function so far.

    Attributes:
        copies: of the process; examined: calls.
    """

    def __init__(self) -> None:
        self.copies = self.examined = self._calls = 0
        self._numbers: dict[Any, int] = {}
        self._paths: dict[Any, set[str]] = {}

    def next(self, signature: Any) -> tuple[int, set[str]]:
        """The number of a call among those of its signature, and their paths so far."""
        self._calls += 1
        self._numbers[signature] = self._numbers.get(signature, 0) + 1
        return self._numbers[signature], self._paths.setdefault(signature, set())

    def is_enough(self) -> bool:
        return self.copies >= _COPIES or self.examined >= _MOST or self._calls >= _LOOKED


def _release(frame: Any, event: str, _: Any) -> Any:
    """Let go of variables that have another value by now: looking at them has kept the old one."""
    _ = frame.f_locals
    return _release


def _signature(frame: Any) -> tuple[Any, ...]:
    """Types, shapes, devices and flags of the arguments of a call, and those of its objects."""
    held = frame.f_locals
    try:
        return tuple(_kind(held[name]) for name in _parameters(frame.f_code) if name in held)
    except Exception:  # whatever a class makes of its own shape
        return ()


def _kind(value: Any, inside: bool = False) -> Any:
    """What is there, but for how many: none, one or several of each dimension."""
    kind = type(value).__qualname__
    if value is None or isinstance(value, (bool, str)):
        return kind, value
    # a batch has a shape and a type as well, but what it holds tells more
    if leaves.is_batch(value) and not inside:
        keys = sorted(value.keys(), key=str)[:_PARTS]
        return kind, *((str(key), _kind(value.get(key), True)) for key in keys)
    if hasattr(type(value), "dtype") and hasattr(type(value), "shape"):
        sizes = tuple(min(int(size), 2) for size in value.shape)
        return kind, str(value.dtype), str(getattr(value, "device", "")), sizes
    if inside:
        return kind
    if isinstance(value, (list, tuple)):
        return kind, min(len(value), 2), *(_kind(item, True) for item in value[:_PARTS])
    if isinstance(value, dict):
        return kind, *((str(key), _kind(value[key], True)) for key in list(value)[:_PARTS])
    flags = getattr(value, "__dict__", {}).items()
    return kind, *((name, flag) for name, flag in flags if isinstance(flag, (bool, torch.device)))


_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _begins(frame: Any) -> bool:
    """Whether the frame is of a call that begins, and not of a generator that goes on."""
    code = frame.f_code
    if not code.co_flags & _RESUMED:
        # its variables need not be looked at, which would keep them
        return True
    return set(frame.f_locals) <= {*_parameters(code), *code.co_freevars}


def _alone(answers: int, seconds: float) -> None:
    """Keep a child away from what it shares with the training, and from what it waits for."""
    sys.settrace(None)
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(2 * seconds) + _PATIENCE)
    written_by_calls.redirect(answers)


class _Examiner:
    """Repeats captured calls.

    Args:
        changes: as of ``inside.swap``: the old code of every function that differs, or a mutant.
        uses: of a function, what gives names that it reads another value; see above.
        mutant: the other code is the new version.
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
        # only where something is captured
        from rlregress.inside import perturbed, values_read
        from rlregress.inside.repeat import Call

        file, name = function
        code, variables = frame.f_code, frame.f_globals
        bound, why = self._bound(function)
        text = swap.text_of(code.co_filename)
        change = next(
            (c for c in self._changes if c["file"] == file and name in c["functions"]), None
        )
        if change is None:
            if not bound:
                raise Misfit(why or "the values that it reads are the same")
            change = {"file": file, "functions": [name], "text": text}
        held = frame.f_locals
        arguments = {n: held[n] for n in _parameters(code) if n in held}
        cells = {n: held[n] for n in code.co_freevars if n in held}
        other_code, defaults = swap.other_code(change, name, code, self._roots)
        if set(cells) != set(code.co_freevars):
            raise Misfit(f"{name} refers to variables around it that are not there yet")
        if any(_sets(version) for version in (code, other_code)):
            raise Misfit(f"{name} sets variables around it, which have no copy")

        texts, codes = (change["text"], text), (other_code, code)
        every = [_lines(version, name) for version in texts]
        rows = _differing(*every)
        perturbed.aim_at({*bindings.numbers(bound), *bindings.literals(_texts(rows))})
        # what reads another value differs in the lines that name it
        names = {binding.name for binding in bound}
        for lines, found in zip(every, rows, strict=False):
            found.update({n: row for n, row in lines.items() if names & set(_NAME.findall(row))})
        rows = rows if any(rows) else every
        near = set(_NAME.findall("\n".join(_texts(rows))))
        differing = []
        for version, of, found in zip(texts, codes, rows, strict=False):
            near |= values_read.names_behind(version, of.co_firstlineno, near)
            differing.append(values_read.statements(version, of.co_firstlineno, found))

        def made(of: types.CodeType) -> Any:
            around = tuple(types.CellType(cells[n]) for n in of.co_freevars)
            return types.FunctionType(of, variables, of.co_name, None, around)

        def joint(same: Callable[[Any], bool]) -> bool | None:
            if self._mutant:
                return None
            return _in_a_copy(lambda: swap.swap(self._changes, self._roots), lambda: same(old))

        if bound and defaults == (None, None):
            with bindings.meanwhile(bound):
                then = swap.defaults_of(file, name, text)
            defaults = (swap.defaults_of(file, name, text), then) if then is not None else defaults
        new = _code(made(code), code, arguments, (None, None))
        old = _code(made(other_code), other_code, arguments, defaults, code)
        old = old._replace(bound=bound, differing=differing[0])
        new = new._replace(differing=differing[1])
        names = _all_read(code if self._mutant else other_code, arguments)
        if self._mutant:
            old, new = new, old
        known = set(_NAME.findall(text))

        def read() -> NamesRead:
            return names_read(tuple(self._roots))

        call = Call(old, new, arguments, names, near, variables, joint, known, read)
        return call.examine(seconds, paths)

    def _bound(self, function: _Function) -> tuple[list[bindings.Binding], str]:
        """Old values of what a function reads, and why some cannot be had."""
        found: list[bindings.Binding] = []
        why = ""
        for piece in self._uses.get(function, ()):
            try:
                found += swap.other_values(piece["file"], piece["name"], piece["text"], self._roots)
            except Misfit as misfit:
                why = str(misfit)
        return found, why


def _forked() -> int:
    """As ``os.fork``; the child draws as this process would, where Python would seed it anew."""
    drawn, writings = random.getstate(), written_by_calls.current
    if writings is not None:
        writings.forking = True
    child = os.fork()
    if writings is not None:
        writings.forking = False
    if not child:
        random.setstate(drawn)
    return child


def _in_a_copy(prepare: Callable[[], Any], question: Callable[[], bool]) -> bool | None:
    """The answer to a question in a copy of this process; None: there is none."""
    child = _forked()
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


def _lines(text: str, name: str) -> dict[int, str]:
    """Those of a function, by number."""
    rows = text.splitlines()
    return {
        number: rows[number - 1]
        for function in source.parse(text).functions
        if function.name == name
        for number in range(function.first, function.last + 1)
    }


def _differing(old: dict[int, str], new: dict[int, str]) -> list[dict[int, str]]:
    """The lines that differ, of both versions."""
    matcher = difflib.SequenceMatcher(None, list(old.values()), list(new.values()), autojunk=False)
    found: list[dict[int, str]] = [{}, {}]
    for how, a, b, c, d in matcher.get_opcodes():
        if how != "equal":
            found[0].update(list(old.items())[a:b])
            found[1].update(list(new.items())[c:d])
    return found


def _texts(rows: Sequence[dict[int, str]]) -> list[str]:
    return [row for lines in rows for row in lines.values()]


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    """Names of all parameters, those of ``*args`` and ``**kwargs`` last."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def _code(
    function: Any,
    code: types.CodeType,
    arguments: dict[str, Any],
    defaults: tuple[Defaults | None, Defaults | None],
    captured: types.CodeType | None = None,
) -> Any:
    """How a version is called with captured arguments.

    Args:
        defaults: of the captured version and of this one, where they differ.
        captured: the code that they were captured from; None: this very one.

    Raises:
        Misfit: it takes others.
    """
    from rlregress.inside.repeat import Code

    positional = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest, others = _variable(code)
    given: dict[str, Any] = {}
    if captured is not None:
        captured_by = {n: v for n, v in _by_name(captured, defaults[0]).items() if n in arguments}
        own_by = _by_name(code, defaults[1])
        left_out = {
            n
            for n, v in captured_by.items()
            if _is_default(arguments[n], v) and not (n in own_by and _is_default(own_by[n], v))
        }
        for name in (*positional, *named):
            if name in own_by and (name not in arguments or name in left_out):
                given[name] = own_by[name]
            elif name not in arguments:
                raise Misfit(f"the old code takes an argument more, {name}")
        known = {*positional, *named, *_variable(captured)}
        more = [n for n in arguments if n not in known and n not in left_out]
        if more:
            raise Misfit(f"the new code is given an argument more, {more[0]}")
        if _variable(captured) != (rest, others):
            raise Misfit("the two versions take other arguments")
    return Code(function, positional, named, rest, others, given)


def _variable(code: types.CodeType) -> tuple[str, str]:
    """Names of ``*args`` and ``**kwargs``; empty where there are none."""
    names = list(_parameters(code)[code.co_argcount + code.co_kwonlyargcount :])
    rest = names.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
    others = names.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
    return rest, others


def _by_name(code: types.CodeType, defaults: Defaults | None) -> dict[str, Any]:
    """Parameter -> default."""
    positional, named = defaults or (None, None)
    values = positional or ()
    names = code.co_varnames[: code.co_argcount]
    return {**dict(zip(names[len(names) - len(values) :], values, strict=False)), **(named or {})}


def _is_default(value: Any, default: Any) -> bool:
    primitive = (bool, int, float, str, type(None))
    return value is default or (
        type(value) is type(default) and isinstance(value, primitive) and value == default
    )


def _all_read(code: types.CodeType, arguments: dict[str, Any]) -> set[str]:
    """Names of attributes and globals that a code object reads.

    With those of methods and properties that it names, of its arguments and of what these hold, and
    of modules that it calls.
    """
    from rlregress.inside import values_read

    names = values_read.names_read(code)
    objects = list(arguments.values())
    for step in range(_HOPS):
        # what is held may be called
        called = {"forward"} if step else set()
        for kind in {type(thing) for thing in objects if leaves.leaf(thing) is None}:
            methods = [values_read.code_of(kind, name) for name in sorted(names | called)]
            names = names.union(*(values_read.names_read(m) for m in methods if m is not None))
        objects = [part for thing in objects for name, part in leaves.attributes(thing).items()
                   if name in names]  # fmt: skip
    return names


def _sets(code: types.CodeType) -> bool:
    """Whether it gives variables of the functions around it another value."""
    stored = (
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname == "STORE_DEREF"
    )
    return any(instruction.argval in code.co_freevars for instruction in stored)


def _train(job: dict[str, Any], request: dict[str, Any]) -> None:
    """Train as under a recorder, with calls captured."""
    trace_worker.prepare(job)
    roots = [*request["folders"], *trace_worker.roots_of(job.get("packages", []))]
    roots += [os.path.abspath(job["script"])] if job.get("script") else []
    places = events.Places(roots)
    mutant = job.get("mutant")
    uses = {(use["file"], use["name"]): use["pieces"] for use in request.get("uses", ())}
    changes = [mutant] if mutant else request["changes"]
    examiner = _Examiner(changes, uses, roots, bool(mutant))
    functions = [(file, name) for file, name in job["functions"]]
    capture = Capture(places, functions, examiner, request["seconds"])
    recorder, ended = Recorder(places, int(job.get("steps", 0)), quiet=True), ""
    with recorder, capture:
        recorder.rebind()
        try:
            trace_worker.run_of(job)(recorder)
        except BaseException as error:  # how it ends, its trace says
            ended = repr(error)
    with open(f"{job['output']}.new", "w", encoding="utf-8") as file:
        json.dump({"calls": capture.found, "ended": ended}, file)
    os.replace(f"{job['output']}.new", job["output"])


def main(arguments: list[str]) -> int:
    """Entry point; the exit status is 0 when all trainings were tried."""
    with open(arguments[0], encoding="utf-8") as file:
        request = json.load(file)
    jobs = request["jobs"]
    if not jobs[0].get("script"):
        batch.prepare(jobs[0])
    return batch.forked(jobs, lambda job: _train(job, request))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
