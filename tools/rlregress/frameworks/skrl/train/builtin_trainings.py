"""Built-in trainings for traces: agents on two environments side by side, and on one.

Each trains by skrl's trainer, and reaches what its agent does only now and then. The training on
one environment has states beside observations and, where possible, one model for policy and value.
It is evaluated and saved, and what is loaded trains on. A policy alone is evaluated as well. Agents
for models with memory do the same, with sequences in which episodes end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np
import torch
from skrl.memories.torch import RandomMemory
from skrl.resources.noises.torch import OrnsteinUhlenbeckNoise
from skrl.utils import set_seed
from torch.optim.lr_scheduler import ExponentialLR, LinearLR

from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import (
    MODELS,
    AgentSetup,
    Layers,
    make_joint_trainer,
    make_noise_settings,
    make_scaler_settings,
)
from rlregress.frameworks.skrl.recurrent_layers import Recurrence
from rlregress.frameworks.skrl.train import runner_trainings
from rlregress.probing.framework_errors import was_raised_in
from rlregress.probing.interface import TraceTraining

_STEPS = 64
#: it tracks what it would write, and does not come to that
_NEVER_WRITES = 10**6
#: a model is another one in training mode
_LAYERS = Layers(sizes=(16, 16), dropout=0.1)
#: those of policy, of values and of the temperature: another rate and another schedule for each
_RATES = (0.001, 0.002, 0.003)
_SCHEDULES = (
    # at its end before the training is
    (LinearLR, {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 6}),
    (ExponentialLR, {"gamma": 0.9}),
    (ExponentialLR, {"gamma": 0.8}),
)


def _make_schedule_settings(optimizer_count: int) -> dict[str, Any]:
    """Return settings of learning rates and their schedules; tuples for several optimisers."""
    kinds, arguments = zip(*_SCHEDULES[:optimizer_count], strict=False)
    is_single = optimizer_count == 1
    return {
        "learning_rate": _RATES[0] if is_single else _RATES[:optimizer_count],
        "learning_rate_scheduler": kinds[0] if is_single else kinds,
        "learning_rate_scheduler_kwargs": arguments[0] if is_single else arguments,
    }


def _make_on_policy_settings(rates: int = 2, **settings: Any) -> dict[str, Any]:
    return {
        # 32 rows in 3 minibatches: the last one is another than the others
        "rows": 16,
        "rollouts": 16,
        "mini_batches": 3,
        "time_limit_bootstrap": True,
        **make_scaler_settings("observation", 3),
        **make_scaler_settings("value", 1),
        **_make_schedule_settings(rates),
        **settings,
    }


def _make_off_policy_settings(rates: int = 2, **settings: Any) -> dict[str, Any]:
    # the memory is full after a third of the training
    return {
        "rows": 20,
        "batch_size": 12,
        "gradient_steps": 2,
        "polyak": 0.05,
        "random_timesteps": 6,
        "learning_starts": 12,
        **make_scaler_settings("observation", 3),
        **_make_schedule_settings(rates),
        **settings,
    }


def _make_td3_settings() -> dict[str, Any]:
    # a schedule for one of two
    return _make_off_policy_settings(
        **make_noise_settings("exploration_noise", std=0.1),
        **make_noise_settings("smooth_regularization_noise", std=0.4),
        grad_norm_clip=0.5,
        learning_rate_scheduler=(None, ExponentialLR),
        learning_rate_scheduler_kwargs=({}, {"gamma": 0.9}),
    )


SETTINGS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "ppo": lambda: _make_on_policy_settings(
        learning_epochs=2, value_clip=0.2, entropy_loss_scale=0.01, kl_threshold=0.5
    ),
    "a2c": lambda: _make_on_policy_settings(entropy_loss_scale=0.01),
    "trpo": lambda: _make_on_policy_settings(1, learning_epochs=2),
    "sac": lambda: _make_off_policy_settings(3, grad_norm_clip=0.5),
    "td3": _make_td3_settings,
    "ddpg": lambda: _make_off_policy_settings(
        **make_noise_settings(
            "exploration_noise", OrnsteinUhlenbeckNoise, theta=0.15, sigma=0.1, base_scale=1.0
        )
    ),
    "dqn": lambda: _make_off_policy_settings(
        1,
        update_interval=2,
        target_update_interval=3,
        exploration_scheduler=compat.make_epsilon_schedule(1.0, 0.1, 20),
    ),
}


#: kinds whose policy and value may be one model
_SHARING = ("ppo", "a2c")


class TensorReader:
    """An object whose ``numbers`` returns what a user looks at, so that traces record it."""

    def read_numbers(self, tensors: Sequence[Any]) -> list[float]:
        return [number for tensor in tensors for number in tensor.double().flatten().tolist()]


class _StatefulEnvironment(gymnasium.Env):
    """An environment with a state of two numbers in addition to its observations."""

    state_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self.observation_space = environment.observation_space
        self.action_space = environment.action_space
        self._state = np.zeros(2, np.float32)

    def reset(self, **options: Any) -> Any:
        return self._update_state(*self._environment.reset(**options))

    def step(self, action: Any) -> Any:
        return self._update_state(*self._environment.step(action))

    def _update_state(self, observation: Any, *results: Any) -> Any:
        self._state = 1.0 - 2.0 * observation[:2]
        return (observation, *results)

    def state(self) -> Any:
        return self._state


#: kinds that have an agent for models with memory, and what memory: one state, or two; sequences of
#: up to eight steps, where episodes are of five, seven and ten
_MEMORY = {
    "ppo": Recurrence("gru", steps=4),
    "a2c": Recurrence("lstm", steps=8),
    "trpo": Recurrence("gru", steps=8),
    "sac": Recurrence("lstm", steps=3),
    "td3": Recurrence("gru", steps=5),
    "ddpg": Recurrence("lstm", steps=4),
}


def _make_training(
    algorithm: str, environments: Any, memory: Recurrence | None = None, names: Sequence[str] = ()
) -> AgentSetup:
    alone = len(environments) == 1
    settings = SETTINGS[algorithm]()
    if memory is not None:
        settings.update(_make_recurrent_overrides(settings))
    if alone and not compat.FIRST:
        environments = [_StatefulEnvironment(single) for single in environments]
        settings.update(make_scaler_settings("state", 2))
    sharing = alone and algorithm in _SHARING and not names
    layers = _LAYERS._replace(memory=memory, initialised=alone)
    return AgentSetup(
        algorithm, *environments, layers=layers, shared=sharing, names=names, **settings
    )


def _make_recurrent_overrides(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that must differ for recurrent models."""
    if "mini_batches" in settings:
        # minibatches are whole sequences
        return {"mini_batches": 2}
    # with random actions it fails: act returns before it has states, and record_transition goes on
    # with those, so that the first model that acts gets none
    return {"random_timesteps": 0, "gradient_steps": 1}


