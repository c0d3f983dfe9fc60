"""DQN and DDPG of CleanRL, every source of chance with a seed of its own.

A script is seeded once, and then makes its networks. When it first resets its environments, each
generator gets the seed of the source of chance that it serves from then on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl import read
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.train.training import (
    find_output_layers,
    make_arguments_of_hyperparameters,
    make_trained_agent,
)
from rlregress.probing.heads import call_prepare_with_heads
from rlregress.probing.hyperparameter_mapping import convert_exploration_steps_to_fraction
from rlregress.probing.interface import Trained, Unsupported
from rlregress.probing.seeded_training import SeededTraining

#: hyperparameters that requests leave out, as they are always the same
_ALWAYS: Mapping[str, Mapping[str, Any]] = {
    "dqn": {"exploration_initial": 1.0},
    "ddpg": {"policy_delay": 1},
}


class _ReseedingEnv(gymnasium.Wrapper):
    """An environment that resets with its own seed whenever the caller passes any seed."""

    def __init__(self, environment: Any, seed: int) -> None:
        super().__init__(environment)
        self._seed = seed

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self.env.reset(seed=seed if seed is None else self._seed, options=options)


def _make_arguments_of_request(request: SeededTraining, source: Source) -> dict[str, Any]:
    hyperparameters = {**request.hyperparameters, **_ALWAYS[request.algorithm]}
    # scripts have their own
    hyperparameters.pop("hidden_sizes", None)
    converted = convert_exploration_steps_to_fraction(hyperparameters, request.total_steps)
    own = {"seed": request.seeds.initialisation, "total_timesteps": request.total_steps}
    return {**make_arguments_of_hyperparameters(request.algorithm, converted, source), **own}


def _make_agent_of_run(run: ScriptRun) -> Trained:
    # it is passed what a network is to see
    return make_trained_agent(run, run["envs"].envs[0].unwrapped)


def train_seeded(request: SeededTraining, source: Source) -> Trained:
    """Run the script with each of its generators seeded separately.

    Raises:
        Unsupported: the scripts were written for gym.
    """
    if source.for_gym:
        raise Unsupported(f"the scripts of CleanRL {source.label} were written for gym 0.17")
    seeds, look = request.seeds, request.make_checkpoint_caller()
    plain = request.make_env(False)
    images = len(plain.observation_space.shape) == 3
    plain.close()
    script = "dqn_atari" if images else read.name_script(request.algorithm)

    def prepare_and_seed(run: ScriptRun) -> None:
        call_prepare_with_heads(request, lambda: find_output_layers(run))
        random.seed(seeds.exploration)
        torch.default_generator.manual_seed(seeds.exploration)
        np.random.seed(seeds.sampling)
        run["envs"].single_action_space.seed(seeds.exploration)

    run = run_script(
        source.parse_script(script).path,
        _make_arguments_of_request(request, source),
        make_env=lambda: _ReseedingEnv(request.make_env(images), seeds.environment),
        on_step=lambda run: look(run.steps, lambda: _make_agent_of_run(run)),
        on_start=prepare_and_seed,
    )
    return _make_agent_of_run(run)


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
