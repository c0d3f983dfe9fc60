"""TorchRL trainings in two halves: a trainer's state, loaded into a new one."""

from __future__ import annotations

import copy

from rlregress.frameworks.torchrl.train.training import make_trainer_with_hook
from rlregress.probing.interface import Trained, TrainingRequest, Unsupported
from rlregress.probing.isolation import isolate_random_generators


def train_and_resume(request: TrainingRequest, restored: bool) -> Trained:
    """Stop a trainer after half of the steps, and load its state into another one.

    Raises:
        Unsupported: ``train`` shuts the collector down at its end, so it cannot be called again.
    """
    if not restored:
        raise Unsupported("the train method of a trainer shuts its collector down, and ends there")
    first = make_trainer_with_hook(request)
    state = {}

    def stop_at_half() -> None:
        if first.trainer.collected_frames >= request.total_steps // 2:
            state.update(copy.deepcopy(first.trainer.state_dict()))
            first.trainer.request_stop()

    first.trainer.register_op("post_steps", stop_at_half)
    first.set_checkpoint_request(request)
    first.trainer.train()
    with isolate_random_generators():
        second = make_trainer_with_hook(request)
        second.trainer.load_state_dict(state)
    second.set_checkpoint_request(request)
    return second.train()
