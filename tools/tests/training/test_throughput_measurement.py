"""How throughput is measured: blocks of a training, and of the floor beside it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from torch.optim.optimizer import register_optimizer_step_post_hook

from rlregress import frameworks, suite
from rlregress.errors import UserError
from rlregress.inside import worker
from rlregress.training import throughput_measurement
from rlregress.training.floor import FloorWorkload
from rlregress.training.throughput_measurement import Block, ThroughputProtocol

ON_POLICY = ThroughputProtocol("E", 2, 20, {"rollout_steps": 64, "minibatch_size": 16, "epochs": 3})
OFF_POLICY = ThroughputProtocol(
    "E", 2, 20, {"learning_starts": 200, "steps_per_collection": 10, "updates_per_collection": 5}
)


@pytest.fixture(scope="module")
def adapter():
    """Return some installed framework that trains PPO and SAC."""
    installed = frameworks.list_installed_adapters()
    return next(a for a in installed if {"ppo", "sac"} <= {*a.framework.algorithms})


@pytest.fixture(scope="module")
def short(adapter) -> ThroughputProtocol:
    """Return a training of a few hundred steps."""
    protocol = throughput_measurement.load_throughput_protocol(adapter.name, "ppo")
    return replace(protocol, hyperparameters={**protocol.hyperparameters, "rollout_steps": 64})


@pytest.fixture(scope="module")
def with_floor(adapter, short):
    """A training with the floor in between, and the steps of optimisers outside and inside it."""
    optimizer_steps = {False: 0, True: 0}
    inside = [False]
    work = FloorWorkload.step_and_update

    def noted(self, *arguments):
        inside[0] = True
        work(self, *arguments)
        inside[0] = False

    def count(*_):
        optimizer_steps[inside[0]] += 1

    hook = register_optimizer_step_post_hook(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FloorWorkload, "step_and_update", noted)
        trained, blocks = throughput_measurement.train_and_time_blocks_against_floor(
            adapter, "ppo", short, 0
        )
    hook.remove()
    return trained, blocks, optimizer_steps


def test_blocks_cover_a_training_and_its_gradient_steps(with_floor, short):
    """As many as the protocol says, and the floor's in every block; both sides took time."""
    trained, blocks, optimizer_steps = with_floor
    assert optimizer_steps[False] == short.count_updates_between(1, trained.steps + 1) > 0
    assert optimizer_steps[True] == sum(block.updates for block in blocks) > 0
    _, blocks, _ = with_floor
    first, *_, last = short.list_checkpoints()
    assert sum(block.steps for block in blocks) in range(last - first - 64, last - first + 65)
    assert all(block.seconds > 0 < block.floor_seconds for block in blocks)
    assert len(blocks) > short.blocks


def test_the_floor_leaves_the_training_alone(adapter, short, with_floor):
    """The weights are to the bit those of a training without a floor."""
    from rlregress.probing.interface import TrainingRequest

    def make_env():
        import gymnasium

        return gymnasium.make(short.environment)

    steps = short.count_total_steps()
    request = TrainingRequest("ppo", make_env, short.hyperparameters, steps, seed=0)
    alone = adapter.train.train(request)
    parameters = with_floor[0].parameters
    assert parameters.keys() == alone.parameters.keys()
    assert all((parameters[name] == alone.parameters[name]).all() for name in parameters)


def test_a_rollout_or_a_share_of_updates_is_one_block():
    """Observed a step after a rollout, or with it; off policy from where learning starts."""
    measured = ON_POLICY.list_checkpoints()
    assert measured == [65, 129, 193, 257]
    assert ON_POLICY.count_total_steps() == 320
    for start in (*measured[:-1], 128, 192):
        assert ON_POLICY.count_updates_between(start, start + 64) == 12
    measured = OFF_POLICY.list_checkpoints()
    assert measured == [200, 220, 240, 260] == [*measured[:-1], OFF_POLICY.count_total_steps()]
    for start in measured[:-1]:
        assert OFF_POLICY.count_updates_between(start, start + 20) == 10


def test_the_first_block_warms_up(adapter, monkeypatch):
    """It is not counted; the ratio is the median of the others, the rates are of all of them."""
    blocks = [Block(10, 4, 90.0, 1.0), *(Block(10, 4, 2.0, floor) for floor in (1.0, 1.2, 0.2))]
    monkeypatch.setattr(
        throughput_measurement, "train_and_time_blocks_against_floor", lambda *_: (None, blocks)
    )
    measured = throughput_measurement._measure_in_this_process(adapter.name, "ppo", 0)
    assert (measured.ratio, measured.steps_per_second) == (0.5, 5.0)
    assert measured.updates_per_second == 2.0


def test_peak_memory_is_that_of_the_process_alone():
    """A small process that a large one has started has a small peak."""
    ballast = bytearray(b"x") * (300 * 1024**2)
    program = "from rlregress.inside.worker import measure_peak_mib; print(measure_peak_mib())"
    small = float(subprocess.check_output([sys.executable, "-c", program], text=True))
    assert worker.measure_peak_mib() > len(ballast) / 1024**2
    assert small < 200


def test_an_algorithm_without_a_plan_is_named():
    """Its name, and those that there are."""
    name = frameworks.list_installed_adapters()[-1].name
    with pytest.raises(UserError, match=r"throughput.toml has no algorithm 'a2c'; .*ppo"):
        throughput_measurement.load_throughput_protocol(name, "a2c")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= 256\n", "= 32\n", "rollout_steps 32, expected no less than its minibatch_size, 64"),
        ("block_steps = 20", "block_steps = 0", "block_steps.*0, expected a number of at least 1"),
        ("= 256\n", "= 256\nrollout_step = 1\n", "unknown .*'rollout_step'.*'rollout_steps'"),
    ],
)
def test_an_error_in_the_protocol_is_named(adapter, tmp_path, monkeypatch, old, new, message):
    """A wrong protocol is named with the expectation, before anything is trained."""
    text = (suite.locate_baselines() / "throughput.toml").read_text()
    assert old in text
    (tmp_path / "throughput.toml").write_text(text.replace(old, new))
    sets = throughput_measurement.read_hyperparameters(adapter.name)
    monkeypatch.setattr(throughput_measurement, "read_hyperparameters", lambda name: sets)
    monkeypatch.setattr(suite, "locate_baselines", lambda: tmp_path)
    with pytest.raises(UserError, match=message):
        throughput_measurement.load_throughput_protocol(adapter.name, "ppo")
