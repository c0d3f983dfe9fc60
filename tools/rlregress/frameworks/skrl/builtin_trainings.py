"""Built-in trainings for traces: agents on two environments side by side, and on one.

Each trains by skrl's trainer, through what its agent does only now and then, and is evaluated.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from skrl.resources.noises.torch import GaussianNoise, OrnsteinUhlenbeckNoise
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.utils import set_seed
from torch.optim.lr_scheduler import LinearLR

from rlregress.frameworks.framework_errors import raised_in
from rlregress.frameworks.skrl import compat
from rlregress.frameworks.skrl.agents import Layers, Training

_STEPS = 64
#: it tracks what it would write, and does not come to that
_NEVER_WRITES = 10**6
_SCHEDULE = {
    "learning_rate_scheduler": LinearLR,
    # at its end before the training is
    "learning_rate_scheduler_kwargs": {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 6},
}


def _scaled(name: str, size: Any) -> Dict[str, Any]:
    kwargs = {"size": size, "device": "cpu"}
    return {f"{name}_preprocessor": RunningStandardScaler, f"{name}_preprocessor_kwargs": kwargs}


def _on_policy(**settings: Any) -> Dict[str, Any]:
    # 32 rows in 3 minibatches: the last one is another than the others
    scaled = {**_scaled("observation", 3), **_scaled("value", 1)}
    return {"rows": 16, "rollouts": 16, "mini_batches": 3, **scaled, **_SCHEDULE, **settings}


def _off_policy(**settings: Any) -> Dict[str, Any]:
    # the memory is full after a third of the training
    return {
        "rows": 20,
        "batch_size": 12,
        "gradient_steps": 2,
        "polyak": 0.05,
        "random_timesteps": 6,
        "learning_starts": 12,
        **_scaled("observation", 3),
        **_SCHEDULE,
        **settings,
    }


def _noise(name: str, kind: Any, **arguments: float) -> Dict[str, Any]:
    return {name: kind, f"{name}_kwargs": {**arguments, "device": "cpu"}}


def _td3() -> Dict[str, Any]:
    explores = _noise("exploration_noise", GaussianNoise, mean=0.0, std=0.1)
    smooths = _noise("smooth_regularization_noise", GaussianNoise, mean=0.0, std=0.4)
    return _off_policy(**explores, **smooths, grad_norm_clip=0.5)


def _ddpg() -> Dict[str, Any]:
    noise = {"theta": 0.15, "sigma": 0.1, "base_scale": 1.0}
    return _off_policy(**_noise("exploration_noise", OrnsteinUhlenbeckNoise, **noise))


SETTINGS: Mapping[str, Callable[[], Dict[str, Any]]] = {
    "ppo": lambda: _on_policy(
        learning_epochs=2,
        value_clip=0.2,
        entropy_loss_scale=0.01,
        kl_threshold=0.5,
        time_limit_bootstrap=True,
    ),
    "a2c": lambda: _on_policy(entropy_loss_scale=0.01),
    "trpo": lambda: _on_policy(learning_epochs=2),
    "sac": lambda: _off_policy(grad_norm_clip=0.5),
    "td3": _td3,
    "ddpg": _ddpg,
    "dqn": lambda: _off_policy(
        update_interval=2,
        target_update_interval=3,
        exploration_scheduler=compat.epsilon(1.0, 0.1, 20),
    ),
}


def _trained(kind: str, made: Any, seed: int) -> Any:
    set_seed(seed)
    agent = Training(kind, *made, layers=Layers(sizes=(16, 16)), **SETTINGS[kind]())
    agent.action_space.seed(seed)
    trainer = agent.trainer(_STEPS)
    agent.agent.write_interval = _NEVER_WRITES
    trainer.train()
    return trainer


def _training(kind: str) -> Any:
    def training(make_env: Callable[..., Any], seed: int) -> None:
        discrete = kind == "dqn"
        _trained(kind, [make_env(discrete=discrete, first=n) for n in range(2)], seed)
        trainer = _trained(kind, [make_env(discrete=discrete)], seed)
        try:
            trainer.eval()
        except AttributeError as error:
            # the evaluation of some versions reads what actions of DQN do not have
            if kind != "dqn" or not raised_in(error, "skrl"):
                raise

    return training


TRAININGS = {kind: _training(kind) for kind in SETTINGS}
