"""DQN and DDPG of skrl, each source of chance with another seed."""

from __future__ import annotations

from skrl import config
from skrl.memories.torch import RandomMemory

from rlregress.frameworks.skrl.agents import AgentSetup
from rlregress.frameworks.skrl.train.training import (
    call_after_steps,
    find_output_layers,
    make_arguments_of_hyperparameters,
    make_trained_agent,
)
from rlregress.probing.heads import call_prepare_with_heads
from rlregress.probing.interface import Trained, Unsupported
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.random_generators import seed_generators
from rlregress.probing.seeded_training import SeededTraining, Stream, make_buffer_drawing_from


def train_seeded(request: SeededTraining) -> Trained:
    """Train with ``SequentialTrainer``, each source of chance seeded separately.

    Raises:
        Unsupported: observations are images, for which users write other models.
    """
    seeds, environment, look = (
        request.seeds,
        request.make_env(False),
        request.make_checkpoint_caller(),
    )
    if len(environment.observation_space.shape) != 1:
        raise Unsupported("skrl has no networks for images: users write models")
    arguments = make_arguments_of_hyperparameters(request.algorithm, request.hyperparameters)
    with isolate_random_generators():
        config.torch.key = seeds.environment
        memory = {"kind": make_buffer_drawing_from(RandomMemory, Stream(seeds.sampling))}
        memory.update(arguments.pop("memory"))
        with Stream(seeds.initialisation).draw_from_stream():
            training = AgentSetup(request.algorithm, environment, memory=memory, **arguments)
        call_prepare_with_heads(request, lambda: find_output_layers(training))
        training.action_space.seed(seeds.exploration)
        seed_generators(seeds.exploration)
        trainer = training.make_trainer(request.total_steps)
        call_after_steps(
            training.agent, lambda done: look(done, lambda: make_trained_agent(training, done, {}))
        )
        trainer.train()
    environment.close()
    return make_trained_agent(training, request.total_steps, {})


def describe_sources_of_chance() -> dict[str, str]:
    """Return how each source of chance is drawn, and how it can be seeded by itself."""
    return {
        "environment": (
            "the environment's own generator, seeded by skrl's set_seed at the first reset"
        ),
        "exploration": (
            "torch's global generator decides whether an action is random, or is the noise; that "
            "of the action space, which a user has to seed, says which one, and is never moved on"
        ),
        "initialisation": "torch's global generator, when the models are made",
        "sampling": (
            "torch's global generator too (RandomMemory.sample): one seed sets both, and what one "
            "draws moves the other; apart here by a subclass of the memory"
        ),
    }
