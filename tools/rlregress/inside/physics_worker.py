"""Environments under fixed actions, and under stored policies.

``python -m rlregress.inside.physics_worker JOB OUTPUT``

The job is a JSON file: ``environments`` (ids), ``steps``, and ``policies``: name -> file of a
policy, which plays ``record_policy_episodes``; see ``baselines/policies``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import gymnasium
import numpy as np

from rlregress.inside.events import describe_types
from rlregress.inside.job_files import answer_job_of_file


def _make_row_of_step(observation: Any, reward: Any = 0.0) -> list[float]:
    return [float(reward), *np.ravel(observation).astype(float).tolist()]


def _describe_error_of_environment(error: Exception) -> dict[str, Any]:
    """Return the text of an error, and whether it means that the environment is not installed."""
    kinds = gymnasium.error.UnregisteredEnv, gymnasium.error.DependencyNotInstalled, ImportError
    return {"error": f"{type(error).__name__}: {error}", "is_lacking": isinstance(error, kinds)}


class _TypeChanges:
    """Notes the types that resets and steps return, whenever these change.

    Attributes:
        changes: (number of a row, description of the types from this row on) pairs.
    """

    def __init__(self) -> None:
        self.changes: list[Any] = []
        self._last: dict[int, str] = {}

    def note_types(self, row: int, *values: Any) -> None:
        """Note a reset, or a step with its reward and flags."""
        names = ("observation", "reward", "terminated", "truncated")
        types = describe_types(dict(zip(names, values, strict=False)))
        if self._last.get(len(values)) != types:
            self._last[len(values)] = types
            self.changes.append([row, types])


def record_random_steps(environment_id: str, steps: int) -> dict[str, Any]:
    """Play seeded random actions; return rows of observations and rewards, or the error."""
    try:
        environment = gymnasium.make(environment_id)
        observation, _ = environment.reset(seed=0)
        rows: list[list[float]] = [_make_row_of_step(observation)]
        types = _TypeChanges()
        types.note_types(0, observation)
        space: Any = environment.action_space
        draw = np.random.RandomState(0)
        for _ in range(steps):
            if hasattr(space, "n"):
                action: Any = int(draw.randint(space.n))
            else:
                action = np.asarray(draw.uniform(space.low, space.high), dtype=space.dtype)
            observation, reward, terminated, truncated, _ = environment.step(action)
            types.note_types(len(rows), observation, reward, terminated, truncated)
            rows.append(_make_row_of_step(observation, reward))
            if terminated or truncated:
                observation, _ = environment.reset()
                types.note_types(len(rows), observation)
                rows.append(_make_row_of_step(observation))
        environment.close()
        return {"rows": rows, "types": types.changes}
    except Exception as error:  # an environment that one version lacks is a difference
        return _describe_error_of_environment(error)


def record_policy_episodes(policy_file: str, count: int) -> dict[str, Any]:
    """Play whole episodes of a stored policy with seeds 0, 1, ...; return rows, or the error.

    ``rows`` as of ``record_random_steps``; ``begins``: the row of each reset; ``returns``.
    """
    try:
        stored = np.load(policy_file, allow_pickle=False)
        layers = [(stored[f"weight_{n}"], stored[f"bias_{n}"]) for n in range(len(stored) // 2)]
        about = json.loads(str(stored["about"]))
        environment = gymnasium.make(about["environment"])
        space: Any = environment.action_space
        rows: list[list[float]] = []
        begins, returns, types = [], [], _TypeChanges()
        for seed in range(count):
            observation, _ = environment.reset(seed=seed)
            begins.append(len(rows))
            types.note_types(len(rows), observation)
            rows.append(_make_row_of_step(observation))
            is_over = False
            total = 0.0
            while not is_over:
                hidden = np.ravel(observation).astype(np.float64)
                for weight, bias in layers[:-1]:
                    hidden = np.tanh(weight @ hidden + bias)
                out = layers[-1][0] @ hidden + layers[-1][1]
                if hasattr(space, "n"):
                    action: Any = int(np.argmax(out))
                else:
                    action = np.clip(out, space.low, space.high).astype(space.dtype)
                observation, reward, terminated, truncated, _ = environment.step(action)
                types.note_types(len(rows), observation, reward, terminated, truncated)
                rows.append(_make_row_of_step(observation, reward))
                total += float(reward)
                is_over = bool(terminated or truncated)
            returns.append(total)
        environment.close()
        return {"rows": rows, "types": types.changes, "begins": begins, "returns": returns}
    except Exception as error:  # as above
        return _describe_error_of_environment(error)


def record_trajectories(job: dict[str, Any]) -> dict[str, Any]:
    """Return the trajectories of a job, by environment, and its episodes, by policy."""
    trajectories = {id: record_random_steps(id, int(job["steps"])) for id in job["environments"]}
    for name, path in job["policies"].items():
        trajectories[name] = record_policy_episodes(path, int(job["episodes"]))
    return trajectories


if __name__ == "__main__":
    sys.exit(answer_job_of_file(record_trajectories, sys.argv[1:]))
