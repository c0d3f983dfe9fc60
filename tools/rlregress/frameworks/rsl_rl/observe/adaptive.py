"""Probes of a learning rate that follows the divergence, and of the trained deviation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.observe.helpers.trainings import NO_CLIP, keep_still, make, train
from rlregress.frameworks.rsl_rl.observe.ppo_loop import rates
from rlregress.probing.interface import Inputs, Probe
from rlregress.probing.scripted import Scripted


def _asked(inputs: Inputs) -> Mapping[str, Any]:
    return {"schedule": "adaptive", "desired_kl": float(inputs["target"])}


def _default(inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    # what the class has by default, if nobody says "fixed"
    schedule = make(Scripted(), 2).alg.schedule
    return rates(inputs["divergences"], start, schedule=schedule)


def _bounds(inputs: Inputs) -> np.ndarray:
    start, updates = float(inputs["learning_rate"]), int(inputs["updates"])
    ends = [rates([far] * updates, start, **_asked(inputs))[-1] for far in (0.1, 0.001)]
    return np.log10(start * np.array(ends))


def _divergence(inputs: Inputs) -> np.ndarray:
    old = [
        torch.as_tensor(inputs[name], dtype=torch.float32).reshape(-1, 1, 1)
        for name in ("old_means", "old_deviations")
    ]

    def change(storage: Any) -> None:
        mean, _ = compat.read_old_distribution(storage)
        compat.set_old_distribution(storage, mean + old[0], old[1])

    divergences = []
    for target in inputs["targets"]:
        training = train(
            Scripted(), 1, steps=2, change=change, learning_rate=1e-3, **_asked({"target": target})
        )
        divergences.append(training.rates[0] < 0.99e-3)
    return np.array(divergences, dtype=np.float64)


def _moment(inputs: Inputs) -> np.ndarray:
    start, minibatches = float(inputs["learning_rate"]), int(inputs["minibatches"])
    return rates([0.1] * 2, start, minibatches, **_asked(inputs))


def _unchanged(inputs: Inputs) -> np.ndarray:
    start = float(inputs["learning_rate"])
    training = train(Scripted(), 1, steps=2, learning_rate=start, **_asked(inputs))
    return np.array(training.rates) / start


def _parameter(inputs: Inputs) -> np.ndarray:
    training = train(
        Scripted(),
        1,
        steps=4,
        prepare=lambda agent: compat.set_log_deviation(agent, float(np.log(inputs["deviation"]))),
        change=keep_still,
        learning_rate=float(inputs["learning_rate"]),
        entropy_coef=1.0,
        max_grad_norm=NO_CLIP,
    )
    trained, logarithm = compat.find_deviation(training.algorithm)
    return (trained.exp() if logarithm else trained).detach().numpy()


def _negative(inputs: Inputs) -> np.ndarray:
    def prepare(agent: Any) -> None:
        torch.nn.init.constant_(compat.find_deviation(agent)[0], float(inputs["parameter"]))

    scales: list[float] = []
    try:
        train(
            Scripted(),
            1,
            steps=2,
            prepare=prepare,
            change=lambda storage: scales.append(
                compat.read_old_distribution(storage)[1][0].item()
            ),
        )
    except (RuntimeError, ValueError):
        # what torch says of a normal distribution without a positive deviation
        return np.array([1.0, 0.0])
    return np.array([0.0, round(np.log10(abs(scales[0])))])


PROBES: Mapping[str, Probe] = {
    "adaptive.default": _default,
    "adaptive.bounds": _bounds,
    "adaptive.divergence": _divergence,
    "adaptive.moment": _moment,
    "adaptive.unchanged": _unchanged,
    "deviation.parameter": _parameter,
    "deviation.negative": _negative,
}
