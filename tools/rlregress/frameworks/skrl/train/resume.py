"""skrl trainings in two halves: ``train`` again, or ``save``, ``load`` and ``train``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress.frameworks.skrl.train.training import make_trained_agent, make_training_of_request
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.probing.isolation import isolate_random_generators


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Call ``train`` for half of the steps, twice; an agent that is loaded has an empty memory."""
    training = make_training_of_request(request)
    training.run_steps(request.total_steps // 2)
    if restored:
        with isolate_random_generators(), TemporaryDirectory(prefix="rlregress-") as folder:
            path = str(Path(folder) / "agent.pt")
            training.agent.save(path)
            training = make_training_of_request(request)
            training.agent.load(path)
    training.run_steps(request.total_steps // 2)
    return make_trained_agent(training, request.total_steps, {})
