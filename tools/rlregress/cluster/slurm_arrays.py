"""Runs of a manifest as arrays of Slurm. What is done is read from files, never from Slurm."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rlregress import files
from rlregress.cluster import run_one, run_selection
from rlregress.cluster.manifest import NAMED, Manifest, ManifestRun
from rlregress.cluster.run_resources import Needs, needs
from rlregress.errors import UserError
from rlregress.inside.run_record import write_atomically
from rlregress.training.lease import Lease, is_over
from rlregress.training.store import SLURM, Store

#: MaxArraySize of a Slurm that does not set it: indices 0 to 1000.
USUAL_ARRAY_SIZE = 1001
#: more indices no array has: Slurm's own limit.
_LARGEST_SIZE = 4_000_001
#: a list of indices is not longer, in characters.
_LISTED = 8000
#: seconds before the end of its time that a task is warned.
_WARNED = 120
#: of a script that is read again, in bytes.
_LARGEST_SCRIPT = 1 << 20
#: in the folder of scripts: of the launch that submits.
_LEASE = "launch.lease"
#: an array of ours: its store, the digest of its manifest, its first run.
_NAME = re.compile(
    rf"(?P<store>rlregress-[0-9a-f]{{8}})-(?P<digest>[0-9a-f]{{{NAMED}}})-(?P<first>\d{{1,9}})",
    re.ASCII,
)
#: a row of squeue about a task of such an array.
_TASK = re.compile(
    rf"{_NAME.pattern}\|(?P<index>\d{{1,9}})\|(?P<state>[A-Z_]+)\|(?P<reason>.*)", re.ASCII
)
_ARRAY = re.compile(r"^#SBATCH --array=([\d,-]+)", re.ASCII | re.MULTILINE)
#: options of sbatch that are not a site's to choose: they say which runs a task does.
_OURS = ("array", "job-name")


@dataclass(frozen=True)
class Site:
    """What a site adds to the scripts.

    Attributes:
        options: of sbatch, as in ``account=x``; they replace ours of the same name.
        before: lines of shell before the run, such as those that load modules.
        at_once: of each array, so many tasks at most; 0: as many as Slurm starts.
    """

    options: Sequence[str] = ()
    before: str = ""
    at_once: int = 0

    def __post_init__(self) -> None:
        for option in self.options:
            name = option.partition("=")[0]
            if not re.fullmatch(r"[a-z][a-z-]+(=[^\n]+)?", option):
                raise UserError(
                    f"--sbatch is '{option}', expected an option of sbatch without its dashes, as "
                    "in account=x"
                )
            if name in _OURS:
                raise UserError(
                    f"--sbatch is '{option}', and {name} is what tells a task its runs; leave it "
                    "out"
                )


@dataclass(frozen=True)
class Script:
    """One array: ``text`` for sbatch; its name in Slurm; the indices of its runs."""

    name: str
    text: str
    runs: Sequence[int]


@dataclass
class Queue:
    """What Slurm says of the tasks of a store that have not ended.

    Attributes:
        runs: names of runs, as ``Job.name`` has it.
        gone: digest of a manifest, as it is in names -> the runs of it that this user has
            submitted, by number, and of which there is no task any more.
        states: (state, reason) of Slurm -> how many tasks.
        silent: why Slurm does not tell; empty if it does.
    """

    runs: set[str] = field(default_factory=set)
    gone: Mapping[str, set[int]] = field(default_factory=dict)
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    silent: str = ""


def _output_of(command: Sequence[str]) -> str:
    """What a command of Slurm answers; UserError if it does not."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=run_one.ANSWERS_IN_SECONDS,
        )
    except FileNotFoundError:
        raise UserError(
            f"there is no {command[0]} here; expected a machine that submits to Slurm (--dry-run "
            "prints the scripts without one)"
        ) from None
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{command[0]} did not answer in {run_one.ANSWERS_IN_SECONDS} s") from None
    if ended.returncode:
        raise UserError(f"{command[0]} refused: {' '.join(ended.stderr.split())}")
    return ended.stdout


def array_size() -> int:
    """The site's MaxArraySize: the largest index of an array is one less."""
    config = _output_of(["scontrol", "show", "config"])
    size = re.search(r"^MaxArraySize\s*=\s*(\d{1,9})\s*$", config, re.ASCII | re.MULTILINE)
    if size is None:
        raise UserError("scontrol show config names no MaxArraySize; expected a whole number")
    return int(size[1])


