"""Environments under fixed actions: ``python -m rlregress.inside.physics_worker JOB OUTPUT``.

Runs inside foreign and old environments: gymnasium and NumPy only, Python 3.9 syntax. The job is a
JSON file: ``environments`` (ids) and ``steps``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List

import gymnasium
import numpy as np


def trajectory(id: str, steps: int) -> Dict[str, Any]:
    """Observations and rewards of seeded actions, as numbers; or why there are none."""
    try:
        environment = gymnasium.make(id)
        observation, _ = environment.reset(seed=0)
        rows: List[List[float]] = [[0.0, *np.ravel(observation).astype(float).tolist()]]
        space: Any = environment.action_space
        draw = np.random.RandomState(0)
        for _ in range(steps):
            if hasattr(space, "n"):
                action: Any = int(draw.randint(space.n))
            else:
                action = np.asarray(draw.uniform(space.low, space.high), dtype=space.dtype)
            observation, reward, terminated, truncated, _ = environment.step(action)
            rows.append([float(reward), *np.ravel(observation).astype(float).tolist()])
            if terminated or truncated:
                observation, _ = environment.reset()
                rows.append([0.0, *np.ravel(observation).astype(float).tolist()])
        environment.close()
        return {"rows": rows}
    except Exception as error:  # an environment that one side does not have is a finding
        return {"error": f"{type(error).__name__}: {error}"}


def main(arguments: List[str]) -> int:
    """Entry point."""
    with open(arguments[0], encoding="utf-8") as file:
        job = json.load(file)
    trajectories = {id: trajectory(id, int(job["steps"])) for id in job["environments"]}
    with open(arguments[1] + ".tmp", "w", encoding="utf-8") as file:
        json.dump(trajectories, file)
    os.replace(arguments[1] + ".tmp", arguments[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
