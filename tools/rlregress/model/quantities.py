"""The judged quantities of a run: returns, the accuracy of its critic, logged diagnostics.

Each is one number of a run. All are tested in the same way and in one family, in which each has a
stated share of the error. Changes are described in different words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

#: errors of critics are cut off here; the same number as ``inside.critic.LARGEST_ERROR``
LARGEST_ERROR = 100.0


def compute_returns_scale(stored: ArrayLike) -> float:
    """Return the denominator of differences: the larger of |mean| and sd of stored returns [m].

    The magnitude, because some environments have only negative returns (Reacher: a mean of -4 that
    becomes -6 is a drop of 50 %). Not less than the standard deviation, because a mean near zero
    (HalfCheetah after a short budget) would make any noise a drop of many hundred per cent. One
    return unit where both are zero.
    """
    values = np.asarray(stored, dtype=np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return max(abs(float(values.mean())), spread) or 1.0


def format_percent(share: float) -> str:
    """Format a share in whole percent, or with two digits below ten percent."""
    return f"{share:.0%}" if share >= 0.0995 else f"{100 * share:.2g}%"


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One kind of number by which runs are judged, such as their returns.

    Attributes:
        name: suffix of the name of a cell.
        share: its share of the error of a family, relative to the other quantities.
        missing: predicate about runs without a number.
    """

    name: str
    share: float
    missing: str = "have no such number"

    #: whether neither direction is worse; then both are tested at the first look, with the gains
    two_sided = True
    #: what a verdict would have detected, in a few words
    effect = "change"

    def make_verdict_name(self, cell: str) -> str:
        """Return the name of the verdict on this quantity of a cell or a group."""
        return f"{cell} {self.name}"

    def compute_scale(self, stored: ArrayLike) -> float:
        """Return the denominator of a difference from the stored numbers [m]."""
        return compute_returns_scale(stored)

    def compute_largest_loss(self, stored: ArrayLike) -> float:
        """Return the largest possible drop below the mean of stored numbers [m]."""
        return math.inf

    def describe_change(self, fraction: float) -> str:
        """Describe the change of the mean.

        Args:
            fraction: difference of the means over the scale.
        """
        return f"{self.name} changed by {fraction:+.0%}"

    def describe_loss(self, share: float) -> str:
        """Describe a loss or change of this share of the scale."""
        return f"a change of {format_percent(share)}"

    def describe_common_loss(self, share: float) -> str:
        """Describe the same loss or change in every cell of a group."""
        return f"a common change of {format_percent(share)}"

    def describe_nothing_detectable(self) -> str:
        """Describe that no loss would be rejected with 80 % power."""
        return f"no {self.effect} would be detected with 80 % power"


class _Returns(Quantity):
    """The return of the evaluation after the training: larger is better."""

    two_sided = False
    effect = "drop"

    def make_verdict_name(self, cell: str) -> str:
        return cell

    def describe_change(self, fraction: float) -> str:
        return f"the mean changed by {fraction:+.0%}"

    def describe_loss(self, share: float) -> str:
        return f"a drop of {format_percent(share)}"

    def describe_common_loss(self, share: float) -> str:
        return f"a common drop of {format_percent(share)}"


class _Training(_Returns):
    """The mean return of the training episodes that ended in the last third of the training."""

    make_verdict_name = Quantity.make_verdict_name

    def describe_change(self, fraction: float) -> str:
        return f"the mean of the training's last third changed by {fraction:+.0%}"


class _Critic(Quantity):
    """Minus the natural logarithm of a critic's error; its differences are factors of the error."""

    two_sided = False
    effect = "growth of the error"

    def compute_largest_loss(self, stored: ArrayLike) -> float:
        return float(np.asarray(stored, dtype=np.float64).mean()) + math.log(LARGEST_ERROR)

    def compute_scale(self, stored: ArrayLike) -> float:
        return 1.0

    def describe_change(self, fraction: float) -> str:
        return f"the critic's error is {math.exp(-fraction):.2f} times what it was"

    def describe_loss(self, share: float) -> str:
        return f"an error {math.exp(share):.2f} times as large"

    def describe_common_loss(self, share: float) -> str:
        return f"errors {math.exp(share):.2f} times as large in all cells"


RETURNS = _Returns(name="returns", share=0.8, missing="failed")
TRAINING = _Training(name="training", share=0.8, missing="have no training return")
CRITIC = _Critic(name="critic", share=0.2, missing="have no critic that can be compared")
#: numbers that frameworks log about their updates, by name (``inside/diagnostics.py``)
DIAGNOSTICS = {name: Quantity(name=name, share=0.25) for name in ("entropy", "kl", "temperature")}
#: quantities besides returns
SECONDARY = (TRAINING, CRITIC, *DIAGNOSTICS.values())
#: quantities for which a smaller number is a loss and makes a framework ``regressed``
ONE_SIDED: tuple[Quantity, ...] = (RETURNS, TRAINING, CRITIC)
#: all quantities by name
BY_NAME = {quantity.name: quantity for quantity in (RETURNS, *SECONDARY)}


def get_quantity_of_verdict_name(verdict_name: str) -> Quantity:
    """Return the quantity of a verdict by its name; see ``Quantity.make_verdict_name``."""
    last = verdict_name.rpartition(" ")[2]
    return next(
        (
            quantity
            for quantity in SECONDARY
            if verdict_name == quantity.make_verdict_name(verdict_name[: -len(last) - 1])
        ),
        RETURNS,
    )


def get_cell_of_verdict_name(verdict_name: str) -> str:
    """Return the cell or group of a verdict by its name; see ``Quantity.make_verdict_name``."""
    return (
        verdict_name
        if get_quantity_of_verdict_name(verdict_name) is RETURNS
        else verdict_name.rpartition(" ")[0]
    )


def compute_alpha_shares(counts: Mapping[Quantity, int]) -> dict[Quantity, float]:
    """Return the share of the error rate alpha that each quantity of a family gets.

    Args:
        counts: number of hypotheses about each; a single quantity gets all of alpha.
    """
    total = sum(quantity.share for quantity, count in counts.items() if count)
    return {quantity: quantity.share / total for quantity, count in counts.items() if count}
