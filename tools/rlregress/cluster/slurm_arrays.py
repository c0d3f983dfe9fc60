"""Runs of a manifest as arrays of Slurm. Finished runs are read from files, never from Slurm."""

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
from rlregress.cluster.manifest import NAME_LENGTH, Manifest, ManifestRun
from rlregress.cluster.run_resources import ResourceNeeds, estimate_resource_needs
from rlregress.errors import UserError
from rlregress.inside.run_record import write_text_atomically
from rlregress.training.lease import Lease, is_lease_over
from rlregress.training.store import SLURM, Store

#: MaxArraySize of a Slurm that does not set it: indices 0 to 1000.
USUAL_ARRAY_SIZE = 1001
#: Slurm's own limit of indices
_MAX_ARRAY_SIZE = 4_000_001
#: limit for a list of indices, in characters
_MAX_INDEX_CHARACTERS = 8000
#: seconds between the warning and the end of a task's time
_WARNING_SECONDS = 120
#: limit for scripts that are read again
_MAX_SCRIPT_BYTES = 1 << 20
#: lease of the submitting launch, in the folder of scripts
_LEASE = "launch.lease"
#: an array of ours: its store, the digest of its manifest, its first run.
_ARRAY_NAME = re.compile(
    rf"(?P<store>rlregress-[0-9a-f]{{8}})-(?P<digest>[0-9a-f]{{{NAME_LENGTH}}})-(?P<first>\d{{1,9}})",
    re.ASCII,
)
#: a row of squeue about a task of such an array.
_TASK = re.compile(
    rf"{_ARRAY_NAME.pattern}\|(?P<index>\d{{1,9}})\|(?P<state>[A-Z_]+)\|(?P<reason>.*)", re.ASCII
)
_ARRAY = re.compile(r"^#SBATCH --array=([\d,-]+)", re.ASCII | re.MULTILINE)
#: options of sbatch that sites may not set, because they identify the runs of a task
_RESERVED_OPTIONS = ("array", "job-name")


@dataclass(frozen=True)
class Site:
    """A computing site's additions to the scripts for Slurm.

    Attributes:
        options: options of sbatch, as in ``account=x``; they replace this library's options.
        before: shell lines to run before each run, such as ``module load``.
        at_once: limit of parallel tasks of each array; 0: Slurm decides.
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
            if name in _RESERVED_OPTIONS:
                raise UserError(
                    f"--sbatch is '{option}', but rlregress sets {name} itself, to tell the tasks "
                    "of an array apart; leave it out"
                )


@dataclass(frozen=True)
class Script:
    """One array: ``text`` for sbatch; its name in Slurm; the indices of its runs."""

    name: str
    text: str
    runs: Sequence[int]


@dataclass
class Queue:
    """Slurm's answer about the unfinished tasks of a store.

    Attributes:
        runs: names of the runs that have tasks; see ``Job.name``.
        gone: digest of a manifest, as in file names -> indices of its runs that this user
            submitted and that no longer have a task.
        states: (state, reason) of Slurm -> number of tasks.
        error: why Slurm does not answer; empty if it does.
    """

    runs: set[str] = field(default_factory=set)
    gone: Mapping[str, set[int]] = field(default_factory=dict)
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    error: str = ""


def _run_slurm_command(command: Sequence[str]) -> str:
    """Return the output of a Slurm command; UserError if it fails."""
    try:
        completed = subprocess.run(
            command,
            capture_output=True,
            errors="replace",
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=run_one.SLURM_TIMEOUT_SECONDS,
        )
    except FileNotFoundError:
        raise UserError(
            f"there is no {command[0]} here; expected a machine that submits to Slurm (--dry-run "
            "prints the scripts without one)"
        ) from None
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{command[0]} did not answer in {run_one.SLURM_TIMEOUT_SECONDS} s; try again"
        ) from None
    if completed.returncode:
        raise UserError(f"{command[0]} refused: {' '.join(completed.stderr.split())}")
    return completed.stdout


def read_max_array_size() -> int:
    """Return the site's MaxArraySize; the largest index of an array is one less."""
    config = _run_slurm_command(["scontrol", "show", "config"])
    size = re.search(r"^MaxArraySize\s*=\s*(\d{1,9})\s*$", config, re.ASCII | re.MULTILINE)
    if size is None:
        raise UserError("scontrol show config names no MaxArraySize; expected a whole number")
    return int(size[1])


def _make_array_prefix(store: Store) -> str:
    return "rlregress-" + hashlib.sha256(os.fsencode(store.folder)).hexdigest()[:8]


def check_slurm_accepts_log_path(store: Store) -> None:
    """Raise UserError if Slurm cannot handle the path of a store's logs."""
    path = str(store.folder)
    # in a line of options a newline ends it, and a backslash prevents the replacement of %A and %a
    if "\\" in path or not path.isprintable():
        raise UserError(
            f"--store is {path!r}, and Slurm takes no path with a backslash, the end of a line or "
            "another character that is not printed; expected another one"
        )


