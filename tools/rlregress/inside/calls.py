"""Call changed functions directly, with both versions of their code: ``-m ...calls JOBS``.

While a training runs the new code, some calls of each changed function are captured. A child of the
process repeats each with the old and the new code; the training goes on as if nothing had happened.

Runs inside foreign and old environments: standard library, NumPy, torch, gymnasium and what is
traced only, Python 3.9 syntax.

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
import signal
import sys
import traceback
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from rlregress import source
from rlregress.inside import batch, bindings, events, swap, trace_worker
from rlregress.inside.copies import NoCopy
from rlregress.inside.methods import Defaults, Misfit
from rlregress.inside.recorder import Recorder

#: which calls of a function are captured, from 1: a training changes as it goes on.
CAPTURED = (1, 3, 20)
#: part of the time of the first call that a later one gets.
_LESS = 4
#: seconds that a repetition may wait for something, beside its CPU time.
_PATIENCE = 10
_Function = Tuple[str, str]
_NAME = re.compile(r"[A-Za-z_]\w*")


class Capture:
    """Captures calls of functions while it is entered; use it as a context manager.

    Args:
        functions: file below its root, and qualified name.
        examine: called in a child of this process with the function, its frame, whose arguments are
            as they were given, and CPU seconds; returns what is to be known of the call.
        seconds: of CPU time for the first call of each; later ones get a part of it.

    Attributes:
        found: what was returned, with ``file`` and ``name``.
    """

    def __init__(
        self,
        places: events.Places,
        functions: Sequence[_Function],
        examine: Callable[[_Function, Any, float], Dict[str, Any]],
        seconds: float,
    ) -> None:
        self._places, self._wanted = places, set(functions)
        self._examine, self._seconds = examine, seconds
        self._known: Dict[int, Any] = {}
        # kept, so that no other code comes to have its identity
        self._codes: List[types.CodeType] = []
        self._calls: Dict[_Function, int] = {}
        self.found: List[Dict[str, Any]] = []

    def __enter__(self) -> Capture:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.settrace(None)

    def _call(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        function = self._known.get(id(code), self)
        if function is None:
            return
        if function is self:
            function = self._known[id(code)] = self._function(code)
            self._codes.append(code)
        if function is None or not _begins(frame):
            return
        self._calls[function] = self._calls.get(function, 0) + 1
        if self._calls[function] in CAPTURED:
            first = self._calls[function] == CAPTURED[0]
            try:
                found = self._in_a_child(function, frame, self._seconds / (1 if first else _LESS))
            except Exception as error:  # the training goes on, whatever happens here
                found = {"why": f"no process could be made for it: {error}"}
            self.found.append({"file": function[0], "name": function[1], **found})
            if "why" in found or "differs" in found:
                self._known[id(code)] = None

    def _function(self, code: types.CodeType) -> Optional[_Function]:
        file = self._places.name(code.co_filename)
        parsed = source.of_file(code.co_filename) if file is not None else None
        if parsed is None or code.co_name.startswith("<"):
            return None
        function = str(file), parsed.function(code.co_firstlineno)
        return function if function in self._wanted else None

    def _in_a_child(self, function: _Function, frame: Any, seconds: float) -> Dict[str, Any]:
        """What a copy of this process finds out in so much CPU time."""
        read, write = os.pipe()
        child = _forked()
        if not child:
            _alone(write, seconds)
            answer: Dict[str, Any] = {}
            try:
                answer = self._examine(function, frame, seconds)
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
        if not text:
            ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "no answer"
            return {"why": f"its repetition ended with {ended}"}
        found: Dict[str, Any] = json.loads(text)
        return found


_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _begins(frame: Any) -> bool:
    """Whether the frame is of a call that begins, and not of a generator that goes on."""
    code = frame.f_code
    if not code.co_flags & _RESUMED:
        # its variables are not looked at: that would keep them until it returns
        return True
    return set(frame.f_locals) <= {*_parameters(code), *code.co_freevars}


def _alone(answers: int, seconds: float) -> None:
    """Keep a child away from what it shares with the training: files, pipes, what it waits for."""
    sys.settrace(None)
    os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(2 * seconds) + _PATIENCE)
    silent = os.open(os.devnull, os.O_RDWR)
    for n in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ("1", "2"):
        number = int(n)
        if number not in (answers, silent):
            with contextlib.suppress(OSError):
                os.dup2(silent, number)
    sys.addaudithook(_forbid)


#: what changes something outside of the process.
_FORBIDDEN = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "shutil.rmtree", "subprocess.Popen", "os.posix_spawn", "os.system", "os.exec",
    "os.fork", "os.forkpty", "socket.connect", "socket.bind",
)  # fmt: skip
#: whether this module itself forks.
_forking = False


def _forbid(event: str, given: Tuple[Any, ...]) -> None:
    """A repetition leaves nothing behind."""
    if event == "open":
        path, mode, flags = given
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) if flags else 0
        written = writes or any(letter in (mode or "") for letter in "wax+")
        if not written or isinstance(path, int) or os.fspath(path) == os.devnull:
            return
    elif event not in _FORBIDDEN or _forking:
        return
    raise PermissionError(f"a repeated call does not do {event}")


class _Examiner:
    """Repeats captured calls.

    Args:
        changes: as of ``inside.swap``: the old code of every function that differs, or a mutant.
        uses: of a function, what gives names that it reads another value; see above.
        mutant: the other code is the new version.
    """

    def __init__(
        self,
        changes: Sequence[Dict[str, Any]],
        uses: Dict[_Function, List[Dict[str, Any]]],
        roots: Sequence[str],
        mutant: bool = False,
    ) -> None:
        self._changes, self._uses, self._roots = changes, uses, roots
        self._mutant = mutant

    def __call__(self, function: _Function, frame: Any, seconds: float) -> Dict[str, Any]:
        # torch is imported by now, and only where something is captured
        from rlregress.inside import perturbed
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

        lines = _differing(*(_lines(source_text, name) for source_text in (change["text"], text)))
        near = set(_NAME.findall("\n".join(lines)))
        near |= _unreliable_names(_lines(text, name), {binding.name for binding in bound})
        perturbed.aim_at({*bindings.numbers(bound), *bindings.literals(lines)})

        def made(of: types.CodeType) -> Any:
            around = tuple(types.CellType(cells[n]) for n in of.co_freevars)
            return types.FunctionType(of, variables, of.co_name, None, around)

        def joint(same: Callable[[Any], bool]) -> Optional[bool]:
            if self._mutant:
                return None
            return _in_a_copy(lambda: swap.swap(self._changes, self._roots), lambda: same(old))

        if bound and defaults == (None, None):
            with bindings.meanwhile(bound):
                then = swap.defaults_of(file, name, text)
            defaults = (swap.defaults_of(file, name, text), then) if then is not None else defaults
        new = _code(made(code), code, arguments, (None, None))
        old = _code(made(other_code), other_code, arguments, defaults, code)
        old = old._replace(bound=bound)
        names = _all_read(other_code, arguments)
        if self._mutant:
            old, new = new, old
        known = set(_NAME.findall(text))
        return Call(old, new, arguments, names, near, variables, joint, known).examine(seconds)

    def _bound(self, function: _Function) -> Tuple[List[bindings.Binding], str]:
        """Old values of what a function reads, and why some cannot be had."""
        found: List[bindings.Binding] = []
        why = ""
        for piece in self._uses.get(function, ()):
            try:
                found += swap.other_values(piece["file"], piece["name"], piece["text"], self._roots)
            except Misfit as misfit:
                why = str(misfit)
        return found, why


def _forked() -> int:
    """As ``os.fork``; the child draws as this process would, where Python would seed it anew."""
    global _forking
    drawn = random.getstate()
    _forking = True
    child = os.fork()
    _forking = False
    if not child:
        random.setstate(drawn)
    return child


def _in_a_copy(prepare: Callable[[], Any], question: Callable[[], bool]) -> Optional[bool]:
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


def _lines(text: str, name: str) -> List[str]:
    """Those of a function."""
    rows = text.splitlines()
    return [
        row
        for function in source.parse(text).functions
        if function.name == name
        for row in rows[function.first - 1 : function.last]
    ]


def _unreliable_names(lines: Sequence[str], names: Set[str]) -> Set[str]:
    """Names in the lines that have one of some names."""
    every = (set(_NAME.findall(line)) for line in lines)
    return {name for found in every if found & names for name in found}


def _differing(old: Sequence[str], new: Sequence[str]) -> List[str]:
    """The lines that differ, of either version."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        row
        for how, a, b, c, d in matcher.get_opcodes()
        if how != "equal"
        for row in (*old[a:b], *new[c:d])
    ]


