"""Measures how fast a framework trains, relative to a floor measured in the same process.

``python -m rlregress.training.throughput_measurement FRAMEWORK ALGORITHM SEED`` trains for some
seconds. At the checkpoints of the adapter the floor repeats the work of the block that has just
ended. Blocks of the framework and of the floor alternate, so that other load on the machine slows
both. Seconds are CPU seconds of this process; their ratio is stored.
"""

from __future__ import annotations

import importlib
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, suite
from rlregress.datafiles import Count, Number, Text
from rlregress.errors import UserError, suggest_names
from rlregress.frameworks.base import Adapter
from rlregress.hyperparameters import read_hyperparameters
from rlregress.inside import worker
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.trace import child_processes
from rlregress.training import worker_launch

MODULE_NAME = "rlregress.training.throughput_measurement"

#: measured quantities are positive
_Measured = Annotated[Number, Field(gt=0)]


@dataclass(frozen=True, kw_only=True)
class _Changes:
    """Changes to the hyperparameter set of a framework, by the names in that set."""

    rollout_steps: Count | None = None
    learning_starts: Count | None = None
    steps_per_collection: Count | None = None
    updates_per_collection: Count | None = None
    hidden_sizes: list[Count] | None = None


@dataclass(frozen=True)
class _File:
    """``baselines/throughput.toml``.

    Attributes:
        blocks: counted blocks of a training.
        block_steps: environment steps of a block; on policy it is a rollout with its updates.
        hyperparameters: algorithm -> changes.
        frameworks: framework -> algorithm -> further changes.
    """

    environment: Text
    blocks: Count
    block_steps: Count
    hyperparameters: Mapping[str, _Changes]
    frameworks: Mapping[str, Mapping[str, _Changes]] = field(default_factory=dict)


