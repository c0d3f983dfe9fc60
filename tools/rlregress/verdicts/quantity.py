"""What of a run is judged: its return, or how far its critic is off.

Both are one number a run, larger is better. They are tested alike and in one family, of which each
has a stated share; only the words in which a change is told differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from rlregress.verdicts.effect import scale_of


@dataclass(frozen=True)
class Quantity:
    """One number of a run.

    Attributes:
        name: ``returns`` or ``critic``.
        share: of the error of the family, where the others are judged too.
        of_error: the number is minus the natural logarithm of an error, so that a difference of
            two is the logarithm of a factor; else a return.
    """

    name: str
    share: float
    of_error: bool

    def named(self, cell: str) -> str:
        """The name under which this is judged of a cell or a group: returns under its own."""
        return f"{cell} {self.name}" if self.of_error else cell

    @property
    def missing(self) -> str:
        """What is wrong with runs that have no number, in words."""
        return "have no critic that can be compared" if self.of_error else "failed"

    def scale(self, stored: ArrayLike) -> float:
        """What a difference from the stored numbers [m] is a share of; 1 for logarithms."""
        return 1.0 if self.of_error else scale_of(stored)

    def moved(self, fraction: float) -> str:
        """What happened to the mean, in words.

        Args:
            fraction: difference of the means over the scale, positive if it got better.
        """
        if self.of_error:
            return f"the critic's error is {math.exp(-fraction):.2f} times what it was"
        return f"the mean changed by {fraction:+.0%}"

    def loss(self, share: float) -> str:
        """A loss of this share of the scale, in words."""
        if self.of_error:
            return f"an error {math.exp(share):.2f} times as large"
        return f"a drop of {share:.0%}"

    def common_loss(self, share: float) -> str:
        """The same loss in every cell of a group, in words."""
        if self.of_error:
            return f"errors {math.exp(share):.2f} times as large in all cells"
        return f"a common drop of {share:.0%}"


RETURNS = Quantity("returns", 0.8, of_error=False)
CRITIC = Quantity("critic", 0.2, of_error=True)


def quantity_of(name: str) -> Quantity:
    """The quantity that is judged under a name; see ``Quantity.named``."""
    return CRITIC if name.endswith(f" {CRITIC.name}") else RETURNS


def shares(counts: Mapping[Quantity, int]) -> dict[Quantity, float]:
    """The share of the error that each quantity of a family has; of one alone it is all.

    Args:
        counts: how many hypotheses there are about each.
    """
    total = sum(quantity.share for quantity, count in counts.items() if count)
    return {quantity: quantity.share / total for quantity, count in counts.items() if count}