def _parameters(code: types.CodeType) -> Tuple[str, ...]:
    """Names of all parameters, those of ``*args`` and ``**kwargs`` last."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def _code(
    function: Any,
    code: types.CodeType,
    arguments: Dict[str, Any],
    defaults: Tuple[Optional[Defaults], Optional[Defaults]],
    captured: Optional[types.CodeType] = None,
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
    given: Dict[str, Any] = {}
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


def _variable(code: types.CodeType) -> Tuple[str, str]:
    """Names of ``*args`` and ``**kwargs``; empty where there are none."""
    names = list(_parameters(code)[code.co_argcount + code.co_kwonlyargcount :])
    rest = names.pop(0) if code.co_flags & inspect.CO_VARARGS else ""
    others = names.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else ""
    return rest, others


def _by_name(code: types.CodeType, defaults: Optional[Defaults]) -> Dict[str, Any]:
    """Parameter -> default."""
    positional, named = defaults or (None, None)
    values = positional or ()
    names = code.co_varnames[: code.co_argcount]
    return {**dict(zip(names[len(names) - len(values) :], values)), **(named or {})}


def _is_default(value: Any, default: Any) -> bool:
    primitive = (bool, int, float, str, type(None))
    return value is default or (
        type(value) is type(default) and isinstance(value, primitive) and value == default
    )


def _read(code: types.CodeType) -> Set[str]:
    """Names of attributes and globals that a code object reads."""
    return {name for code_ in (code, *swap.inside(code)) for name in code_.co_names}


def _all_read(code: types.CodeType, arguments: Dict[str, Any]) -> Set[str]:
    """The same, and those of the methods and properties that it names of its object."""
    names = _read(code)
    kind = type(next(iter(arguments.values()), None))
    for name in sorted(names):
        method = getattr(kind, name, None)
        method = getattr(method, "fget", None) or inspect.unwrap(method) if method else None
        own = getattr(method, "__code__", None)
        if own is not None:
            names = names | _read(own)
    return names


def _sets(code: types.CodeType) -> bool:
    """Whether it gives variables of the functions around it another value."""
    stored = (
        instruction
        for instruction in dis.get_instructions(code)
        if instruction.opname == "STORE_DEREF"
    )
    return any(instruction.argval in code.co_freevars for instruction in stored)


def _train(job: Dict[str, Any], request: Dict[str, Any]) -> None:
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


def main(arguments: List[str]) -> int:
    """Entry point; the exit status is 0 when all trainings were tried."""
    with open(arguments[0], encoding="utf-8") as file:
        request = json.load(file)
    jobs = request["jobs"]
    if not jobs[0].get("script"):
        batch.prepare(jobs[0])
    return batch.forked(jobs, lambda job: _train(job, request))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
