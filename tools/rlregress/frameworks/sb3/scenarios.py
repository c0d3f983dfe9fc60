"""Scenarios on Stable-Baselines3: its own classes with what a scenario switches on.

Whether a version has an option is asked of the signature that would take it, so that one that
lacks it says so and everything else is traced.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import tempfile
import warnings
from functools import partial
from typing import Any, Callable, Dict, List, Mapping

import numpy as np
import stable_baselines3
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks.base import NotOffered
from rlregress.frameworks.sb3 import gyms

_STEPS = 160
_LIBRARY = stable_baselines3.__name__
_ON_POLICY = ("ppo", "a2c")
_ARGUMENTS = {
    "learning_rate": "learning_rate",
    "discount": "gamma",
    "minibatch_size": "batch_size",
    "max_gradient_norm": "max_grad_norm",
}
_ON_POLICY_ARGUMENTS = {
    **_ARGUMENTS,
    "rollout_steps": "n_steps",
    "epochs": "n_epochs",
    "gae_lambda": "gae_lambda",
    "clip_range": "clip_range",
    "value_clip_range": "clip_range_vf",
    "normalize_advantage": "normalize_advantage",
    "entropy_coefficient": "ent_coef",
    "value_coefficient": "vf_coef",
    "target_kl": "target_kl",
}
_OFF_POLICY_ARGUMENTS = {
    **_ARGUMENTS,
    "replay_size": "buffer_size",
    "learning_starts": "learning_starts",
    "polyak_coefficient": "tau",
    "steps_per_collection": "train_freq",
    "updates_per_collection": "gradient_steps",
    "n_step": "n_steps",
    "policy_delay": "policy_delay",
    "target_noise": "target_policy_noise",
    "target_noise_clip": "target_noise_clip",
    "target_entropy": "target_entropy",
    "target_update_interval": "target_update_interval",
    "exploration_fraction": "exploration_fraction",
    "exploration_initial": "exploration_initial_eps",
    "exploration_final": "exploration_final_eps",
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
}
_SWITCHES = {
    "gsde": "use_sde",
    "gsde_sample_freq": "sde_sample_freq",
    "gsde_at_warmup": "use_sde_at_warmup",
    "optimize_memory": "optimize_memory_usage",
}
_ON_POLICY_DEFAULTS = {"rollout_steps": 32, "learning_rate": 3e-3, "hidden_sizes": [16, 16]}
_DEFAULTS = {
    "ppo": {**_ON_POLICY_DEFAULTS, "minibatch_size": 48, "epochs": 2},
    "a2c": {**_ON_POLICY_DEFAULTS, "rollout_steps": 8},
    **dict.fromkeys(
        ("sac", "td3", "ddpg", "dqn"),
        # 80 rows: the buffer is full after half of the training
        {
            "replay_size": 80,
            "learning_starts": 24,
            "minibatch_size": 16,
            "learning_rate": 3e-3,
            "hidden_sizes": [16, 16],
            "steps_per_collection": 2,
            "updates_per_collection": 1,
        },
    ),
}


def algorithm_named(name: str) -> Any:
    """The class of an algorithm; NotOffered where this version has none."""
    found = getattr(stable_baselines3, name.upper(), None)
    if found is None:
        raise NotOffered(f"this version has no {name.upper()}")
    return found


def made(algorithm: Any, policy: Any, environment: Any, **arguments: Any) -> Any:
    """An agent that logs nothing; NotOffered where the class lacks an argument."""
    _check_arguments(algorithm, arguments)
    try:
        model = algorithm(policy, environment, device="cpu", **arguments)
    except (AssertionError, ValueError) as error:
        if "only supports" not in str(error) and "support multiple envs" not in str(error):
            raise
        raise NotOffered(f"{algorithm.__name__}: {error}") from None
    return silent(model)


def silent(model: Any) -> Any:
    """The agent, with a logger that leaves no folder behind."""
    if hasattr(model, "set_logger"):
        from stable_baselines3.common.logger import Logger

        model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def _check_arguments(owner: Any, arguments: Mapping[str, Any], said: str = "") -> None:
    known = inspect.signature(owner.__init__).parameters
    for name in arguments:
        if name not in known:
            raise NotOffered(f"{said or owner.__name__} takes no {name}")


def _library(module: str, name: str) -> Any:
    """A class or function of the library; NotOffered where this version has none."""
    try:
        return getattr(importlib.import_module(f"{_LIBRARY}.{module}"), name)
    except (ImportError, AttributeError):
        raise NotOffered(f"this version has no {name}") from None


class _Asked:
    """What a scenario asks for, each name once: what is left over in the end is not offered."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self.algorithm = str(scenario["algorithm"])
        if self.algorithm not in _DEFAULTS:
            raise NotOffered(f"Stable-Baselines3 has no {self.algorithm.upper()}")
        self.environment = dict(scenario.get("environment", {}))
        self.settings = {**_DEFAULTS[self.algorithm], **scenario.get("settings", {})}
        self.features = dict(scenario.get("features", {}))

    def take(self, name: str, default: Any = None) -> Any:
        """A feature or setting, no longer among what is left over."""
        return self.features.pop(name, self.settings.pop(name, default))

    def nothing_left(self) -> None:
        """Raise NotOffered for what nobody took."""
        left = sorted({**self.settings, **self.features})
        if left:
            raise NotOffered(f"{self.algorithm.upper()} has no {', '.join(left)}")


