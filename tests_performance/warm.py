"""Fresh Python processes without the seconds that importing torch takes; see ``warm_python``.

``make_warm_executable`` makes an executable that is called like Python. It asks a server to fork a
child; there is one server for each set of variables that are read when Python and torch start. The
server has imported ``IMPORTED`` and has done nothing else. The child gets the arguments, variables,
working directory, files and signals of its caller, runs the requested main module, and its status
becomes the caller's. A call that it cannot serve (other options of Python, folders whose modules
would hide imported ones) is run by Python itself.

Run as a file: ``warm.py serve FOLDER KEY`` is a server, ``warm.py call FOLDER ARGUMENTS`` a caller,
and ``warm.py open FOLDER`` starts servers: what a caller starts would end with it. Servers and what
starts them end when nobody holds the folder's lock any more.
"""

from __future__ import annotations

import array
import fcntl
import hashlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

#: what a server imports. Nothing that is under test: sides of an upgrade have copies of their own,
#: and marks and swapped code are for modules that are imported later.
IMPORTED = ("numpy", "torch", "torch._dynamo", "torch._inductor.cudagraph_trees",
            "torch.utils.tensorboard", "gymnasium", "scipy.stats",
            "pydantic", "typer", "rich.console", "pytest", "multiprocessing.spawn")  # fmt: skip
#: variables that are read once, when Python or a library starts.
_READ_AT_START = ("PYTHON", "TORCH", "PYTORCH", "OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_",
                  "VECLIB_", "CUDA", "LD_", "MPL", "ATEN_", "ONEDNN_", "NPY_")  # fmt: skip
#: of these, limits of single libraries: where one is not set, OMP_NUM_THREADS is its limit.
_THREADS = ("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS")  # fmt: skip
#: and what a child sets itself, or torch reads when it compiles: each process has its own cache.
_SET_LATER = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
              "TORCHINDUCTOR_CACHE_DIR")  # fmt: skip
_REFUSED = b"refused"
_LENGTH = 8


@contextmanager
def make_warm_executable(folder: Path) -> Iterator[str]:
    """Yield the path of the executable; its servers end with the last process in this block."""
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        path = folder / "python"
        temporary = folder / f"python-{os.getpid()}"
        temporary.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -IS '{__file__}' call '{folder}' \"$@\"\n"
        )
        temporary.chmod(0o755)
        temporary.replace(path)
        _start_opener(folder)
        yield str(path)


