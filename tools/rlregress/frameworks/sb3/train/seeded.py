"""DQN and DDPG of Stable-Baselines3, every source of chance with a seed of its own."""

from __future__ import annotations

from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback

from rlregress.frameworks.sb3 import gyms
from rlregress.frameworks.sb3.train.training import (
    OWN,
    Library,
    find_output_layers,
    make_arguments_of_request,
    make_trained_agent,
)
from rlregress.probing.heads import call_prepare_with_heads
from rlregress.probing.interface import Trained
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.random_generators import seed_generators
from rlregress.probing.seeded_training import SeededTraining, Stream, make_buffer_drawing_from


class _CheckpointCallback(BaseCallback):
    def __init__(self, request: SeededTraining) -> None:
        super().__init__()
        self._look = request.make_checkpoint_caller()

    def _on_rollout_start(self) -> None:
        # the updates of all steps so far are done
        self._look(self.num_timesteps, lambda: make_trained_agent(self.model, {}))

    _on_training_end = _on_rollout_start

    def _on_step(self) -> bool:
        return True


def train_seeded(request: SeededTraining, library: Library = OWN) -> Trained:
    """Train with ``learn``, each source of chance seeded separately."""
    seeds = request.seeds
    environment = gyms.convert_environment(request.make_env(False))
    arguments = make_arguments_of_request(request, environment.action_space.shape, library)
    images = len(environment.observation_space.shape) == 3
    if images:
        # the sizes are those of what follows the pictures, and have their own defaults
        del arguments["policy_kwargs"]
    with isolate_random_generators():
        with Stream(seeds.initialisation).draw_from_stream():
            model = library.make_agent(
                request.algorithm,
                environment,
                policy="CnnPolicy" if images else "",
                replay_buffer_class=make_buffer_drawing_from(ReplayBuffer, Stream(seeds.sampling)),
                **arguments,
            )
        call_prepare_with_heads(request, lambda: find_output_layers(model))
        seed_generators(seeds.exploration)
        model.action_space.seed(seeds.exploration)
        model.get_env().seed(seeds.environment)
        model.learn(request.total_steps, callback=_CheckpointCallback(request))
    environment.close()
    return make_trained_agent(model, {})


def describe_sources_of_chance() -> dict[str, str]:
    """Return how each source of chance is drawn, and how it can be seeded by itself."""
    return {
        "environment": "the environment's own generator, seeded by VecEnv.seed",
        "exploration": (
            "NumPy's global generator decides whether an action is random (DQN.predict), that of "
            "the action space which one"
        ),
        "initialisation": "torch's global generator, when the agent is made",
        "sampling": (
            "NumPy's global generator too (ReplayBuffer.sample): one seed sets both, and what one "
            "draws moves the other; apart here by a replay_buffer_class"
        ),
    }
