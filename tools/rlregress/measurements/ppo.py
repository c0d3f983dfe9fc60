"""The details of PPO's loss, each measured by updates on a rollout of known numbers.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rlregress.measurements.named_settings import Inputs, NamedSettings, select_inputs

_ROWS = 8


@dataclass(frozen=True)
class Settings(NamedSettings):
    """A rollout, and an update on it in one minibatch, with a learning rate of 0.

    Attributes:
        count: number of its samples.
        advantages, returns, old_values, ratios: of the samples, one number or [count]; advantages
            are not normalised, and ratios are of new to old probability.
        value: V(s) of every state.
        log_deviation: of the Gaussian policy, one state-independent number.
        clip_range, value_coefficient, entropy_coefficient: None: as by default.
        value_clip: the range within which values are clipped; 0: none; None: as by default.
        gradients_clipped: as by default, or not at all.
    """

    count: int = _ROWS
    advantages: Any = 0.0
    returns: Any = 0.0
    old_values: Any = 0.0
    ratios: Any = 1.0
    value: float = 0.0
    log_deviation: float = 0.0
    clip_range: float | None = None
    value_clip: float | None = None
    value_coefficient: float | None = None
    entropy_coefficient: float | None = None
    gradients_clipped: bool = True


class Effects(NamedTuple):
    """The loss of an update, and its gradients.

    Attributes:
        loss: the total loss that is differentiated.
        gradient_norm: of all gradients, at the step of the optimiser.
        value_gradient: derivative of the loss with respect to V(s).
        log_std_gradient: the same with respect to the log standard deviation.
    """

    loss: float
    gradient_norm: float
    value_gradient: float
    log_std_gradient: float


Update = Callable[[Settings], Effects]


def measure_policy_loss(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the policy loss for the ratios and advantages in the inputs."""
    settings = Settings(
        len(inputs["ratios"]),
        value_coefficient=0.0,
        entropy_coefficient=0.0,
        **select_inputs(inputs, "advantages", "ratios", "clip_range"),
    )
    return np.array([update(settings).loss])


def _measure_value_loss(
    update: Update, value: Any, returns: Any, old: Any, **settings: Any
) -> float:
    fed = {"value": float(value), "returns": returns, "old_values": old, "entropy_coefficient": 0.0}
    settings = {"value_coefficient": 1.0, **settings}
    return update(Settings(np.size(returns), **fed, **settings)).loss


def measure_value_loss_scale(update: Update, inputs: Inputs) -> np.ndarray:
    """Measure the value loss of a batch of equal errors, with a coefficient of 1."""
    returns = np.full(inputs["batch_size"], inputs["return"])
    return np.array(
        [_measure_value_loss(update, inputs["value"], returns, inputs["value"], value_clip=0.0)]
    )


def measure_value_loss_coefficient(update: Update, inputs: Inputs) -> np.ndarray:
    """Measure the value loss with its default coefficient, divided by that with coefficient 1."""
    del inputs
    fed = 3.0, np.full(_ROWS, 5.0), 3.0
    losses = [_measure_value_loss(update, *fed, value_coefficient=c) for c in (None, 1.0)]
    return np.array([losses[0] / losses[1]])


