"""How fast a framework trains, beside a floor measured in the same process.

``python -m rlregress.training.throughput_measurement FRAMEWORK ALGORITHM SEED RESULT`` trains for
some seconds. At the checkpoints of the adapter it does what the floor has to do for the block that
has just
ended: blocks of the framework and of the floor alternate, so that whatever else the machine does
slows both. Seconds are CPU seconds of this process; their ratio is what is kept.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rlregress import datafiles, frameworks, missing_packages, suite
from rlregress.datafiles import Count, Number, Text
from rlregress.errors import UserError, nearest
from rlregress.frameworks.base import Adapter, Trained, TrainingRequest
from rlregress.hyperparameters import hyperparameter_set
from rlregress.hyperparameters import names as sets_of_hyperparameters
from rlregress.inside import process_tree, worker
from rlregress.training import worker_launch

_MODULE = "rlregress.training.throughput_measurement"

#: a number above 0, as everything that is measured
_Measured = Annotated[Number, Field(gt=0)]

#: hyperparameters that blocks and the floor count with, where an algorithm has them
_COUNTS = (
    "rollout_steps", "minibatch_size", "epochs", "learning_starts", "steps_per_collection",
    "updates_per_collection", "policy_delay",
)  # fmt: skip


@dataclass(frozen=True)
class BlockPlan:
    """The blocks of one training.

    Attributes:
        blocks: counted blocks with updates.
        training_steps: environment steps of each; 0: a rollout, with its updates.
        collecting_steps: environment steps of a block before the first update; 0: such blocks are
            the halves of a rollout.
    """

    blocks: Count
    training_steps: int = 0
    collecting_steps: int = 0


@dataclass(frozen=True)
class _File:
    environment: Text
    processes: Count
    plans: Mapping[str, BlockPlan]
    hyperparameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    frameworks: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """What one process does.

    Attributes:
        hyperparameters: in the names of ``baselines/hyperparameters``; what is switched off is
            left out where the file has null, so that a stored protocol can be compared.
    """

    environment: str
    plan: BlockPlan
    hyperparameters: Mapping[str, Any]

    @property
    def on_policy(self) -> bool:
        """Whether updates follow a rollout, and not single steps."""
        return "rollout_steps" in self.hyperparameters

    def checkpoints(self) -> list[int]:
        """Environment steps between which blocks lie.

        A rollout is left one step late: its updates are done by then, whether the framework can
        be observed at every step or after every rollout only.
        """
        given, plan = self.hyperparameters, self.plan
        if self.on_policy:
            rollout = given["rollout_steps"]
            starts = [1 + number * rollout for number in range(1, plan.blocks + 3)]
            return [start + half for start in starts for half in (0, rollout // 2)]
        first, block = given["learning_starts"], plan.training_steps
        before = [first - number * plan.collecting_steps for number in (3, 2, 1, 0)]
        return before + [first + number * block for number in range(1, plan.blocks + 2)]

    def total_steps(self) -> int:
        """Environment steps of the training."""
        if self.on_policy:
            return self.hyperparameters["rollout_steps"] * (self.plan.blocks + 3)
        return self.checkpoints()[-1]

    def updates(self, start: int, end: int) -> int:
        """Gradient steps, one for each minibatch, between two checkpoints."""
        given = self.hyperparameters
        if self.on_policy:
            rollout = given["rollout_steps"]
            rollouts = end // rollout - start // rollout
            return rollouts * given["epochs"] * (rollout // given["minibatch_size"])
        per_step = given.get("updates_per_collection", 1) / given.get("steps_per_collection", 1)
        first = given["learning_starts"]
        return round((max(end, first) - max(start, first)) * per_step)


@dataclass(frozen=True)
class Block:
    """What was measured between two checkpoints: steps, gradient steps, CPU seconds."""

    steps: int
    updates: int
    seconds: float
    floor_seconds: float


@dataclass(frozen=True)
class Measurement:
    """What one process measured.

    Attributes:
        ratio: steps per CPU second of the training over those of the floor, median over the
            blocks; gradient steps have the same ratio, as both do equally many.
        steps_per_second: environment steps per CPU second while it learns.
        updates_per_second: gradient steps per CPU second while it learns, stepping included.
        idle_mib: most memory (MiB) of the process when it had only imported the framework.
        peak_mib: most memory (MiB) of the process in the end.
        collecting_ratio: as ``ratio``, of steps without updates: with the policy's actions before
            the updates of a rollout, with random ones before learning starts. None where the
            framework cannot be observed in between.
        collecting_steps_per_second: environment steps per CPU second of these.
    """

    ratio: _Measured
    steps_per_second: _Measured
    updates_per_second: _Measured
    idle_mib: _Measured
    peak_mib: _Measured
    collecting_ratio: _Measured | None = None
    collecting_steps_per_second: _Measured | None = None

    def __post_init__(self) -> None:
        if (self.collecting_ratio is None) != (self.collecting_steps_per_second is None):
            raise ValueError(
                "it has one of collecting_ratio and collecting_steps_per_second; expected both, "
                "or neither"
            )


def file() -> Path:
    """The file that says how throughput is measured."""
    return suite.baselines() / "throughput.toml"


def _read() -> _File:
    content: _File = datafiles.read(file(), _File)
    _check_names(content)
    return content


def _check_names(content: _File) -> None:
    """UserError for a framework, an algorithm or a hyperparameter that nobody asks for."""
    sets = {name: hyperparameter_set(name) for name in sets_of_hyperparameters()}
    overrides = {"hyperparameters": content.hyperparameters}
    for framework, of_framework in content.frameworks.items():
        if framework not in sets:
            raise UserError(
                f"{file()}: table 'frameworks.{framework}' is of no framework; "
                f"{nearest(framework, sets)}"
            )
        overrides[f"frameworks.{framework}"] = of_framework
    for table, algorithms in overrides.items():
        for algorithm, given in algorithms.items():
            if algorithm not in content.plans:
                raise UserError(
                    f"{file()}: table '{table}.{algorithm}' is of an algorithm without a plan; "
                    f"{nearest(algorithm, content.plans)}"
                )
            known = {name for values in sets.values() for name in values.get(algorithm, ())}
            for name in given:
                if name not in known:
                    raise UserError(
                        f"{file()}, table '{table}.{algorithm}': unknown hyperparameter '{name}'; "
                        f"{nearest(name, known)}"
                    )


def processes() -> int:
    """New processes of each framework and algorithm."""
    return _read().processes


def protocol(framework: str, algorithm: str) -> Protocol:
    """The protocol of an algorithm of a framework; UserError if there is none."""
    content, sets = _read(), hyperparameter_set(framework)
    for known, where in ((content.plans, file()), (sets, f"the hyperparameter set '{framework}'")):
        if algorithm not in known:
            raise UserError(f"{where} has no algorithm '{algorithm}'; {nearest(algorithm, known)}")
    given = {
        **sets[algorithm],
        **content.hyperparameters.get(algorithm, {}),
        **content.frameworks.get(framework, {}).get(algorithm, {}),
    }
    checked = Protocol(content.environment, content.plans[algorithm], given)
    _check_numbers(framework, algorithm, checked)
    _check_blocks(algorithm, checked)
    return checked


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _check_numbers(framework: str, algorithm: str, of: Protocol) -> None:
    """UserError if a hyperparameter that is counted with is no count, or rollouts are too small."""
    given, where = of.hyperparameters, f"{file()}: the protocol of {framework} {algorithm}"
    for name in _COUNTS:
        value = given.get(name, 1)
        if not _is_count(value):
            raise UserError(f"{where} has {name} {value!r}, expected a whole number of at least 1")
    sizes = given.get("hidden_sizes", [])
    if not isinstance(sizes, list) or not all(map(_is_count, sizes)):
        raise UserError(
            f"{where} has hidden_sizes {sizes!r}, expected a list of whole numbers of at least 1"
        )
    if of.on_policy and not max(2, given["minibatch_size"]) <= given["rollout_steps"]:
        raise UserError(
            f"{where} has rollout_steps {given['rollout_steps']}, expected 2 or more, and no less "
            f"than minibatch_size, which is {given['minibatch_size']}"
        )


def _check_blocks(algorithm: str, of: Protocol) -> None:
    """UserError if blocks of an off-policy algorithm are empty, or begin before the training."""
    training, collecting = of.plan.training_steps, of.plan.collecting_steps
    first = of.hyperparameters.get("learning_starts", 0)
    if not of.on_policy and not (training > 0 and 0 < 3 * collecting <= first):
        raise UserError(
            f"{file()}: table 'plans.{algorithm}' has training_steps {training} and "
            f"collecting_steps {collecting}; expected at least 1 each, and three times the latter "
            f"to be no more than learning_starts, which is {first}"
        )


@cache
def check_environment() -> None:
    """UserError if the environment cannot be made, or the floor cannot step it.

    Not asked where it is measured, as it takes memory.
    """
    import gymnasium

    name = _read().environment
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
        reason = missing_packages.lacking(error) or " ".join(str(error).split())
        raise UserError(f"{file()}: environment '{name}' cannot be made: {reason}") from None
    for what in ("observation_space", "action_space"):
        space = getattr(made, what)
        if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
            raise UserError(
                f"{file()}: environment '{name}' has the {what} {space}, expected an environment "
                "with a Box of one dimension, as HalfCheetah-v4 has"
            )
    made.close()


class _Watch:
    """Does the floor's part at every checkpoint, and keeps what both took."""

    def __init__(self, floor: Any, protocol: Protocol) -> None:
        self._floor, self._protocol = floor, protocol
        self._left: tuple[int, float] | None = None
        self.blocks: list[Block] = []

    def __call__(self, steps: int, policy: Any) -> None:
        called_at = time.process_time()
        if self._left is not None:
            start, since = self._left
            updates = self._protocol.updates(start, steps)
            acting = self._protocol.on_policy or updates > 0
            began = time.process_time()
            self._floor.work(steps - start, updates, acting)
            took = time.process_time() - began
            self.blocks.append(Block(steps - start, updates, called_at - since, took))
        self._left = steps, time.process_time()


