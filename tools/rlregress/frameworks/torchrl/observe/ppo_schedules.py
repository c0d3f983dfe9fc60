"""Probes of changes during a training with PPO that no measurement of ``ppo_loop`` fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rlregress.frameworks.torchrl.api import KLAdaptiveLR
from rlregress.frameworks.torchrl.observe.helpers import ppo_trainings
from rlregress.frameworks.torchrl.quiet import Raw
from rlregress.probing.interface import Inputs


def _measure_adaptive_rates(inputs: Inputs) -> list[float]:
    start = inputs["learning_rate"]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=start)
    scheduler = KLAdaptiveLR(optimizer, target_kl=inputs["target"])
    rates = []
    for divergence in inputs["divergences"]:
        scheduler.step(float(divergence))
        rates.append(optimizer.param_groups[0]["lr"] / start)
    return rates


def _measure_clip_ranges_of_program(inputs: Inputs) -> np.ndarray:
    frames, minibatch = (
        int(inputs["rollout_steps"]),
        int(inputs["rollout_steps"]) // int(inputs["minibatches"]),
    )

    def change_batch(batch: Any) -> None:
        ppo_trainings.make_change_of_ratios(2.0)(batch)
        # the program normalises advantages: pairs of +1 and -1 stay so
        signs = torch.tensor([1.0, -1.0]).repeat(len(batch) // 2)
        batch["advantage"] = signs.reshape(batch["advantage"].shape)

    losses: list[float] = []
    for anneal_lr in (False, True):
        falling: dict[str, Any] = {"anneal_lr": anneal_lr, "anneal_clip_epsilon": True}
        losses += ppo_trainings.run_ppo_program(
            ppo_trainings.make_scripted_environment_maker(), frames * int(inputs["rollouts"]),
            frames, minibatch, change=change_batch, **falling,
        ).losses  # fmt: skip
    # by the divisor n - 1; a sample of ratio 2 and negative advantage is not clipped
    deviation = np.sqrt(minibatch / (minibatch - 1))
    return (1.0 - 2.0 * deviation * np.array(losses)) / inputs["clip_range"]


PROBES: dict[tuple[str, str], Raw] = {
    ("ppo.learning_rate.adaptive", "library"): _measure_adaptive_rates,
    ("ppo.clip_range.schedule.asked", "script"): _measure_clip_ranges_of_program,
}
