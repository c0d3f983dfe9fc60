"""Family-wise control over the cells and groups of a session, and evidence pooled in a group."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Name = TypeVar("Name")


def adjust_by_holm(p_values: ArrayLike, weights: ArrayLike = 1.0) -> NDArray[np.float64]:
    """Return the adjusted p-values of Holm's step-down procedure (Holm 1979, weights: section 4).

    If a test rejects where the adjusted value is below alpha, one or more false rejections have a
    probability of at most alpha, whatever the dependence between the tests. A hypothesis of weight
    w is first tested at alpha w / sum of the weights. Once it is rejected, its weight goes to the
    others.

    Args:
        p_values: [..., H]; the last axis is one family.
        weights: positive, [H] or one for all; fixed before the data.

    Returns:
        float64 [..., H], at most 1.
    """
    # SciPy corrects for the rate of false discoveries only (stats.false_discovery_control)
    values = np.asarray(p_values, dtype=np.float64)
    weight = np.broadcast_to(np.asarray(weights, dtype=np.float64), values.shape)
    ratio = values / weight
    order = np.argsort(ratio, axis=-1, kind="stable")
    # summed weight of the hypotheses that are not yet rejected, before each step
    remaining = np.take_along_axis(weight, order, axis=-1)[..., ::-1].cumsum(axis=-1)[..., ::-1]
    stepped = np.take_along_axis(ratio, order, axis=-1) * remaining
    # a hypothesis is rejected only if all with smaller p-values are: hence the running maximum
    stepped = np.minimum(np.maximum.accumulate(stepped, axis=-1), 1.0)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted


def adjust_by_holm_with_names(
    p_values: Mapping[Name, float], weights: Mapping[Name, float] = MappingProxyType({})
) -> dict[Name, float]:
    """Return Holm's adjusted p-values of named hypotheses, under the same names.

    Args:
        weights: by hypothesis; 1 where absent.
    """
    if not p_values:
        return {}
    adjusted = adjust_by_holm(
        list(p_values.values()), [weights.get(name, 1.0) for name in p_values]
    )
    return dict(zip(p_values, adjusted.tolist(), strict=True))


def combine_mid_p_values(mid_p: ArrayLike) -> NDArray[np.float64]:
    """Return one p-value for a group: Stouffer's z of one-sided mid-p values.

    z = sum_i Phi^-1(1 - p_i) / sqrt(k). A change in an implementation usually moves all its
    environments the same way; small drops in each add up here. Mid-p values are used because their
    mean is 1/2 when nothing changed; plain p-values of a discrete test have a larger one.

    Args:
        mid_p: mid-p values [..., k] of the k cells of a group, each inside (0, 1).

    Returns:
        One-sided p-values [...].
    """
    return np.asarray(scipy.stats.combine_pvalues(mid_p, method="stouffer", axis=-1).pvalue)
