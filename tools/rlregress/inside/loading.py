"""Notes the modules, scripts and data that a process loads, and the processes that it starts.

An audit hook notes what ``sys.modules`` does not have at the end, such as scripts and modules that
were removed. It must be installed before all imports: modules that a process loads before it forks
count for each of its children. Code can have an effect without being called. So reads of sources,
and of code, types or docstrings of objects are noted, too; listings of folders; and searches for
files, modules and versions.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import importlib.metadata
import inspect
import linecache
import os
import shutil  # noqa: F401  before what it compares is replaced
import subprocess
import sys
import tokenize
import traceback
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from rlregress import marks, source
from rlregress.inside import audit_events
from rlregress.inside.events import Places

#: endings of files that an import opens: sources, and what Python compiles from them.
_PYTHON = (".py", ".pyc", ".pyi")

#: audit events of a process that starts another one, except by ``multiprocessing`` with "spawn".
_STARTING = frozenset(
    {"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.fork", "os.forkpty"}
)
#: modules that start a process for their callers: the caller counts as its starter.
_STARTERS = frozenset({subprocess.__file__, os.__file__})
#: commands that only describe the machine, and cannot run traced code.
_PLATFORM_COMMANDS = ("uname", "lsb_release", "nvidia-smi", "git", "lscpu")

#: folders of this suite, and of code that reads files for its callers.
_SUITE = os.path.dirname(os.path.abspath(source.__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = tuple(
    os.path.join(_STANDARD_LIBRARY, name) for name in ("site-packages", "dist-packages")
)
_IMPORT = "<frozen importlib."
#: attributes of a code object for its arguments, name and kind: reading them reads no statements.
_OF_DEFINITION = frozenset(
    ["co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_varnames", "co_name"]
    + ["co_qualname", "co_filename", "co_firstlineno", "co_flags"]
)
_SHOWING = frozenset({warnings.__file__, traceback.__file__})

#: attribute names by which code reads the types or the docstring of an object.
_WORDING = frozenset({"__annotations__", "__doc__"})

_watching = False
_run: set[str] = set()
_read: set[str] = set()
#: source files that were read, not only imported.
_sources: set[str] = set()
#: identity -> code object that was read from its function; held here, so that no other object can
#: get the same identity.
_codes: dict[int, CodeType] = {}
#: folders that were listed and sources whose properties were read, other than by an import; and
#: modules that were looked for without an import.
_listed: set[str] = set()
_sought: set[str] = set()
#: classes and functions whose types or docstrings were read.
_described: dict[int, Any] = {}
#: packages whose version may have been read; files with code that reads types or a docstring, where
#: it is not known of which object.
_versions: set[str] = set()
_reading: set[str] = set()
#: processes that were started: number of the starting process, audit event, and file of the code.
_started: set[tuple[int, str, str]] = set()


class _NameNotingFinder:
    """An import finder that notes the names of modules and finds none."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Note the name of the module and find nothing: a later finder finds the module."""
        _sought.add(name)


def note_everything_loaded() -> None:
    """Note every module and file that is loaded or read from now on, until the process ends."""
    global _watching
    if not _watching:
        _watching = True
        for event, note in _NOTES.items():
            audit_events.listen_to_events(note, event)
        sys.meta_path.insert(0, _NameNotingFinder)
        for owner, name, note_call in (
            (typing, "get_type_hints", _note_read_description),
            (inspect, "get_annotations", _note_read_description),
            (inspect, "getdoc", _note_read_description),
            (os, "stat", _note_stat_of_source),
            (os, "lstat", _note_stat_of_source),
            (os, "access", _note_stat_of_source),
            (importlib.metadata, "version", _note_read_version),
            (linecache, "getlines", _note_read_lines),
        ):
            _note_calls(owner, name, note_call)


