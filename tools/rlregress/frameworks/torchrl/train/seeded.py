"""DQN and DDPG of TorchRL, every source of chance with a seed of its own."""

from __future__ import annotations

import warnings

from rlregress.frameworks.torchrl.api import GymWrapper, TensorDictReplayBuffer
from rlregress.frameworks.torchrl.train.trainers import (
    make_parts_of_algorithm,
    make_trainer_of_parts,
    use_single_precision,
)
from rlregress.frameworks.torchrl.train.training import make_trained_agent
from rlregress.probing.interface import Trained
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.random_generators import seed_generators
from rlregress.probing.seeded_training import SeededTraining, Stream, make_buffer_drawing_from


def train_seeded(request: SeededTraining) -> Trained:
    """Train with ``DQNTrainer`` or ``DDPGTrainer``, each source of chance seeded separately.

    Raises:
        Unsupported: the installed version has no such trainer.
    """
    settings, seeds = request.hyperparameters, request.seeds
    environment = use_single_precision(GymWrapper(request.make_env(False), device="cpu"))
    call_at_checkpoint = request.make_checkpoint_caller()
    with isolate_random_generators(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*experimental/prototype feature.*")
        with Stream(seeds.initialisation).draw_from_stream():
            parts = make_parts_of_algorithm(request, environment, settings)
        seed_generators(seeds.exploration)
        environment.set_seed(seeds.environment)
        buffer = make_buffer_drawing_from(TensorDictReplayBuffer, Stream(seeds.sampling))
        trainer = make_trainer_of_parts(request, environment, settings, parts, buffer)

        def call_after_batch() -> None:
            done = trainer.collected_frames
            call_at_checkpoint(done, lambda: make_trained_agent(parts.loss, done))

        trainer.register_op("post_steps", call_after_batch)
        trainer.train()
    return make_trained_agent(parts.loss, trainer.collected_frames)


def describe_sources_of_chance() -> dict[str, str]:
    """Return how each source of chance is drawn, and how it can be seeded by itself."""
    return {
        "environment": "the environment's own generator, seeded by EnvBase.set_seed",
        "exploration": (
            "torch's global generator (EGreedyModule, and the collector's first random actions)"
        ),
        "initialisation": "torch's global generator, when the networks are made",
        "sampling": (
            "torch's global generator too (RandomSampler): one seed sets both, and what one draws "
            "moves the other; apart here by a subclass of the replay buffer"
        ),
    }
