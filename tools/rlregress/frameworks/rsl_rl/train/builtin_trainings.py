"""Built-in trainings for traces: RSL-RL's runners with their optional features.

Each trains two environments, saves, and trains what is loaded; at the end it plays some episodes.
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from rlregress.frameworks.rsl_rl import compat
from rlregress.frameworks.rsl_rl.environments import GROUPS, Vectorised
from rlregress.probing.interface import TraceTraining

_STEPS, _ROLLOUTS = 24, 3
_PPO: dict[str, Any] = {
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
_SMALL: dict[str, Any] = {"hidden": [16, 16], "normalised": True}


def _make_images_of_differences(observations: torch.Tensor) -> torch.Tensor:
    """Return images of the differences between the numbers, [environments, 1, n, n]."""
    return observations[:, None, :, None] - observations[:, None, None, :]


#: set of observations -> how it is made of the numbers of an environment, where it is not these
_SHOWN: Mapping[str, Any] = {compat.IMAGES: _make_images_of_differences}


def _make_training(
    algorithm: Mapping[str, Any], sizes: Mapping[str, Any] = _SMALL
) -> TraceTraining:
    """Return a training in two environments that saves, loads and continues, then acts.

    Args:
        algorithm: the configuration of the algorithm.
        sizes: fields of ``compat.Networks``.
    """

    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        networks = compat.Networks(**sizes)
        compat.raise_if_configuration_unsupported(algorithm, networks)
        torch.manual_seed(seed)
        groups = {name: _SHOWN.get(name) for name in networks.groups}
        environment = Vectorised(
            make_env(),
            make_env(first=1),
            seed=seed,
            clips=True,
            # before there were groups, other sets than that of the policy had names of their own
            groups=[name for name in groups if not groups[name]] if compat.GROUPED else GROUPS,
            further={name: make_group for name, make_group in groups.items() if make_group},
        )
        with TemporaryDirectory(prefix="rlregress-") as folder, compat.silence_runner_output():
            # it logs to where it saves, by TensorBoard, which not every version requires
            logs = folder if importlib.util.find_spec("tensorboard") else None

            def make_and_train_runner(saved_path: str = "") -> Any:
                settings = copy.deepcopy(dict(algorithm))
                configuration = compat.make_configuration_of_runner(_STEPS, settings, networks)
                runner_class = compat.find_runner_class(configuration)
                runner = runner_class(environment, configuration, logs)
                # no differences of the checkout that this may run in
                getattr(runner, "logger", runner).git_status_repos = []
                if saved_path:
                    runner.load(saved_path)
                elif algorithm["class_name"] == "Distillation":
                    compat.mark_teacher_loaded(runner.alg)
                learn = compat.train_without_saving if logs is None else type(runner).learn
                learn(runner, _ROLLOUTS)
                return runner

            path = str(Path(folder) / "agent.pt")
            make_and_train_runner().save(path)
            policy = make_and_train_runner(path).get_inference_policy()
            for _ in range(_STEPS):
                with torch.no_grad():
                    actions = policy(
                        compat.arrange_returned_observations(
                            environment.group_observations(), is_step=True
                        )
                    )
                environment.step(actions)

    return run_training


def _make_training_with_distribution(
    name: str, algorithm: Mapping[str, Any] = _PPO, **law: Any
) -> TraceTraining:
    return _make_training(algorithm, {**_SMALL, "law": {"class_name": name, **law}})


def _make_distillation_training(**sizes: Any) -> TraceTraining:
    algorithm = {"class_name": "Distillation", "num_learning_epochs": 2, "gradient_length": 5}
    return _make_training(algorithm, {**_SMALL, **sizes})


def _make_curious_training(**schedule: Any) -> TraceTraining:
    """Return a training with random network distillation, whose weight follows a schedule."""
    settings = {
        "weight": 0.5,
        "weight_schedule": schedule,
        "num_outputs": 2,
        **compat.SMALL_CURIOSITY,
        **compat.NORMALISED_CURIOSITY,
    }
    return _make_training({**_PPO, "rnd_cfg": settings})


_DEVIATES = "HeteroscedasticGaussianDistribution"
_SYMMETRIC = {
    **_PPO,
    "schedule": "fixed",
    "symmetry_cfg": {
        "data_augmentation_func": compat.mirror_observations_and_actions,
        "use_data_augmentation": True,
        "use_mirror_loss": True,
        "mirror_loss_coeff": 0.5,
    },
}


TRAININGS: Mapping[str, TraceTraining] = {
    "ppo": _make_training(_PPO),
    "recurrent_ppo": _make_training(
        {**_PPO, "num_mini_batches": 2}, {"hidden": [16], "memory": "gru"}
    ),
    # so narrow that the bounds of deviations hold, and once with a lower one of 0
    "gaussian_log": _make_training_with_distribution(
        "GaussianDistribution", std_type="log", std_range=[0.99, 1.01]
    ),
    "heteroscedastic_scalar": _make_training_with_distribution(
        _DEVIATES, std_type="scalar", std_range=[0.99, 1.01]
    ),
    "heteroscedastic_log": _make_training_with_distribution(
        _DEVIATES, std_type="log", std_range=[0.0, 1.01]
    ),
    "beta": _make_training_with_distribution("BetaDistribution"),
    "other_groups": _make_training(_PPO, {**_SMALL, "groups": ["numbers"]}),
    "images": _make_training(_PPO, {"hidden": [16, 16], "groups": ["camera"]}),
    "images_beside_numbers": _make_training(
        {**_PPO, "share_cnn_encoders": True}, {**_SMALL, "groups": ["policy", "camera"]}
    ),
    "symmetry": _make_training(_SYMMETRIC),
    # the loss of symmetry and an evaluation take the mean of actions alone
    "state_dependent": _make_training_with_distribution(_DEVIATES, _SYMMETRIC, std_type="log"),
    "curiosity": _make_curious_training(
        mode="linear", initial_step=2, final_step=50, final_value=0.1
    ),
    "curiosity_switched": _make_curious_training(mode="step", final_step=30, final_value=0.1),
    "distillation": _make_distillation_training(),
    "recurrent_distillation": _make_distillation_training(normalised=None, memory="gru"),
    "recurrent_distillation_lstm": _make_distillation_training(normalised=None, memory="lstm"),
}


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