def rounds(blocks: list[Block]) -> tuple[list[Block], list[Block]]:
    """(rounds of training, blocks without updates), each without the first of its kind.

    A round ends with updates; with it goes what was collected for them.
    """
    training: list[Block] = []
    collecting: list[Block] = []
    since: list[Block] = []
    for block in blocks:
        since.append(block)
        if not block.updates:
            collecting.append(block)
            continue
        sums = (sum(values) for values in zip(*(vars(b).values() for b in since), strict=True))
        training.append(Block(*sums))
        since = []
    return training[1:], collecting[1:]


def _median_ratio(blocks: list[Block]) -> float:
    return statistics.median(block.floor_seconds / block.seconds for block in blocks)


def _rate(blocks: list[Block], what: str) -> float:
    return sum(getattr(block, what) for block in blocks) / sum(block.seconds for block in blocks)


def train_with_floor(
    adapter: Adapter, algorithm: str, protocol: Protocol, seed: int
) -> tuple[Trained, list[Block]]:
    """Train in this process, the floor in between; the trained agent and the blocks."""
    import gymnasium

    from rlregress.training.floor import Floor

    def make_env() -> Any:
        return gymnasium.make(protocol.environment)

    floor = Floor(algorithm, make_env, protocol.hyperparameters)
    watch = _Watch(floor, protocol)
    trained = adapter.train(
        TrainingRequest(
            algorithm=algorithm,
            make_env=make_env,
            hyperparameters=protocol.hyperparameters,
            total_steps=protocol.total_steps(),
            seed=seed,
            checkpoints=protocol.checkpoints(),
            on_checkpoint=watch,
        )
    )
    floor.close()
    return trained, watch.blocks


