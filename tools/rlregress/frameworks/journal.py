"""What an off-policy training did, in its order, and what is measured with that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Inputs
from rlregress.frameworks.layers import gradient_norm

#: () -> parameters
Targets = Callable[[], Iterable[Any]]


class Journal:
    """What an off-policy training did, in its order.

    Attributes:
        actions: of each environment those that it received, [dimensions] each.
        updates: (part that was updated, environment steps taken by then) of each optimiser step;
            parts are "critic", "actor" and "temperature".
        target_moves: for each look at the targets after the first, whether they had moved.
        gradient_norms: of each part the norm of its gradients at its first optimiser step.
    """

    def __init__(self) -> None:
        self.actions: list[list[np.ndarray]] = []
        self.updates: list[tuple[str, int]] = []
        self.target_moves: list[bool] = []
        self.gradient_norms: dict[str, float] = {}
        self._targets: torch.Tensor | None = None

    @property
    def steps(self) -> int:
        """Steps taken, over all environments."""
        return sum(len(received) for received in self.actions)

    def collected(self) -> np.ndarray:
        """First number of each action, of the environments that were stepped: [environments, t]."""
        return np.array([received for received in self.actions if received])[..., 0]

    def note(
        self, part: str, optimizer: Any, targets: Targets, own: Iterable[Any] | None = None
    ) -> None:
        """An optimiser is about to step a part.

        Args:
            targets: gives the parameters of the target critics.
            own: the parameters of the part, if the optimiser holds others too.
        """
        if part == "critic":
            self.look_at(targets())
        if part not in self.gradient_norms:
            self.gradient_norms[part] = gradient_norm(optimizer, own)
        self.updates.append((part, self.steps))

    def look_at(self, parameters: Iterable[Any]) -> None:
        """Note whether the parameters of the target critics moved since the last look."""
        now = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        if self._targets is not None:
            self.target_moves.append(not torch.equal(now, self._targets))
        self._targets = now

    def count(self, part: str, after: int = 0) -> int:
        """Updates of a part that came when more than ``after`` steps had been taken."""
        return sum(1 for name, steps in self.updates if name == part and steps > after)

    def gradient_clip(self) -> np.ndarray:
        """One over the first norm of the gradients of critics, and of policy; 0.0 beyond 1e3."""
        norms = [self.gradient_norms[part] for part in ("critic", "actor")]
        return np.array([0.0 if norm > 1e3 else 1.0 / norm for norm in norms])

    def learning_starts(self) -> np.ndarray:
        """Random steps before a policy at the bound 1; steps taken at the first update."""
        (actions,) = self.collected()
        below = np.flatnonzero(actions < 0.999)
        first = next(steps for name, steps in self.updates if name == "critic")
        return np.array([below[-1] + 1 if len(below) else 0, first], dtype=np.float64)

    def vectorisation(self, inputs: Inputs) -> np.ndarray:
        """Transitions per step asked for; updates per transition; environments."""
        half = self.steps // 2
        stepped = sum(1 for received in self.actions if received)
        transitions = self.steps / int(inputs["steps"])
        return np.array([transitions, self.count("critic", after=half) / half, stepped])

    def schedule(self, inputs: Inputs) -> np.ndarray:
        """In the last ``counted`` of ``steps``: updates of each part, moves of the targets.

        And the longest row of updates of the policy.
        """
        past = int(inputs["steps"]) - int(inputs["counted"])
        critics = [taken for part, taken in self.updates if part == "critic"]
        moved = [m for m, taken in zip(self.target_moves, critics, strict=False) if taken > past]
        counts = [self.count(part, after=past) for part in ("critic", "actor", "temperature")]
        return np.array([*counts, sum(moved), self._longest_burst()], dtype=np.float64)

    def _longest_burst(self) -> int:
        """Most updates of the policy in a row, without one of the critics."""
        longest = current = 0
        for part, _ in self.updates:
            current = current + 1 if part == "actor" else 0 if part == "critic" else current
            longest = max(longest, current)
        return longest


def update_ratio(inputs: Inputs, parts: Sequence[str], runs: Iterable[Journal]) -> np.ndarray:
    """Updates of the parts per environment step, in the last ``counted`` steps of each run."""
    steps, counted = int(inputs["steps"]), int(inputs["counted"])
    return np.array(
        [run.count(part, after=steps - counted) / counted for run in runs for part in parts]
    )


def temperature_rate(
    logs: Sequence[float], optimizers: Mapping[str, Any], rates: Mapping[str, float]
) -> np.ndarray:
    """Logarithm of the first change of log alpha; its last change over its first; other rates.

    Args:
        logs: log alpha before each of its steps, and behind the last one.
        optimizers: of "critic" and of "actor".
        rates: the learning rate that was set for each of these two.
    """
    changes = np.abs(np.diff(logs))
    others = [optimizers[r].param_groups[0]["lr"] / rates[r] for r in ("critic", "actor")]
    return np.array([np.log10(changes[0]), changes[-1] / changes[0], *others])


def update_order(
    inputs: Inputs, first_update: Callable[[float, float], tuple[float, float]]
) -> np.ndarray:
    """What of an update the policy's loss, and the targets, see already.

    Args:
        first_update: (learning rate, reported log-probability) -> target of the Q networks and
            loss of the policy in the first update, whose Q networks were 0.
    """
    rate, log_prob = float(inputs["learning_rate"]), float(inputs["log_prob"])
    frozen_target, frozen_loss = first_update(0.0, log_prob)
    target, loss = first_update(rate, log_prob)
    # Without entropy the loss is that of the Q values alone, which were 0.
    _, loss_of_q = first_update(rate, 0.0)
    changes = [loss_of_q, target - frozen_target, loss - loss_of_q - frozen_loss]
    return (np.abs(changes) > 1e-3).astype(np.float64)
