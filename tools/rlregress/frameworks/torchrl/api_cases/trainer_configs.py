"""Configuration classes of the trainers: their defaults, and what their makers make of options."""

from __future__ import annotations

import dataclasses
import importlib
from functools import partial
from typing import Any, Callable, Dict

import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.torchrl.api import (
    GymWrapper,
    LazyTensorStorage,
    SoftUpdate,
    TensorDictReplayBuffer,
    ValueOperator,
)
from rlregress.frameworks.torchrl.api_cases import refused
from rlregress.frameworks.torchrl.api_cases.collectors import small_collector
from rlregress.frameworks.torchrl.compat import action_spec
from rlregress.frameworks.torchrl.training import Space


def _module(name: str) -> Any:
    """A module of configuration classes.

    Raises:
        Unsupported: the version has none, or what they are made with is not installed.
    """
    try:
        return importlib.import_module(f"torchrl.trainers.algorithms.configs.{name}")
    except ImportError as error:
        raise Unsupported(f"no configuration classes: {error}") from None


def _described(module: str, fields: Dict[str, str]) -> Dict[str, Any]:
    """What fields of configuration classes are by default, in words; new fields are not told."""
    defaults: Dict[str, Any] = {}
    for name, own in fields.items():
        owner = getattr(_module(module), name, None)
        if owner is None:
            raise Unsupported(f"this version has no {name}")
        returned = {field.name: repr(field.default) for field in dataclasses.fields(owner)}
        defaults.update({f"{name}.{field}": returned.get(field, "absent") for field in own.split()})
    return defaults


def _defaults_on_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """Defaults of the loss of PPO and of the estimator."""
    ppo = "critic_coeff entropy_coeff entropy_bonus loss_critic_type normalize_advantage gamma"
    return _described("objectives", {"PPOLossConfig": ppo, "GAEConfig": "gamma lmbda average_gae"})


def _defaults_of_collectors(make_env: Any, seed: int) -> Dict[str, Any]:
    """Defaults of the collectors in one and in several processes."""
    own = "extend_buffer trust_policy init_random_frames reset_at_each_iter set_truncated"
    return _described("collectors", {"CollectorConfig": own, "MultiSyncCollectorConfig": own})


def _networks(make_env: Any, seed: int, kind: str) -> Dict[str, Any]:
    """Actor and critic of a loss, made of the modules of the library."""
    from tensordict.nn import NormalParamExtractor, TensorDictModule
    from torchrl.modules import MLP, OneHotCategorical, ProbabilisticActor, TanhNormal

    torch.manual_seed(seed)
    environment = GymWrapper(make_env(discrete=kind == "choices"), device="cpu")
    space = Space(environment) if kind != "choices" else None
    spec = action_spec(environment)
    if kind == "choices":
        logits = TensorDictModule(MLP(3, 3, num_cells=[8]), ["observation"], ["logits"])
        actor = ProbabilisticActor(
            logits,
            in_keys=["logits"],
            spec=spec,
            distribution_class=OneHotCategorical,
            return_log_prob=True,
        )
    elif kind == "deterministic":
        actor = TensorDictModule(MLP(3, 2, num_cells=[8]), ["observation"], ["action"])
    else:
        network = torch.nn.Sequential(MLP(3, 4, num_cells=[8]), NormalParamExtractor())
        actor = ProbabilisticActor(
            TensorDictModule(network, ["observation"], ["loc", "scale"]),
            in_keys=["loc", "scale"],
            spec=spec,
            distribution_class=TanhNormal,
            distribution_kwargs=space.bounds if space else {},
            return_log_prob=True,
        )
    values = MLP(3, 3, num_cells=[8]) if kind == "choices" else MLP(5, 1, num_cells=[8])
    critic: Any = (
        TensorDictModule(values, ["observation"], ["action_value"])
        if kind == "choices"
        else ValueOperator(values, in_keys=["observation", "action"])
    )
    state = ValueOperator(MLP(3, 1, num_cells=[8]), in_keys=["observation"])
    return {"actor": actor, "critic": critic, "state": state, "spec": spec}


def _loss(configuration: str, maker: str, **given: Any) -> Any:
    """A loss that the maker of a configuration class makes of its fields."""
    module = _module("objectives")
    if not hasattr(module, configuration):
        raise Unsupported(f"this version has no {configuration}")
    made = getattr(module, configuration)(**given)
    fields = {
        field.name: getattr(made, field.name)
        for field in dataclasses.fields(made)
        if not field.name.startswith("_")
    }
    return getattr(module, maker)(**fields)


