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
#: what tells something of the machine, and runs no code that is traced.
_PLATFORM_COMMANDS = ("uname", "lsb_release", "nvidia-smi", "git", "lscpu")

_watching = False
_run: set[str] = set()
_read: set[str] = set()
#: process and how it started another one, or a thread whose calls nothing notes.
_started: set[tuple[int, str]] = set()


def watch() -> None:
    """Note what is loaded from now on, for as long as the process lives."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_audit)
        # threads of ``threading`` are started by what it has imported of that name
        start_thread = _thread.start_new_thread

        def started_thread(*arguments: Any) -> int:
            _started.add((os.getpid(), "_thread.start_new_thread"))
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
            _started.add((os.getpid(), event))


def started() -> list[str]:
    """How this process, or an import of the one that it is a copy of, has started others."""
    # the other one goes on to make copies of itself, one for each training
    copies = ("os.fork", "os.forkpty")
    own = os.getpid()
    return sorted({event for process, event in _started if process == own or event not in copies})


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
