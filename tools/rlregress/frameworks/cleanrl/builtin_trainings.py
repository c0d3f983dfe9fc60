"""Built-in trainings for traces: the user's own scripts on settings that reach rare branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks import memory_sizes
from rlregress.frameworks.cleanrl.running import run_script
from rlregress.frameworks.cleanrl.script_sources import Source

_OFF_POLICY: dict[str, Any] = {
    "total_timesteps": 160,
    "learning_starts": 20,
    "batch_size": 16,
    # two environments: full after half of the training
    "buffer_size": 160,
    "num_envs": 2,
}
SETTINGS: dict[str, dict[str, Any]] = {
    # 64 samples in five minibatches of 12 and a last one of 4
    "ppo": {
        "total_timesteps": 320,
        "num_steps": 32,
        "num_envs": 2,
        "num_minibatches": 5,
        "update_epochs": 3,
        "target_kl": 0.5,
        "ent_coef": 0.01,
    },
    "sac": _OFF_POLICY,
    "td3": _OFF_POLICY,
}


def _training(algorithm: str, source: Source) -> Any:
    def training(make_env: Callable[..., Any], seed: int) -> None:
        path = source.script(f"{algorithm}_continuous_action").path
        run_script(
            path, {**memory_sizes.sized(SETTINGS[algorithm]), "seed": seed}, make_env=make_env
        )

    return training


def trainings(source: Source) -> Mapping[str, Any]:
    """The trainings of one copy of the scripts, by algorithm."""
    return {algorithm: _training(algorithm, source) for algorithm in SETTINGS}
