"""What an off-policy training did, in its order: shared by the probes of several adapters."""

from __future__ import annotations

from typing import Any, Iterable, List, Optional, Tuple

import torch


class Updates:
    """Updates of the parts of an agent, and whether its target networks moved.

    Attributes:
        updates: (part that was updated, environment steps taken by then) of each optimiser step;
            parts are "critic", "actor" and "temperature".
        target_moves: for each look at the targets after the first, whether they had moved.
    """

    def __init__(self) -> None:
        self.updates: List[Tuple[str, int]] = []
        self.target_moves: List[bool] = []
        self._targets: Optional[torch.Tensor] = None

    def look_at(self, parameters: Iterable[Any]) -> None:
        """Note whether the parameters of the target critics moved since the last look."""
        now = torch.cat([parameter.detach().reshape(-1) for parameter in parameters])
        if self._targets is not None:
            self.target_moves.append(not torch.equal(now, self._targets))
        self._targets = now

    def count(self, role: str, after: int = 0) -> int:
        """Updates of a part that came when more than ``after`` steps had been taken."""
        return sum(1 for name, steps in self.updates if name == role and steps > after)

    def first(self, role: str) -> int:
        """Environment steps taken at the first update of a part."""
        return next(steps for name, steps in self.updates if name == role)

    def longest_burst(self) -> int:
        """Most updates of the policy in a row, without one of the critics."""
        longest = current = 0
        for role, _ in self.updates:
            current = current + 1 if role == "actor" else 0 if role == "critic" else current
            longest = max(longest, current)
        return longest
