"""Probes, physics and trainings in the runtimes of both versions, many trainings in one process."""

from __future__ import annotations

import contextvars
import itertools
import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rlregress import frameworks, progress
from rlregress.errors import UserError
from rlregress.inside import error_origin
from rlregress.model.recorded_traces import VERSIONS, Trace
from rlregress.trace import child_processes, recording_processes, trace_reader
from rlregress.trace.recording_processes import Runtime
from rlregress.upgrade.evidence import compared_trainings
from rlregress.upgrade.evidence.compared_trainings import Training

#: of which functions the executed lines are noted: all, none, or those listed; see
#: ``inside.trace_worker``.
NotedFunctions = bool | Sequence[Sequence[str]]
NOTHING: Mapping[str, NotedFunctions] = {}
#: seconds that a training ended by a signal is taken to have run, where its trace has none.
_PATIENCE = 300
#: seconds in which a script that is stopped writes its trace.
_WRITING = 20.0
_ENDED = re.compile(r"^the process was ended by (SIG\w+).*$", re.MULTILINE)
Answers = tuple["Future[Any]", "Future[Any]"]
#: what an idle process must have in common with a job: version, framework, and its "moved".
_Imported = tuple[str, str | None, str]


class Workers:
    """A pool of processes that have imported a framework and do one list of jobs after another.

    Args:
        max_processes: largest number of processes at a time.

    Attributes:
        idle: processes that are not lent, each with what it has imported.
    """

    def __init__(self, max_processes: int) -> None:
        self._most, self._lent = max_processes, 0
        self.idle: list[tuple[_Imported, child_processes.Worker]] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow_process(
        self, runtime: Runtime, job: Mapping[str, Any]
    ) -> Iterator[child_processes.Worker]:
        """Lend an idle process that fits the job, or a new one."""
        key = runtime.label, job.get("framework"), repr(job.get("moved"))
        with self._lock:
            entry = next((entry for entry in self.idle if entry[0] == key), None)
            if entry is not None:
                self.idle.remove(entry)
            elif self.idle and len(self.idle) + self._lent >= self._most:
                self.idle.pop(0)[1].close()
            self._lent += 1
        try:
            if entry is None:
                command = recording_processes.make_start_command("batch", runtime)
                entry = key, child_processes.Worker(command, runtime.make_environment_variables())
            yield entry[1]
        finally:
            with self._lock:
                self._lent -= 1
                if entry is not None and entry[1].is_ready:
                    self.idle.append(entry)
                elif entry is not None:
                    entry[1].close()

    def do_jobs_and_explain_early_end(
        self,
        runtime: Runtime,
        jobs: Sequence[Mapping[str, Any]],
        note_end: Callable[[str], None] = lambda name: None,
        **shared: Any,
    ) -> str:
        """Do jobs in one process, which forks for each, until all are done or time is over.

        Args:
            jobs: as for ``inside.batch``, with ``shared``.
            note_end: called with the name of each job that has ended.

        Returns:
            How the process ended; empty: it did all jobs.
        """
        end_reason = ""
        with (
            suppress(child_processes.OutOfTime),
            TemporaryDirectory(prefix="rlregress-jobs-") as folder,
        ):
            child_processes.raise_if_time_is_over()
            # a script reads the user's folder; files that other trainings write are removed
            place = os.getcwd() if jobs[0].get("script") else folder
            path = Path(folder) / "jobs.json"
            request = {"jobs": jobs, "folder": place, **shared}
            path.write_text(json.dumps(request), encoding="utf-8")
            with self.borrow_process(runtime, jobs[0]) as worker:
                end_reason = worker.do_jobs(
                    path, len(jobs), lambda line: note_end(line.partition("\t")[0])
                )
        return end_reason

    def close(self) -> None:
        """End all idle processes."""
        for _, worker in self.idle:
            worker.close()
        self.idle.clear()