def _of_store(store: Store) -> str:
    return "rlregress-" + hashlib.sha256(os.fsencode(store.folder)).hexdigest()[:8]


def check_path(store: Store) -> None:
    """UserError if Slurm cannot be told where the logs of a store are."""
    path = str(store.folder)
    # in a line of options: one character ends it, and the other keeps %A and %a from being replaced
    if "\\" in path or not path.isprintable():
        raise UserError(
            f"--store is {path!r}, and Slurm takes no path with a backslash, the end of a line or "
            "another character that is not printed; expected another one"
        )


def queue(store: Store) -> Queue:
    """The tasks of a store that wait or run, of this user."""
    # by number: a user of a container may have no name
    command = ["squeue", "-h", "-r", "-u", str(os.getuid()), "-o", "%j|%K|%T|%r"]
    found = Queue()
    # before the queue: what is submitted in between is in the queue
    submitted = _submitted(store)
    try:
        rows = _output_of(command).splitlines()
    except UserError as error:
        found.silent = str(error)
        return found
    tasks: dict[str, set[int]] = {}
    for row in rows:
        task = _TASK.fullmatch(row)
        if task and task["store"] == _of_store(store) and task["state"] != "COMPLETING":
            tasks.setdefault(task["digest"], set()).add(int(task["first"]) + int(task["index"]))
            found.states[task["state"], task["reason"]] += 1
    for digest, indices in tasks.items():
        manifest = run_selection.of_digest(store, digest)
        if manifest is not None:
            found.runs |= {run.name for run in manifest.runs() if run.number in indices}
    found.gone = {digest: runs - tasks.get(digest, set()) for digest, runs in submitted.items()}
    return found


def _submitted(store: Store) -> dict[str, set[int]]:
    """Digest of a manifest -> the runs that scripts of this user name; none while one submits."""
    folder = run_selection.folder_in(store, SLURM)
    made: dict[str, set[int]] = {}
    try:
        if not is_over(folder / _LEASE):
            return made
    except OSError:
        return made
    sizes: dict[str, int] = {}
    for path in folder.glob(f"{_of_store(store)}-*.sh"):
        of = _NAME.fullmatch(path.stem)
        try:
            array = _ARRAY.search(files.read(path, _LARGEST_SCRIPT).decode("utf-8", "replace"))
            if not of or not array or path.stat().st_uid != os.getuid():
                continue
            parts = list(_indices(array[1], int(of["first"])))
        except (OSError, ValueError):
            # none of ours
            continue
        digest = of["digest"]
        if digest not in sizes:
            manifest = run_selection.of_digest(store, digest)
            sizes[digest] = manifest.size if manifest else 0
        runs = made.setdefault(digest, set())
        for part in parts:
            # a script may name millions that its manifest does not have
            runs.update(part[: max(0, sizes[digest] - part.start)])
    return made


def _indices(text: str, offset: int) -> Iterator[range]:
    """What ``ranges`` has written; ValueError if it has not."""
    last = -1
    for part in text.split(","):
        begin, _, end = part.partition("-")
        first, last_before, last = int(begin), last, int(end or begin)
        if not last_before < first <= last < _LARGEST_SIZE:
            raise ValueError(part)
        yield range(offset + first, offset + last + 1)


