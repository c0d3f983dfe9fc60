"""DQN and DDPG of CleanRL, every source of chance with a seed of its own.

A script is seeded once, and then makes its networks. When it first resets its environments, each
generator gets the seed of the source of chance that it serves from then on.
"""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.heads import Heads, call_prepare_with_heads
from rlregress.probing.interface import Trained, Unsupported
from rlregress.probing.layers import find_last_linear_layer
from rlregress.probing.seeded_training import SeededTraining, copy_tensors_to_arrays


class _ReseedingEnv(gymnasium.Wrapper):
    """An environment that resets with its own seed whenever the caller passes any seed."""

    def __init__(self, environment: Any, seed: int) -> None:
        super().__init__(environment)
        self._seed = seed

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.env.reset(seed=seed if seed is None else self._seed, options=options)


def _make_arguments_of_request(request: SeededTraining) -> dict:
    hyperparameters = request.hyperparameters
    flags = {
        "seed": request.seeds.initialisation,
        "total_timesteps": request.total_steps,
        "learning_rate": hyperparameters["learning_rate"],
        "gamma": hyperparameters["discount"],
        "batch_size": hyperparameters["minibatch_size"],
        "buffer_size": hyperparameters["replay_size"],
        "learning_starts": hyperparameters["learning_starts"],
    }
    if request.algorithm == "ddpg":
        flags.update(
            tau=hyperparameters["polyak_coefficient"],
            exploration_noise=hyperparameters["exploration_noise"],
            policy_frequency=1,
        )
    else:
        flags.update(
            train_frequency=hyperparameters["steps_per_collection"],
            target_network_frequency=hyperparameters["target_update_interval"],
            start_e=1.0,
            end_e=hyperparameters["exploration_final"],
            exploration_fraction=hyperparameters["exploration_steps"] / request.total_steps,
        )
    return flags


def _make_trained_agent(run: ScriptRun) -> Trained:
    names = [name for name in ("q_network", "target_network", "actor", "qf1") if name in run]

    def convert_to_tensor(observations: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.asarray(observations), dtype=torch.float32)

    def choose_actions(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            observation = convert_to_tensor(observations)
            if "q_network" in run:
                return run["q_network"](observation).argmax(1).numpy()
            return run["actor"](observation).numpy()

    def estimate_values(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            observation = convert_to_tensor(observations)
            if "q_network" in run:
                return run["q_network"](observation).amax(1).numpy()
            return run["qf1"](observation, run["actor"](observation)).numpy().reshape(-1)

    parameters = {
        f"{name}.{key}": array
        for name in names
        for key, array in copy_tensors_to_arrays(run[name].state_dict()).items()
    }
    return Trained(choose_actions, estimate_values, parameters, run.steps)


def _choose_script_of_request(request: SeededTraining, images: bool) -> str:
    if request.algorithm == "ddpg":
        return "ddpg_continuous_action"
    return "dqn_atari" if images else "dqn"


def train_seeded(request: SeededTraining, source: Source) -> Trained:
    """Run the script with each of its generators seeded separately.

    Raises:
        Unsupported: the scripts were written for gym.
    """
    if source.for_gym:
        raise Unsupported(
            f"the scripts of CleanRL {source.label} were written for gym 0.17; set CLEANRL_HOME to "
            "a checkout of https://github.com/vwxyzjn/cleanrl"
        )
    seeds, look = request.seeds, request.make_checkpoint_caller()
    plain = request.make_env(False)
    images = len(plain.observation_space.shape) == 3
    plain.close()

    def prepare_and_seed(run: ScriptRun) -> None:
        head = run["q_network" if request.algorithm == "dqn" else "actor"]
        call_prepare_with_heads(request, lambda: Heads(find_last_linear_layer(head)))
        random.seed(seeds.exploration)
        torch.default_generator.manual_seed(seeds.exploration)
        np.random.seed(seeds.sampling)
        run["envs"].single_action_space.seed(seeds.exploration)

    run = run_script(
        source.parse_script(_choose_script_of_request(request, images)).path,
        _make_arguments_of_request(request),
        make_env=lambda: _ReseedingEnv(request.make_env(images), seeds.environment),
        on_step=lambda run: look(run.steps, lambda: _make_trained_agent(run)),
        on_start=prepare_and_seed,
    )
    return _make_trained_agent(run)


def describe_sources_of_chance(source: Source) -> dict[str, str]:
    """Return how each source of chance is drawn, and how it can be seeded by itself."""
    return {
        "environment": "the environment's own generator; one argument seeds it and all others",
        "exploration": (
            "random decides whether an action is random, the generator of the action space which "
            "one"
        ),
        "initialisation": "torch's global generator",
        "sampling": "NumPy's global generator (cleanrl_utils/buffers.py)",
    }
