"""Defaults of TorchRL's losses, modules and trainers, and their names in its programs.

The values of the programs stand in YAML files that the wheel does not ship: of the scope "script"
only the names can be read.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import torch
from torch import nn

from rlregress.frameworks.torchrl import programs
from rlregress.frameworks.torchrl.api import (
    GAE,
    MLP,
    AdditiveGaussianModule,
    ClipPPOLoss,
    Collector,
    DDPGLoss,
    DDPGTrainer,
    DQNLoss,
    DQNTrainer,
    EGreedyModule,
    HardUpdate,
    IndependentNormal,
    OneHot,
    PPOTrainer,
    QValueActor,
    SACLoss,
    TanhNormal,
    TD3Loss,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictModule,
    read_major_and_minor_version,
)
from rlregress.frameworks.torchrl.compat import (
    add_gaussian_noise,
    find_keyword_name,
    find_parameter,
    make_ppo_loss,
    make_sac_loss,
    make_td3_loss,
    read_renamed,
)
from rlregress.frameworks.torchrl.known_networks import (
    Constant,
    FixedLocScale,
    make_action_box,
    make_q_network,
    make_stochastic_policy,
    make_v_network,
)
from rlregress.frameworks.torchrl.quiet import silence_and_speed_up_torchrl
from rlregress.frameworks.torchrl.train.trainers import (
    check_and_select_hyperparameters,
    make_trainer_and_loss,
)
from rlregress.probing.interface import TrainingRequest, Unprobed, Unsupported
from rlregress.probing.isolation import isolate_random_generators
from rlregress.probing.layers import list_linear_layers

#: the first version that has every name below.
_WRITTEN_FOR = (0, 14)

#: hyperparameter -> attribute of the programs' configuration.
_OFF_POLICY = {
    "learning_rate": "optim.lr",
    "minibatch_size": "optim.batch_size",
    "replay_size": "replay_buffer.size",
    "learning_starts": "collector.init_random_frames",
    "polyak_coefficient": "optim.target_update_polyak",
    "discount": "optim.gamma",
    "steps_per_collection": "collector.frames_per_batch",
    "updates_per_collection": "optim.utd_ratio",
    "hidden_sizes": "network.hidden_sizes",
}
_PROGRAMS = {
    "ppo": {
        "learning_rate": "optim.lr",
        "anneal_learning_rate": "optim.anneal_lr",
        "rollout_steps": "collector.frames_per_batch",
        "minibatch_size": "loss.mini_batch_size",
        "epochs": "loss.ppo_epochs",
        "discount": "loss.gamma",
        "gae_lambda": "loss.gae_lambda",
        "clip_range": "loss.clip_epsilon",
        "entropy_coefficient": "loss.entropy_coeff",
        "value_coefficient": "loss.critic_coeff",
    },
    "sac": {
        **_OFF_POLICY,
        "critic_learning_rate": "optim.lr",
        "initial_temperature": "optim.alpha_init",
    },
    "td3": {
        **_OFF_POLICY,
        "policy_delay": "optim.policy_update_delay",
        "target_noise": "optim.policy_noise",
        "target_noise_clip": "optim.noise_clip",
    },
    "ddpg": _OFF_POLICY,
    "dqn": {
        "learning_rate": "optim.lr",
        "minibatch_size": "buffer.batch_size",
        "replay_size": "buffer.buffer_size",
        "learning_starts": "collector.init_random_frames",
        "discount": "loss.gamma",
        "target_update_interval": "loss.hard_update_freq",
        "steps_per_collection": "collector.frames_per_batch",
        "updates_per_collection": "loss.num_updates",
        "exploration_initial": "collector.eps_start",
        "exploration_final": "collector.eps_end",
        "exploration_steps": "collector.annealing_frames",
    },
}
#: of the files of an algorithm's programs: "ppo/ppo_mujoco.py", "ppo/utils_mujoco.py"
_SUFFIXES = {"ppo": "_mujoco", "dqn": "_cartpole"}

#: (algorithm, scope) -> hyperparameter -> (what is called, its keyword).
_KEYWORDS: Mapping[tuple[str, str], Mapping[str, tuple[Any, str]]] = {
    ("ppo", "library"): {
        "clip_range": (ClipPPOLoss, "clip_epsilon"),
        "value_clip_range": (ClipPPOLoss, "clip_value"),
        "normalize_advantage": (ClipPPOLoss, "normalize_advantage"),
        "entropy_coefficient": (ClipPPOLoss, "entropy_coeff"),
        "value_coefficient": (ClipPPOLoss, "critic_coeff"),
        "discount": (GAE, "gamma"),
        "gae_lambda": (GAE, "lmbda"),
        "hidden_sizes": (MLP, "num_cells"),
    },
    ("ppo", "trainer"): {
        "epochs": (PPOTrainer, "num_epochs"),
        "discount": (PPOTrainer, "gamma"),
        "gae_lambda": (PPOTrainer, "lmbda"),
        "max_gradient_norm": (PPOTrainer, "clip_norm"),
    },
    ("sac", "library"): {
        "learning_starts": (Collector, "init_random_frames"),
        "discount": (SACLoss.make_value_estimator, "hyperparams"),
        "initial_temperature": (SACLoss, "alpha_init"),
        "target_entropy": (SACLoss, "target_entropy"),
        "hidden_sizes": (MLP, "num_cells"),
    },
    ("td3", "library"): {
        "learning_starts": (Collector, "init_random_frames"),
        "discount": (TD3Loss.make_value_estimator, "hyperparams"),
        "exploration_noise": (AdditiveGaussianModule, "sigma_init"),
        "target_noise": (TD3Loss, "policy_noise"),
        "target_noise_clip": (TD3Loss, "noise_clip"),
        "hidden_sizes": (MLP, "num_cells"),
    },
    ("td3", "trainer"): {
        "policy_delay": (TD3OptimizationStepper, "policy_update_delay"),
        "epochs": (TD3Trainer, "num_epochs"),
    },
    ("ddpg", "library"): {
        "learning_starts": (Collector, "init_random_frames"),
        "discount": (DDPGLoss.make_value_estimator, "hyperparams"),
        "exploration_noise": (AdditiveGaussianModule, "sigma_init"),
        "hidden_sizes": (MLP, "num_cells"),
    },
    ("ddpg", "trainer"): {"max_gradient_norm": (DDPGTrainer, "clip_norm")},
    ("dqn", "library"): {
        "learning_starts": (Collector, "init_random_frames"),
        "discount": (DQNLoss.make_value_estimator, "hyperparams"),
        "target_update_interval": (HardUpdate, "value_network_update_interval"),
        "exploration_initial": (EGreedyModule, "eps_init"),
        "exploration_final": (EGreedyModule, "eps_end"),
        "exploration_steps": (EGreedyModule, "annealing_num_steps"),
        "hidden_sizes": (MLP, "num_cells"),
    },
    ("dqn", "trainer"): {"max_gradient_norm": (DQNTrainer, "clip_norm")},
}


@functools.cache
def _list_cfg_attributes_of_programs(algorithm: str) -> set[str]:
    """Return dotted names below ``cfg`` that the programs of an algorithm read."""
    attributes = set()
    for name in (algorithm, "utils"):
        file = f"{name}{_SUFFIXES.get(algorithm, '')}.py"
        path = programs.find_folder_of_programs() / algorithm / file
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)):
            if isinstance(node, ast.Attribute):
                root, _, dotted = ast.unparse(node).partition(".")
                if root == "cfg":
                    attributes.add(dotted)
    return attributes


def map_hyperparameters_to_own_names() -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> keyword, or attribute of a program's
    configuration.

    Raises:
        Unprobed: there is no such keyword, or no program reads such an attribute. Of versions older
            than those that the names were written for, these are left out.
    """
    by_cell: dict[tuple[str, str], dict[str, str]] = {}
    for cell, keywords in _KEYWORDS.items():
        by_cell[cell] = {}
        for name, (called, own) in keywords.items():
            with _ignore_unsupported_in_older_versions(
                f"no keyword '{own}' of what makes a {cell[0]}"
            ):
                own_name = find_keyword_name(called, own)
                by_cell[cell][name] = "gamma" if own == "hyperparams" else own_name
    for algorithm, attributes in _PROGRAMS.items():
        by_cell[algorithm, "script"] = {}
        for name, own in attributes.items():
            with _ignore_unsupported_in_older_versions(
                f"no program of {algorithm} reads cfg.{own}"
            ):
                by_cell[algorithm, "script"][name] = _find_spelling_of_cfg_attribute(algorithm, own)
    return {cell: named for cell, named in by_cell.items() if named}


