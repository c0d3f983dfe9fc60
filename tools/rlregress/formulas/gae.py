"""Generalised advantage estimation (Schulman et al. 2015; thesis, equations 1 and 2), in float64.

One trajectory of ``T`` steps, all arrays [T]: ``values`` V(s_t), ``next_values`` V of the true
next observation (before a reset), ``terminated`` and ``truncated`` 0 or 1. A segment may hold
several episodes and may end in the middle of one.
"""

from __future__ import annotations

import numpy as np


def accumulate_deltas_backwards(
    deltas: np.ndarray, continues: np.ndarray, discount: float, trace: float
) -> np.ndarray:
    """A_t = delta_t + gamma lambda c_t A_(t+1), A_T = 0, float64 [T] (equation 1).

    Args:
        deltas: [T].
        continues: c, [T]: 1 where the chain goes on to the next step, 0 where it is cut.
        discount: gamma.
        trace: lambda.
    """
    advantages = np.zeros(len(deltas), dtype=np.float64)
    next_advantage = 0.0
    for t in range(len(deltas) - 1, -1, -1):
        next_advantage = deltas[t] + discount * trace * continues[t] * next_advantage
        advantages[t] = next_advantage
    return advantages


def compute_advantages(
    rewards: np.ndarray,
    values: np.ndarray,
    next_values: np.ndarray,
    terminated: np.ndarray,
    truncated: np.ndarray,
    discount: float,
    trace: float,
    *,
    bootstraps: np.ndarray | None = None,
    continues: np.ndarray | None = None,
) -> np.ndarray:
    """Return advantages [T] with delta_t = r_t + gamma b_t V(s_(t+1)) - V(s_t) (equation 2).

    By default b_t is 0 at terminations only, and the chain is cut at every end of an episode: a
    truncated step bootstraps with the value of the true next observation. An implementation that
    adds gamma V(terminal observation) to the reward of a truncated step, and then treats it as
    terminal, gives the same advantages.

    Args:
        rewards, values, next_values, terminated, truncated: [T].
        discount: gamma.
        trace: lambda.
        bootstraps: b, [T], in the place of the default.
        continues: c, [T], in the place of the default.
    """
    terminated = np.asarray(terminated, dtype=np.float64)
    done = np.maximum(terminated, np.asarray(truncated, dtype=np.float64))
    b = 1.0 - terminated if bootstraps is None else np.asarray(bootstraps, dtype=np.float64)
    c = 1.0 - done if continues is None else np.asarray(continues, dtype=np.float64)
    values = np.asarray(values, dtype=np.float64)
    deltas = np.asarray(rewards) + discount * b * np.asarray(next_values) - values
    return accumulate_deltas_backwards(deltas, c, discount, trace)
