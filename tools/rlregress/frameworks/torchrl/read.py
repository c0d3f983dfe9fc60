"""Defaults of TorchRL's losses, modules and trainers, and their names in its programs.

The values of the programs stand in YAML files that the wheel does not ship: of the scope "script"
only the names can be read.
"""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
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
    of_library: dict[str, Callable[[], dict[str, Any]]] = {
        "ppo": _read_ppo_defaults,
        "sac": _read_sac_defaults,
        "td3": lambda: _read_td3_or_ddpg_defaults("td3"),
        "ddpg": lambda: _read_td3_or_ddpg_defaults("ddpg"),
        "dqn": _read_dqn_defaults,
    }
    cells = {
        (algorithm, scope): of_library[algorithm]
        if scope == "library"
        else functools.partial(_read_defaults_of_trainer_signature, keywords)
        for (algorithm, scope), keywords in _KEYWORDS.items()
    }
    with isolate_random_generators(), silence_and_speed_up_torchrl():
        supported = _call_supported_readers(cells)
    return {cell: values for cell, values in supported.items() if values}


def _call_supported_readers(readers: Mapping[Any, Callable[[], Any]]) -> dict[Any, Any]:
    """Return the result of each reader that the installed version supports."""
    supported = {}
    for name, read_one in readers.items():
        with contextlib.suppress(Unsupported):
            supported[name] = read_one()
    return supported


def _read_defaults_of_trainer_signature(
    keywords: Mapping[str, tuple[Any, str]],
) -> dict[str, Any]:
    # a trainer takes a collector and a loss: what it is set to without more is its signature
    parameters = _call_supported_readers(
        {name: functools.partial(find_parameter, *pair) for name, pair in keywords.items()}
    )
    return {name: parameter.default for name, parameter in parameters.items()}


#: hyperparameter -> how it is read of a loss, by default and of a trainer that is set to it.
_OF_LOSSES: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "ppo": {
        "clip_range": lambda loss: _round_float32(loss.clip_epsilon),
        "value_clip_range": lambda loss: _round_float32(read_renamed(loss, "clip_value")),
        "normalize_advantage": lambda loss: loss.normalize_advantage,
        "entropy_coefficient": lambda loss: _round_float32(read_renamed(loss, "entropy_coeff")),
        "value_coefficient": lambda loss: _round_float32(read_renamed(loss, "critic_coeff")),
    },
    "sac": {"initial_temperature": lambda loss: _round_float32(loss.log_alpha.detach().exp())},
    "td3": {
        "target_noise": lambda loss: _round_float32(loss.policy_noise),
        "target_noise_clip": lambda loss: _round_float32(loss.noise_clip),
    },
    "ddpg": {},
    "dqn": {},
}


def _round_float32(value: Any) -> float | None:
    """Return the number that was stored as float32, rounded to six digits."""
    return None if value is None else float(f"{float(value):.6g}")


def _bind_readers_of_loss(algorithm: str, loss: Any) -> dict[str, Callable[[], Any]]:
    readers = _OF_LOSSES[algorithm]
    return {name: functools.partial(read, loss) for name, read in readers.items()}


def _read_target_entropy(loss: Any, action_dimensions: int) -> Any:
    entropy = float(loss.target_entropy)
    return "auto" if entropy == -action_dimensions else entropy


def _read_noise_std(noise: Any) -> Any:
    return _round_float32(noise.sigma * noise.std)


def _read_ppo_defaults() -> dict[str, Any]:
    actor = make_stochastic_policy(
        FixedLocScale([0.0], [1.0]), make_action_box(-1.0, 1.0), IndependentNormal
    )
    loss = make_ppo_loss(actor, make_v_network(Constant(0.0)))
    loss.make_value_estimator()
    estimator = loss.value_estimator
    return _call_supported_readers(
        {
            **_bind_readers_of_loss("ppo", loss),
            "discount": lambda: _round_float32(estimator.gamma),
            "gae_lambda": lambda: _round_float32(read_renamed(estimator, "lmbda")),
            "hidden_sizes": _read_hidden_sizes,
        }
    )


def _make_critics() -> Any:
    return [make_q_network(Constant(0.0)) for _ in range(2)]


def _read_off_policy_defaults(algorithm: str, loss: Any, **others: Any) -> dict[str, Any]:
    loss.make_value_estimator()
    return {
        "learning_starts": find_parameter(Collector, "init_random_frames").default,
        "discount": _round_float32(loss.value_estimator.gamma),
        "hidden_sizes": _read_hidden_sizes(),
        **{name: read() for name, read in _bind_readers_of_loss(algorithm, loss).items()},
        **others,
    }


def _read_sac_defaults() -> dict[str, Any]:
    dimensions = 2
    bounds = make_action_box([-1.0] * dimensions, [1.0] * dimensions)
    numbers = FixedLocScale([0.0] * dimensions, [1.0] * dimensions)
    loss = make_sac_loss(make_stochastic_policy(numbers, bounds, TanhNormal), _make_critics())
    return _read_off_policy_defaults(
        "sac", loss, target_entropy=_read_target_entropy(loss, dimensions)
    )


def _read_td3_or_ddpg_defaults(algorithm: str) -> dict[str, Any]:
    actor = TensorDictModule(Constant(0.0), in_keys=["observation"], out_keys=["action"])
    bounds = make_action_box(-1.0, 1.0)
    if algorithm == "td3":
        loss = make_td3_loss(actor, _make_critics(), action_spec=bounds)
    else:
        loss = DDPGLoss(actor, make_q_network(Constant(0.0)))
    _, noise = add_gaussian_noise(actor, bounds)
    return _read_off_policy_defaults(algorithm, loss, exploration_noise=_read_noise_std(noise))


def _read_dqn_defaults() -> dict[str, Any]:
    spec = OneHot(2)
    loss = DQNLoss(QValueActor(nn.Linear(1, 2), in_keys=["observation"], spec=spec))
    greedy = EGreedyModule(spec)
    return _read_off_policy_defaults(
        "dqn",
        loss,
        target_update_interval=HardUpdate(loss).value_network_update_interval,
        exploration_initial=_round_float32(greedy.eps_init),
        exploration_final=_round_float32(greedy.eps_end),
        exploration_steps=greedy.annealing_num_steps,
    )


def _read_hidden_sizes() -> list[int]:
    layers = [m for m in MLP(in_features=3, out_features=1).modules() if isinstance(m, nn.Linear)]
    return [layer.out_features for layer in layers[:-1]]


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
    used = {
        **{name: read() for name, read in _bind_readers_of_loss(algorithm, loss).items()},
        "learning_rate": group["lr"],
        "adam_epsilon": group["eps"],
        "minibatch_size": buffer.batch_size,
    }
    if algorithm == "ppo":
        # the trainer's own estimator is the one that counts: the loss keeps its default
        return {
            **used,
            "rollout_steps": collector.frames_per_batch,
            "epochs": trainer.num_epochs,
            "value_loss": loss.loss_critic_type,
            "max_gradient_norm": trainer.clip_norm,
        }
    used.update(
        discount=_round_float32(loss.value_estimator.gamma),
        replay_size=buffer._storage.max_size,
        learning_starts=collector.init_random_frames,
        steps_per_collection=collector.frames_per_batch,
        updates_per_collection=trainer.optim_steps_per_batch,
        critic_loss=loss.loss_function,
    )
    if algorithm == "sac":
        return {**used, "target_entropy": _read_target_entropy(loss, 1)}
    return {
        **used,
        "exploration_noise": _read_noise_std(trainer.exploration_module),
        "policy_delay": stepper.policy_update_delay,
    }