class Runtimes:
    """Measures both versions in several processes at once; a context manager.

    Attributes:
        versions: the runtimes of the old and of the new version.
        folders: where the answers and traces of each version are kept until the upgrade ends.
        processes: the processes in which trainings run.
    """

    def __init__(
        self, runtimes: tuple[Runtime, Runtime], folders: tuple[Path, Path], workers: int
    ) -> None:
        self.versions, self.folders = runtimes, folders
        self._workers = workers or 2
        self._pool = ThreadPoolExecutor(self._workers)
        self.processes = Workers(self._workers)

    def __enter__(self) -> Runtimes:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            child_processes.end_all_processes()
        self._pool.shutdown(cancel_futures=True)
        self.processes.close()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call a function in a thread of the pool, with the time limit of the present stage."""
        return self._pool.submit(contextvars.copy_context().run, function, *arguments)

    def call_for_each_version(
        self, answer_name: str, function: Callable[..., Any], *arguments: Any
    ) -> Answers:
        """Call ``function(version, path of its answer, *arguments)`` for each version."""
        answers = []
        for label, runtime, folder in zip(VERSIONS, self.versions, self.folders, strict=True):
            with self._limit_time_of_version(label):
                path = folder / f"{answer_name}.json"
                answers.append(self.submit(function, runtime, path, *arguments))
        return answers[0], answers[1]

    def _limit_time_of_version(self, label: str) -> AbstractContextManager[None]:
        """Return a context in which jobs of a version end with its part of the stage's time."""
        end = child_processes.find_end_time()
        # a single process serves one version after the other, each for half of the time
        is_first = label == "old" and self._workers == 1
        return child_processes.limit_stage((time.time() + end) / 2 if is_first else end)

    def record_new_then_chosen_old(
        self,
        trainings: Sequence[Training],
        lines: Mapping[str, NotedFunctions],
        choose: Callable[[Mapping[str, Trace]], Sequence[str]],
    ) -> tuple[dict[str, Trace], dict[str, Trace]]:
        """Record all trainings on the new version, then chosen ones on the old one.

        What is not recorded in time is left out.

        Args:
            lines: see ``record_on_both_versions``.
            choose: takes the new version's traces, returns the trainings to record on the old one.
        """
        old_folder, new_folder = self.folders
        by_name = {training.name: training for training in trainings}
        old: dict[str, Trace] = {}
        new: dict[str, Trace] = {}
        while waiting := [training for training in trainings if training.name not in new]:
            # each version gets half of the time that is left
            half = (time.time() + child_processes.find_end_time()) / 2
            with child_processes.limit_stage(half):
                recorded_now = self._record_one_by_one("new", waiting, lines, new_folder)
            names = choose(recorded_now)
            chosen = [by_name[name] for name in names]
            old |= self._record_one_by_one("old", chosen, lines, old_folder)
            progress.count_done_parts(len(recorded_now) - len(names))
            new |= recorded_now
            if not recorded_now:
                break
        return self._recheck_ends_without_recorder(trainings, old, new)

    def _record_one_by_one(
        self,
        label: str,
        trainings: Sequence[Training],
        lines: Mapping[str, NotedFunctions],
        folder: Path,
    ) -> dict[str, Trace]:
        def record_part(part: Sequence[Training], runtime: Runtime) -> dict[str, Trace]:
            noted_lines = lines.get(label, False)
            return load_or_record_traces(part, runtime, folder, noted_lines, self.processes)

        return self.call_for_trainings_on_version(label, trainings, record_part)

    def record_on_both_versions(
        self,
        trainings: Sequence[Training],
        lines: Mapping[str, NotedFunctions] = NOTHING,
        repeats: bool = False,
    ) -> tuple[dict[str, Trace], dict[str, Trace]]:
        """Record trainings on both versions; return the traces by name.

        What is not recorded in time is left out.

        Args:
            lines: label of a version -> functions whose executed code is noted.
            repeats: record each training a second time.
        """
        recorded: tuple[dict[str, Trace], dict[str, Trace]] = ({}, {})
        tasks = []
        # versions take turns, so that an interrupted command leaves pairs of traces
        for start, number in itertools.product(range(self._workers), range(2)):
            label, folder = VERSIONS[number], self.folders[number]
            with self._limit_time_of_version(label):
                task = self.submit(
                    load_or_record_traces,
                    trainings[start :: self._workers],
                    self.versions[number],
                    folder / "again" if repeats else folder,
                    lines.get(label, False),
                    self.processes,
                )
            tasks.append((recorded[number], task))
        for traces, task in tasks:
            traces.update(task.result())
        return recorded if repeats else self._recheck_ends_without_recorder(trainings, *recorded)

    def _recheck_ends_without_recorder(
        self, trainings: Sequence[Training], old: dict[str, Trace], new: dict[str, Trace]
    ) -> tuple[dict[str, Trace], dict[str, Trace]]:
        """Repeat trainings that end differently, without a recorder; note in their traces how."""
        differing = [
            training
            for training in trainings
            if training.name in old
            and training.name in new
            and not compared_trainings.do_both_end_alike(old[training.name], new[training.name])
        ]
        with TemporaryDirectory(prefix="rlregress-plain-") as folder:
            tasks = []
            for label, runtime, traces in zip(VERSIONS, self.versions, (old, new), strict=True):
                failed = [
                    (t, int(traces[t.name].header.get("wall_seconds", _PATIENCE)))
                    for t in differing
                    if compared_trainings.has_failed_in_tested_code(traces[t.name])
                ]
                # longer than it took with a recorder
                plain = [replace(t, job={**t.job, "plain": 60 + 2 * taken}) for t, taken in failed]
                # without the limit of the stage: how each of them ends decides what its error means
                task = self._pool.submit(
                    load_or_record_traces, plain, runtime, Path(folder) / label
                )
                tasks.append((traces, task))
            for traces, task in tasks:
                for name, end in task.result().items():
                    traces[name] = compared_trainings.note_end_without_recorder(traces[name], end)
        return old, new

    def record_without_storing(
        self, label: str, trainings: Sequence[Training], lines: bool = False
    ) -> dict[str, Trace]:
        """Record traces on one version without storing them, such as those of an injected fault."""
        with TemporaryDirectory(prefix="rlregress-trace-") as folder:
            return self._record_one_by_one(label, trainings, {label: lines}, Path(folder))

    def call_for_trainings_on_version(
        self, label: str, trainings: Sequence[Training], function: Callable[..., dict[str, Any]]
    ) -> dict[str, Any]:
        """Call ``function([training], runtime)`` for each training on one version.

        A free process takes the next training: some take a hundred times as long as others.

        Returns:
            the results by name, in the order of the trainings.
        """
        runtime = self.versions[VERSIONS.index(label)]
        waiting = iter(trainings)

        def work_on_next() -> dict[str, Any]:
            results: dict[str, Any] = {}
            for training in waiting:
                results |= function([training], runtime)
            return results

        tasks = [self.submit(work_on_next) for _ in range(min(self._workers, len(trainings)))]
        results = {name: result for task in tasks for name, result in task.result().items()}
        return {t.name: results[t.name] for t in trainings if t.name in results}