def read_queued_tasks(store: Store) -> Queue:
    """Return this user's waiting or running tasks of a store."""
    # by number, because users of containers may have no name
    command = ["squeue", "-h", "-r", "-u", str(os.getuid()), "-o", "%j|%K|%T|%r"]
    queue_state = Queue()
    # read before the queue, so that tasks submitted meanwhile are in the queue
    submitted = _read_submitted_runs(store)
    try:
        rows = _run_slurm_command(command).splitlines()
    except UserError as error:
        queue_state.error = str(error)
        return queue_state
    tasks: dict[str, set[int]] = {}
    for row in rows:
        task = _TASK.fullmatch(row)
        # a completing task does no more work: its run may need another one
        if task and task["store"] == _make_array_prefix(store) and task["state"] != "COMPLETING":
            tasks.setdefault(task["digest"], set()).add(int(task["first"]) + int(task["index"]))
            queue_state.states[task["state"], task["reason"]] += 1
    for digest, indices in tasks.items():
        manifest = run_selection.find_manifest_by_digest(store, digest)
        if manifest is not None:
            queue_state.runs |= {
                run.name for run in manifest.iterate_runs() if run.number in indices
            }
    queue_state.gone = {
        digest: runs - tasks.get(digest, set()) for digest, runs in submitted.items()
    }
    return queue_state


def _read_submitted_runs(store: Store) -> dict[str, set[int]]:
    """Return digest of a manifest -> its runs in scripts of this user; empty while one submits."""
    folder = run_selection.locate_or_create_folder_in_store(store, SLURM)
    submitted: dict[str, set[int]] = {}
    try:
        if not is_lease_over(folder / _LEASE):
            return submitted
    except OSError:
        return submitted
    sizes: dict[str, int] = {}
    for path in folder.glob(f"{_make_array_prefix(store)}-*.sh"):
        array_name = _ARRAY_NAME.fullmatch(path.stem)
        try:
            array = _ARRAY.search(
                files.read_regular_file(path, _MAX_SCRIPT_BYTES).decode("utf-8", "replace")
            )
            if not array_name or not array or path.stat().st_uid != os.getuid():
                continue
            parts = list(_parse_index_ranges(array[1], int(array_name["first"])))
        except (OSError, ValueError):
            # not one of our scripts
            continue
        digest = array_name["digest"]
        if digest not in sizes:
            manifest = run_selection.find_manifest_by_digest(store, digest)
            sizes[digest] = manifest.size if manifest else 0
        runs = submitted.setdefault(digest, set())
        for part in parts:
            # a script may list millions of indices beyond its manifest
            runs.update(part[: max(0, sizes[digest] - part.start)])
    return submitted


def _parse_index_ranges(ranges: str, offset: int) -> Iterator[range]:
    """Parse the output of ``format_index_ranges``; ValueError for other text."""
    last = -1
    for part in ranges.split(","):
        begin, _, end = part.partition("-")
        first, last_before, last = int(begin), last, int(end or begin)
        if not last_before < first <= last < _MAX_ARRAY_SIZE:
            raise ValueError(part)
        yield range(offset + first, offset + last + 1)