def _note_calls(owner: Any, name: str, note: Callable[[Any, Any], None]) -> None:
    """Replace a module's function by one that first notes its caller and its first argument."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def note_and_call(*arguments: Any, **options: Any) -> Any:
        frame = sys._getframe(1)
        if not _is_read_by_suite(frame):
            note(frame, next(iter([*arguments, *options.values()]), None))
        return original(*arguments, **options)

    setattr(owner, name, note_and_call)
    for supporting in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        supporting.update({note_and_call} if original in supporting else ())


def _note_read_description(_: Any, described: Any) -> None:
    _described[id(described)] = described


def _note_read_lines(frame: Any, file: str) -> None:
    # also of a file that ``linecache`` has read before
    if not _is_read_for_display(frame):
        with contextlib.suppress(OSError):
            _sources.add(os.path.abspath(file))


def _note_stat_of_source(_: Any, path: Any) -> None:
    if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).endswith(".py"):
        with contextlib.suppress(OSError):
            _listed.add(os.path.abspath(os.fsdecode(path)))


def _note_read_version(frame: Any, distribution: Any) -> None:
    # most packages read their own when they are imported, to offer it
    if frame.f_code.co_name != "<module>":
        _versions.add(str(distribution).lower().replace("-", "_"))


def note_introspection(code: CodeType, variables: Mapping[str, Any]) -> None:
    """Note whether code reads an object's types, docstring or version.

    Args:
        variables: those of the code's module.
    """
    named = {*code.co_names, *(x for x in code.co_consts if isinstance(x, str))}
    if not _WORDING.isdisjoint(named) and any(
        step.opname.startswith("LOAD") and step.argval in _WORDING
        for step in dis.get_instructions(code)
    ):
        _reading.add(code.co_filename)
    if "__version__" in named:
        own = ["__name__"] if "__version__" in variables else []
        modules = [getattr(variables.get(name), "__name__", name) for name in code.co_names]
        names = [*(variables[name] for name in own), *modules]
        _versions.update(str(name).partition(".")[0] for name in names)


def _note_executed_code(_: str, arguments: tuple[Any, ...]) -> None:
    if isinstance(arguments[0], CodeType) and arguments[0].co_name == "<module>":
        _run.add(arguments[0].co_filename)


def _note_opened_file(_: str, arguments: tuple[Any, ...]) -> None:
    path, mode, flags = arguments
    writes = mode[:1] in ("w", "x", "a") if mode else flags & os.O_WRONLY
    if isinstance(path, (str, bytes)) and not writes:
        name = os.fsdecode(path)
        files = _read
        if name.endswith(_PYTHON):
            frame = sys._getframe(2)
            if (
                _is_read_for_import(frame)
                or _is_read_by_suite(frame)
                or _is_opened_for_linecache(frame)
            ):
                return
            files = _sources
        # now, as the working directory may be another one later, or gone
        with contextlib.suppress(OSError):
            files.add(os.path.abspath(name))


def _note_listed_folder(_: str, arguments: tuple[Any, ...]) -> None:
    path = arguments[0] if arguments and arguments[0] is not None else "."
    if isinstance(path, (str, bytes)) and not _get_file_of_frame(sys._getframe(2)).startswith(
        _IMPORT
    ):
        with contextlib.suppress(OSError):
            _listed.add(os.path.abspath(os.fsdecode(path)))


def _note_read_code_object(_: str, arguments: tuple[Any, ...]) -> None:
    # to read the code of a frame is such an event, too
    if arguments[1] != "__code__" or type(arguments[0]) is not FunctionType:
        return
    frame = sys._getframe(2)
    if not _reads_only_definition_attributes(frame.f_code, frame.f_lasti) and not _is_read_by_suite(
        frame
    ):
        # to read the attribute would come here again
        code = next(x for x in gc.get_referents(arguments[0]) if type(x) is CodeType)
        _codes[id(code)] = code


def _note_started_process(event: str, arguments: tuple[Any, ...]) -> None:
    command = os.path.basename(os.fsdecode(arguments[0])) if arguments and arguments[0] else ""
    if command not in _PLATFORM_COMMANDS:
        _started.add((os.getpid(), event, _find_file_of_starter(sys._getframe(2))))


_NOTES: dict[str, audit_events.Listener] = {
    "exec": _note_executed_code,
    "open": _note_opened_file,
    "os.listdir": _note_listed_folder,
    "os.scandir": _note_listed_folder,
    "object.__getattr__": _note_read_code_object,
    **dict.fromkeys(_STARTING, _note_started_process),
}


def _get_file_of_frame(frame: Any) -> str:
    return str(frame.f_code.co_filename)


@functools.cache
def _reads_only_definition_attributes(code: CodeType, offset: int) -> bool:
    """Return whether the instruction after an offset reads a function's name or parameters only.

    A function that becomes a generator has another definition; see ``training_selection``.
    """
    following = (step for step in dis.get_instructions(code) if step.offset > offset)
    step = next(following, None)
    return step is not None and step.opname == "LOAD_ATTR" and step.argval in _OF_DEFINITION


def _is_read_for_import(frame: Any) -> bool:
    """Return whether a file is read to import it; a loader's ``get_source`` is another use."""
    names: list[str] = []
    while frame is not None and len(names) < 3 and _get_file_of_frame(frame).startswith(_IMPORT):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names == ["get_data", "get_code", "exec_module"]


def _is_opened_for_linecache(frame: Any) -> bool:
    """Return whether ``linecache`` opens a file for one of its callers, who is noted."""
    while frame is not None and _get_file_of_frame(frame) == tokenize.__file__:
        frame = frame.f_back
    names: list[str] = []
    while frame is not None and _get_file_of_frame(frame) == linecache.__file__:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return "getlines" in names


