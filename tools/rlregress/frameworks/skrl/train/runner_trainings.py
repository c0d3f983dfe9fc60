"""Built-in trainings of skrl's ``Runner``: agents, models and trainer from one configuration.

The configurations are what users of Isaac Lab keep in YAML files. They have the names of skrl 1.4,
which 2.1 reads as well; where a release takes another name, it has to say so or do the same.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import Any

from skrl.utils.runner.torch import Runner

from rlregress.frameworks.skrl.agents import wrap_environments

_STEPS = 48


def _configure_model(
    mixin: str, output: str = "ACTIONS", inputs: str = "OBSERVATIONS", **options: Any
) -> dict[str, Any]:
    """Return the configuration of a network of two layers: its input and its output."""
    layers = {"name": "net", "input": inputs, "layers": [16, 8], "activations": ["elu", "tanh"]}
    return {"class": f"{mixin}Mixin", "network": [layers], "output": output, **options}


_GAUSSIAN = _configure_model("Gaussian", "tanh(ACTIONS)", clip_log_std=True, initial_log_std=-0.5)
_SQUASHED = _configure_model("Deterministic", "tanh(ACTIONS)", clip_actions=True)
_VALUE = _configure_model("Deterministic", "ONE")
_Q = _configure_model("Deterministic", "ONE", "concatenate([OBSERVATIONS, ACTIONS])")
_TWINS = {f"{start}critic_{number}": _Q for start in ("", "target_") for number in (1, 2)}
_ON_POLICY: dict[str, Any] = {
    "rollouts": 12,
    "learning_epochs": 2,
    "mini_batches": 2,
    "discount_factor": 0.98,
    "lambda": 0.9,
    "learning_rate": 0.01,
    "learning_rate_scheduler": "KLAdaptiveLR",
    "learning_rate_scheduler_kwargs": {"kl_threshold": 0.008},
    "state_preprocessor": "RunningStandardScaler",
    "state_preprocessor_kwargs": None,
    "value_preprocessor": "RunningStandardScaler",
    "value_preprocessor_kwargs": None,
    "entropy_loss_scale": 0.01,
    "clip_predicted_values": True,
    "value_clip": 0.2,
    "rewards_shaper_scale": 0.1,
    # of no effect on an agent that learns from rollouts, and in many files all the same
    "random_timesteps": 0,
    "learning_starts": 0,
}
#: what A2C is not configured with
_OF_PPO = ("learning_epochs", "clip_predicted_values", "value_clip")
_OFF_POLICY: dict[str, Any] = {
    "batch_size": 8,
    "polyak": 0.05,
    "random_timesteps": 6,
    "learning_starts": 10,
    "rewards_shaper_scale": 0.1,
}


def _configure_agent(
    algorithm: str,
    settings: Mapping[str, Any],
    models: Mapping[str, Any],
    is_shared: bool = False,
) -> dict[str, Any]:
    """Return the configuration of an agent; if shared, policy and value are one model."""
    quiet = {"directory": "", "write_interval": 0, "checkpoint_interval": 0}
    return {
        "seed": 0,
        # what is read of one is deleted there
        "models": {
            "separate": not is_shared,
            **{name: {**own} for name, own in models.items()},
        },
        "memory": {"class": "RandomMemory", "memory_size": -1 if "rollouts" in settings else 30},
        "agent": {"class": algorithm, **settings, "experiment": quiet},
        "trainer": {
            "class": "SequentialTrainer",
            "timesteps": _STEPS,
            "headless": True,
            "disable_progressbar": True,
            "close_environment_at_exit": False,
        },
    }


def _configure_noise(scale: float) -> dict[str, Any]:
    return {"mean": 0.0, "std": scale}


_CONFIGURATIONS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "runner_ppo": lambda: _configure_agent(
        "PPO", _ON_POLICY, {"policy": _GAUSSIAN, "value": _VALUE}, is_shared=True
    ),
    "runner_a2c": lambda: _configure_agent(
        "A2C",
        {name: own for name, own in _ON_POLICY.items() if name not in _OF_PPO},
        {"policy": {**_GAUSSIAN, "class": "MultivariateGaussianMixin"}, "value": _VALUE},
    ),
    "runner_sac": lambda: _configure_agent(
        "SAC", _OFF_POLICY, {"policy": {**_GAUSSIAN, "output": "ACTIONS"}, **_TWINS}
    ),
    "runner_td3": lambda: _configure_agent(
        "TD3",
        {
            **_OFF_POLICY,
            "smooth_regularization_noise": "GaussianNoise",
            "smooth_regularization_noise_kwargs": _configure_noise(0.2),
            "smooth_regularization_clip": 0.3,
        },
        {"policy": _SQUASHED, "target_policy": _SQUASHED, **_TWINS},
    ),
}


def _make_runner_training(make_configuration: Callable[[], dict[str, Any]]) -> Any:
    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        environment = wrap_environments([make_env(first=number) for number in range(2)], {})
        configured = {**make_configuration(), "seed": seed}
        # it prints the seed and its trainer
        with contextlib.redirect_stdout(io.StringIO()):
            runner = Runner(environment, configured)
            runner.run("train")
            runner.run("eval")

    return run_training


TRAININGS = {name: _make_runner_training(made) for name, made in _CONFIGURATIONS.items()}
