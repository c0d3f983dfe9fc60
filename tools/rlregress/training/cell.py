"""What is trained: a cell, and one run of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, order=True)
class Cell:
    """Framework x algorithm x environment x hyperparameter set x budget."""

    framework: str
    algorithm: str
    environment: str
    hyperparameters: str
    budget: str

    @property
    def id(self) -> str:
        """One word for reports, files and test ids, such as ``name-ppo-Hopper-v4-short``.

        The hyperparameter set is named only where it is not the framework's own.
        """
        parts = [self.framework, self.algorithm, self.environment]
        if self.hyperparameters != self.framework:
            parts.append(self.hyperparameters)
        return "-".join([*parts, self.budget])

    @property
    def group(self) -> str:
        """The cells that one implementation is responsible for: (framework, algorithm)."""
        return f"{self.framework}-{self.algorithm}"


@dataclass(frozen=True)
class Protocol:
    """How long a run trains and how it is evaluated.

    Attributes:
        total_steps: environment steps.
        evaluate_every: environment steps between evaluations; the last one is after the training.
        evaluation_episodes: deterministic episodes per evaluation.
    """

    total_steps: int
    evaluate_every: int
    evaluation_episodes: int


@dataclass(frozen=True)
class Job:
    """One run: everything that determines its result, and nothing else.

    ``versions`` and ``sources`` (a digest of the code under test) are part of it, so that a run
    of other code is never taken for this one.
    """

    cell: Cell
    seed: int
    protocol: Protocol
    hyperparameters: Mapping[str, Any]
    versions: Mapping[str, str]
    sources: Mapping[str, str]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Job:
        """The run that ``as_dict`` made plain data of; what else it holds is left out.

        Raises:
            KeyError, TypeError: it is something else.
        """
        rest = {name: content[name] for name in ("hyperparameters", "versions", "sources")}
        return cls(
            Cell(**content["cell"]), content["seed"], Protocol(**content["protocol"]), **rest
        )

    @property
    def name(self) -> str:
        """Where its record lies in a store, without the ending."""
        return f"{self.cell.id}/{self.seed:04d}-{self.key}"

    @property
    def title(self) -> str:
        """What a message calls it."""
        return f"{self.cell.id} seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the worker and for the record."""
        # deep copies of what is never changed would take most of the time of a long manifest
        return {
            "cell": asdict(self.cell),
            "seed": self.seed,
            "protocol": asdict(self.protocol),
            "hyperparameters": dict(self.hyperparameters),
            "versions": dict(self.versions),
            "sources": dict(self.sources),
        }

    @cached_property
    def key(self) -> str:
        """Content address of the run (hexadecimal)."""
        before, after = self._around_seed()
        return hashlib.sha256(f"{before}{self.seed}{after}".encode()).hexdigest()[:16]

    def _around_seed(self) -> tuple[str, str]:
        """What stands before and after the seed in the sorted JSON of ``as_dict``."""
        content = self.as_dict()
        first = {name: content.pop(name) for name in ("cell", "hyperparameters", "protocol")}
        del content["seed"]
        before, after = (json.dumps(each, sort_keys=True) for each in (first, content))
        return f'{before[:-1]}, "seed": ', f", {after[1:]}"

    def with_seeds(self, seeds: Iterable[int]) -> list[Job]:
        """This run with each of these seeds; what they have in common is digested once."""
        before, after = self._around_seed()
        common = hashlib.sha256(before.encode())
        made = []
        for seed in seeds:
            job = Job(
                self.cell, seed, self.protocol, self.hyperparameters, self.versions, self.sources
            )
            digest = common.copy()
            digest.update(f"{seed}{after}".encode())
            # as the cached property would keep it
            job.__dict__["key"] = digest.hexdigest()[:16]
            made.append(job)
        return made