def _is_read_for_display(frame: Any) -> bool:
    """Return whether a line is read to show it in a warning or a stack; it was executed anyway."""
    return frame.f_back is not None and _get_file_of_frame(frame.f_back) in _SHOWING


def _is_read_by_suite(frame: Any) -> bool:
    """Return whether this suite is the reader, directly or through the standard library."""
    while frame is not None:
        file = _get_file_of_frame(frame)
        if file.startswith(_SUITE):
            return True
        in_library = file.startswith(_STANDARD_LIBRARY) and not file.startswith(_INSTALLED)
        if not (in_library or file.startswith("<frozen ")):
            return False
        frame = frame.f_back
    return False


def _find_file_of_starter(frame: Any) -> str:
    """Return the file of the code that starts another process."""
    while frame.f_back is not None and frame.f_code.co_filename in _STARTERS:
        frame = frame.f_back
    return str(frame.f_code.co_filename)


def list_process_start_events(places: Places) -> list[str]:
    """Return the audit events by which this process, or traced code in a parent, started others.

    Starts by other packages' imports in a parent are left out: these only ask about the machine.
    """
    own = os.getpid()
    return sorted(
        {
            event
            for process, event, file in _started
            if process == own or places.find_path_below_root(file) is not None
        }
    )


def list_loaded_files(places: Places) -> dict[str, list[Any]]:
    """Return the modules and files loaded or read so far; traced files are named below roots.

    ``imported``: modules and executed scripts; ``opened``: files that were read and are not
    Python; ``distributions_imported``: top-level modules beside the standard library and this
    suite; ``folders_imported``: where these lie. ``examined``: files, functions and classes whose
    text, code, types or docstring something else than an import has read, "" for a whole file;
    ``describing``: files with code that has read types or docstrings, it is not known of what;
    ``versions_read``: names by which code may have read the version of a package;
    ``listed``: folders whose files something has listed, and sources of which it has read whether
    they are there; ``sought``: modules that were looked for and are not imported.
    """
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    names = {
        name.partition(".")[0] for name in list(sys.modules)
    } - _list_standard_and_own_modules()
    imported = _name_traced_files({*_run, *(file for file in modules if file)}, places)
    packages = {file.removesuffix(".py").partition(os.sep)[0] for file in imported}
    sought = _sought.difference(sys.modules)
    return {
        "imported": imported,
        "examined": sorted({*_list_examined_code(places)}),
        "describing": _name_traced_files(_reading, places),
        "versions_read": sorted(n for n in _versions if n.startswith(tuple(packages))),
        "listed": _name_traced_files(_listed, places),
        "sought": sorted(name for name in sought if name.partition(".")[0] in packages),
        "opened": _name_traced_files(_read, places),
        "distributions_imported": sorted(names),
        "folders_imported": sorted(
            {place for name in names for place in _find_module_places(name)}
        ),
    }


def _list_examined_code(places: Places) -> Iterator[tuple[str, str]]:
    for file in _name_traced_files(_sources, places):
        yield file, ""
    described = list(_described.values())
    for kind in (k for value in described if isinstance(value, type) for k in value.__mro__):
        module = sys.modules.get(kind.__module__)
        for name in _name_traced_files({str(getattr(module, "__file__", ""))}, places):
            yield name, f"<class> {kind.__qualname__}"
    functions = [inspect.unwrap(value) for value in described if callable(value)]
    codes = [getattr(function, "__code__", None) for function in functions]
    known_names = {id(code): marked.name for marked in marks.functions for code in marked.codes}
    for code in [*_codes.values(), *(code for code in codes if code is not None)]:
        file_name = places.find_path_below_root(code.co_filename)
        if file_name is not None:
            name = known_names.get(id(code), "")
            parsed = source.parse_source_file(code.co_filename) if not name else None
            if parsed is not None:
                name = parsed.name_function_at_line(code.co_firstlineno)
            yield file_name, name if name != "<module>" else ""


def _find_module_places(name: str) -> list[str]:
    """Return the folders of a package, or the file of a module."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return [os.path.abspath(str(p)) for p in getattr(module, "__path__", [file] if file else [])]


def _name_traced_files(files: set[str], places: Places) -> list[str]:
    return sorted({name for file in files if (name := places.find_path_below_root(str(file)))})


def _list_standard_and_own_modules() -> set[str]:
    """Return top-level modules of the standard library, of this suite, and the script itself."""
    return {
        *sys.stdlib_module_names,
        *sys.builtin_module_names,
        "__main__",
        "__mp_main__",
        "rlregress",
    }