def ranges(indices: Sequence[int]) -> str:
    """Ascending indices as sbatch takes them: ``0-3,7``."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def split(indices: Sequence[int], size: int) -> Iterator[list[int]]:
    """Ascending indices in pieces that one array can have, counted from the first of a piece."""
    piece: list[int] = []
    characters = 0
    for index in indices:
        more = len(str(index)) + 1
        if piece and (index - piece[0] >= size or characters + more > _LISTED):
            yield piece
            piece, characters = [], 0
        piece.append(index)
        characters += more
    if piece:
        yield piece


def scripts(
    manifest: Manifest,
    runs: Sequence[ManifestRun],
    left: Sequence[ManifestRun],
    done: Collection[str],
    store: Store,
    site: Site,
    size: int,
    say: Callable[[str], None],
) -> list[Script]:
    """The arrays that do what is left, those with the longest runs first.

    Runs that need the same time and memory share arrays; ``say`` is told what that rests on.

    Args:
        runs: all of the manifest; ``left``: those that are to be done.
        done: names of those that have a record.
        size: MaxArraySize.
    """
    of_groups: dict[str, list[ManifestRun]] = {}
    for run in runs:
        of_groups.setdefault(run.group, []).append(run)
    given: dict[str, Needs] = {}
    for group in sorted({run.group for run in left}):
        given[group] = needs(manifest, of_groups[group], done, store)
        say(f"{group}: {given[group].why}")
    by_group = {group: (of.minutes, of.mib) for group, of in given.items()}
    return [_script(manifest, store, site, piece) for piece in pieces(left, by_group, size)]


@dataclass(frozen=True)
class Piece:
    """The runs of one array, by number, and the time and memory that each of them is given."""

    runs: Sequence[int]
    minutes: int | None
    mib: int | None


def pieces(
    left: Sequence[ManifestRun], by_group: Mapping[str, tuple[int | None, int | None]], size: int
) -> list[Piece]:
    """The runs of the arrays, in the order in which they are submitted.

    Args:
        left: runs, the longest first.
        by_group: group -> minutes and MiB.
        size: MaxArraySize.
    """
    indices: dict[tuple[int | None, int | None], list[int]] = {}
    for run in left:
        indices.setdefault(by_group[run.group], []).append(run.number)
    made = [
        Piece(runs, *given) for given, numbers in indices.items() for runs in split(numbers, size)
    ]
    return sorted(made, key=lambda item: item.runs[0])


def _script(manifest: Manifest, store: Store, site: Site, piece: Piece) -> Script:
    runs, minutes, mib = piece.runs, piece.minutes, piece.mib
    offset = runs[0]
    name = f"{_of_store(store)}-{manifest.digest[:NAMED]}-{offset}"
    tasks = ranges([index - offset for index in runs])
    options = {
        "job-name": f"={name}",
        "array": f"={tasks}" + (f"%{site.at_once}" if site.at_once else ""),
        "cpus-per-task": "=1",
        **({} if minutes is None else {"time": f"={minutes}"}),
        **({} if mib is None else {"mem": f"={mib}M"}),
        "requeue": "",
        "open-mode": "=append",
        "signal": f"=B:USR1@{_WARNED}",
        "output": f"={_log(store)}",
    }
    for option in site.options:
        key, equals, value = option.partition("=")
        options[key] = equals + value
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH --{key}{value}" for key, value in options.items()),
        *(f"export {key}={shlex.quote(value)}" for key, value in run_one.variables().items()),
        *site.before.splitlines(),
        "# a warning before the run listens would end it, and Slurm would not start it again",
        "trap '' USR1",
        "# so that signals arrive",
        f"exec {run_one.in_shell(manifest, f'$((SLURM_ARRAY_TASK_ID + {offset}))', store)}",
    ]
    text = "\n".join(lines) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(
            "a script for Slurm would not be UTF-8; expected that of the paths of Python, of "
            "PYTHONPATH and of --sbatch"
        ) from None
    return Script(name, text, runs)


def _job(answer: str) -> str:
    """The number of a job, as sbatch answers it."""
    number, _, _ = answer.strip().partition(";")
    if not re.fullmatch(r"\d{1,18}", number, re.ASCII):
        raise UserError(f"sbatch answered '{answer.strip()[:80]}', expected the number of a job")
    return number


def _log(store: Store) -> str:
    """The log of a task, as an option of sbatch has it."""
    check_path(store)
    return shlex.quote(f"{store.folder / SLURM}/".replace("%", "%%") + "%A_%a.log")


def submit(
    make: Callable[[Collection[str]], Sequence[Script]], store: Store, say: Callable[[str], None]
) -> int:
    """Submit what is left and not in the queue; how many runs. One launch of a store at a time.

    Args:
        make: the scripts, when it is known which runs are in the queue.
    """
    folder = run_selection.folder_in(store, SLURM, "scripts for Slurm")
    lease = Lease(folder / _LEASE)
    while not lease.take():
        time.sleep(0.5)
    try:
        there = queue(store)
        if there.silent:
            say(f"{there.silent}: what is queued may be submitted again; no run is done twice")
        submitted = 0
        for script in make(there.runs):
            path = folder / f"{script.name}.sh"
            write_atomically(path, script.text)
            try:
                job = _job(_output_of(["sbatch", "--parsable", str(path)]))
            except UserError as error:
                path = path.rename(path.with_suffix(".refused"))
                raise UserError(
                    f"{error}; the script is {path}; submitted before it: {submitted} runs"
                ) from None
            submitted += len(script.runs)
            say(f"job {job}: {len(script.runs)} runs from {script.runs[0]} on")
    finally:
        lease.give_back()
    return submitted