def _start_opener(folder: Path) -> None:
    """Start the process that starts servers, unless another process has."""
    import subprocess

    opening = subprocess.Popen(
        [sys.executable, "-IS", __file__, "open", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert opening.stdout is not None
    opening.stdout.readline()
    opening.stdout.close()


def _serve_openings(folder: str) -> None:
    """Start a server for each connection, which sends the variables; one server at a time."""
    os.chdir(folder)
    lock = os.open("lock", os.O_RDONLY)
    with (
        open("opener.lock", "w") as only,
        suppress(BlockingIOError),
        socket.socket(socket.AF_UNIX) as listener,
    ):
        fcntl.flock(only, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(FileNotFoundError):
            os.unlink("opener")
        listener.bind("opener")
        listener.listen(64)
        os.write(1, b"\n")
        while True:
            if select.select([listener], [], [], 1.0)[0]:
                connection, _ = listener.accept()
                with connection, connection.makefile("rw") as stream:
                    requested = json.loads(stream.readline())
                    try:
                        _start_server(folder, requested["key"], requested["variables"])
                        stream.write("\n")
                    except OSError as error:
                        stream.write(f"{error}\n")
                continue
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
    os.write(1, b"\n")


def _run_in_child(folder: str, arguments: list[str]) -> NoReturn:
    """Run the arguments in a forked child, and end with its status."""
    if not _can_be_served(arguments):
        _replace_by_python(arguments)
    try:
        connection = _connect_or_start_server(folder)
    except OSError:  # no server starts here
        _replace_by_python(arguments)
    job = {
        "arguments": arguments,
        "variables": dict(os.environ),
        "folder": os.getcwd(),
        "executable": os.path.join(folder, "python"),
        "files": [number for number in range(3) if _is_open(number)],
    }
    text = json.dumps(job).encode()
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", job["files"]))]
    connection.sendmsg([len(text).to_bytes(_LENGTH, "big")], files)
    connection.sendall(text)
    answer = connection.recv(64)
    if answer == _REFUSED:
        _replace_by_python(arguments)
    child = int(answer)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda number, _: os.kill(child, number))
    status = int(connection.recv(64))
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _replace_by_python(arguments: list[str]) -> NoReturn:
    os.execv(sys.executable, [sys.executable, *arguments])


def _can_be_served(arguments: list[str]) -> bool:
    """Return whether a child can run a module, command or script, after at most one known option.

    These are ``-u`` and ``-W ignore``.
    """
    args = _drop_options(arguments)
    return (
        (args[:1] in (["-c"], ["-m"]) and len(args) > 1) or args[:1] != [] and args[0][0] != "-"
    ) and "--multiprocessing-fork" not in args


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _make_server_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a server whose children have these; without a hash seed, with 0.

    Python would draw one, which may be 0: so a server less is started.
    """
    passed = {name: value for name, value in variables.items() if name not in _SET_LATER}
    return {"PYTHONHASHSEED": "0", **passed}


def _digest_variables(variables: Mapping[str, str]) -> str:
    """Return a digest of the variables, by which the server is named."""
    threads = variables.get("OMP_NUM_THREADS")
    variables = {
        name: value
        for name, value in _make_server_variables(variables).items()
        if name.startswith(_READ_AT_START) and not (name in _THREADS and value == threads)
    }
    return hashlib.sha256(json.dumps(sorted(variables.items())).encode()).hexdigest()[:12]


def _connect_or_start_server(folder: str) -> socket.socket:
    """Return a connection to the server for this process's variables, started if needed."""
    key = _digest_variables(os.environ)
    folder_before = os.getcwd()
    # the path of a socket may be 100 bytes long
    os.chdir(folder)
    try:
        with open(f"{key}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                return _connect_to_server(key)
            except OSError:
                _request_server(key)
                return _connect_to_server(key)
    finally:
        os.chdir(folder_before)


def _connect_to_server(key: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(key)
    return connection


def _request_server(key: str) -> None:
    """Let the opener start a server, and wait until it listens.

    Raises:
        OSError: it has ended before.
    """
    requested = {"key": key, "variables": _make_server_variables(os.environ)}
    with _connect_to_server("opener") as connection, connection.makefile("rw") as stream:
        stream.write(json.dumps(requested) + "\n")
        stream.flush()
        if failure := stream.readline().strip():
            raise OSError(failure)


def _start_server(folder: str, key: str, variables: Mapping[str, str]) -> None:
    import subprocess

    if os.path.exists(key):  # of a server that has ended
        os.unlink(key)
    with open(f"{key}.log", "w") as log, open(os.devnull) as nothing:
        process = subprocess.Popen(
            [sys.executable, __file__, "serve", folder, key],
            env=variables,
            stdin=nothing,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise OSError(Path(f"{key}.log").read_text())


def import_shared_modules() -> None:
    """Import what processes of the tests share; their bytecode is then on the disk, too."""
    import importlib

    for module in IMPORTED:
        # what is not installed, or broken, is the matter of the process that asks for it
        with suppress(ImportError):
            importlib.import_module(module)


def _fork_children(folder: str, key: str) -> dict[str, Any]:
    """Fork a child for each caller; return in the child, with its job."""
    import gc

    del sys.path[0]  # of this file
    base = list(sys.path)
    import_shared_modules()
    # looking for garbage among it would copy all of it in each child
    gc.collect()
    gc.freeze()
    names = {name.partition(".")[0] for name in sys.modules}
    os.chdir(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(key)
    listener.listen(64)
    os.write(1, b"\n")
    children: dict[int, tuple[int, socket.socket]] = {}
    lock = os.open("lock", os.O_RDONLY)
    while True:
        ready, _, _ = select.select([listener, *children, *_list_sockets(children)], [], [], 1.0)
        for ready_file in ready:
            if ready_file is listener:
                connection, _ = listener.accept()
                requested, files = _read_job(connection)
                if requested is None:  # of a caller that was killed
                    connection.close()
                    _close_files(files)
                    continue
                path = _make_module_path(requested, base)
                if _hides_loaded_module(path[: -len(base)], names):
                    with suppress(OSError):  # of a caller that was killed
                        connection.sendall(_REFUSED)
                    connection.close()
                    _close_files(files)
                    continue
                child = os.fork()
                if not child:
                    _close_files([listener.fileno(), lock, connection.fileno()])
                    _close_files([*children, *(s.fileno() for s in _list_sockets(children))])
                    for number, file in zip(requested["files"], files, strict=True):
                        os.dup2(file, number)
                    _close_files(files)
                    return {**requested, "path": path}
                _close_files(files)
                with suppress(OSError):  # of a caller that was killed; so will the child be
                    connection.sendall(str(child).encode())
                children[os.pidfd_open(child)] = (child, connection)
            elif isinstance(ready_file, int):
                child, connection = children.pop(ready_file)
                os.close(ready_file)
                _, status = os.waitpid(child, 0)
                with suppress(OSError):  # of a caller that was killed
                    connection.sendall(str(status).encode())
                connection.close()
            else:
                # the caller was killed
                for child, connection in children.values():
                    if connection is ready_file:
                        os.kill(child, signal.SIGKILL)
        if not ready:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for child, _ in children.values():
                    os.kill(child, signal.SIGKILL)
                os._exit(0)


def _list_sockets(children: dict[int, tuple[int, socket.socket]]) -> list[socket.socket]:
    return [connection for _, connection in children.values()]


def _close_files(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _read_job(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return a caller's job and files; None: the caller ended before it had sent them."""
    files: list[int] = []
    with suppress(OSError):
        head, files, _, _ = socket.recv_fds(connection, _LENGTH, 3)
        length = int.from_bytes(head, "big")
        text = b""
        while len(text) < length and (received := connection.recv(length - len(text))):
            text += received
        if head and len(text) == length:
            return json.loads(text), files
    return None, files


def _make_module_path(requested: dict[str, Any], base: list[str]) -> list[str]:
    """Return ``sys.path`` as Python would make it for this call."""
    folders = [
        path for path in requested["variables"].get("PYTHONPATH", "").split(os.pathsep) if path
    ]
    arguments = _drop_options(requested["arguments"])
    first = {"-c": "", "-m": requested["folder"]}.get(arguments[0])
    if first is None:
        first = os.path.dirname(os.path.realpath(os.path.join(requested["folder"], arguments[0])))
    absolute = [os.path.join(requested["folder"], path) for path in folders]
    return [first, *(path for path in dict.fromkeys(absolute) if path not in base), *base]


def _hides_loaded_module(folders: list[str], names: set[str]) -> bool:
    """Return whether a folder has a module that would be imported instead of a loaded one."""
    for folder in folders:
        if folder and os.path.isdir(folder):
            modules = {name.partition(".")[0] for name in os.listdir(folder)}
            if modules & names:
                return True
    return False


def _drop_options(arguments: list[str]) -> list[str]:
    if arguments[:1] == ["-u"]:
        return arguments[1:]
    return arguments[2:] if arguments[:2] == ["-W", "ignore"] else arguments


def _adopt_caller(requested: dict[str, Any]) -> tuple[Any, Any]:
    """Take over folder, variables and files of the caller; return the main module and its code."""
    import io
    import runpy
    import tempfile
    import warnings

    import numpy as np

    variables = requested["variables"]
    os.environ.clear()
    os.environ.update(variables)
    # of the server
    tempfile.tempdir = None
    os.chdir(requested["folder"])
    os.setsid()
    np.random.seed()
    sys.path[:] = requested["path"]
    sys.executable = requested["executable"]
    sys.dont_write_bytecode = bool(variables.get("PYTHONDONTWRITEBYTECODE"))
    if requested["arguments"][0] == "-W":
        sys.warnoptions.append("ignore")
        warnings.simplefilter("ignore")
    unbuffered = bool(variables.get("PYTHONUNBUFFERED")) or requested["arguments"][0] == "-u"
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if number not in requested["files"]:
            stream = None
        else:
            buffering = 0 if unbuffered and mode == "w" else -1
            raw = open(number, f"{mode}b", buffering, closefd=False)  # noqa: SIM115
            stream = io.TextIOWrapper(
                raw, errors="backslashreplace" if name == "stderr" else None,
                line_buffering=name == "stderr" or raw.isatty(), write_through=unbuffered,
            )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    main = type(sys)("__main__")
    sys.modules["__main__"] = main
    arguments = _drop_options(requested["arguments"])
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        _, main.__spec__, code = runpy._get_module_details(arguments[1])
        main.__file__ = sys.argv[0] = main.__spec__.origin
        main.__package__ = main.__spec__.parent
        return main, code
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        return main, compile(arguments[1], "<string>", "exec", dont_inherit=True)
    sys.argv = arguments
    main.__file__ = arguments[0]
    with open(arguments[0], "rb") as file:
        return main, compile(file.read(), arguments[0], "exec", dont_inherit=True)


def _report_error(error: BaseException) -> int:
    """Report the error that ended the main module, as Python does; return its status."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
    else:
        # without the frame of this file
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
    return 1


def _end_process(status: int) -> NoReturn:
    """End as Python does, but do not tear down the modules, which takes seconds."""
    import atexit
    import threading

    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    if sys.argv[1] == "call":
        _run_in_child(sys.argv[2], sys.argv[3:])
    if sys.argv[1] == "open":
        _serve_openings(sys.argv[2])
        sys.exit()
    _main, _code = _adopt_caller(_fork_children(*sys.argv[2:]))
    try:
        # the program that pytest would have started
        exec(_code, _main.__dict__)  # noqa: S102
        _status = 0
    except BaseException as _error:
        _status = _report_error(_error)
    _end_process(_status)