def format_index_ranges(indices: Sequence[int]) -> str:
    """Format ascending indices for sbatch: ``0-3,7``."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def split_indices_into_arrays(indices: Sequence[int], size: int) -> Iterator[list[int]]:
    """Split ascending indices into pieces that fit one array."""
    piece: list[int] = []
    characters = 0
    for index in indices:
        added = len(str(index)) + 1
        if piece and (index - piece[0] >= size or characters + added > _MAX_INDEX_CHARACTERS):
            yield piece
            piece, characters = [], 0
        piece.append(index)
        characters += added
    if piece:
        yield piece


def build_array_scripts(
    manifest: Manifest,
    runs: Sequence[ManifestRun],
    remaining: Sequence[ManifestRun],
    done: Collection[str],
    store: Store,
    site: Site,
    size: int,
    report: Callable[[str], None],
) -> list[Script]:
    """Build the arrays for the remaining runs, the longest runs first.

    Runs that need the same time and memory share arrays. The report explains both limits.

    Args:
        runs: all runs of the manifest.
        remaining: those to be done.
        done: names of runs with a record.
        size: MaxArraySize.
    """
    runs_by_group: dict[str, list[ManifestRun]] = {}
    for run in runs:
        runs_by_group.setdefault(run.group, []).append(run)
    needs_by_group: dict[str, ResourceNeeds] = {}
    for group in sorted({run.group for run in remaining}):
        needs_by_group[group] = estimate_resource_needs(manifest, runs_by_group[group], done, store)
        report(f"{group}: {needs_by_group[group].explanation}")
    limits_by_group = {
        group: (group_needs.minutes, group_needs.mib)
        for group, group_needs in needs_by_group.items()
    }
    return [
        _build_array_script(manifest, store, site, piece)
        for piece in build_array_pieces(remaining, limits_by_group, size)
    ]


@dataclass(frozen=True)
class Piece:
    """The runs of one array, by index, and their limits of time and memory."""

    runs: Sequence[int]
    minutes: int | None
    mib: int | None


def build_array_pieces(
    remaining: Sequence[ManifestRun],
    limits_by_group: Mapping[str, tuple[int | None, int | None]],
    size: int,
) -> list[Piece]:
    """Divide the remaining runs into arrays, in the order of submission.

    Args:
        remaining: runs, the longest first.
        limits_by_group: group -> minutes and MiB.
        size: MaxArraySize.
    """
    indices: dict[tuple[int | None, int | None], list[int]] = {}
    for run in remaining:
        indices.setdefault(limits_by_group[run.group], []).append(run.number)
    unsorted = [
        Piece(runs, *limits)
        for limits, numbers in indices.items()
        for runs in split_indices_into_arrays(numbers, size)
    ]
    # a manifest lists the longest runs first: a small number is a long run
    return sorted(unsorted, key=lambda item: item.runs[0])


def _build_array_script(manifest: Manifest, store: Store, site: Site, piece: Piece) -> Script:
    runs, minutes, mib = piece.runs, piece.minutes, piece.mib
    offset = runs[0]
    name = f"{_make_array_prefix(store)}-{manifest.digest[:NAME_LENGTH]}-{offset}"
    tasks = format_index_ranges([index - offset for index in runs])
    options = {
        "job-name": f"={name}",
        "array": f"={tasks}" + (f"%{site.at_once}" if site.at_once else ""),
        "cpus-per-task": "=1",
        **({} if minutes is None else {"time": f"={minutes}"}),
        **({} if mib is None else {"mem": f"={mib}M"}),
        "requeue": "",
        "open-mode": "=append",
        "signal": f"=B:USR1@{_WARNING_SECONDS}",
        "output": f"={_format_log_path(store)}",
    }
    for option in site.options:
        key, equals, value = option.partition("=")
        options[key] = equals + value
    index = f"$((SLURM_ARRAY_TASK_ID + {offset}))"
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH --{key}{value}" for key, value in options.items()),
        *(
            f"export {key}={shlex.quote(value)}"
            for key, value in run_one.collect_variables_of_remote_process().items()
        ),
        *site.before.splitlines(),
        "# a warning before the run listens would end it, and Slurm would not start it again",
        "trap '' USR1",
        "# so that signals arrive",
        f"exec {run_one.format_shell_command_of_run(manifest, index, store)}",
    ]
    text = "\n".join(lines) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UserError(
            "a script for Slurm would not be UTF-8; expected UTF-8 in the paths of Python, in "
            "PYTHONPATH and in --sbatch"
        ) from None
    return Script(name, text, runs)


def _parse_job_number(output: str) -> str:
    """Parse the number of a job from the answer of sbatch."""
    number, _, _ = output.strip().partition(";")
    if not re.fullmatch(r"\d{1,18}", number, re.ASCII):
        raise UserError(f"sbatch answered '{output.strip()[:80]}', expected the number of a job")
    return number


def _format_log_path(store: Store) -> str:
    """Return the path of a task's log, as an option of sbatch takes it."""
    check_slurm_accepts_log_path(store)
    return shlex.quote(f"{store.folder / SLURM}/".replace("%", "%%") + "%A_%a.log")


def submit_remaining_runs(
    build_scripts: Callable[[Collection[str]], Sequence[Script]],
    store: Store,
    report: Callable[[str], None],
) -> int:
    """Submit the remaining runs that are not queued; return how many.

    Args:
        build_scripts: returns the scripts of the remaining runs without the queued ones.
    """
    folder = run_selection.locate_or_create_folder_in_store(store, SLURM, "scripts for Slurm")
    # two launches at once would not see each other's tasks in the queue, and submit runs twice
    lease = Lease(folder / _LEASE)
    while not lease.take_if_free():
        time.sleep(0.5)
    try:
        queue_state = read_queued_tasks(store)
        if queue_state.error:
            report(f"{queue_state.error}: queued runs may be submitted again; no run is done twice")
        submitted = 0
        for script in build_scripts(queue_state.runs):
            path = folder / f"{script.name}.sh"
            write_text_atomically(path, script.text)
            try:
                job = _parse_job_number(_run_slurm_command(["sbatch", "--parsable", str(path)]))
            except UserError as error:
                # the runs of every .sh file count as submitted
                path = path.rename(path.with_suffix(".refused"))
                raise UserError(
                    f"{error}; the script is {path}; submitted before it: {submitted} runs"
                ) from None
            submitted += len(script.runs)
            report(f"job {job}: {len(script.runs)} runs from {script.runs[0]} on")
    finally:
        lease.release_lease()
    return submitted
