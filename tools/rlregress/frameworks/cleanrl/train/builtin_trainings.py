"""Built-in trainings for traces: the user's own scripts on settings that reach rare branches.

"<algorithm>" runs the script for continuous actions, "<algorithm> <scenario>" another script, or
the same one with flags that users set.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks.cleanrl.running import run_script
from rlregress.frameworks.cleanrl.script import ArgumentLost, Unreadable
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing import memory_sizes
from rlregress.probing.interface import TraceTraining, Unsupported

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


_LOOP = {"total_timesteps": 256, "num_steps": 32, "num_minibatches": 2, "num_envs": 2}
_BUFFER = {"total_timesteps": 120, "learning_starts": 20, "batch_size": 16, "buffer_size": 60}
#: neither rates nor values nor advantages are changed by what is on by default.
_OFF = {"norm_adv": False, "anneal_lr": False, "clip_vloss": False}
_DELAYED = {"tau": 0.2, "policy_frequency": 3, "exploration_noise": 0.8}

#: title -> script, flags of its command line, and the space of the actions.
SCENARIOS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "ppo clip-active": ("ppo_continuous_action", {
        **_LOOP, "update_epochs": 4, "learning_rate": 0.03, "max_grad_norm": 0.1, "clip_coef": 0.1,
        "clip_vloss": True,
    }, "box"),
    "ppo choices": ("ppo", {
        **_LOOP, **_OFF, "update_epochs": 4, "learning_rate": 0.01, "max_grad_norm": 0.1,
        # stops an update early
        "target_kl": 0.005,
    }, "discrete"),
    "ppo rates-that-stay": ("ppo_continuous_action", {
        **_LOOP, **_OFF, "update_epochs": 2, "ent_coef": 0.01, "vf_coef": 0.25,
    }, "box"),
    "sac without-autotune": ("sac_continuous_action", {
        **_BUFFER, "alpha": 0.3, "autotune": False, "policy_frequency": 3,
        "target_network_frequency": 2,
    }, "box"),
    "td3 one-environment": ("td3_continuous_action", {**_BUFFER, **_DELAYED}, "box"),
    "ddpg one-environment": ("ddpg_continuous_action", {**_BUFFER, **_DELAYED}, "box"),
    "dqn one-environment": ("dqn", {
        **_BUFFER, "exploration_fraction": 0.5, "tau": 0.5, "train_frequency": 4,
        "target_network_frequency": 10, "start_e": 0.9, "end_e": 0.1,
    }, "discrete"),
    "dqn distributional": ("c51", {
        **_BUFFER, "exploration_fraction": 0.5, "target_network_frequency": 4, "start_e": 0.9,
    }, "discrete"),
}  # fmt: skip


def _make_plain_training(algorithm: str, source: Source) -> TraceTraining:
    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        path = source.parse_script(f"{algorithm}_continuous_action").path
        run_script(
            path,
            {**memory_sizes.enlarge_memory_if_requested(SETTINGS[algorithm]), "seed": seed},
            make_env=make_env,
        )

    return run_training


def _make_training_with_flags(title: str, source: Source) -> TraceTraining:
    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        script, flags, actions = SCENARIOS[title]
        numbers = itertools.count()

        def make_numbered_environment() -> Any:
            return make_env(first=next(numbers), actions=actions)

        try:
            run_script(
                source.parse_script(script).path,
                {**flags, "seed": seed},
                make_env=make_numbered_environment,
            )
        except (ArgumentLost, Unreadable) as error:
            raise Unsupported(str(error)) from None

    return run_training


def list_builtin_trainings(source: Source) -> Mapping[str, TraceTraining]:
    """Return the trainings of a copy of the scripts, by title; none if written for gym."""
    if source.for_gym:
        return {}
    return {
        **{algorithm: _make_plain_training(algorithm, source) for algorithm in SETTINGS},
        **{title: _make_training_with_flags(title, source) for title in SCENARIOS},
    }