def _make_trainer(training: AgentSetup, steps: int = _STEPS) -> Any:
    trainer = training.make_trainer(steps)
    training.agent.write_interval = _NEVER_WRITES
    return trainer


def _train_new_agent(
    algorithm: str, environments: Any, seed: int, memory: Recurrence | None = None
) -> tuple[AgentSetup, Any]:
    set_seed(seed)
    training = _make_training(algorithm, environments, memory)
    training.action_space.seed(seed)
    trainer = _make_trainer(training)
    trainer.train()
    return training, trainer


def _restore_and_continue(
    algorithm: str, trained: AgentSetup, environments: Any, memory: Recurrence | None
) -> None:
    """Load the files of an agent and of its memory into new ones, and continue training."""
    restored = _make_training(algorithm, environments, memory)
    # a second trainer would make the tensors of states anew, which create_tensor takes for others
    trainer = _make_trainer(restored, _STEPS // 2)
    with TemporaryDirectory(prefix="rlregress-") as folder:
        saved = str(Path(folder, "agent.pt"))
        trained.agent.save(saved)
        restored.agent.load(saved)
        trained.memory.save(folder)
        (rows,) = Path(folder, "memories").iterdir()
        restored.memory.load(str(rows))
    names = sorted(restored.memory.get_tensor_names())
    TensorReader().read_numbers([getattr(restored.memory, f"_tensor_{name}") for name in names])
    trainer.train()


def _evaluate_trainer(trainer: Any, *ignored_errors: Any) -> None:
    """Evaluate with a trainer; ignore errors of these classes that skrl raises."""
    try:
        trainer.eval()
    except ignored_errors as error:
        if not was_raised_in(error, "skrl"):
            raise


def _make_training_of_algorithm(algorithm: str, memory: Recurrence | None = None) -> TraceTraining:
    discrete = algorithm == "dqn"
    errors: list[Any] = []
    if discrete:
        # the evaluation of some versions reads what actions of DQN do not have
        errors.append(AttributeError)
    if memory is not None and "value" in MODELS[algorithm]:
        # and record_transition outputs of a value, which no evaluation asks for
        errors.append(UnboundLocalError)

    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        environments = [make_env(discrete=discrete, first=n) for n in range(2)]
        _, trainer = _train_new_agent(algorithm, environments, seed, memory)
        if memory is not None:
            _evaluate_trainer(trainer, *errors)
        trained, trainer = _train_new_agent(algorithm, [make_env(discrete=discrete)], seed, memory)
        _evaluate_trainer(trainer, *errors)
        _restore_and_continue(algorithm, trained, [make_env(discrete=discrete)], memory)
        # agents of skrl 1 with a value network ask it in an evaluation, too
        needed = compat.FIRST and "value" in trained.models
        if "policy" in trained.models and not errors and not needed:
            _make_training(algorithm, [make_env()], memory, names=("policy",)).make_trainer(
                _STEPS // 2
            ).eval()

    return run_training


def _train_dqn_on_discrete_observations(make_env: Callable[..., Any], seed: int) -> None:
    """Train DQN on scaled Discrete observations; then add its rows to memories of other shapes."""
    set_seed(seed)
    spaces = {"discrete": True, "observations": "discrete"}
    environments = [make_env(first=n, **spaces) for n in range(2)]
    settings = {
        **SETTINGS["dqn"](),
        **make_scaler_settings("observation", environments[0].observation_space),
    }
    training = AgentSetup("dqn", *environments, layers=_LAYERS, **settings)
    training.action_space.seed(seed)
    _make_trainer(training).train()
    _add_rows_to_memories(
        {name: training.read_stored_tensor(name) for name in ("actions", "rewards")}
    )


def _add_rows_to_memories(stored: Mapping[str, Any]) -> None:
    """Add single rows, single numbers and several rows at once to memories, twice around each."""
    ways: list[tuple[int, Callable[[Any], Any]]] = [
        (2, lambda rows: [row[n : n + 1] for row in rows for n in range(2)]),
        (2, lambda rows: [number for row in rows for number in row]),
        (1, lambda rows: rows[:, 0].split(7)),
    ]
    for environments, parts in ways:
        memory = RandomMemory(memory_size=12, num_envs=environments, device="cpu")
        for name in stored:
            memory.create_tensor(name, size=1, dtype=torch.float32)
        for rows_of_memory in zip(*(parts(rows.float()) for rows in stored.values()), strict=False):
            memory.add_samples(**dict(zip(stored, rows_of_memory, strict=False)))
        sizes = [len(memory), memory.memory_index, memory.env_index]
        tensors = [memory.get_tensor_by_name(name).nan_to_num() for name in stored]
        TensorReader().read_numbers([torch.tensor(sizes), *tensors])


def _train_and_play_checkpoints(make_env: Callable[..., Any], seed: int) -> None:
    """Play the checkpoints that a training writes, and those of its best agent."""
    for separately in (False, True):
        set_seed(seed)
        with TemporaryDirectory(prefix="rlregress-") as folder:
            experiment = {
                "directory": folder,
                "experiment_name": "run",
                "write_interval": 8,
                "checkpoint_interval": "auto",
                "store_separately": separately,
            }
            # the best agent is neither the first nor the last
            settings = {**SETTINGS["ppo"](), "experiment": experiment}
            training = AgentSetup("ppo", make_env(first=2), layers=_LAYERS, **settings)
            training.run_steps(_STEPS)
            training.agent.writer.close()
            player = AgentSetup("ppo", make_env(), layers=_LAYERS, **SETTINGS["ppo"]())
            trainer = _make_trainer(player, 2)
            files = {file.stem: str(file) for file in Path(folder, "run", "checkpoints").iterdir()}
            for name in sorted(files):
                if separately and "policy" not in name:
                    continue
                (player.models["policy"] if separately else player.agent).load(files[name])
                trainer.eval()


def _train_two_agents(make_env: Callable[..., Any], seed: int) -> None:
    """Train two agents by one trainer, each in its own environment."""
    set_seed(seed)
    settings = SETTINGS["ppo"]()
    trainings = [AgentSetup("ppo", make_env(first=n), layers=_LAYERS, **settings) for n in range(2)]
    trainer = make_joint_trainer(trainings, _STEPS)
    for training in trainings:
        training.agent.write_interval = _NEVER_WRITES
    trainer.train()
    trainer.eval()


TRAININGS = {
    **{kind: _make_training_of_algorithm(kind) for kind in SETTINGS},
    **{
        f"recurrent_{kind}": _make_training_of_algorithm(kind, memory)
        for kind, memory in _MEMORY.items()
    },
    "recurrent_single_steps": _make_training_of_algorithm("ppo", Recurrence("rnn")),
    "simultaneous": _train_two_agents,
    "discrete_observations": _train_dqn_on_discrete_observations,
    "checkpoints": _train_and_play_checkpoints,
    **runner_trainings.TRAININGS,
}


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
