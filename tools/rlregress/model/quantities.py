"""The judged quantities of a run: returns, the accuracy of its critic, logged diagnostics.

Each is one number a run. They are tested alike and in one family, of which each has a stated share;
the words in which a change is told differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

#: no error of a critic counts as larger; the same number as ``inside.critic.LARGEST_ERROR``
LARGEST_ERROR = 100.0


def returns_scale(stored: ArrayLike) -> float:
    """Return the denominator of differences: the larger of |mean| and sd of stored returns [m].

    The magnitude, because some environments have only negative returns (Reacher: a mean of -4 that
    becomes -6 is a drop of 50 %). Not less than the standard deviation, because a mean near zero
    (HalfCheetah after a short budget) would make any noise a drop of many hundred per cent. One
    return unit where both are zero.
    """
    values = np.asarray(stored, dtype=np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return max(abs(float(values.mean())), spread) or 1.0


def percent(share: float) -> str:
    """A share in whole percent, one below ten in two digits."""
    return f"{share:.0%}" if share >= 0.0995 else f"{100 * share:.2g}%"


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One number of a run.

    Attributes:
        name: as it stands behind the name of a cell.
        share: its part of the error of a family, in proportion to those of the others.
        missing: what is wrong with runs that have no number, in words.
    """

    name: str
    share: float
    missing: str = "do not tell it"

    #: neither direction is worse: it is judged both ways, at the first look, beside gains
    two_sided = True
    #: what a verdict would have seen, in a word or two
    effect = "change"

    def named(self, cell: str) -> str:
        """The name under which this is judged of a cell or a group: returns under its own."""
        return f"{cell} {self.name}"

    def scale(self, stored: ArrayLike) -> float:
        """Return the denominator of a difference from the stored numbers [m]."""
        return returns_scale(stored)

    def largest_loss(self, stored: ArrayLike) -> float:
        """The largest difference from the mean of stored numbers [m] that there can be."""
        return math.inf

    def describe_change(self, fraction: float) -> str:
        """Describe the change of the mean.

        Args:
            fraction: difference of the means over the scale.
        """
        return f"{self.name} changed by {fraction:+.0%}"

    def loss(self, share: float) -> str:
        """A loss, or a change, of this share of the scale, in words."""
        return f"a change of {percent(share)}"

    def common_loss(self, share: float) -> str:
        """The same in every cell of a group, in words."""
        return f"a common change of {percent(share)}"

    def nothing_detectable(self) -> str:
        """Describe that no loss would be rejected with 80 % power."""
        return f"at Holm's first step no {self.effect} can be seen"


class _Returns(Quantity):
    """The return of the evaluation after the training: larger is better."""

    two_sided = False
    effect = "drop"

    def named(self, cell: str) -> str:
        return cell

    def describe_change(self, fraction: float) -> str:
        return f"the mean changed by {fraction:+.0%}"

    def loss(self, share: float) -> str:
        return f"a drop of {percent(share)}"

    def common_loss(self, share: float) -> str:
        return f"a common drop of {percent(share)}"


class _Training(_Returns):
    """The mean return of the training episodes that ended in the last third of the training."""

    named = Quantity.named

    def describe_change(self, fraction: float) -> str:
        return f"the mean of the training's last third changed by {fraction:+.0%}"


class _Critic(Quantity):
    """Minus the natural logarithm of a critic's error, so that a difference is that of a factor."""

    two_sided = False
    effect = "growth of the error"

    def largest_loss(self, stored: ArrayLike) -> float:
        return float(np.asarray(stored, dtype=np.float64).mean()) + math.log(LARGEST_ERROR)

    def scale(self, stored: ArrayLike) -> float:
        return 1.0

    def describe_change(self, fraction: float) -> str:
        return f"the critic's error is {math.exp(-fraction):.2f} times what it was"

    def loss(self, share: float) -> str:
        return f"an error {math.exp(share):.2f} times as large"

    def common_loss(self, share: float) -> str:
        return f"errors {math.exp(share):.2f} times as large in all cells"


RETURNS = _Returns(name="returns", share=0.8, missing="failed")
TRAINING = _Training(name="training", share=0.8, missing="have no training return")
CRITIC = _Critic(name="critic", share=0.2, missing="have no critic that can be compared")
#: what a framework logs of its updates, by name (``inside/diagnostics.py``)
DIAGNOSTICS = {name: Quantity(name=name, share=0.25) for name in ("entropy", "kl", "temperature")}
#: what is judged beside returns
SECONDARY = (TRAINING, CRITIC, *DIAGNOSTICS.values())
#: of what is smaller a loss, which makes a framework ``regressed``
ONE_SIDED: tuple[Quantity, ...] = (RETURNS, TRAINING, CRITIC)
#: all of them, by name
BY_NAME = {quantity.name: quantity for quantity in (RETURNS, *SECONDARY)}


def quantity_of(name: str) -> Quantity:
    """The quantity that is judged under a name; see ``Quantity.named``."""
    last = name.rpartition(" ")[2]
    return next(
        (quantity for quantity in SECONDARY if name == quantity.named(name[: -len(last) - 1])),
        RETURNS,
    )


def cell_of(name: str) -> str:
    """The cell, or the group, that a name is about; see ``Quantity.named``."""
    return name if quantity_of(name) is RETURNS else name.rpartition(" ")[0]


def shares(counts: Mapping[Quantity, int]) -> dict[Quantity, float]:
    """The share of the error that each quantity of a family has; of one alone it is all.

    Args:
        counts: how many hypotheses there are about each.
    """
    total = sum(quantity.share for quantity, count in counts.items() if count)
    return {quantity: quantity.share / total for quantity, count in counts.items() if count}