def _measure_here(framework: str, algorithm: str, seed: int) -> Measurement:
    """Train and measure in this process, which has done nothing else."""
    import torch

    torch.set_num_threads(1)
    adapter, wanted = frameworks.get(framework), protocol(framework.partition("@")[0], algorithm)
    for module in adapter.modules:
        importlib.import_module(module)
    idle = worker.peak_mib()
    _, blocks = train_with_floor(adapter, algorithm, wanted, seed)
    training, collecting = rounds(blocks)
    return Measurement(
        ratio=round(_median_ratio(training), 4),
        steps_per_second=round(_rate(training, "steps"), 1),
        updates_per_second=round(_rate(training, "updates"), 1),
        idle_mib=round(idle, 1),
        peak_mib=round(worker.peak_mib(), 1),
        collecting_ratio=round(_median_ratio(collecting), 4) if collecting else None,
        collecting_steps_per_second=round(_rate(collecting, "steps"), 1) if collecting else None,
    )


def measure(
    framework: str, algorithm: str, seed: int, environment: Mapping[str, str] | None = None
) -> Measurement:
    """Train and measure in a process of its own, with one thread.

    Args:
        environment: variables of that process; None: this one's.

    Raises:
        UserError: there is no such training, or it ended in an error.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        ended = process_tree.run(
            [sys.executable, "-W", "ignore", "-m", _MODULE]
            + [framework, algorithm, str(seed), str(result)],
            env=worker_launch.environment() if environment is None else environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            errors="replace",
        )
        if ended.returncode != 0:
            raise UserError(
                f"the throughput of {framework} {algorithm} could not be measured: the process "
                f"ended with status {ended.returncode}; its last words:\n{ended.stdout[-2000:]}"
            )
        return Measurement(**json.loads(result.read_text(encoding="utf-8")))


def main(arguments: list[str]) -> None:
    """Entry point of the process that measures."""
    framework, algorithm, seed, result = arguments
    measured = _measure_here(framework, algorithm, int(seed))
    Path(result).write_text(json.dumps(asdict(measured)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
