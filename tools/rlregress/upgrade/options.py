"""What an upgrade gate is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlregress.model import differences as model
from rlregress.upgrade import cached_folders


@dataclass(frozen=True)
class Options:
    """What ``rlregress gate --from A --to B`` was asked; see the command's help.

    Attributes:
        scenarios: names of the scenarios to trace; None: all of them.
        only_scenarios: trace these alone, no plain training, and ask no details.
        min_coverage: the least share of the changed pieces that has to be executed and compared for
            exit code 0; None: the default, of a script 0.
        fail_on: the best verdict whose exit code is not 0.
        accepted: file of reviewed entries; None: there is none.
        prove: how many faults to seed into what differs; 0: none.
        script: the job of a script that is traced instead of the built-in trainings.
        every: trace also what runs no code that differs.
        returns, one_look: train what has diverged; judge it by the gate of fixed size.
        lend: distributions that both sides have, although only one version installs them.
        minutes: after which nothing more is begun; 0: there is no limit. Of them, a half is for
            traces, a quarter for causes, and the rest for direct calls.
        begun: when, in seconds since the epoch.
        keep: answers of a side are those of an earlier gate of this session; of what is reached
            only functions are noted.
    """

    a: str
    b: str
    report: Path
    frameworks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    scenarios: Sequence[str] | None = None
    only_scenarios: bool = False
    min_coverage: float | None = None
    fail_on: str = model.FAIL_ON
    accepted: Path | None = None
    prove: int = 0
    every: bool = False
    returns: bool = True
    one_look: bool = False
    workers: int = 2
    lend: Sequence[str] = ()
    script: Mapping[str, Any] | None = None
    minutes: float = 0.0
    begun: float = field(default_factory=time.time)
    keep: Path | None = None
    say: Callable[[str], None] = field(default=cached_folders.silent)

    def until(self, share: float) -> float | None:
        """The time at which a share of the minutes is over; None: there is no limit."""
        return self.begun + 60 * self.minutes * share if self.minutes else None
