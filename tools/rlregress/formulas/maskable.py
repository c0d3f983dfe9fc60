"""Policies whose actions can be masked (Huang and Ontanon 2022), float64."""

from __future__ import annotations

import numpy as np


def compute_masked_softmax(logits: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return softmax over allowed actions, else 0, [actions] (Huang and Ontanon 2022, section 4).

    Args:
        logits: [actions].
        allowed: [actions], 1 or 0.
    """
    weights = np.exp(np.asarray(logits, np.float64) - np.max(logits)) * np.asarray(allowed)
    return np.asarray(weights / weights.sum())


def compute_entropy(probabilities: np.ndarray) -> float:
    """-sum of p log p in nats over the actions that have a probability; [actions]."""
    positive = np.asarray(probabilities, np.float64)[np.asarray(probabilities) > 0.0]
    return float(-np.sum(positive * np.log(positive)))
