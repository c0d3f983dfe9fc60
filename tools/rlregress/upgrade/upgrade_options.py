"""The options of an upgrade."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlregress.model import differences as model
from rlregress.model.option import NAMES, NUMBER, PATH, make_option_field
from rlregress.trace.child_processes import Deadline, limit_stage
from rlregress.upgrade.versions import cached_folders

#: stage -> share of the time limit after which it is ended: of the time for comparing, and for
#: "names" of all time. What is left at the end is for old files. A script that never ends is
#: recorded until its share is over, and once more for as long.
SHARES = {"names": 0.4, "details": 0.2, "script": 0.4, "traces": 0.5, "causes": 0.75, "calls": 0.9}
#: stages that get the time to start their processes even if their share is over, as otherwise
#: nothing would be compared. Whether the other stages are needed is known only later.
_FIRST = ("details", "script", "traces")
_SECONDS_TO_START = 30.0


@dataclass(frozen=True)
class Options:
    """The options of ``rlregress upgrade OLD NEW``; see the command's help.

    Attributes:
        old, new: the two versions, as they were requested.
        scenarios: names of the scenarios to trace; None: all of them.
        only_scenarios: trace only scenarios, no plain trainings, and probe no details.
        min_coverage: the least share of the changed pieces that has to be executed and compared for
            exit code 0; None: the default, of a script 0.
        fail_on: the best verdict whose exit code is not 0.
        accepted: file of reviewed entries; None: there is none.
        script: the job of a script that is traced instead of the built-in trainings.
        trace_all: trace also trainings that run no code that differs.
        returns, one_look: judge returns of diverged algorithms; use the gate of fixed size.
        files: load files with the new version that the old version saved.
        checkpoint: a file of the user that both versions load; None: there is none.
        loader: a file with a function that loads it; None: the framework does.
        observations, environment: the source of observations for the agent in that file.
        lend: distributions that both versions have, although only one version installs them.
        minutes: the time limit, after which all processes are ended; 0: none. See ``SHARES``.
        started: the start time, in seconds since the epoch.
        compared_from: when both versions were installed. Stages share the time that remained then.
        keep: the folder where the answers of versions stay for later upgrades of this session;
            recordings then note executed functions, and no lines. None: nothing stays.
    """

    old: str = "installed"
    new: str = "installed"
    report: Path = make_option_field(
        Path("report"), "--report", "Folder of the report; default: report/.", metavar="FOLDER"
    )
    frameworks: Sequence[str] = make_option_field(
        (), "--framework", "Frameworks; default: all that differ.", kind=NAMES, metavar="NAMES",
        completed_by="complete_frameworks",
    )  # fmt: skip
    algorithms: Sequence[str] = make_option_field(
        (), "--algorithm", "Algorithms to trace; default: all.", kind=NAMES, metavar="NAMES"
    )
    scenarios: Sequence[str] | None = make_option_field(
        None, "--scenario", "Scenarios, all or none; default: all.", kind=NAMES, metavar="NAMES"
    )
    only_scenarios: bool = False
    min_coverage: float | None = make_option_field(
        None, "--min-coverage", "Changed code to execute for code 0; default: 0.5.", kind=NUMBER,
        metavar="SHARE", least=0.0, most=1.0,
    )  # fmt: skip
    fail_on: str = make_option_field(
        model.FAIL_ON, "--fail-on", "Mildest verdict whose exit code is not 0.", metavar="VERDICT"
    )
    accepted: Path | None = make_option_field(
        None, "--accepted", "File of entries that a reviewer accepted.", kind=PATH, metavar="FILE"
    )
    trace_all: bool = make_option_field(
        False, "--trace-all", "Compare also trainings without changed code."
    )
    returns: bool = make_option_field(
        True, "--returns", "Train what diverged, and judge its returns."
    )
    one_look: bool = make_option_field(False, "--single-look", "Judge returns once, at the end.")
    checkpoint: Path | None = make_option_field(
        None, "--checkpoint", "Saved agent to load; docs/upgrading.md.", kind=PATH, metavar="FILE"
    )
    loader: Path | None = make_option_field(
        None, "--loader", "File with load(path), for --checkpoint.", kind=PATH, metavar="FILE",
        hidden=True,
    )  # fmt: skip
    observations: Path | None = make_option_field(
        None, "--observations", "NumPy observations, for --checkpoint.", kind=PATH, metavar="FILE",
        hidden=True,
    )  # fmt: skip
    environment: str = make_option_field(
        "", "--environment", "Source of observations, for --checkpoint.", metavar="ID", hidden=True
    )
    files: bool = make_option_field(
        True, "--old-files", "Load files that the old version saved.", hidden=True
    )
    workers: int = make_option_field(
        0, "--workers", "Processes; default: 0, one per core.", short="-n", metavar="N", least=0
    )
    lend: Sequence[str] = make_option_field(
        (), "--lend", "Packages of one version that both may import.", kind=NAMES, metavar="NAMES"
    )
    script: Mapping[str, Any] | None = None
    minutes: float = make_option_field(
        0.0, "--minutes", "Minutes until the end; default: 0, no limit.", metavar="M", least=0.0
    )
    started: float = field(default_factory=time.time)
    compared_from: float = 0.0
    keep: Path | None = None
    say: Callable[[str], None] = field(default=cached_folders.ignore_message)

    def limit_stage(self, stage: str) -> AbstractContextManager[None]:
        """Return a context whose jobs are ended at the time limit of a stage, such as "script"."""
        return limit_stage(self.compute_stage_end_time(stage))

    def compute_stage_end_time(self, stage: str) -> float:
        """Return when a stage ends, in seconds since the epoch; infinite: there is no limit."""
        if not self.minutes:
            return self.deadline.at
        started = self.compared_from or self.started
        end = started + (self.deadline.at - started) * SHARES[stage]
        if stage in _FIRST:
            end = min(max(end, time.time() + _SECONDS_TO_START), self.deadline.at)
        return end

    def includes_scenario(self, title: str) -> bool:
        """Return whether a title is that of a plain training, or has a chosen scenario."""
        scenario = title.partition(" ")[2]
        return not scenario or self.scenarios is None or scenario in self.scenarios

    def includes_training(self, title: str) -> bool:
        algorithm, _, scenario = title.partition(" ")
        is_wanted = not self.algorithms or algorithm in self.algorithms
        return (
            is_wanted
            and self.includes_scenario(title)
            and bool(scenario or not self.only_scenarios)
        )

    @property
    def loads_old_files(self) -> bool:
        # where answers are kept for other pairs, files of one version belong to several of them
        kept = self.keep is not None
        return self.files and not (kept or self.only_scenarios or self.script is not None)

    @property
    def deadline(self) -> Deadline:
        """Return the time at which all processes are ended."""
        return Deadline(self.minutes, self.started)
