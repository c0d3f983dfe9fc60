"""Probes of what changes over a training with PPO, for ``ppo_loop``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import KLAdaptiveLR
from rlregress.frameworks.torchrl.observe.helpers import ppo_trainings
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.measurements.ppo_loop import diverging
from rlregress.probing.interface import Inputs
from rlregress.probing.scripted import Scripted

_NO_CLIP = 1e9


def _trainer(i: Inputs, **settings: Any) -> ppo_trainings.LossTraining:
    frames = int(i["rollout_steps"])
    return ppo_trainings.trainer(
        [Scripted(rewards=[1.0, -1.0])],
        frames * int(i["rollouts"]),
        frames,
        frames // int(i["minibatches"]),
        **settings,
    )


def _program(i: Inputs, **settings: Any) -> ppo_trainings.LossTraining:
    frames = int(i["rollout_steps"])
    return ppo_trainings.program(
        ppo_trainings.playing(),
        frames * int(i["rollouts"]),
        frames,
        frames // int(i["minibatches"]),
        **settings,
    )


def _to_zero(rollouts: int) -> Any:
    """PyTorch's linear scheduler: the trainer steps it once per rollout."""
    return lambda optimizer: torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, rollouts)


def _rates(i: Inputs) -> np.ndarray:
    start = i["learning_rate"]
    return np.array(_trainer(i, learning_rate=start).rates) / start


def _trainer_requested_rates(i: Inputs) -> np.ndarray:
    start = i["learning_rate"]
    training = _trainer(i, learning_rate=start, schedule=_to_zero(int(i["rollouts"])))
    return np.array(training.rates) / start


def _program_requested_rates(i: Inputs) -> np.ndarray:
    start = i["learning_rate"]
    return np.array(_program(i, learning_rate=start, anneal_lr=True).rates) / start


def _program_lowest(i: Inputs) -> float:
    frames, start = int(i["rollout_steps"]), i["learning_rate"]
    training = ppo_trainings.program(
        ppo_trainings.playing(),
        int(i["total_steps"]),
        frames,
        frames,
        learning_rate=start,
        anneal_lr=True,
    )
    return min(training.rates) / start


def _library_adaptive(i: Inputs) -> list[float]:
    start = i["learning_rate"]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=start)
    scheduler = KLAdaptiveLR(optimizer, target_kl=i["target"])
    rates = []
    for divergence in i["divergences"]:
        scheduler.step(float(divergence))
        rates.append(optimizer.param_groups[0]["lr"] / start)
    return rates


def _trainer_adaptive(i: Inputs) -> np.ndarray:
    divergences_left = list(i["divergences"])
    start = i["learning_rate"]

    def change(batch: Any) -> None:
        if divergences_left:
            ratios = torch.tensor(diverging(divergences_left.pop(0)), dtype=torch.float32)
            log_prob = batch["action_log_prob"]
            batch["action_log_prob"] = log_prob - ratios.log().reshape(log_prob.shape)

    steps = 2 * (len(divergences_left) + 1)
    # one update more shows what the last divergence did; its own does not matter
    environment = Scripted(rewards=[1.0, -1.0])
    training = ppo_trainings.trainer([environment], steps, 2, 2, learning_rate=start, change=change)
    return np.array(training.rates[1:]) / start


def _feed(batch: Any) -> None:
    ppo_trainings.lower_log_prob(2.0)(batch)
    batch["advantage"] = torch.ones_like(batch["advantage"])


def _range(training: ppo_trainings.LossTraining) -> np.ndarray:
    # both run with the range that the details ask for
    return (-np.array(training.objectives) - 1.0) / 0.2


def _trainer_clip_range(i: Inputs) -> np.ndarray:
    return _range(_trainer(i, change=_feed))


def _trainer_requested_clip_range(i: Inputs) -> np.ndarray:
    # the trainer offers a schedule of the learning rate only
    both = _trainer(i, change=_feed, schedule=_to_zero(int(i["rollouts"])))
    return np.concatenate([_trainer_clip_range(i), _range(both)])


class _Unnormalised:
    """A feed for the program, whose loss normalises advantages: pairs of +1 and -1 stay so."""

    def __call__(self, batch: Any) -> None:
        ppo_trainings.lower_log_prob(2.0)(batch)
        signs = torch.tensor([1.0, -1.0]).repeat(len(batch) // 2)
        batch["advantage"] = signs.reshape(batch["advantage"].shape)


def _program_ranges(i: Inputs, anneal_lr: bool) -> np.ndarray:
    training = _program(i, change=_Unnormalised(), anneal_lr=anneal_lr, anneal_clip_epsilon=True)
    size = int(i["rollout_steps"]) // int(i["minibatches"])
    # normalised with the divisor n - 1; a sample of ratio 2 and negative advantage is not clipped
    deviation = np.sqrt(size / (size - 1))
    ranges = 1.0 - 2.0 * deviation * np.array(training.objectives)
    return ranges / 0.2


def _program_requested_clip_range(i: Inputs) -> np.ndarray:
    return np.concatenate([_program_ranges(i, False), _program_ranges(i, True)])


def _trainer_entropy(i: Inputs) -> np.ndarray:
    def no_advantage(batch: Any) -> None:
        batch["advantage"] = torch.zeros_like(batch["advantage"])

    # neither the loss nor the trainer takes anything but a number
    training = _trainer(i, change=no_advantage, entropy=i["coefficient"], clip_norm=_NO_CLIP)
    return -np.array(training.log_std_gradients) / i["coefficient"]


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.learning_rate.schedule", "trainer"): _rates,
    ("ppo.learning_rate.schedule.asked", "trainer"): _trainer_requested_rates,
    ("ppo.learning_rate.schedule.asked", "script"): _program_requested_rates,
    ("ppo.learning_rate.negative", "script"): _program_lowest,
    ("ppo.learning_rate.adaptive", "library"): _library_adaptive,
    ("ppo.learning_rate.adaptive", "trainer"): _trainer_adaptive,
    ("ppo.clip_range.schedule", "trainer"): _trainer_clip_range,
    ("ppo.clip_range.schedule.asked", "trainer"): _trainer_requested_clip_range,
    ("ppo.clip_range.schedule.asked", "script"): _program_requested_clip_range,
    ("ppo.entropy.schedule", "trainer"): _trainer_entropy,
}
