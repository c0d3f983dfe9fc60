"""Scenarios on Stable-Baselines3: its own classes with what a scenario switches on.

Whether a version has an option is asked of the signature that would take it, so that one that
lacks it says so and everything else is traced.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import tempfile
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import VecEnv

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.framework_errors import ExpectedError
from rlregress.frameworks.sb3 import compat, generated_cases, training, user_code
from rlregress.frameworks.sb3.post_training import PostTraining
from rlregress.frameworks.sb3.scenario_request import (
    ON_POLICY,
    ScenarioOptions,
    algorithm_named,
    by_library,
    library,
    made,
    missing_device,
)
from rlregress.frameworks.sb3.wrappers import Wrappers

_STEPS = 160
_OFF_POLICY_ARGUMENTS = {
    **training.ARGUMENTS["sac"],
    **training.ARGUMENTS["td3"],
    **training.ARGUMENTS["dqn"],
    "n_step": "n_steps",
}
_POLICY_ARGUMENTS = {
    "hidden_sizes": "net_arch",
    "critics": "n_critics",
    "log_std_init": "log_std_init",
    "gsde_full_std": "full_std",
    "gsde_expln": "use_expln",
    "gsde_clip_mean": "clip_mean",
    "squash": "squash_output",
    "shared_features": "share_features_extractor",
    "orthogonal": "ortho_init",
    "normalize_images": "normalize_images",
    "gsde_hidden_sizes": "sde_net_arch",
}
_EXTRACTORS = {
    "batch_norm": user_code.batch_norm,
    "dropout": user_code.dropout,
    "without_bias": user_code.without_bias,
}
_SWITCHES = {
    "gsde": "use_sde",
    "gsde_sample_freq": "sde_sample_freq",
    "gsde_at_warmup": "use_sde_at_warmup",
    "optimize_memory": "optimize_memory_usage",
}


def trace(
    scenario: Mapping[str, Any], make_env: Callable[..., Any], seed: int
) -> Mapping[str, Any]:
    """Train, and save, load, evaluate and train again; or make generated calls."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        # about what a scenario does on purpose
        warnings.simplefilter("ignore")
        options = ScenarioOptions(scenario)
        calls = options.take("calls")
        if calls is not None:
            part = options.algorithm if calls == "agents" else calls
            return generated_cases.use(part, seed)
        instead = options.take("or_plain", False)
        try:
            _train(options, make_env, seed, folder)
        except Unsupported:
            raise
        except Exception as error:
            if not (instead and by_library(error)):
                raise
            expected = ExpectedError(error)
            _train(_plain(options.algorithm), make_env, seed, folder)
            return {"refused": expected}
        return {}


def _plain(algorithm: str) -> ScenarioOptions:
    """What follows where the library refuses what a scenario is about."""
    choices = {"environment": {"actions": "discrete"}} if algorithm == "dqn" else {}
    return ScenarioOptions({"algorithm": algorithm, **choices})


def _train(options: ScenarioOptions, make_env: Callable[..., Any], seed: int, folder: str) -> None:
    algorithm = algorithm_named(options.algorithm)
    wrappers = Wrappers(options, make_env)
    afterwards = PostTraining(options, wrappers, folder)
    unseeded = options.take("unseeded", False)
    device = missing_device() if options.take("missing_device") else "cpu"
    steps = int(options.take("steps", _STEPS))
    policy: Any = wrappers.policy
    if options.take("policy_as_class"):
        policy = _policy_class(algorithm, policy)
    arguments = _arguments(options, algorithm, wrappers)
    options.nothing_left()
    if unseeded:
        set_random_seed(seed)
    environment = wrappers.wrapped_environment()
    if unseeded:
        environment.seed(None)
    if not unseeded:
        arguments["seed"] = seed
    model = made(algorithm, policy, environment, device, **arguments)
    model.learn(steps, callback=afterwards.callbacks())
    afterwards.all(model, steps)
    if isinstance(environment, VecEnv):
        environment.close()


# -- arguments --------------------------------------------------------------------------------


def _arguments(options: ScenarioOptions, algorithm: Any, wrappers: Wrappers) -> dict[str, Any]:
    policy = wrappers.policy
    on_policy = options.algorithm in ON_POLICY
    arguments: dict[str, Any] = {"policy_kwargs": _policy_arguments(options, algorithm, policy)}
    for name, argument in _SWITCHES.items():
        if name in options.features:
            arguments[argument] = options.take(name)
    if options.algorithm == "sac":
        arguments["ent_coef"] = _temperature(options)
    if not on_policy:
        _set_collection(options, algorithm, arguments)
        _set_replay(options, arguments)
        _set_noise(options, arguments, wrappers.spaces.action_space)
    if "optimizer" in options.features and options.algorithm == "a2c":
        arguments["use_rms_prop"] = options.take("optimizer") == "rmsprop"
    if options.take("own_rows"):
        kind = "rollout" if on_policy else "replay"
        joined = "Dict" if policy == "MultiInputPolicy" else ""
        arguments[f"{kind}_buffer_class"] = user_code.rows(f"{joined}{kind.title()}Buffer")
    names = training.ARGUMENTS["ppo"] if on_policy else _OFF_POLICY_ARGUMENTS
    for name in [name for name in options.settings if name in names]:
        arguments[names[name]] = options.take(name)
    numpy_numbers = options.take("numpy_numbers", [])
    if options.take("schedules"):
        number = np.float64 if "schedules" in numpy_numbers else float
        for name in ("learning_rate", "clip_range", "clip_range_vf"):
            if name in arguments:
                arguments[name] = user_code.linear(arguments[name], number)
    return arguments