def _find_spelling_of_cfg_attribute(algorithm: str, expected_attribute: str) -> str:
    read_by_programs = _list_cfg_attributes_of_programs(algorithm)
    for candidate in (expected_attribute, expected_attribute.replace("_coeff", "_coef")):
        if candidate in read_by_programs:
            return candidate
    raise Unsupported(f"no program of {algorithm} reads cfg.{expected_attribute}")


@contextlib.contextmanager
def _ignore_unsupported_in_older_versions(reason: str) -> Iterator[None]:
    try:
        yield
    except Unsupported as error:
        if read_major_and_minor_version("torchrl") >= _WRITTEN_FOR:
            raise Unprobed(reason, is_known=True) from error


def read_defaults() -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value, of objects made without arguments.

    What the installed version does not have is left out.
    """
    by_cell: dict[tuple[str, str], dict[str, Any]] = {}
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        for cell, keywords in _KEYWORDS.items():
            with contextlib.suppress(Unsupported):
                algorithm, scope = cell
                # a trainer takes a collector and a loss: what it is set to without more is its
                # signature
                agent = _make_default_agent(algorithm) if scope == "library" else _Agent()
                by_cell[cell] = _read_hyperparameters(agent, keywords)
    return {cell: values for cell, values in by_cell.items() if values}


class _Agent(NamedTuple):
    """What hyperparameters are read of: a loss, what explores, and the dimensions of actions."""

    loss: Any = None
    exploration: Any = None
    dimensions: int = 1


def _make_default_agent(algorithm: str) -> _Agent:
    """Return an agent of actions with two dimensions, or of two discrete ones."""
    if algorithm == "dqn":
        spec = OneHot(2)
        actor = QValueActor(nn.Linear(1, 2), in_keys=["observation"], spec=spec)
        agent = _Agent(DQNLoss(actor), EGreedyModule(spec))
    else:
        agent = _make_default_agent_of_continuous_actions(algorithm)
    agent.loss.make_value_estimator()
    return agent


def _make_default_agent_of_continuous_actions(algorithm: str) -> _Agent:
    bounds = make_action_box([-1.0] * 2, [1.0] * 2)
    numbers = FixedLocScale([0.0] * 2, [1.0] * 2)
    critics = [make_q_network(Constant(0.0)) for _ in range(2)]
    if algorithm == "ppo":
        actor = make_stochastic_policy(numbers, bounds, IndependentNormal)
        return _Agent(make_ppo_loss(actor, make_v_network(Constant(0.0))))
    if algorithm == "sac":
        loss = make_sac_loss(make_stochastic_policy(numbers, bounds, TanhNormal), critics)
        return _Agent(loss, None, 2)
    constant = Constant(0.0, 0.0)
    actor = TensorDictModule(constant, in_keys=["observation"], out_keys=["action"])
    _, noise = add_gaussian_noise(actor, bounds)
    if algorithm == "td3":
        return _Agent(make_td3_loss(actor, critics, action_spec=bounds), noise)
    return _Agent(DDPGLoss(actor, critics[0]), noise)


def _read_hidden_sizes() -> list[int]:
    return [layer.out_features for layer in list_linear_layers(MLP(3, 1))[:-1]]


def _read_target_entropy(agent: _Agent) -> Any:
    entropy = float(agent.loss.target_entropy)
    return "auto" if entropy == -agent.dimensions else entropy


#: hyperparameter -> how it is read of an agent that has no attribute of its keyword's name.
_READERS: Mapping[str, Callable[[_Agent], Any]] = {
    "discount": lambda agent: agent.loss.value_estimator.gamma,
    "initial_temperature": lambda agent: agent.loss.log_alpha.detach().exp(),
    "target_entropy": _read_target_entropy,
    "gae_lambda": lambda agent: read_renamed(agent.loss.value_estimator, "lmbda"),
    "exploration_noise": lambda agent: agent.exploration.sigma * agent.exploration.std,
    "target_update_interval": lambda agent: HardUpdate(agent.loss).value_network_update_interval,
    "hidden_sizes": lambda agent: _read_hidden_sizes(),
}


def _read_hyperparameters(agent: _Agent, keywords: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """Return the hyperparameters of an agent; of what it has no object, the signature's default."""
    values = {}
    for name, pair in keywords.items():
        with contextlib.suppress(Unsupported):
            value = _read_hyperparameter(agent, name, *pair)
            # what was stored as float32
            is_number = isinstance(value, (float, torch.Tensor))
            values[name] = float(f"{float(value):.6g}") if is_number else value
    return values


