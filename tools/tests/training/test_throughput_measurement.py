"""How throughput is measured: blocks of a training, and of the floor beside it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from torch.optim.optimizer import register_optimizer_step_post_hook

from rlregress import frameworks
from rlregress.errors import UserError
from rlregress.inside import worker
from rlregress.training import throughput_measurement
from rlregress.training.floor import Floor
from rlregress.training.throughput_measurement import Block, BlockPlan, Protocol, rounds

ON_POLICY = Protocol("E", BlockPlan(2), {"rollout_steps": 64, "minibatch_size": 16, "epochs": 3})
OFF_POLICY = Protocol(
    "E",
    BlockPlan(2, training_steps=20, collecting_steps=50),
    {"learning_starts": 200, "steps_per_collection": 10, "updates_per_collection": 5},
)


@pytest.fixture(scope="module")
def adapter():
    """Some installed framework that trains PPO and SAC."""
    installed = frameworks.installed()
    return next(found for found in installed if {"ppo", "sac"} <= {*found.algorithms})


@pytest.fixture(scope="module")
def short(adapter) -> Protocol:
    """A training of a few hundred steps."""
    wanted = throughput_measurement.protocol(adapter.name, "ppo")
    return replace(wanted, hyperparameters={**wanted.hyperparameters, "rollout_steps": 64})


@pytest.fixture(scope="module")
def beside(adapter, short):
    """A training with the floor in between, and the steps of optimisers outside and inside it."""
    counted = {False: 0, True: 0}
    inside = [False]
    work = Floor.work

    def noted(self, *arguments):
        inside[0] = True
        work(self, *arguments)
        inside[0] = False

    def count(*_):
        counted[inside[0]] += 1

    hook = register_optimizer_step_post_hook(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Floor, "work", noted)
        trained, blocks = throughput_measurement.train_with_floor(adapter, "ppo", short, 0)
    hook.remove()
    return trained, blocks, counted


def test_a_training_has_the_gradient_steps_that_it_is_credited_with(beside, short):
    """The framework's optimiser steps as often as the protocol says, the floor's in every block."""
    trained, blocks, counted = beside
    assert counted[False] == short.updates(1, trained.steps + 1) > 0
    assert counted[True] == sum(block.updates for block in blocks) > 0


def test_blocks_cover_the_training_between_its_checkpoints(beside, short):
    """They have the steps from the first checkpoint to the last, and both sides took time."""
    _, blocks, _ = beside
    first, *_, last = short.checkpoints()
    assert sum(block.steps for block in blocks) in range(last - first - 64, last - first + 65)
    assert all(block.seconds > 0 < block.floor_seconds for block in blocks)
    training, _ = rounds(blocks)
    assert len(training) >= short.plan.blocks


def test_the_floor_leaves_the_training_alone(adapter, short, beside):
    """The weights are to the bit those of a training without a floor."""
    from rlregress.frameworks.base import TrainingRequest

    def make_env():
        import gymnasium

        return gymnasium.make(short.environment)

    alone = adapter.train(
        TrainingRequest("ppo", make_env, short.hyperparameters, short.total_steps(), 0)
    )
    parameters = beside[0].parameters
    assert parameters.keys() == alone.parameters.keys()
    assert all((parameters[name] == alone.parameters[name]).all() for name in parameters)


def test_a_rollout_and_its_updates_are_one_round():
    """Observed at every step or after rollouts only, a round has the same gradient steps."""
    every_step = [65, 97, 129, 161, 193, 225, 257]
    assert ON_POLICY.checkpoints()[: len(every_step)] == every_step
    updates = [ON_POLICY.updates(*pair) for pair in zip(every_step, every_step[1:], strict=False)]
    assert updates == [0, 12, 0, 12, 0, 12]
    assert [ON_POLICY.updates(start, start + 64) for start in (128, 192)] == [12, 12]


def test_before_learning_starts_there_are_no_gradient_steps():
    """Off policy, blocks before learning starts have none, and those behind it their share."""
    found = OFF_POLICY.checkpoints()
    assert found == [50, 100, 150, 200, 220, 240, 260]
    updates = [OFF_POLICY.updates(*pair) for pair in zip(found, found[1:], strict=False)]
    assert updates == [0, 0, 0, 10, 10, 10]


def test_the_first_block_of_each_kind_warms_up():
    """It is not counted; what is collected for updates counts with them."""

    def block(updates: int, seconds: float) -> Block:
        return Block(10, updates, seconds, 1.0)

    slow, half, rest = block(0, 9.0), block(0, 1.0), block(4, 2.0)
    training, collecting = rounds([slow, rest, half, rest, half, rest])
    assert training == [Block(20, 4, 3.0, 2.0)] * 2
    assert collecting == [half, half]


def test_peak_memory_is_that_of_the_process_alone():
    """A small process that a large one has started has a small peak."""
    ballast = bytearray(b"x") * (300 * 1024**2)
    program = "from rlregress.inside.worker import peak_mib; print(peak_mib())"
    small = float(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert worker.peak_mib() > len(ballast) / 1024**2
    assert small < 200


def test_an_algorithm_without_a_plan_is_named():
    """Its name, and those that there are."""
    name = frameworks.installed()[-1].name
    with pytest.raises(UserError, match=r"throughput.toml has no algorithm 'a2c'; .*ppo"):
        throughput_measurement.protocol(name, "a2c")


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write another protocol: replace a part of the one that there is."""

    def write(old: str, new: str) -> None:
        path = tmp_path / "throughput.toml"
        text = throughput_measurement.file().read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        monkeypatch.setattr(throughput_measurement, "file", lambda: path)

    throughput_measurement.check_environment.cache_clear()
    yield write
    throughput_measurement.check_environment.cache_clear()