def load_or_record_traces(
    trainings: Sequence[Training],
    runtime: Runtime,
    folder: Path,
    lines: NotedFunctions = False,
    workers: Workers | None = None,
) -> dict[str, Trace]:
    """Return traces by name: those that an interrupted upgrade left behind, and new ones.

    Args:
        lines: functions whose executed code is noted.
        workers: lend processes; trainings then count as parts of the present stage of
            ``progress``. None: there is no such stage.
    """
    counted = workers is not None
    folder.mkdir(parents=True, exist_ok=True)
    traces: dict[str, Trace] = {}
    paths = {training.name: locate_trace(training, folder) for training in trainings}
    for name, path in paths.items():
        if path.is_file():
            try:
                traces[name] = trace_reader.load_trace(path)
                progress.count_done_parts(counted)
            except UserError:
                path.unlink()
    missing = [training for training in trainings if training.name not in traces]
    if missing:
        with nullcontext(workers) if workers is not None else closing(Workers(1)) as lending:
            traces.update(_record_traces(missing, runtime, paths, lines, lending, counted))
    return traces


def _make_killed_trace(training: Training, end: re.Match[str], message: str) -> Trace:
    """Return a failed trace that names the signal, and where a crash comes from."""
    signal = end.group(1)
    if signal not in error_origin.SIGNALS:
        return trace_reader.make_failed_trace(end.group())
    script = str(training.job.get("script", ""))
    packages = tuple(
        training.job.get("packages") or frameworks.get_adapter(training.owner).framework.modules
    )
    crash = error_origin.describe_crash_for_header(signal, message, script, packages)
    return trace_reader.make_failed_trace(end.group(), crash)


def locate_trace(training: Training, folder: Path) -> Path:
    """Return the file of a training's trace in a folder."""
    return folder / f"{training.owner}-{training.name.replace(' ', '--')}.trace"


def _record_traces(
    trainings: Sequence[Training],
    runtime: Runtime,
    paths: Mapping[str, Path],
    lines: NotedFunctions,
    workers: Workers,
    counts_progress: bool,
) -> dict[str, Trace]:
    """Record new traces in one process; what is not recorded in time is left out."""
    traces: dict[str, Trace] = {}
    common: dict[str, Any] = {"lines": lines}
    end_time = child_processes.find_end_time()
    if trainings[0].job.get("script"):
        # a script that never ends is stopped at this time; its trace ends there
        until = end_time if math.isfinite(end_time) else None
        common |= {"until": until, "first": len(runtime.paths)}
        end_time += _WRITING
    jobs = [
        {**t.job, **common, "name": t.name, "output": f"{paths[t.name]}.part"} for t in trainings
    ]
    tried = set()

    def note_end_of_training(name: str) -> None:
        tried.add(name)
        part = Path(f"{paths[name]}.part")
        if part.is_file():
            part.replace(paths[name])
        progress.count_done_parts(counts_progress)

    with child_processes.limit_stage(end_time):
        end_reason = workers.do_jobs_and_explain_early_end(runtime, jobs, note_end_of_training)
        late = child_processes.is_time_over()
    for training in trainings:
        name, output = training.name, paths[training.name]
        error_file = Path(f"{output}.part.error")
        if output.is_file():
            trace = trace_reader.load_trace(output)
            steps = int(training.job.get("cut", 0))
            if trace.header.get("stopped"):
                # not kept: a later command with more time gets a longer trace
                output.unlink()
            if not (steps and trace.header.get("stopped")):
                traces[name] = (
                    compared_trainings.cut_trace_at_step(trace, steps) if steps else trace
                )
        elif late and name not in tried:
            Path(f"{output}.part").unlink(missing_ok=True)
        elif error_file.is_file():
            text = error_file.read_text(encoding="utf-8", errors="replace")
            end = _ENDED.search(text)
            traces[name] = (
                trace_reader.make_failed_trace(text)
                if end is None
                else _make_killed_trace(training, end, text)
            )
        else:
            traces[name] = trace_reader.make_failed_trace(end_reason)
        error_file.unlink(missing_ok=True)
    return traces
