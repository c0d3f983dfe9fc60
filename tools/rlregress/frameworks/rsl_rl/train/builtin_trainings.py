"""Built-in trainings for traces: RSL-RL's runners with their optional features.

Each trains two environments, saves, and trains what is loaded; at the end it plays some episodes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import GROUPS, Vectorised, make_runner
from rlregress.probing.interface import TraceTraining

_Options = Mapping[str, Any]

_STEPS, _ROLLOUTS = 24, 3
_PPO: _Options = {
    "class_name": "PPO",
    "num_learning_epochs": 2,
    # 48 rows in parts of 9: three are left over
    "num_mini_batches": 5,
    "schedule": "adaptive",
    "desired_kl": 0.01,
    "use_clipped_value_loss": True,
    "entropy_coef": 0.01,
}
#: of ``compat.Networks``, which are made where RSL-RL is: the names below are read without it
_SMALL: _Options = {"hidden": [16, 16], "normalised": True}


def _make_images_of_differences(observations: torch.Tensor) -> torch.Tensor:
    """Return images of the differences between the numbers, [environments, 1, n, n]."""
    return observations[:, None, :, None] - observations[:, None, None, :]


def _make_environment(make_env: Callable[..., Any], seed: int, networks: Any) -> Vectorised:
    """Return two environments that show the sets of observations that the networks get."""
    # before there were groups, other sets than that of the policy had names of their own
    groups = [name for name in networks.groups if name != compat.IMAGES]
    images = {compat.IMAGES: _make_images_of_differences}
    return Vectorised(
        make_env(),
        make_env(first=1),
        seed=seed,
        clips=True,
        groups=groups if compat.GROUPED else GROUPS,
        further=images if compat.IMAGES in networks.groups else {},
    )


def _train_runner(
    environment: Vectorised, algorithm: _Options, networks: Any, folder: str, path: str
) -> Any:
    """Train a new runner, or one that is loaded from a path that is not empty; return it."""
    # it logs to where it saves, by TensorBoard, which not every version requires
    logs = folder if importlib.util.find_spec("tensorboard") else ""
    runner = make_runner(environment, _STEPS, networks, logs, **algorithm)
    # no differences of the checkout that this may run in
    getattr(runner, "logger", runner).git_status_repos = []
    if path:
        runner.load(path)
    elif algorithm["class_name"] == "Distillation":
        compat.mark_teacher_loaded(runner.alg)
    learn = compat.train_without_saving if not logs else type(runner).learn
    learn(runner, _ROLLOUTS)
    return runner


def _complete_configuration(algorithm: _Options) -> dict[str, Any]:
    """Return a configuration with what only the library tells: titles are listed without it."""
    completed = dict(algorithm)
    if "symmetry_cfg" in algorithm:
        completed["symmetry_cfg"] = compat.make_symmetry(*algorithm["symmetry_cfg"])
    if "rnd_cfg" in algorithm:
        completed["rnd_cfg"] = compat.make_curiosity(**algorithm["rnd_cfg"])
    return completed


def _train_and_play(
    algorithm: _Options, sizes: _Options, make_env: Callable[..., Any], seed: int
) -> None:
    """Train in two environments, save, load and continue, then act.

    Args:
        algorithm: the configuration of the algorithm.
        sizes: fields of ``compat.Networks``.
    """
    algorithm, networks = _complete_configuration(algorithm), compat.Networks(**sizes)
    compat.raise_if_configuration_unsupported(algorithm, networks)
    torch.manual_seed(seed)
    environment = _make_environment(make_env, seed, networks)
    with TemporaryDirectory(prefix="rlregress-") as folder, compat.silence_runner_output():
        train = partial(_train_runner, environment, algorithm, networks, folder)
        path = str(Path(folder) / "agent.pt")
        train("").save(path)
        policy = train(path).get_inference_policy()
        for _ in range(_STEPS):
            with torch.no_grad():
                actions = policy(environment.observe())
            environment.step(actions)


def _make_training(algorithm: _Options = _PPO, **sizes: Any) -> TraceTraining:
    return partial(_train_and_play, algorithm, {**_SMALL, **sizes})


def _make_curious_training(**schedule: Any) -> TraceTraining:
    """Return a training with random network distillation, whose weight follows a schedule."""
    return _make_training({**_PPO, "rnd_cfg": {"weight": 0.5, "weight_schedule": schedule}})


_DISTILS = {"class_name": "Distillation", "num_learning_epochs": 2, "gradient_length": 5}
_DEVIATES = {"class_name": "HeteroscedasticGaussianDistribution"}
_SYMMETRIC = {**_PPO, "schedule": "fixed", "symmetry_cfg": (True, 0.5)}
#: how narrow the bounds of deviations are: they hold
_NARROW = [0.99, 1.01]

TRAININGS: Mapping[str, TraceTraining] = {
    "ppo": _make_training(),
    "recurrent_ppo": _make_training(
        {**_PPO, "num_mini_batches": 2}, hidden=[16], normalised=None, memory="gru"
    ),
    "gaussian_log": _make_training(
        law={"class_name": "GaussianDistribution", "std_type": "log", "std_range": _NARROW}
    ),
    "heteroscedastic_scalar": _make_training(
        law={**_DEVIATES, "std_type": "scalar", "std_range": _NARROW}
    ),
    # a lower bound of 0
    "heteroscedastic_log": _make_training(
        law={**_DEVIATES, "std_type": "log", "std_range": [0.0, 1.01]}
    ),
    "beta": _make_training(law={"class_name": "BetaDistribution"}),
    "other_groups": _make_training(groups=["numbers"]),
    "images": _make_training(normalised=None, groups=["camera"]),
    "images_beside_numbers": _make_training(
        {**_PPO, "share_cnn_encoders": True}, groups=["policy", "camera"]
    ),
    "symmetry": _make_training(_SYMMETRIC),
    # the loss of symmetry and an evaluation take the mean of actions alone
    "state_dependent": _make_training(_SYMMETRIC, law={**_DEVIATES, "std_type": "log"}),
    "curiosity": _make_curious_training(
        mode="linear", initial_step=2, final_step=50, final_value=0.1
    ),
    "curiosity_switched": _make_curious_training(mode="step", final_step=30, final_value=0.1),
    "distillation": _make_training(_DISTILS),
    "recurrent_distillation": _make_training(_DISTILS, normalised=None, memory="gru"),
    "recurrent_distillation_lstm": _make_training(_DISTILS, normalised=None, memory="lstm"),
}


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
