"""The details of PPO's loss, each measured by updates on a rollout of known numbers.

The text of a detail in the catalogue says what the vector holds that its measurement returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rlregress.measurements.named_settings import NamedSettings

Inputs = Mapping[str, Any]

_ROWS = 8


@dataclass(frozen=True)
class Settings(NamedSettings):
    """A rollout, and an update on it in one minibatch that moves nothing.

    Attributes:
        count: of its samples.
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
    """The effects of an update.

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


def policy_loss(update: Update, i: Inputs) -> np.ndarray:
    """Measure the policy loss of known ratios."""
    settings = Settings(
        len(i["ratios"]),
        advantages=i["advantages"],
        ratios=i["ratios"],
        clip_range=float(i["clip_range"]),
        value_coefficient=0.0,
        entropy_coefficient=0.0,
    )
    return np.array([update(settings).loss])


def _value_loss(update: Update, value: Any, returns: Any, old: Any, **settings: Any) -> float:
    fed = {"value": float(value), "returns": returns, "old_values": old, "entropy_coefficient": 0.0}
    settings = {"value_coefficient": 1.0, **settings}
    return update(Settings(np.size(returns), **fed, **settings)).loss


def value_loss_scale(update: Update, i: Inputs) -> np.ndarray:
    """Measure the value loss before its coefficient."""
    returns = np.full(int(i["batch_size"]), i["return"])
    return np.array([_value_loss(update, i["value"], returns, i["value"], value_clip=0.0)])


def value_loss_coefficient(update: Update, i: Inputs) -> np.ndarray:
    """Measure the value loss by default over that with a coefficient of 1."""
    del i
    fed = 3.0, np.full(_ROWS, 5.0), 3.0
    losses = [_value_loss(update, *fed, value_coefficient=c) for c in (None, 1.0)]
    return np.array([losses[0] / losses[1]])


def value_loss_distance(update: Update, i: Inputs) -> np.ndarray:
    """Measure the value loss at each error over that at the first."""
    returns = np.full(int(i["batch_size"]), i["return"])
    values = [float(i["return"]) + error for error in i["errors"]]
    losses = np.array([_value_loss(update, v, returns, v, value_clip=0.0) for v in values])
    return losses[1:] / losses[0]


def value_clip_default(update: Update, i: Inputs, **settings: Any) -> np.ndarray:
    """Measure the value losses of the first two minibatches over that of the last."""
    cases = zip(i["returns"], i["old_values"], strict=False)
    losses = np.array([_value_loss(update, i["value"], *case, **settings) for case in cases])
    return losses[:2] / losses[2]


def value_clip(update: Update, i: Inputs) -> np.ndarray:
    """Measure the same with the clip switched on."""
    return value_clip_default(update, i, value_clip=float(i["clip_range"]))


def value_clip_range(update: Update, i: Inputs) -> np.ndarray:
    """Measure the value loss of an old value far away over that of one that is the value."""
    ranges = {
        "clip_range": float(i["policy_clip_range"]),
        "value_clip": float(i["value_clip_range"]),
    }
    returns = np.full(_ROWS, i["return"])
    far, near = (
        _value_loss(update, i["value"], returns, i[old], **ranges) for old in ("old_value", "value")
    )
    return np.array([far / near])


def value_clip_gradient(update: Update, i: Inputs) -> np.ndarray:
    """Measure the derivative of the clipped value loss over that of the unclipped one."""

    def gradients(clip: float) -> np.ndarray:
        fed = {"old_values": i["old_value"], "value_clip": clip, "gradients_clipped": False}
        cases = zip(i["values"], i["returns"], strict=False)
        updates = [
            update(Settings(value=float(value), returns=target, **fed)) for value, target in cases
        ]
        return np.array([effects.value_gradient for effects in updates])

    return gradients(float(i["clip_range"])) / gradients(0.0)


def _entropy_gradient(update: Update, coefficient: float | None) -> float:
    settings = Settings(entropy_coefficient=coefficient, gradients_clipped=False)
    return update(settings).log_std_gradient


def entropy_bonus(update: Update, i: Inputs) -> np.ndarray:
    """Measure the derivative of the total loss with respect to the log standard deviation."""
    return np.array([_entropy_gradient(update, float(i["coefficient"]))])


def entropy_coefficient(update: Update, i: Inputs) -> np.ndarray:
    """Return the derivative of the default coefficient over that of a coefficient of 1."""
    del i
    return np.array([_entropy_gradient(update, None) / _entropy_gradient(update, 1.0)])


def gradient_clip(update: Update, i: Inputs) -> np.ndarray:
    """Measure the norm of all gradients where advantages and errors are large."""
    # so large that each half has a norm far above the one asked for; a clipped value has none
    far = 1e3 * float(i["raw_norm"])
    norm = update(Settings(advantages=far, returns=far, value_clip=0.0)).gradient_norm
    return np.array([min(norm, float(i["cap"]))])


def loss_sign(update: Update, i: Inputs) -> np.ndarray:
    """Return the signs of advantage, error and entropy in the total loss."""
    coefficient = float(i["coefficient"])

    def loss(**fed: Any) -> float:
        return update(Settings(entropy_coefficient=coefficient, **fed)).loss

    without = loss()
    changes = [loss(advantages=1.0) - without, np.sign(loss(returns=1.0) - without)]
    return np.array([*changes, (loss(log_deviation=1.0) - without) / coefficient])


#: detail -> its measurement
MEASUREMENTS: Mapping[str, Callable[[Update, Inputs], np.ndarray]] = {
    "ppo.policy_loss.clip": policy_loss,
    "ppo.value_loss.scale": value_loss_scale,
    "ppo.value_loss.coefficient": value_loss_coefficient,
    "ppo.value_loss.distance": value_loss_distance,
    "ppo.value_clip": value_clip,
    "ppo.value_clip.default": value_clip_default,
    "ppo.value_clip.range": value_clip_range,
    "ppo.value_clip.gradient": value_clip_gradient,
    "ppo.entropy.bonus": entropy_bonus,
    "ppo.entropy.coefficient": entropy_coefficient,
    "ppo.gradient_clip": gradient_clip,
    "ppo.loss.sign": loss_sign,
}