def _described_loss(loss: Any) -> str:
    """Kind of a loss and discount of its estimator."""
    estimator = getattr(loss, "_value_estimator", None)
    gamma = getattr(estimator, "gamma", None)
    return f"{type(loss).__name__} {None if gamma is None else round(float(gamma), 6)}"


def _discount(make_env: Any, seed: int, algorithm: str) -> Dict[str, Any]:
    """A loss made of its configuration with a discount, and without."""
    kind = {"ppo": "normal", "sac": "normal", "td3": "deterministic", "ddpg": "deterministic"}
    networks = _networks(make_env, seed, kind.get(algorithm, "choices"))
    names: Dict[str, Dict[str, Any]] = {
        "ppo": {"actor_network": networks["actor"], "critic_network": networks["state"]},
        "sac": {"actor_network": networks["actor"], "qvalue_network": networks["critic"]},
        "td3": {
            "actor_network": networks["actor"],
            "qvalue_network": networks["critic"],
            "action_spec": networks["spec"],
        },
        "ddpg": {"actor_network": networks["actor"], "value_network": networks["critic"]},
    }
    title = algorithm.upper()
    make = partial(_loss, f"{title}LossConfig", f"_make_{algorithm}_loss", **names[algorithm])
    _module("objectives")
    calls: Dict[str, Callable[[], Any]] = {
        "with": lambda: _described_loss(make(gamma=0.8)),
        "without": lambda: _described_loss(make()),
    }
    return {label: refused(call) for label, call in calls.items()}


def _discount_ppo(make_env: Any, seed: int) -> Dict[str, Any]:
    """PPO's loss made of its configuration."""
    return _discount(make_env, seed, "ppo")


def _discount_off_policy(make_env: Any, seed: int) -> Dict[str, Any]:
    """The losses of SAC, TD3 and DDPG made of their configurations."""
    return {
        f"{algorithm}.{label}": output
        for algorithm in ("sac", "td3", "ddpg")
        for label, output in _discount(make_env, seed, algorithm).items()
    }


def _kinds_of_sac(make_env: Any, seed: int) -> Dict[str, Any]:
    """SAC's loss of continuous actions and of choices, each with all fields of the class."""
    _module("objectives")

    def made(kind: str, **given: Any) -> str:
        networks = _networks(make_env, seed, kind)
        return _described_loss(
            _loss(
                "SACLossConfig",
                "_make_sac_loss",
                actor_network=networks["actor"],
                qvalue_network=networks["critic"],
                **given,
            )
        )

    return {
        "continuous": refused(partial(made, "normal")),
        "choices": refused(
            partial(made, "choices", discrete=True, num_actions=3, action_space="one-hot")
        ),
    }


def _bounds_of_td3(make_env: Any, seed: int) -> Dict[str, Any]:
    """TD3's trainer made of its configuration, with bounds, a specification, or neither."""
    trainers, objectives = _module("trainers"), _module("objectives")
    if not hasattr(trainers, "_make_td3_trainer"):
        raise Unsupported("this version has no configuration of TD3's trainer")

    def made(**given: Any) -> Any:
        networks = _networks(make_env, seed, "deterministic")
        specified = {"action_spec": networks["spec"]} if given.pop("specified", False) else {}
        trainer = trainers._make_td3_trainer(
            collector=small_collector(make_env, seed),
            total_frames=48,
            optim_steps_per_batch=1,
            loss_module=partial(objectives._make_td3_loss, **specified, **given),
            optimizer=partial(torch.optim.Adam, lr=0.01),
            logger=None,
            clip_norm=None,
            progress_bar=False,
            replay_buffer=TensorDictReplayBuffer(storage=LazyTensorStorage(40), batch_size=4),
            save_trainer_file=None,
            seed=seed,
            actor_network=networks["actor"],
            qvalue_network=networks["critic"],
            create_env_fn=None,
            target_net_updater=partial(SoftUpdate, tau=0.05),
            enable_logging=False,
        )
        loss = trainer.loss_module
        return torch.cat([loss.min_action.flatten(), loss.max_action.flatten()])

    return {
        "neither": refused(made),
        "bounds": refused(partial(made, bounds=(-0.5, 0.5))),
        "specification": refused(partial(made, specified=True)),
    }


API_CASES = {
    "configured-defaults": _defaults_on_policy,
    "configured-collectors": _defaults_of_collectors,
    "configured-ppo": _discount_ppo,
    "configured-losses": _discount_off_policy,
    "configured-sac": _kinds_of_sac,
    "configured-td3": _bounds_of_td3,
}