def _read_hyperparameter(agent: _Agent, name: str, called: Any, keyword: str) -> Any:
    if agent.loss is None:
        return find_parameter(called, keyword).default
    if name in _READERS:
        return _READERS[name](agent)
    for owner in (agent.loss, agent.exploration):
        if isinstance(owner, called):
            return read_renamed(owner, keyword)
    return find_parameter(called, keyword).default


# -- of trainers ----------------------------------------------------------------------------------


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the hyperparameters that a trainer made from a set really has.

    Raises:
        UserError: the trainers cannot be set to it.
    """
    settings = check_and_select_hyperparameters(algorithm, hyperparameters)
    request = TrainingRequest(
        algorithm, lambda: gymnasium.make("Pendulum-v1"), settings, total_steps=10**9, seed=0
    )
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        trainer, loss = make_trainer_and_loss(request, settings)
        used = _read_settings_of_trainer(algorithm, trainer, loss)
        trainer.collector.shutdown()
    return used


def _read_settings_of_trainer(algorithm: str, trainer: Any, loss: Any) -> dict[str, Any]:
    stepper: Any = getattr(trainer, "optimization_stepper", None)
    optimizer = stepper.optimizer_actor if algorithm == "td3" else trainer.optimizer
    (group, *_), collector = optimizer.param_groups, trainer.collector
    buffer = trainer.replay_buffer
    # of PPO the trainer's own estimator is the one that counts: the loss keeps its default
    own = {"hidden_sizes"} | ({"discount", "gae_lambda"} if algorithm == "ppo" else set())
    of_loss = {k: pair for k, pair in _KEYWORDS[algorithm, "library"].items() if k not in own}
    agent = _Agent(loss, getattr(trainer, "exploration_module", None))
    used = {
        **_read_hyperparameters(agent, of_loss),
        "learning_rate": group["lr"],
        "adam_epsilon": group["eps"],
        "minibatch_size": buffer.batch_size,
    }
    if algorithm == "ppo":
        return {
            **used,
            "rollout_steps": collector.frames_per_batch,
            "epochs": trainer.num_epochs,
            "value_loss": loss.loss_critic_type,
            "max_gradient_norm": trainer.clip_norm,
        }
    used.update(
        replay_size=buffer._storage.max_size,
        learning_starts=collector.init_random_frames,
        steps_per_collection=collector.frames_per_batch,
        updates_per_collection=trainer.optim_steps_per_batch,
        critic_loss=loss.loss_function,
    )
    return {**used, "policy_delay": stepper.policy_update_delay} if algorithm == "td3" else used
