"""What TorchRL is set to: losses, modules and trainers, and what its programs call it.

The values of the programs stand in YAML files that the wheel does not ship: of the scope "script"
only the names can be read.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Dict, List, Mapping, Set, Tuple

from torch import nn

from rlregress.frameworks.base import Unprobed
from rlregress.frameworks.torchrl.api import (
    GAE,
    MLP,
    AdditiveGaussianModule,
    ClipPPOLoss,
    Collector,
    IndependentNormal,
    PPOTrainer,
    SACLoss,
    TanhNormal,
    TD3Loss,
    TD3OptimizationStepper,
    TD3Trainer,
    TensorDictModule,
)
from rlregress.frameworks.torchrl.applied import applied, number
from rlregress.frameworks.torchrl.probes.networks import (
    Constant,
    Numbers,
    box,
    policy,
    q_network,
    v_network,
)
from rlregress.frameworks.torchrl.probes.quiet import quiet
from rlregress.frameworks.torchrl.probes.scripts import programs

__all__ = ["applied", "names", "values"]

#: hyperparameter -> attribute of the programs' configuration.
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
        "learning_rate": "optim.lr",
        "critic_learning_rate": "optim.lr",
        "minibatch_size": "optim.batch_size",
        "replay_size": "replay_buffer.size",
        "learning_starts": "collector.init_random_frames",
        "polyak_coefficient": "optim.target_update_polyak",
        "discount": "optim.gamma",
        "steps_per_collection": "collector.frames_per_batch",
        "updates_per_collection": "optim.utd_ratio",
        "initial_temperature": "optim.alpha_init",
        "hidden_sizes": "network.hidden_sizes",
    },
    "td3": {
        "learning_rate": "optim.lr",
        "minibatch_size": "optim.batch_size",
        "replay_size": "replay_buffer.size",
        "learning_starts": "collector.init_random_frames",
        "polyak_coefficient": "optim.target_update_polyak",
        "discount": "optim.gamma",
        "steps_per_collection": "collector.frames_per_batch",
        "updates_per_collection": "optim.utd_ratio",
        "policy_delay": "optim.policy_update_delay",
        "target_noise": "optim.policy_noise",
        "target_noise_clip": "optim.noise_clip",
        "hidden_sizes": "network.hidden_sizes",
    },
}
_FILES = {
    "ppo": ("ppo/ppo_mujoco.py", "ppo/utils_mujoco.py"),
    "sac": ("sac/sac.py", "sac/utils.py"),
    "td3": ("td3/td3.py", "td3/utils.py"),
}

#: (algorithm, scope) -> hyperparameter -> (what is called, its keyword).
_KEYWORDS: Mapping[Tuple[str, str], Mapping[str, Tuple[Any, str]]] = {
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
}


def _keyword(called: Any, name: str) -> inspect.Parameter:
    # of a class its constructor: what a metaclass makes of the class differs between Pythons
    made = called.__init__ if inspect.isclass(called) else called
    try:
        return inspect.signature(made).parameters[name]
    except KeyError:
        raise Unprobed(f"{called.__qualname__} has no keyword '{name}'", known=True) from None


def _attributes(algorithm: str) -> Set[str]:
    """Dotted names below ``cfg`` that the programs of an algorithm read."""
    found = set()
    for name in _FILES[algorithm]:
        for node in ast.walk(ast.parse((programs() / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                root, _, dotted = ast.unparse(node).partition(".")
                if root == "cfg":
                    found.add(dotted)
    return found


def names() -> Dict[Tuple[str, str], Dict[str, str]]:
    """(algorithm, scope) -> hyperparameter -> keyword, or attribute of a program's configuration.

    Raises:
        Unprobed: there is no such keyword, or no program reads such an attribute.
    """
    found: Dict[Tuple[str, str], Dict[str, str]] = {}
    for cell, keywords in _KEYWORDS.items():
        found[cell] = {}
        for name, (called, own) in keywords.items():
            _keyword(called, own)
            found[cell][name] = "gamma" if own == "hyperparams" else own
    for algorithm, attributes in _PROGRAMS.items():
        read = _attributes(algorithm)
        for own in attributes.values():
            if own not in read:
                raise Unprobed(f"no program of {algorithm} reads cfg.{own}", known=True)
        found[algorithm, "script"] = dict(attributes)
    return found


def values() -> Dict[Tuple[str, str], Dict[str, Any]]:
    """(algorithm, scope) -> hyperparameter -> value, of objects made without arguments."""
    with quiet():
        return {
            ("ppo", "library"): _ppo(),
            ("ppo", "trainer"): _signature("ppo"),
            ("sac", "library"): _sac(),
            ("td3", "library"): _td3(),
            ("td3", "trainer"): _signature("td3"),
        }


def _signature(algorithm: str) -> Dict[str, Any]:
    # a trainer takes a collector and a loss: what it is set to without more is its signature
    keywords = _KEYWORDS[algorithm, "trainer"]
    return {name: _keyword(*called).default for name, called in keywords.items()}


def _ppo() -> Dict[str, Any]:
    actor = policy(Numbers([0.0], [1.0]), box(-1.0, 1.0), IndependentNormal)
    loss = ClipPPOLoss(actor, v_network(Constant(0.0)))
    clip_value = loss.clip_value
    loss.make_value_estimator()
    return {
        "clip_range": number(loss.clip_epsilon),
        "value_clip_range": None if clip_value is None else number(clip_value),
        "normalize_advantage": loss.normalize_advantage,
        "entropy_coefficient": number(loss.entropy_coeff),
        "value_coefficient": number(loss.critic_coeff),
        "discount": number(loss.value_estimator.gamma),
        "gae_lambda": number(loss.value_estimator.lmbda),
        "hidden_sizes": _hidden_sizes(),
    }


def _critics() -> Any:
    return [q_network(Constant(0.0)) for _ in range(2)]


def _sac() -> Dict[str, Any]:
    dimensions = 2
    actor = policy(Numbers([0.0] * 2, [1.0] * 2), box([-1.0] * 2, [1.0] * 2), TanhNormal)
    loss = SACLoss(actor, _critics())
    loss.make_value_estimator()
    automatic = float(loss.target_entropy) == -dimensions
    return {
        "learning_starts": _keyword(Collector, "init_random_frames").default,
        "discount": number(loss.value_estimator.gamma),
        "initial_temperature": number(loss.log_alpha.exp()),
        "target_entropy": "auto" if automatic else float(loss.target_entropy),
        "hidden_sizes": _hidden_sizes(),
    }


def _td3() -> Dict[str, Any]:
    actor = TensorDictModule(Constant(0.0), in_keys=["observation"], out_keys=["action"])
    loss = TD3Loss(actor, _critics(), action_spec=box(-1.0, 1.0))
    loss.make_value_estimator()
    noise = AdditiveGaussianModule(spec=box(-1.0, 1.0))
    return {
        "learning_starts": _keyword(Collector, "init_random_frames").default,
        "discount": number(loss.value_estimator.gamma),
        "exploration_noise": number(noise.sigma * noise.std),
        "target_noise": number(loss.policy_noise),
        "target_noise_clip": number(loss.noise_clip),
        "hidden_sizes": _hidden_sizes(),
    }


def _hidden_sizes() -> List[int]:
    layers = [m for m in MLP(in_features=3, out_features=1).modules() if isinstance(m, nn.Linear)]
    return [layer.out_features for layer in layers[:-1]]
