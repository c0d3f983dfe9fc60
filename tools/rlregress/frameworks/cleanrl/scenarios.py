"""Scenarios on CleanRL: the user's own scripts with what a scenario sets on their command line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.cleanrl.running import run_script
from rlregress.frameworks.cleanrl.script import ArgumentLost, Unreadable
from rlregress.frameworks.cleanrl.script_sources import Source

_ON_POLICY: dict[str, Any] = {
    "steps": 256, "rollout_steps": 32, "minibatch_size": 24, "epochs": 2, "copies": 2,
}  # fmt: skip
_OFF_POLICY: dict[str, Any] = {
    "steps": 120, "learning_starts": 20, "minibatch_size": 16, "replay_size": 60, "copies": 1,
}  # fmt: skip
_DEFAULTS = {
    "ppo": _ON_POLICY,
    "sac": _OFF_POLICY,
    "td3": _OFF_POLICY,
    "ddpg": _OFF_POLICY,
    "dqn": {**_OFF_POLICY, "exploration_fraction": 0.5},
}
#: (algorithm, is discrete, is distributional) -> script.
_SCRIPTS: dict[tuple[str, bool, bool], str] = {
    ("ppo", False, False): "ppo_continuous_action",
    ("ppo", True, False): "ppo",
    ("sac", False, False): "sac_continuous_action",
    ("td3", False, False): "td3_continuous_action",
    ("ddpg", False, False): "ddpg_continuous_action",
    ("dqn", True, False): "dqn",
    ("dqn", True, True): "c51",
}
_SHARED = {"discount": "gamma", "steps": "total_timesteps", "copies": "num_envs"}
_OFF_POLICY_ARGUMENTS = {
    **_SHARED,
    "learning_rate": "learning_rate",
    "minibatch_size": "batch_size",
    "replay_size": "buffer_size",
    "learning_starts": "learning_starts",
    "polyak_coefficient": "tau",
    "exploration_noise": "exploration_noise",
}
_ARGUMENTS: dict[str, dict[str, str]] = {
    "ppo": {
        **_SHARED,
        "learning_rate": "learning_rate",
        "rollout_steps": "num_steps",
        "epochs": "update_epochs",
        "gae_lambda": "gae_lambda",
        "clip_range": "clip_coef",
        "normalize_advantage": "norm_adv",
        "clip_value": "clip_vloss",
        "schedules": "anneal_lr",
        "entropy_coefficient": "ent_coef",
        "value_coefficient": "vf_coef",
        "max_gradient_norm": "max_grad_norm",
        "target_kl": "target_kl",
    },
    "sac": {
        **_OFF_POLICY_ARGUMENTS,
        "policy_delay": "policy_frequency",
        "target_update_interval": "target_network_frequency",
    },
    "td3": {
        **_OFF_POLICY_ARGUMENTS,
        "policy_delay": "policy_frequency",
        "target_noise": "policy_noise",
        "target_noise_clip": "noise_clip",
    },
    "ddpg": {**_OFF_POLICY_ARGUMENTS, "policy_delay": "policy_frequency"},
    "dqn": {
        **_OFF_POLICY_ARGUMENTS,
        "target_update_interval": "target_network_frequency",
        "steps_per_collection": "train_frequency",
        "exploration_initial": "start_e",
        "exploration_final": "end_e",
        "exploration_fraction": "exploration_fraction",
    },
}


def trace(
    scenario: Mapping[str, Any], make_env: Callable[..., Any], seed: int, source: Source
) -> None:
    """Run the script of the algorithm with what the scenario sets."""
    if source.for_gym:
        raise Unsupported(f"CleanRL {source.label} is written for gym and is not trained")
    algorithm, environment = str(scenario["algorithm"]), dict(scenario.get("environment", {}))
    given = {**scenario.get("settings", {}), **scenario.get("features", {})}
    discrete = environment.get("actions", "box") == "discrete"
    name = _SCRIPTS.get((algorithm, discrete, bool(given.pop("distributional", False))))
    spaces = environment.get("observations", "box"), environment.get("actions", "box")
    if name is None or spaces[0] not in ("box", "float64") or spaces[1] not in ("box", "discrete"):
        raise Unsupported(f"no script of {algorithm.upper()} takes {spaces[1]} and {spaces[0]}")
    whole = {**_DEFAULTS[algorithm], **given}
    whole["copies"] = environment.pop("copies", whole["copies"])
    arguments = {**_arguments(algorithm, whole), "seed": seed}
    numbers = itertools.count()

    def made() -> Any:
        return make_env(**{"first": next(numbers), **environment})

    try:
        run_script(source.script(name).path, arguments, make_env=made)
    except (ArgumentLost, Unreadable) as error:
        raise Unsupported(str(error)) from None


def _arguments(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if algorithm == "ppo":
        batch = given["rollout_steps"] * given["copies"]
        made["num_minibatches"] = max(1, batch // given.pop("minibatch_size"))
        value = given.pop("value_clip_range", None)
        if value is not None and value != given.get("clip_range"):
            raise Unsupported("the scripts clip ratio and value in the same range")
        if value is not None:
            given["clip_value"] = True
    if algorithm == "sac":
        _set_temperature(given, made)
    if algorithm in ("sac", "dqn", "ddpg", "td3") and given.get("copies", 1) == 1:
        # not every version of the scripts has several
        del given["copies"]
    names = _ARGUMENTS[algorithm]
    left = sorted(set(given) - set(names))
    if left:
        raise Unsupported(f"the scripts of {algorithm.upper()} have no {', '.join(left)}")
    return {**made, **{names[name]: value for name, value in given.items()}}


def _set_temperature(given: dict[str, Any], made: dict[str, Any]) -> None:
    rate = given.pop("learning_rate", None)
    if rate is not None:
        made.update(policy_lr=rate, q_lr=rate)
    fixed = given.pop("fixed_temperature", None)
    if fixed is not None:
        made.update(alpha=fixed, autotune=False)
