"""The defaults of CleanRL's scripts: those of their command lines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.probing.interface import Unprobed

#: hyperparameter -> flag that sets it, by its name in HEAD.
_PPO = {
    "learning_rate": "learning_rate",
    "anneal_learning_rate": "anneal_lr",
    "rollout_steps": "num_steps",
    "minibatch_size": "num_minibatches",
    "epochs": "update_epochs",
    "discount": "gamma",
    "gae_lambda": "gae_lambda",
    "clip_range": "clip_coef",
    "value_clip_range": "clip_vloss",
    "normalize_advantage": "norm_adv",
    "entropy_coefficient": "ent_coef",
    "value_coefficient": "vf_coef",
    "max_gradient_norm": "max_grad_norm",
    "target_kl": "target_kl",
}
_OFF_POLICY = {
    "minibatch_size": "batch_size",
    "replay_size": "buffer_size",
    "learning_starts": "learning_starts",
    "polyak_coefficient": "tau",
    "discount": "gamma",
}
_FLAGS: Mapping[str, Mapping[str, str]] = {
    "ppo": _PPO,
    "sac": {
        **_OFF_POLICY,
        "learning_rate": "policy_lr",
        "critic_learning_rate": "q_lr",
        "temperature_learning_rate": "q_lr",
        "policy_delay": "policy_frequency",
        "target_update_interval": "target_network_frequency",
        "tune_temperature": "autotune",
        "fixed_temperature": "alpha",
    },
    "td3": {
        **_OFF_POLICY,
        "learning_rate": "learning_rate",
        "exploration_noise": "exploration_noise",
        "policy_delay": "policy_frequency",
        "target_noise": "policy_noise",
        "target_noise_clip": "noise_clip",
    },
    "ddpg": {
        **_OFF_POLICY,
        "learning_rate": "learning_rate",
        "exploration_noise": "exploration_noise",
        "policy_delay": "policy_frequency",
    },
    "dqn": {
        **_OFF_POLICY,
        "learning_rate": "learning_rate",
        "target_update_interval": "target_network_frequency",
        "steps_per_collection": "train_frequency",
        "exploration_initial": "start_e",
        "exploration_final": "end_e",
        "exploration_fraction": "exploration_fraction",
        "max_gradient_norm": "max_grad_norm",
    },
}
#: (algorithm, hyperparameter) that only some versions have a flag for: left out of the others.
_OF_SOME_VERSIONS = {("dqn", "polyak_coefficient"), ("dqn", "max_gradient_norm")}


def name_script(algorithm: str) -> str:
    """Return the name of an algorithm's script: the one for continuous actions, except for DQN."""
    return algorithm if algorithm == "dqn" else f"{algorithm}_continuous_action"


def _read_flags_of_script(source: Source, algorithm: str) -> Mapping[str, Any]:
    return source.parse_script(name_script(algorithm)).defaults


def map_hyperparameters_to_own_names(source: Source) -> dict[tuple[str, str], dict[str, str]]:
    """Return (algorithm, scope) -> hyperparameter -> flag of the script that sets it.

    Raises:
        Unprobed: the script has none of the flags that are known for a hyperparameter.
    """
    by_cell: dict[tuple[str, str], dict[str, str]] = {}
    for algorithm, flags in _FLAGS.items():
        script = source.parse_script(name_script(algorithm))
        own = by_cell[algorithm, "script"] = {}
        for name, flag in flags.items():
            spelled = script.spell_argument(flag)
            if spelled in script.defaults:
                own[name] = spelled
            elif (algorithm, name) not in _OF_SOME_VERSIONS:
                raise Unprobed(f"{name_script(algorithm)} has no flag {flag}", is_known=True)
    return by_cell


def read_defaults(source: Source) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (algorithm, scope) -> hyperparameter -> value.

    The scripts have a number of minibatches in place of a size, and a switch for value clipping,
    with the policy's clip range. SAC's ``alpha`` is the fixed temperature; no flag sets the initial
    value of a tuned one.
    """
    return {
        (algorithm, scope): _read_values_of_flags(
            algorithm, named, _read_flags_of_script(source, algorithm)
        )
        for (algorithm, scope), named in map_hyperparameters_to_own_names(source).items()
    }


def read_applied_hyperparameters(
    algorithm: str, hyperparameters: Mapping[str, Any], source: Source
) -> dict[str, Any]:
    """Return all hyperparameters of a script whose command line sets these."""
    # here, because a training asks this module for the names
    from rlregress.frameworks.cleanrl.train.training import make_arguments_of_hyperparameters

    flags = {
        **_read_flags_of_script(source, algorithm),
        **make_arguments_of_hyperparameters(algorithm, hyperparameters, source),
    }
    return _read_values_of_flags(
        algorithm, map_hyperparameters_to_own_names(source)[algorithm, "script"], flags
    )


def _read_values_of_flags(
    algorithm: str, flag_names: Mapping[str, str], flags: Mapping[str, Any]
) -> dict[str, Any]:
    read = {name: flags[flag] for name, flag in flag_names.items()}
    if algorithm == "ppo":
        collected = flags["num_envs"] * flags["num_steps"]
        read["minibatch_size"] = collected // read["minibatch_size"]
        read["value_clip_range"] = flags["clip_coef"] if read["value_clip_range"] else None
        clip = read["max_gradient_norm"]
        read["max_gradient_norm"] = None if clip == math.inf else clip
        # the older script has a threshold and a switch, which is off
        read["target_kl"] = flags["target_kl"] if flags.get("kle_stop", True) else None
    else:
        read["learning_starts"] = int(read["learning_starts"])
    return read
