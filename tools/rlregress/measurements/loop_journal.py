"""The events of a training, in their order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from rlregress.measurements.loss_minimum import require_one_number


@dataclass
class Journal:
    """The events of a training, in their order.

    The parts that optimisers step are "critic", "actor" and "temperature" of an off-policy agent;
    of others, and of single updates, the adapter names them.

    Attributes:
        actions: of each environment those that it received, [dimensions] each.
        updates: (part, environment steps taken by then) of each optimiser step.
        losses: of each part what was differentiated since the last step of any optimiser, summed.
        gradient_norms: of each part the norm of all its gradients, at each of its steps.
        rates: of each part the learning rate of its last step.
        moves: for each update of the Q networks, whether policy and target critics had moved before
            the next one.
        temperatures: log alpha before each of its steps, and at the end.
        stored_rows: transitions in the replay buffer at the end.
        stored_action, stored_reward: of the transition that was stored last.
    """

    actions: list[list[np.ndarray]] = field(default_factory=list)
    updates: list[tuple[str, int]] = field(default_factory=list)
    losses: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    gradient_norms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    rates: dict[str, float] = field(default_factory=dict)
    moves: list[tuple[bool, bool]] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    stored_rows: int = 0
    stored_action: float = np.nan
    stored_reward: float = np.nan

    @property
    def steps(self) -> int:
        """Steps taken, over all environments."""
        return sum(len(received) for received in self.actions)

    @property
    def environments(self) -> int:
        """How many environments were stepped."""
        return sum(1 for received in self.actions if received)

    def get_only_loss(self, part: str) -> float:
        """Return the loss of the one step of a part; RuntimeError if there are more or none."""
        return require_one_number(self.losses[part])

    def list_collected_actions(self) -> np.ndarray:
        """Return each action's first number, [environments that were stepped, steps]."""
        return np.array([received for received in self.actions if received])[..., 0]

    def count_updates(self, part: str, after_steps: int = 0) -> int:
        """Return the number of updates of a part after the first ``after_steps`` steps."""
        return sum(1 for name, steps in self.updates if name == part and steps > after_steps)
