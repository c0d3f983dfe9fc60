"""What a process loads: modules and scripts that run, data that is read; and what it starts.

Runs inside foreign and old environments: standard library only, Python 3.10 syntax. An audit hook
notes what ``sys.modules`` no longer tells at the end, such as a script and what it took out again.
It has to be in place before anything is imported: what a process has loaded before it forks
belongs to each of its children.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import subprocess
import sys
import threading  # noqa: F401 - before what it imports is replaced
from types import CodeType
from typing import Any

from rlregress.inside.events import Places

#: sources and what Python makes of them: they are opened when they are imported.
_PYTHON = (".py", ".pyc", ".pyi")

#: how a process starts another one, but for those that ``multiprocessing`` makes anew.
_STARTING = frozenset(
    {"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.fork", "os.forkpty"}
)
#: what starts another process for its caller.
_STARTERS = frozenset({subprocess.__file__, os.__file__})
#: what tells something of the machine, and runs no code that is traced.
_PLATFORM_COMMANDS = ("uname", "lsb_release", "nvidia-smi", "git", "lscpu")

_watching = False
_run: set[str] = set()
_read: set[str] = set()
#: process, how it has started another one or a thread whose calls nothing notes, and in which file.
_started: set[tuple[int, str, str]] = set()


def watch() -> None:
    """Note what is loaded from now on, for as long as the process lives."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_audit)
        # threads of ``threading`` are started by what it has imported of that name
        start_thread = _thread.start_new_thread

        def started_thread(*arguments: Any) -> int:
            _started.add((os.getpid(), "_thread.start_new_thread", _starter()))
            return start_thread(*arguments)

        _thread.start_new_thread = started_thread


def _audit(event: str, given: tuple[Any, ...]) -> None:
    if event == "exec":
        if isinstance(given[0], CodeType) and given[0].co_name == "<module>":
            _run.add(given[0].co_filename)
    elif event == "open":
        path, mode, flags = given
        writes = mode[:1] in ("w", "x", "a") if mode else flags & os.O_WRONLY
        if isinstance(path, (str, bytes)) and not writes:
            name = os.fsdecode(path)
            if not name.endswith(_PYTHON):
                # now, as the working directory may be another one later, or gone
                with contextlib.suppress(OSError):
                    _read.add(os.path.abspath(name))
    elif event in _STARTING:
        command = os.path.basename(os.fsdecode(given[0])) if given and given[0] else ""
        if command not in _PLATFORM_COMMANDS:
            _started.add((os.getpid(), event, _starter()))


def _starter() -> str:
    """The file of what starts another process or thread."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename in _STARTERS:
        frame = frame.f_back
    return str(frame.f_code.co_filename)


def started(places: Places) -> list[str]:
    """How this process has started others; of what it is a copy of, what the traced code started.

    Other packages ask for the machine when they are imported.
    """
    own = os.getpid()
    return sorted(
        {
            event
            for process, event, file in _started
            if process == own or places.name(file) is not None
        }
    )


def loaded(places: Places) -> dict[str, list[str]]:
    """What is loaded by now; files are those of the traced code, named below their roots.

    ``imported``: modules and executed scripts; ``opened``: files that were read and are not
    Python; ``distributions_imported``: top-level modules beside the standard library and this
    suite; ``folders_imported``: where these lie.
    """
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    names = {name.partition(".")[0] for name in list(sys.modules)} - _not_installed()
    return {
        "imported": _named({*_run, *(file for file in modules if file)}, places),
        "opened": _named(_read, places),
        "distributions_imported": sorted(names),
        "folders_imported": sorted({place for name in names for place in _places(name)}),
    }


def _places(name: str) -> list[str]:
    """Folders of a package, or the file of a module."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return [os.path.abspath(str(p)) for p in getattr(module, "__path__", [file] if file else [])]


def _named(files: set[str], places: Places) -> list[str]:
    return sorted({name for file in files if (name := places.name(str(file)))})


def _not_installed() -> set[str]:
    """Top-level modules of the standard library, of this suite, and the script itself."""
    return {
        *sys.stdlib_module_names,
        *sys.builtin_module_names,
        "__main__",
        "__mp_main__",
        "rlregress",
    }
