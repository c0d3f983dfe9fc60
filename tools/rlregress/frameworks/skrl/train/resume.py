"""skrl trainings in two halves: ``train`` again, or ``save``, ``load`` and ``train``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rlregress.frameworks.skrl.train.training import make_trained, make_training
from rlregress.probing.interface import Trained, TrainingRequest
from rlregress.probing.isolation import isolate_generators


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """``train`` of half of the steps, twice; an agent that is loaded has an empty memory."""
    training = make_training(request)
    training.run(request.total_steps // 2)
    if restored:
        with isolate_generators(), TemporaryDirectory(prefix="rlregress-") as folder:
            path = str(Path(folder) / "agent.pt")
            training.agent.save(path)
            training = make_training(request)
            training.agent.load(path)
    training.run(request.total_steps // 2)
    return make_trained(training, request.total_steps, {})