def trace(scenario: Mapping[str, Any], make_env: Callable[..., Any], seed: int) -> None:
    """Train, and save, load, evaluate and train again where the scenario says so."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        # about what a scenario does on purpose
        warnings.simplefilter("ignore")
        asked = _Asked(scenario)
        algorithm = algorithm_named(asked.algorithm)
        surroundings = _Surroundings(asked, make_env)
        after = {name: asked.take(name) for name in ("save_load", "learn_again", "save_policy")}
        evaluations = list(asked.take("evaluate", []))
        stop = asked.take("stop_after_episodes")
        steps = int(asked.take("steps", _STEPS))
        policy = _policy(surroundings)
        arguments = _arguments(asked, algorithm, policy, surroundings)
        asked.nothing_left()
        environment = surroundings.around()
        model = made(algorithm, policy, environment, seed=seed, **arguments)
        model.learn(steps, callback=_callbacks(evaluations, stop, surroundings))
        if after["save_load"]:
            model = _saved_and_loaded(model, surroundings, folder)
        if after["learn_again"] or after["save_load"]:
            model.learn(steps // 2, reset_num_timesteps=after["learn_again"] == "reset")
        _evaluate(model, evaluations, surroundings)
        if after["save_policy"]:
            _save_policy(model, surroundings, folder)


# -- environments -----------------------------------------------------------------------------


class _Surroundings:
    """The environments of a scenario, and what it puts around them."""

    def __init__(self, asked: _Asked, make_env: Callable[..., Any]) -> None:
        self._make_env = make_env
        self._options = asked.environment
        self._copies = int(self._options.pop("copies", 1))
        self._wrappers = list(asked.take("wrappers", []))
        self._stack = int(asked.take("frame_stack", 0))
        self._normalize = asked.take("normalize")
        self.normalizes = bool(self._normalize)
        self._clips = {
            "clip_obs": asked.take("observation_clip", 10.0),
            "clip_reward": asked.take("reward_clip", 10.0),
            "gamma": asked.settings.get("discount", 0.99),
        }
        self.observations = str(self._options.get("observations", "box"))
        self.spaces = gyms.native(make_env(**self._options))

    def made(self, first: int) -> Any:
        return gyms.native(self._make_env(**{"first": first, **self._options}))

    def around(self, training: bool = True) -> Any:
        """The environment that the agent gets, with fresh statistics of a normaliser."""
        bare = not (self._wrappers or self._stack or self._normalize)
        if self._copies == 1 and bare:
            # the library puts its own around it
            return self.made(0)
        copies = self._copies if training else 1
        environment: Any = DummyVecEnv([partial(self.made, k) for k in range(copies)])
        for name in self._wrappers:
            environment = _wrapped(environment, name)
        if self._normalize:
            environment = self.normalized(environment, training)
        if self._stack:
            stack = _library("common.vec_env", "VecFrameStack")
            environment = stack(environment, self._stack)
        return environment

    def normalized(self, environment: Any, training: bool = True) -> Any:
        """The environment in a normaliser."""
        options = dict(self._clips)
        if self.observations.startswith("dict"):
            options["norm_obs_keys"] = ["state"]
            _check_arguments(VecNormalize, options)
        return VecNormalize(
            environment,
            training=training,
            norm_obs=self._normalize in ("both", "observations"),
            norm_reward=training and self._normalize in ("both", "rewards"),
            **options,
        )

    def again(self, environment: Any, folder: str) -> Any:
        """The environment of an agent that is loaded: with the statistics that were saved."""
        if not self._normalize:
            return environment
        path = os.path.join(folder, "statistics.pkl")
        environment.save(path)
        return VecNormalize.load(path, environment.venv)


def _wrapped(environment: Any, name: str) -> Any:
    if name == "monitor":
        return _library("common.vec_env", "VecMonitor")(environment)
    if name == "check-nan":
        return _library("common.vec_env", "VecCheckNan")(environment, raise_exception=True)
    if name == "extract-state":
        return _library("common.vec_env", "VecExtractDictObs")(environment, "state")
    raise NotOffered(f"no environment is wrapped in {name}")


def _policy(surroundings: _Surroundings) -> str:
    kind = surroundings.observations
    if kind.startswith("image"):
        return "CnnPolicy"
    extracted = "extract-state" in surroundings._wrappers
    return (
        "MultiInputPolicy" if kind.startswith(("dict", "goal")) and not extracted else "MlpPolicy"
    )


# -- arguments --------------------------------------------------------------------------------


def _arguments(
    asked: _Asked, algorithm: Any, policy: str, surroundings: _Surroundings
) -> Dict[str, Any]:
    on_policy = asked.algorithm in _ON_POLICY
    arguments: Dict[str, Any] = {"policy_kwargs": _policy_arguments(asked, algorithm, policy)}
    for name, argument in _SWITCHES.items():
        if name in asked.features:
            arguments[argument] = asked.take(name)
    if asked.algorithm == "sac":
        arguments["ent_coef"] = _temperature(asked)
    if not on_policy:
        _set_collection(asked, algorithm, arguments)
        _set_replay(asked, algorithm, arguments)
        _set_noise(asked, arguments, surroundings.spaces.action_space)
    if "optimizer" in asked.features and asked.algorithm == "a2c":
        arguments["use_rms_prop"] = asked.take("optimizer") == "rmsprop"
    names = _ON_POLICY_ARGUMENTS if on_policy else _OFF_POLICY_ARGUMENTS
    for name in [name for name in asked.settings if name in names]:
        arguments[names[name]] = asked.take(name)
    if asked.take("schedules"):
        for name in ("learning_rate", "clip_range", "clip_range_vf"):
            if name in arguments:
                arguments[name] = _linear(arguments[name])
    return arguments


def _linear(initial: float) -> Callable[[float], float]:
    return lambda progress_remaining: max(progress_remaining, 0.0) * initial


def _temperature(asked: _Asked) -> Any:
    fixed, initial = asked.take("fixed_temperature"), asked.take("initial_temperature")
    if fixed is not None:
        return fixed
    return "auto" if initial is None else f"auto_{initial}"


def _set_collection(asked: _Asked, algorithm: Any, arguments: Dict[str, Any]) -> None:
    episodes = asked.take("episodes_per_collection")
    if episodes is None:
        return
    asked.settings.pop("steps_per_collection")
    if "n_episodes_to_rollout" in inspect.signature(algorithm.__init__).parameters:
        # before 0.11
        arguments.update(n_episodes_to_rollout=episodes, train_freq=-1)
    else:
        arguments["train_freq"] = (episodes, "episode")


def _set_replay(asked: _Asked, algorithm: Any, arguments: Dict[str, Any]) -> None:
    options: Dict[str, Any] = {}
    timeouts = asked.take("timeouts")
    if timeouts is not None:
        options["handle_timeout_termination"] = timeouts
        _check_arguments(_library("common.buffers", "ReplayBuffer"), options)
    goals = asked.take("hindsight")
    if goals:
        buffer = _library("her", "HerReplayBuffer")
        arguments["replay_buffer_class"] = buffer
        options["goal_selection_strategy"] = goals
        known = inspect.signature(buffer.__init__).parameters
        if "max_episode_length" in known:
            # what the environment does not tell
            options["max_episode_length"] = 10
        options["n_sampled_goal"] = 4
    if options:
        arguments["replay_buffer_kwargs"] = options


def _set_noise(asked: _Asked, arguments: Dict[str, Any], space: Any) -> None:
    deviation = asked.take("exploration_noise")
    kind = asked.take("noise", "gaussian" if deviation is not None else None)
    deviation = 0.3 if deviation is None else deviation
    if kind is None:
        return
    from stable_baselines3.common import noise

    kinds = {
        "gaussian": noise.NormalActionNoise,
        "ornstein-uhlenbeck": noise.OrnsteinUhlenbeckActionNoise,
    }
    if kind not in kinds:
        raise NotOffered(f"this version has no {kind} noise of actions")
    arguments["action_noise"] = kinds[kind](np.zeros(space.shape), deviation * np.ones(space.shape))


def _policy_arguments(asked: _Asked, algorithm: Any, policy: str) -> Dict[str, Any]:
    arguments = {
        argument: asked.take(name)
        for name, argument in _POLICY_ARGUMENTS.items()
        if name in {**asked.features, **asked.settings}
    }
    critic = asked.take("critic_hidden_sizes")
    if critic is not None:
        key = "vf" if asked.algorithm in _ON_POLICY else "qf"
        arguments["net_arch"] = {"pi": arguments["net_arch"], key: critic}
    if asked.take("default_networks"):
        del arguments["net_arch"]
    if policy == "CnnPolicy":
        arguments["features_extractor_kwargs"] = {"features_dim": 8}
    if policy == "MultiInputPolicy":
        arguments["features_extractor_kwargs"] = {"cnn_output_dim": 8}
    if asked.features.get("optimizer") == "rmsprop-like-tensorflow":
        asked.take("optimizer")
        arguments["optimizer_class"] = _library(
            "common.sb2_compat.rmsprop_tf_like", "RMSpropTFLike"
        )
        arguments["optimizer_kwargs"] = {"centered": True, "momentum": 0.5, "weight_decay": 0.01}
    if asked.take("batch_norm"):
        arguments["features_extractor_class"] = _batch_norm()
    _check_arguments(_policy_class(algorithm, policy), arguments, f"{algorithm.__name__}'s policy")
    return arguments


def _policy_class(algorithm: Any, policy: str) -> Any:
    found = getattr(algorithm, "policy_aliases", {}).get(policy)
    for base in algorithm.__mro__ if found is None else ():
        # before 1.5 an algorithm's policies were only in the module beside it, or its base's
        with contextlib.suppress(ImportError):
            module = importlib.import_module(f"{base.__module__.rpartition('.')[0]}.policies")
            found = found or getattr(module, policy, None)
    if found is None:
        raise NotOffered(f"{algorithm.__name__} has no {policy}")
    return found


def _batch_norm() -> Any:
    """A features extractor that normalises batches, as a user writes one."""
    from torch import nn

    base = _library("common.torch_layers", "BaseFeaturesExtractor")

    class Normalised(base):  # type: ignore[misc, valid-type]
        """Running statistics of the observations, which a target network has to follow."""

        def __init__(self, observation_space: Any) -> None:
            size = int(np.prod(observation_space.shape))
            super().__init__(observation_space, size)
            self.layers = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(size))

        def forward(self, observations: Any) -> Any:
            return self.layers(observations)

    return Normalised


# -- in between and afterwards ------------------------------------------------------------------


def _callbacks(evaluations: List[str], stop: Any, surroundings: _Surroundings) -> Any:
    found = []
    if "callback" in evaluations:
        evaluation = _library("common.callbacks", "EvalCallback")
        aside = surroundings.around(training=False)
        found.append(evaluation(aside, n_eval_episodes=2, eval_freq=40, verbose=0))
    if stop is not None:
        found.append(_library("common.callbacks", "StopTrainingOnMaxEpisodes")(stop))
    return found or None


def _evaluate(model: Any, evaluations: List[str], surroundings: _Surroundings) -> None:
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import sync_envs_normalization

    for kind in evaluations:
        if kind == "callback":
            continue
        environment: Any = surroundings.around(training=False)
        if surroundings.normalizes:
            sync_envs_normalization(model.get_env(), environment)
        evaluate_policy(model, environment, 3, deterministic=kind == "deterministic")


def _save_policy(model: Any, surroundings: _Surroundings, folder: str) -> None:
    """Save the policy alone, load it, and let it act."""
    path = os.path.join(folder, "policy.pkl")
    if not hasattr(model.policy, "save"):
        raise NotOffered("a policy cannot be saved alone")
    model.policy.save(path)
    policy = type(model.policy).load(path)
    environment = DummyVecEnv([partial(surroundings.made, 0)])
    policy.predict(environment.reset(), deterministic=True)


def _saved_and_loaded(model: Any, surroundings: _Surroundings, folder: str) -> Any:
    """The agent as it comes back from its file, with its replay buffer and its statistics."""
    path = os.path.join(folder, "model.zip")
    model.save(path)
    environment = surroundings.again(model.get_env(), folder)
    loaded = silent(type(model).load(path, env=environment, device="cpu"))
    if hasattr(model, "save_replay_buffer"):
        rows = os.path.join(folder, "rows.pkl")
        model.save_replay_buffer(rows)
        loaded.load_replay_buffer(rows)
    return loaded