@dataclass(frozen=True)
class ThroughputProtocol:
    """The environment, blocks and hyperparameters of one measured training.

    Attributes:
        hyperparameters: in the names of ``baselines/hyperparameters``.
    """

    environment: str
    blocks: int
    block_steps: int
    hyperparameters: Mapping[str, Any]

    def list_checkpoints(self) -> list[int]:
        """Return the environment steps between which blocks lie; the first block warms up.

        On policy, checkpoints lie one step after a rollout: its updates are done by then, whether
        the framework can be observed at every step or only after every rollout.
        """
        hyperparameters = self.hyperparameters
        if rollout := hyperparameters.get("rollout_steps"):
            return [1 + number * rollout for number in range(1, self.blocks + 3)]
        first = hyperparameters["learning_starts"]
        return [first + number * self.block_steps for number in range(self.blocks + 2)]

    def count_total_steps(self) -> int:
        rollout = self.hyperparameters.get("rollout_steps")
        return rollout * (self.blocks + 3) if rollout else self.list_checkpoints()[-1]

    def count_updates_between(self, start: int, end: int) -> int:
        """Return the gradient steps, one for each minibatch, between two checkpoints."""
        hyperparameters = self.hyperparameters
        if rollout := hyperparameters.get("rollout_steps"):
            rollouts = end // rollout - start // rollout
            return int(
                rollouts
                * hyperparameters["epochs"]
                * (rollout // hyperparameters["minibatch_size"])
            )
        per_step = hyperparameters.get("updates_per_collection", 1) / hyperparameters.get(
            "steps_per_collection", 1
        )
        return round((end - start) * per_step)


@dataclass(frozen=True)
class Block:
    """The steps, gradient steps and CPU seconds between two checkpoints."""

    steps: int
    updates: int
    seconds: float
    floor_seconds: float


@dataclass(frozen=True)
class Measurement:
    """The throughput and memory of one training process.

    Attributes:
        ratio: steps per CPU second of the training over those of the floor, median over the
            blocks; gradient steps have the same ratio, as both do equally many.
        steps_per_second: environment steps per CPU second.
        updates_per_second: gradient steps per CPU second, stepping included.
        idle_mib: peak memory (MiB) of the process when it had only imported the framework.
        peak_mib: peak memory (MiB) of the process in the end.
    """

    ratio: _Measured
    steps_per_second: _Measured
    updates_per_second: _Measured
    idle_mib: _Measured
    peak_mib: _Measured


def load_throughput_protocol(framework: str, algorithm: str) -> ThroughputProtocol:
    """Return the protocol of an algorithm of a framework.

    Raises:
        UserError: the file is damaged, or its changes contradict each other.
    """
    path = suite.locate_baselines() / "throughput.toml"
    content: _File = datafiles.read_data_file(path, _File)
    framework_set = read_hyperparameters(framework)
    for table, names in (
        (path, content.hyperparameters),
        (f"the set of {framework}", framework_set),
    ):
        if algorithm not in names:
            raise UserError(
                f"{table} has no algorithm '{algorithm}'; {suggest_names(algorithm, names)}"
            )
    values = dict(framework_set[algorithm])
    framework_changes = content.frameworks.get(framework, {}).get(algorithm, _Changes())
    for changes in (content.hyperparameters[algorithm], framework_changes):
        values |= {name: value for name, value in vars(changes).items() if value is not None}
    if values.get("rollout_steps", math.inf) < values.get("minibatch_size", 0):
        raise UserError(
            f"{path}: {framework} {algorithm} has rollout_steps {values['rollout_steps']}, "
            f"expected no less than its minibatch_size, {values['minibatch_size']}"
        )
    return ThroughputProtocol(content.environment, content.blocks, content.block_steps, values)


def train_and_time_blocks_against_floor(
    adapter: Adapter, algorithm: str, protocol: ThroughputProtocol, seed: int
) -> tuple[Trained, list[Block]]:
    """Train in this process, and time each block of steps against the floor.

    Returns:
        the trained agent, and the seconds of each block and of the floor's work for as many steps.
    """
    import gymnasium

    from rlregress.training.floor import FloorWorkload

    def make_env() -> Any:
        return gymnasium.make(protocol.environment)

    floor = FloorWorkload(algorithm, make_env, protocol.hyperparameters)
    blocks: list[Block] = []
    block_start: list[tuple[int, float]] = []

    def run_floor_and_record_block(steps: int, policy: Any) -> None:
        called_at = time.process_time()
        if block_start:
            first_step, started_at = block_start.pop()
            updates = protocol.count_updates_between(first_step, steps)
            floor_started_at = time.process_time()
            floor.step_and_update(steps - first_step, updates)
            floor_seconds = time.process_time() - floor_started_at
            seconds = called_at - started_at
            blocks.append(Block(steps - first_step, updates, seconds, floor_seconds))
        # after the floor, so that its seconds are not those of the framework
        block_start.append((steps, time.process_time()))

    request = TrainingRequest(
        algorithm=algorithm,
        make_env=make_env,
        hyperparameters=protocol.hyperparameters,
        total_steps=protocol.count_total_steps(),
        seed=seed,
        checkpoints=protocol.list_checkpoints(),
        on_checkpoint=run_floor_and_record_block,
    )
    trained = adapter.train.train(request)
    floor.close_environment()
    return trained, blocks


def _measure_in_this_process(framework: str, algorithm: str, seed: int) -> Measurement:
    """Train and measure in this process, which has done nothing else."""
    import torch

    torch.set_num_threads(1)
    adapter = frameworks.get_adapter(framework)
    protocol = load_throughput_protocol(framework.partition("@")[0], algorithm)
    for module in adapter.framework.modules:
        importlib.import_module(module)
    idle = worker.measure_peak_mib()
    # the first block warms up
    _, (_, *blocks) = train_and_time_blocks_against_floor(adapter, algorithm, protocol, seed)
    seconds = sum(block.seconds for block in blocks)
    return Measurement(
        ratio=round(statistics.median(block.floor_seconds / block.seconds for block in blocks), 4),
        steps_per_second=round(sum(block.steps for block in blocks) / seconds, 1),
        updates_per_second=round(sum(block.updates for block in blocks) / seconds, 1),
        idle_mib=round(idle, 1),
        peak_mib=round(worker.measure_peak_mib(), 1),
    )


def measure_throughput(
    framework: str,
    algorithm: str,
    seed: int,
    environment_variables: Mapping[str, str] | None = None,
) -> Measurement:
    """Train and measure in a separate process with one thread.

    Args:
        environment_variables: of that process; None: this one's.

    Raises:
        UserError: there is no such training, or it ended in an error.
    """
    command = [sys.executable, "-W", "ignore", "-m", MODULE_NAME, framework, algorithm, str(seed)]
    if environment_variables is None:
        environment_variables = worker_launch.make_worker_environment()
    with tempfile.TemporaryDirectory() as folder:
        completed = child_processes.run_command(command, environment_variables, folder)
    if completed.returncode:
        raise UserError(
            f"the throughput of {framework} {algorithm} could not be measured: "
            f"{child_processes.extract_last_message(completed.stderr or completed.stdout)}"
        )
    # a framework may print before the result
    return Measurement(**json.loads(completed.stdout.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(asdict(_measure_in_this_process(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