@pytest.mark.parametrize(("old", "new"), [("training_steps = 20", ""), ("= 100", "= 101")])
def test_blocks_that_cannot_be_are_named(adapter, written, old, new):
    """Empty ones, and those that would begin before the training, in one sentence."""
    written(old, new)
    with pytest.raises(UserError, match="table 'plans.sac' has training_steps .*; expected"):
        throughput_measurement.protocol(adapter.name, "sac")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= 256\n", '= "a"\n', "ppo has rollout_steps 'a', expected a whole number of at least 1"),
        ("= 256\n", "= 256.5\n", "ppo has rollout_steps 256.5, expected a whole number"),
        ("= 256\n", "= 0\n", "ppo has rollout_steps 0, expected a whole number of at least 1"),
        ("= 256\n", "= 32\n", "ppo has rollout_steps 32, expected .* minibatch_size, which is 64"),
        (
            "rollout_steps = 256",
            'rollout_steps = 256\nhidden_sizes = [64, "a"]',
            "ppo has hidden_sizes .*'a'.*, expected a list of whole numbers",
        ),
        ("= 300\n", '= "300"\n', "sac has learning_starts '300', expected a whole number"),
    ],
)
def test_numbers_that_cannot_be_counted_with_are_named(adapter, written, old, new, message):
    """Before anything is trained, with what was expected."""
    written(old, new)
    with pytest.raises(UserError, match=message):
        throughput_measurement.protocol(adapter.name, message.partition(" ")[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[hyperparameters.sac]\nlearning_starts",
            "[hyperparameters.sac]\nlearning_start",
            "'hyperparameters.sac': unknown hyperparameter 'learning_start'; did you mean",
        ),
        ("[frameworks.torchrl.", "[frameworks.torchrll.", "'frameworks.torchrll' .*'torchrl'"),
        ("[hyperparameters.sac]", "[hyperparameters.sax]", "'hyperparameters.sax' .*'sac'"),
    ],
)
def test_misspelt_names_of_the_protocol_are_named(adapter, written, old, new, message):
    """A hyperparameter, a framework and an algorithm that nobody asks for, with the nearest."""
    written(old, new)
    with pytest.raises(UserError, match=message):
        throughput_measurement.protocol(adapter.name, "ppo")


@pytest.mark.parametrize(
    ("environment", "value"),
    [("HalfCheetah-v9", "cannot be made"), ("CartPole-v1", "action_space Discrete.*expected")],
)
def test_an_environment_that_cannot_be_measured_is_named(written, environment, value):
    """One that there is not, and one that the floor cannot step."""
    written("HalfCheetah-v4", environment)
    with pytest.raises(UserError, match=f"throughput.toml: environment '{environment}' .*{value}"):
        throughput_measurement.check_environment()


def test_a_process_that_fails_tells_its_last_words(adapter):
    """What it ended with is in the sentence."""
    with pytest.raises(UserError, match="has no algorithm 'a2c'"):
        throughput_measurement.measure(adapter.name, "a2c", 0)