def measure_value_loss_distance(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the value loss at each further error, divided by that at the first."""
    returns = np.full(inputs["batch_size"], inputs["return"])
    values = [inputs["return"] + error for error in inputs["errors"]]
    losses = np.array([_measure_value_loss(update, v, returns, v, value_clip=0.0) for v in values])
    return losses[1:] / losses[0]


def measure_relative_value_losses(update: Update, inputs: Inputs, **settings: Any) -> np.ndarray:
    """Return the value losses of two minibatches, divided by that of a third one."""
    cases = zip(inputs["returns"], inputs["old_values"], strict=False)
    losses = np.array(
        [_measure_value_loss(update, inputs["value"], *case, **settings) for case in cases]
    )
    return losses[:2] / losses[2]


def measure_relative_clipped_value_losses(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the results of ``measure_relative_value_losses`` with the clip switched on."""
    return measure_relative_value_losses(update, inputs, value_clip=inputs["clip_range"])


def measure_value_loss_ratio_of_far_old_value(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the value loss for a distant old value, divided by that for an equal one."""
    ranges = {
        "clip_range": inputs["policy_clip_range"],
        "value_clip": inputs["value_clip_range"],
    }
    returns = np.full(_ROWS, inputs["return"])
    far, near = (
        _measure_value_loss(update, inputs["value"], returns, inputs[old], **ranges)
        for old in ("old_value", "value")
    )
    return np.array([far / near])


def measure_value_clip_gradient(update: Update, inputs: Inputs) -> np.ndarray:
    """Measure the derivative of the clipped value loss by V(s), over that of the unclipped one."""

    def measure_gradients(clip: float) -> np.ndarray:
        fed = {"old_values": inputs["old_value"], "value_clip": clip, "gradients_clipped": False}
        cases = zip(inputs["values"], inputs["returns"], strict=False)
        updates = [
            update(Settings(value=float(value), returns=target, **fed)) for value, target in cases
        ]
        return np.array([effects.value_gradient for effects in updates])

    return measure_gradients(inputs["clip_range"]) / measure_gradients(0.0)


def _measure_entropy_gradient(update: Update, coefficient: float | None) -> float:
    settings = Settings(entropy_coefficient=coefficient, gradients_clipped=False)
    return update(settings).log_std_gradient


def measure_entropy_gradient(update: Update, inputs: Inputs) -> np.ndarray:
    """Measure the derivative of the entropy term of the loss by the log standard deviation."""
    return np.array([_measure_entropy_gradient(update, inputs["coefficient"])])


def measure_entropy_coefficient(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the entropy's gradient with the default coefficient, over that with coefficient 1."""
    del inputs
    return np.array(
        [_measure_entropy_gradient(update, None) / _measure_entropy_gradient(update, 1.0)]
    )


def measure_clipped_gradient_norm(update: Update, inputs: Inputs) -> np.ndarray:
    """Measure the norm of huge gradients at the optimiser's step, at most ``cap``."""
    # each of the two losses alone has a norm far above ``raw_norm``; a clipped value would have
    # no gradient
    far = 1e3 * inputs["raw_norm"]
    norm = update(Settings(advantages=far, returns=far, value_clip=0.0)).gradient_norm
    return np.array([min(norm, inputs["cap"])])


def measure_signs_of_loss_terms(update: Update, inputs: Inputs) -> np.ndarray:
    """Return the signs of advantage, error and entropy in the total loss."""
    coefficient = inputs["coefficient"]

    def measure_loss(**fed: Any) -> float:
        return update(Settings(entropy_coefficient=coefficient, **fed)).loss

    without = measure_loss()
    changes = [measure_loss(advantages=1.0) - without, np.sign(measure_loss(returns=1.0) - without)]
    return np.array([*changes, (measure_loss(log_deviation=1.0) - without) / coefficient])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Update, Inputs], np.ndarray]] = {
    "ppo.policy_loss.clip": measure_policy_loss,
    "ppo.value_loss.scale": measure_value_loss_scale,
    "ppo.value_loss.coefficient": measure_value_loss_coefficient,
    "ppo.value_loss.distance": measure_value_loss_distance,
    "ppo.value_clip": measure_relative_clipped_value_losses,
    "ppo.value_clip.default": measure_relative_value_losses,
    "ppo.value_clip.range": measure_value_loss_ratio_of_far_old_value,
    "ppo.value_clip.gradient": measure_value_clip_gradient,
    "ppo.entropy.bonus": measure_entropy_gradient,
    "ppo.entropy.coefficient": measure_entropy_coefficient,
    "ppo.gradient_clip": measure_clipped_gradient_norm,
    "ppo.loss.sign": measure_signs_of_loss_terms,
}
