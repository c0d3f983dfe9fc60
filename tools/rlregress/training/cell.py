"""Cells and their runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from rlregress.datafiles import Component, Count, Line, Value, expect_one_of, expect_value
from rlregress.files import is_plain_name
from rlregress.inside.worker import NATIVE, PORTABLE

#: the largest seed of a run: seeds that frameworks derive from it must fit NumPy's 32 bits
MAX_SEED = 2_000_001_000


def _is_environment_id(text: str) -> bool:
    return text.count("/") <= 1 and all(map(is_plain_name, text.split("/")))


#: An id of gymnasium.
Environment = Annotated[
    str, expect_value("an environment as in 'Hopper-v4' or 'ALE/Pong-v5'", _is_environment_id)
]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Arithmetic = Annotated[str, expect_one_of((NATIVE, PORTABLE))]


@dataclass(frozen=True, order=True)
class Cell:
    """A combination of framework, algorithm, environment, hyperparameter set and budget."""

    framework: Component
    algorithm: Component
    environment: Environment
    hyperparameters: Component
    budget: Component

    @property
    def id(self) -> str:
        """The id for reports, files and tests, such as ``name-ppo-Hopper-v4-short``.

        The hyperparameter set is named only if it is not the framework's own. A slash in an
        environment's name is written as two dashes, as file names have none.
        """
        parts = [self.framework, self.algorithm, self.environment.replace("/", "--")]
        if self.hyperparameters != self.framework:
            parts.append(self.hyperparameters)
        return "-".join([*parts, self.budget])

    @property
    def group(self) -> str:
        """Name of the group of all cells with this framework and algorithm."""
        return f"{self.framework}-{self.algorithm}"


@dataclass(frozen=True)
class Protocol:
    """Length of a training and its evaluations.

    Attributes:
        total_steps: environment steps.
        evaluate_every: environment steps between evaluations; the last one is after the training.
        evaluation_episodes: deterministic episodes per evaluation.
    """

    total_steps: Count
    evaluate_every: Count
    evaluation_episodes: Count


@dataclass(frozen=True)
class Job:
    """One run: everything that determines its result, and nothing else.

    It includes ``versions`` and ``sources`` (digests of the code under test), so that a run of
    other code is never taken for this one.
    """

    cell: Annotated[
        Cell,
        expect_value("names that are short enough for one file", lambda c: is_plain_name(c.id)),
    ]
    seed: Seed
    protocol: Protocol
    hyperparameters: Mapping[Line, Value]
    versions: Mapping[Line, Line]
    sources: Mapping[Line, Line]
    arithmetic: Arithmetic = NATIVE

    @classmethod
    def make_from_plain_data(cls, content: Mapping[str, Any]) -> Job:
        """Build a run from the plain data of ``convert_to_plain_data``; other keys are ignored.

        Raises:
            KeyError, TypeError: the data is not that of a run.
        """
        names = ("hyperparameters", "versions", "sources", "arithmetic")
        values = {name: content[name] for name in names}
        return cls(
            Cell(**content["cell"]), content["seed"], Protocol(**content["protocol"]), **values
        )

    @property
    def name(self) -> str:
        """Path of its record in a store, without the suffix."""
        return f"{self.cell.id}/{self.seed:04d}-{self.key}"

    @property
    def title(self) -> str:
        """Name of the run in messages."""
        return f"{self.cell.id} seed {self.seed}"

    def convert_to_plain_data(self) -> dict[str, Any]:
        """Return plain data, for the worker and for the record."""
        # deep copies of what is never changed would take most of the time of a long manifest
        return {
            "cell": asdict(self.cell),
            "seed": self.seed,
            "protocol": asdict(self.protocol),
            "hyperparameters": dict(self.hyperparameters),
            "versions": dict(self.versions),
            "sources": dict(self.sources),
            "arithmetic": self.arithmetic,
        }

    @cached_property
    def key(self) -> str:
        """Content address of the run (hexadecimal)."""
        before, after = self._split_json_around_seed()
        return hashlib.sha256(f"{before}{self.seed}{after}".encode()).hexdigest()[:16]

    def _split_json_around_seed(self) -> tuple[str, str]:
        """Return the sorted JSON of ``convert_to_plain_data`` before and after the seed."""
        content = self.convert_to_plain_data()
        # sorted keys put these four before "seed", and the others after it
        names = ("arithmetic", "cell", "hyperparameters", "protocol")
        first = {name: content.pop(name) for name in names}
        del content["seed"]
        before, after = (json.dumps(part, sort_keys=True) for part in (first, content))
        return f'{before[:-1]}, "seed": ', f", {after[1:]}"

    def make_jobs_of_seeds(self, seeds: Iterable[int]) -> list[Job]:
        """Return this run with each of these seeds. The common part is digested once."""
        before, after = self._split_json_around_seed()
        common = hashlib.sha256(before.encode())
        jobs = []
        for seed in seeds:
            job = replace(self, seed=seed)
            digest = common.copy()
            digest.update(f"{seed}{after}".encode())
            # the cached property stores its value here
            job.__dict__["key"] = digest.hexdigest()[:16]
            jobs.append(job)
        return jobs
