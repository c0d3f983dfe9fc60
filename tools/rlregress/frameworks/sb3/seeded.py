"""DQN and DDPG of Stable-Baselines3, every source of chance with a seed of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import DDPG, DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise

from rlregress.frameworks.base import Trained
from rlregress.frameworks.heads import Heads, last_linear, prepare
from rlregress.frameworks.isolation import isolated
from rlregress.frameworks.sb3 import gyms, older
from rlregress.frameworks.seeded import (
    SeededTraining,
    Stream,
    arrays,
    from_stream,
    seed_everything,
)

_ALGORITHMS = {"dqn": DQN, "ddpg": DDPG}

#: source of chance -> what it is drawn from, and what the framework lets one do about it
SOURCES = {
    "environment": "the environment's own generator, seeded by VecEnv.seed",
    "exploration": (
        "NumPy's global generator decides whether an action is random (DQN.predict), that of the "
        "action space which one"
    ),
    "initialisation": "torch's global generator, when the agent is made",
    "sampling": (
        "NumPy's global generator too (ReplayBuffer.sample): one seed sets both, and what one "
        "draws moves the other; apart here by a replay_buffer_class"
    ),
}


def _arguments(request: SeededTraining, environment: Any) -> dict:
    given = dict(request.hyperparameters)
    made = {
        "learning_rate": given["learning_rate"],
        "gamma": given["discount"],
        "batch_size": given["minibatch_size"],
        "buffer_size": given["replay_size"],
        "learning_starts": given["learning_starts"],
        "train_freq": given["steps_per_collection"],
        "gradient_steps": given["updates_per_collection"],
    }
    if request.algorithm == "dqn":
        made["target_update_interval"] = given["target_update_interval"]
        made["exploration_final_eps"] = given["exploration_final"]
        made["exploration_fraction"] = given["exploration_steps"] / request.total_steps
    else:
        deviation = np.full(environment.action_space.shape, given["exploration_noise"], np.float32)
        made["action_noise"] = NormalActionNoise(np.zeros_like(deviation), deviation)
        made["tau"] = given["polyak_coefficient"]
    if len(environment.observation_space.shape) == 1:
        made["policy_kwargs"] = {"net_arch": list(given["hidden_sizes"])}
    return made


class _Look(BaseCallback):
    def __init__(self, request: SeededTraining) -> None:
        super().__init__()
        self._look = request.watch()

    def _on_rollout_start(self) -> None:
        # the updates of all steps so far are done
        self._look(self.num_timesteps, lambda: _trained(self.model))

    def _on_training_end(self) -> None:
        self._look(self.num_timesteps, lambda: _trained(self.model))

    def _on_step(self) -> bool:
        return True


def _value(model: Any) -> Any:
    def value(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            tensor = older.tensor_of(model.policy, observations)
            if hasattr(model, "q_net"):
                return model.q_net(tensor).amax(1).numpy()
            return model.critic(tensor, model.actor(tensor))[0].numpy().reshape(-1)

    return value


def _trained(model: Any) -> Trained:
    return Trained(
        lambda observations: model.predict(observations, deterministic=True)[0],
        _value(model),
        arrays(model.policy.state_dict()),
        model.num_timesteps,
    )


def train_seeded(request: SeededTraining) -> Trained:
    """Train with ``learn``."""
    seeds = request.seeds
    environment = gyms.native(request.make_env(False))
    images = len(environment.observation_space.shape) == 3
    with isolated():
        with Stream(seeds.initialisation).drawn():
            model = _ALGORITHMS[request.algorithm](
                "CnnPolicy" if images else "MlpPolicy",
                environment,
                device="cpu",
                replay_buffer_class=from_stream(ReplayBuffer, Stream(seeds.sampling)),
                **_arguments(request, environment),
            )
        older.silence(model)
        head = model.q_net if request.algorithm == "dqn" else model.actor.mu
        prepare(request, lambda: Heads(last_linear(head)))
        seed_everything(seeds.exploration)
        model.action_space.seed(seeds.exploration)
        model.get_env().seed(seeds.environment)
        model.learn(request.total_steps, callback=_Look(request))
    environment.close()
    return _trained(model)
