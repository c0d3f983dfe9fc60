"""Trains DQN repeatedly, with one source of chance varied and all others fixed.

After Nagarajan, Warnell and Stone, "The Impact of Nondeterminism on Reproducibility in Deep
Reinforcement Learning" (2018).
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from rlregress import datafiles
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.inside.run_record import compute_checksum, write_text_atomically
from rlregress.inside.worker import digest_parameters
from rlregress.probing.interface import Trained
from rlregress.probing.seeded_training import SeededTraining, Seeds
from rlregress_studies.determinism import discrete
from rlregress_studies.determinism.chance import ALL_FIXED, THREADS, Checkpoint, Runs
from rlregress_studies.determinism.discrete import Protocol, Starts

#: in the order of the figure: those of the paper first
GROUPS = (ALL_FIXED, "initialisation", "exploration", "environment", "sampling", THREADS)


@dataclass(frozen=True)
class DeterminismPlan:
    """The trainings of the study, and their number.

    Attributes:
        environment: name of the environment.
        sticky: probability with which a game repeats the previous action.
        steps: environment steps of a training.
        checkpoints: evaluations of a training, at equal distances; the last at its end.
        runs: trainings of each group.
        groups: a selection of ``GROUPS``.
        protocol: settings of the evaluations.
    """

    environment: str
    sticky: float
    steps: int
    checkpoints: int
    runs: int
    groups: tuple[str, ...] = GROUPS
    protocol: Protocol = field(default_factory=Protocol)

    @property
    def evaluation_steps(self) -> list[int]:
        return [self.steps * n // self.checkpoints for n in range(1, self.checkpoints + 1)]

    @property
    def hyperparameters(self) -> Mapping[str, Any]:
        """Hyperparameters of DQN for a short training.

        A tenth of the steps is warm-up, and epsilon falls for half of them. Values that do not
        depend on the length are those of Mnih et al. 2015.
        """
        images = discrete.is_atari_game(self.environment)
        return {
            "learning_rate": 0.0001 if images else 0.001,
            "discount": 0.99,
            "minibatch_size": 32,
            "replay_size": min(self.steps, 100_000),
            "learning_starts": max(self.steps // 10, 32),
            "steps_per_collection": 4,
            "updates_per_collection": 1,
            "target_update_interval": max(self.steps // 80 * 4, 4),
            "exploration_final": 0.1,
            "exploration_steps": max(self.steps // 2, 1),
            "hidden_sizes": [64, 64],
        }


def parse_groups(names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested groups in the order of the figure; UserError for an unknown one."""
    for name in names:
        if name not in GROUPS:
            raise UserError(f"--vary names '{name}'; {suggest_names(name, GROUPS)}")
    requested = {ALL_FIXED, *(names or GROUPS)}
    return tuple(group for group in GROUPS if group in requested)


@dataclass(frozen=True)
class Member:
    """One training of a group.

    Attributes:
        seeds: seeds of the sources of chance.
        threads: number of threads of torch.
        again: number of the training among those with the same seeds and threads.
    """

    seeds: Seeds = field(default_factory=Seeds)
    threads: int = 1
    again: int = 0


def list_trainings_of_group(group: str, runs: int) -> list[Member]:
    """Return the trainings of a group; the first is the same in all groups."""
    if group == ALL_FIXED:
        return [Member(again=n) for n in range(runs)]
    if group == THREADS:
        return [Member(threads=1 + n) for n in range(runs)]
    return [Member(seeds=replace(Seeds(), **{group: n})) for n in range(runs)]


@contextmanager
def _use_threads_and_silence_logs(threads: int) -> Iterator[None]:
    """Set the number of threads of torch, and silence logs and warnings."""
    before, disabled = torch.get_num_threads(), logging.root.manager.disable
    torch.set_num_threads(threads)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        torch.set_num_threads(before)


def train_and_evaluate(
    adapter: Adapter, plan: DeterminismPlan, member: Member, starts: Starts
) -> list[Checkpoint]:
    """Train and evaluate once.

    Raises:
        Unsupported: the framework has no DQN here.
    """
    checkpoints_found: list[Checkpoint] = []

    def evaluate_and_note_checkpoint(steps: int, agent: Trained) -> None:
        # evaluations use one thread, so that they are the same for every training
        with _use_threads_and_silence_logs(1):
            numbers = starts.compute_mean_return(agent), starts.compute_maximum_q(agent)
        torch.set_num_threads(member.threads)
        checkpoints_found.append(
            Checkpoint(steps, digest_parameters(agent.parameters)[:16], *numbers)
        )

    request = SeededTraining(
        algorithm="dqn",
        make_env=partial(discrete.make_environment, plan.environment, plan.sticky),
        hyperparameters=plan.hyperparameters,
        total_steps=plan.steps,
        seeds=member.seeds,
        checkpoints=plan.evaluation_steps,
        on_agent=evaluate_and_note_checkpoint,
    )
    with _use_threads_and_silence_logs(member.threads):
        adapter.train.train_seeded(request)
    return checkpoints_found


def _locate_training(folder: Path, adapter: Adapter, plan: DeterminismPlan, member: Member) -> Path:
    """Return the file of a training, so that a restart does only missing ones."""
    decides = {
        "framework": adapter.full_name,
        "versions": dict(adapter.code.map_package_versions()),
        "digests": dict(adapter.code.digest_unpackaged_sources()),
        "plan": {k: v for k, v in asdict(plan).items() if k not in ("runs", "groups")},
        "hyperparameters": plan.hyperparameters,
        "member": asdict(member),
    }
    key = compute_checksum(decides).removeprefix("sha256:")[:24]
    return folder / f"{adapter.full_name.replace('@', '-')}-{key}.json"


def train_all_members(
    adapter: Adapter,
    plan: DeterminismPlan,
    starts: Starts,
    folder: Path,
    log: Callable[[str], None] = lambda line: None,
) -> dict[str, Runs]:
    """Return the trainings of all groups, by group; finished ones are read from a folder.

    Raises:
        Unsupported: the framework has no DQN here.
    """
    groups: dict[str, Runs] = {}
    remaining = len(plan.groups) * plan.runs
    for group in plan.groups:
        runs = []
        for number, member in enumerate(list_trainings_of_group(group, plan.runs)):
            path = _locate_training(folder, adapter, plan, member)
            if path.is_file():
                remedy = "remove the file: the training is then done again"
                checkpoints_found = datafiles.read_data_file(path, list[Checkpoint], remedy)
            else:
                began = time.monotonic()
                checkpoints_found = train_and_evaluate(adapter, plan, member, starts)
                folder.mkdir(parents=True, exist_ok=True)
                text = json.dumps([asdict(outcome) for outcome in checkpoints_found], indent=1)
                write_text_atomically(path, text + "\n")
                took = time.monotonic() - began
                after = f"; about {took * (remaining - 1):.0f} s left" if remaining > 1 else ""
                log(f"{adapter}, {group}: {number + 1} of {plan.runs} in {took:.0f} s{after}")
            remaining -= 1
            runs.append(checkpoints_found)
        groups[group] = runs
    return groups
