"""Random actions of an algorithm that chooses one of many, among greedy ones that are always 0.

With a thousand actions a random one is hardly ever the greedy one, nor that of another environment:
an action says whether it was decided to explore, and what was drawn then.
"""

from __future__ import annotations

import numpy as np

from rlregress.frameworks.base import Adapter
from rlregress.probing.heads import Heads
from rlregress.probing.interface import PLAIN, TrainingRequest
from rlregress.probing.isolation import shift_seed
from rlregress.probing.scripted import Scripted
from tests_behavior.toy_settings import load_setting

ACTIONS, GREEDY = 1000, 0


def _make_policy_greedy(heads: Heads) -> None:
    heads.fix_policy_output(np.eye(ACTIONS)[GREEDY].tolist(), [])


def collect_choices(
    framework: Adapter, algorithm: str, environments: int, steps: int, **changes: int
) -> np.ndarray:
    """Return the actions that environments received in the second half of a training.

    Args:
        steps: of the whole training, over all environments.
        changes: of hyperparameters.

    Returns:
        int [steps / 2, 1], step by step of all environments.
    """
    received: list[np.ndarray] = []
    hyperparameters = {
        **load_setting(framework.name, "bounds", algorithm).hyperparameters,
        **changes,
    }
    asked_for = TrainingRequest(
        algorithm=algorithm,
        make_env=lambda: Scripted(discrete=ACTIONS, received=received),
        hyperparameters=hyperparameters,
        total_steps=steps,
        seed=shift_seed(0),
        prepare=_make_policy_greedy,
    )
    framework.train.collect_minibatches(asked_for, environments, PLAIN)
    return np.stack(received[-steps // 2 :]).reshape(-1, 1).astype(int)


def compute_largest_correlation(values: np.ndarray) -> float:
    """Return the largest correlation between two of n environments, [steps, n, dimensions].

    NaN, which is below no limit, if one of them always does the same.
    """
    pairs = np.triu_indices(values.shape[1], 1)
    with np.errstate(invalid="ignore"):
        correlations = [
            np.abs(np.corrcoef(values[:, :, dimension].T)[pairs])
            for dimension in range(values.shape[2])
        ]
    return float(np.max(correlations))


def compute_largest_share_of_equal_draws(actions: np.ndarray) -> float:
    """Return the largest share of steps, [steps, n, 1], in which two explore by the same action."""
    shares = []
    for first_number, second_number in zip(*np.triu_indices(actions.shape[1], 1), strict=True):
        first, second = actions[:, first_number, 0], actions[:, second_number, 0]
        both = (first != GREEDY) & (second != GREEDY)
        shares.append(float((first == second)[both].mean()) if both.any() else 0.0)
    return max(shares)


def assert_independent_draws(who: str, actions: np.ndarray, limit: float) -> None:
    """Assert that no two of n environments explore at the same steps, or draw the same actions."""
    __tracebackhide__ = True
    expected = f"{who}: expected exploration of its own in every environment, found two "
    correlation = compute_largest_correlation((actions != GREEDY).astype(float))
    if not correlation <= limit:
        raise AssertionError(
            f"{expected}whose decisions to explore have the correlation {correlation:.2f}"
        )
    same = compute_largest_share_of_equal_draws(actions)
    if same > 0.5:
        raise AssertionError(f"{expected}whose random actions are the same in {same:.0%} of steps")