def _temperature(options: ScenarioOptions) -> Any:
    fixed, initial = options.take("fixed_temperature"), options.take("initial_temperature")
    if fixed is not None:
        return fixed
    return "auto" if initial is None else f"auto_{initial}"


def _set_collection(options: ScenarioOptions, algorithm: Any, arguments: dict[str, Any]) -> None:
    episodes = options.take("episodes_per_collection")
    if episodes is None:
        return
    options.settings.pop("steps_per_collection")
    if "n_episodes_rollout" in inspect.signature(algorithm.__init__).parameters:
        # before 0.11
        arguments.update(n_episodes_rollout=episodes, train_freq=-1)
    else:
        arguments["train_freq"] = (episodes, "episode")


def _set_replay(scenario_options: ScenarioOptions, arguments: dict[str, Any]) -> None:
    options: dict[str, Any] = {}
    timeouts = scenario_options.take("timeouts")
    if timeouts is not None:
        options["handle_timeout_termination"] = timeouts
        check_arguments(library("common.buffers", "ReplayBuffer"), options)
    goals = scenario_options.take("hindsight")
    if goals:
        buffer = library("her", "HerReplayBuffer")
        arguments["replay_buffer_class"] = buffer
        options["goal_selection_strategy"] = goals
        known = inspect.signature(buffer.__init__).parameters
        if "max_episode_length" in known:
            # what the environment does not tell
            options["max_episode_length"] = 10
        options["n_sampled_goal"] = 4
    if options:
        arguments["replay_buffer_kwargs"] = options


def _set_noise(options: ScenarioOptions, arguments: dict[str, Any], space: Any) -> None:
    deviation = options.take("exploration_noise")
    kind = options.take("noise", "gaussian" if deviation is not None else None)
    deviation = 0.3 if deviation is None else deviation
    if kind is None:
        return
    from stable_baselines3.common import noise

    kinds = {
        "gaussian": noise.NormalActionNoise,
        "ornstein-uhlenbeck": noise.OrnsteinUhlenbeckActionNoise,
    }
    if kind not in kinds:
        raise Unsupported(f"this version has no {kind} noise of actions")
    arguments["action_noise"] = kinds[kind](np.zeros(space.shape), deviation * np.ones(space.shape))


def _policy_arguments(options: ScenarioOptions, algorithm: Any, policy: str) -> dict[str, Any]:
    arguments = {
        argument: options.take(name)
        for name, argument in _POLICY_ARGUMENTS.items()
        if name in {**options.features, **options.settings}
    }
    _set_networks(options, arguments)
    if policy == "CnnPolicy":
        arguments["features_extractor_kwargs"] = {"features_dim": 8}
    if policy == "MultiInputPolicy":
        arguments["features_extractor_kwargs"] = {"cnn_output_dim": 8}
    for name, make in _EXTRACTORS.items():
        if options.take(name):
            arguments["features_extractor_class"] = make()
            arguments.pop("features_extractor_kwargs", None)
    _set_optimizer(options, arguments)
    check_arguments(_policy_class(algorithm, policy), arguments, f"{algorithm.__name__}'s policy")
    return arguments


def _set_networks(options: ScenarioOptions, arguments: dict[str, Any]) -> None:
    critic = options.take("critic_hidden_sizes")
    on_policy = options.algorithm in ON_POLICY
    if critic is not None:
        both = {"pi": arguments["net_arch"], "vf" if on_policy else "qf": critic}
        arguments["net_arch"] = compat.networks(both) if on_policy else both
    if options.take("actor_layers_only"):
        arguments["net_arch"] = compat.networks({"pi": arguments["net_arch"]})
    if options.take("default_networks"):
        del arguments["net_arch"]
    if options.take("sizes_none"):
        arguments["net_arch"] = None


def _set_optimizer(options: ScenarioOptions, arguments: dict[str, Any]) -> None:
    if options.features.get("optimizer") == "rmsprop-like-tensorflow":
        options.take("optimizer")
        arguments["optimizer_class"] = library("common.sb2_compat.rmsprop_tf_like", "RMSpropTFLike")
        arguments["optimizer_kwargs"] = {"centered": True, "momentum": 0.5, "weight_decay": 0.01}
    if "optimizer" in options.features.get("numpy_numbers", []):
        arguments["optimizer_kwargs"] = {"eps": np.float64(1e-5)}


def _policy_class(algorithm: Any, policy: str) -> Any:
    policy_class = getattr(algorithm, "policy_aliases", {}).get(policy)
    bases = [base for base in algorithm.__mro__ if "." in base.__module__]
    for base in bases if policy_class is None else ():
        # before 1.5 an algorithm's policies were only in the module beside it, or its base's
        with contextlib.suppress(ImportError):
            module = importlib.import_module(f"{base.__module__.rpartition('.')[0]}.policies")
            policy_class = policy_class or getattr(module, policy, None)
    if policy_class is None:
        raise Unsupported(f"{algorithm.__name__} has no {policy}")
    return policy_class
