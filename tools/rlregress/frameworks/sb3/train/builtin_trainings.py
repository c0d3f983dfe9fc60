"""Built-in trainings for traces: "<algorithm>", and "<algorithm> <scenario>" with options on.

The training of an algorithm alone reaches branches that run only now and then. Scenarios switch on
options of the class and of its policy, environments, wrappers, saving and loading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.library import (
    find_algorithm_class,
    find_in_library,
    make_agent,
    name_missing_device,
)
from rlregress.frameworks.sb3.train import utility_calls
from rlregress.frameworks.sb3.train.recorded_training import (
    ScenarioTraining,
    Session,
    act_with_agent_in_bare_environment,
    act_with_reloaded_policy,
    capture_episode_infos,
    capture_episode_starts_of_last_rollout,
    capture_learning_rates,
    learn_again,
    make_evaluation_callback,
    play_three_episodes,
    predict_with_reloaded_policy,
    save_load_and_continue,
    set_other_environment,
    train_by_call_of_user,
)
from rlregress.frameworks.sb3.train.trace_environments import (
    Environments,
    make_atari_environment,
    make_environments_by_name,
    make_environments_in_processes,
    make_vector_wrapper,
    repeat_one_environment,
)
from rlregress.probing import memory_sizes
from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.interface import TraceTraining
from rlregress.probing.trace_trainings import LazyValue, resolve_lazy_arguments

#: environment steps of a training, and of one that updates at each of them: its buffer is full
#: before they end.
STEPS, _FEWER_STEPS = 96, 64


_gaussian = partial(LazyValue, user_code.make_noise, "Normal")
_correlated = partial(LazyValue, user_code.make_noise, "OrnsteinUhlenbeck")
_SLOWLY_FALLING = user_code.make_falling_rate(1e-3)
#: arguments of an algorithm that learns from rollouts.
PLAIN_ON_POLICY: Mapping[str, Any] = {
    "n_steps": 32,
    "policy_kwargs": {"net_arch": [16, 16]},
    "learning_rate": _SLOWLY_FALLING,
}
#: arguments of an algorithm that learns from a replay buffer.
PLAIN_OFF_POLICY: Mapping[str, Any] = {
    # 2 x 25 rows: the buffer is full after half of the training
    "buffer_size": 50,
    "learning_starts": 16,
    "batch_size": 16,
    "gradient_steps": 2,
    "policy_kwargs": {"net_arch": [16, 16]},
    "learning_rate": _SLOWLY_FALLING,
}
# the default was an episode before 2.3.0, which two environments do not allow
_PLAIN_DDPG = {**PLAIN_OFF_POLICY, "train_freq": 1, "action_noise": _gaussian(0.1)}
#: algorithm -> arguments of its class.
PLAIN: Mapping[str, Mapping[str, Any]] = {
    "ppo": {
        **PLAIN_ON_POLICY,
        # 64 samples in minibatches of 48: the last one is incomplete
        "batch_size": 48,
        "n_epochs": 3,
        "clip_range": user_code.make_falling_rate(0.2),
        "clip_range_vf": 0.2,
        "ent_coef": 0.01,
        "target_kl": 0.5,
    },
    "a2c": {**PLAIN_ON_POLICY, "n_steps": 5, "ent_coef": 0.01},
    "sac": {**PLAIN_OFF_POLICY, "target_update_interval": 1, "action_noise": _gaussian(0.1)},
    "td3": {**_PLAIN_DDPG, "policy_delay": 2},
    "ddpg": _PLAIN_DDPG,
    "dqn": {**PLAIN_OFF_POLICY, "target_update_interval": 40, "exploration_fraction": 0.5},
}


def _choose_steps(algorithm: str) -> int:
    return _FEWER_STEPS if algorithm in ("sac", "td3", "ddpg") else STEPS


def _make_plain_training(name: str, discrete: bool = False) -> Any:
    def run_training(make_env: Callable[..., Any], seed: int) -> None:
        algorithm = find_algorithm_class(name.upper())
        # two environments side by side: rows of both are mixed in what is stored
        environment: Any = DummyVecEnv([partial(_make_native_environment, make_env, discrete)] * 2)
        if name == "ppo":
            environment = VecNormalize(environment)
        arguments = memory_sizes.enlarge_memory_if_requested(resolve_lazy_arguments(PLAIN[name]))
        model = make_agent(algorithm, "MlpPolicy", environment, seed=seed, **arguments)
        model.learn(_choose_steps(name))
        _play_two_episodes(model, make_env(discrete=discrete))

    return run_training


def _make_native_environment(make_env: Callable[..., Any], discrete: bool) -> Any:
    return gyms.convert_environment(make_env(discrete=discrete))


def _play_two_episodes(model: Any, environment: Any) -> None:
    """Play two episodes with the deterministic policy."""
    for _ in range(2):
        observation, _ = environment.reset()
        done = False
        while not done:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, _ = environment.step(action)
            done = terminated or truncated


# -- with options -----------------------------------------------------------------------------

_ON_POLICY = {"n_steps": 32, "learning_rate": 3e-3}
# 48 rows: the buffer is full after half of the training
_OFF_POLICY = {
    "buffer_size": 48,
    "learning_starts": 16,
    "batch_size": 16,
    "learning_rate": 3e-3,
    "train_freq": 2,
    "gradient_steps": 1,
}
_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "ppo": {**_ON_POLICY, "batch_size": 48, "n_epochs": 2},
    "a2c": {**_ON_POLICY, "n_steps": 8},
    **dict.fromkeys(("sac", "td3", "ddpg", "dqn"), _OFF_POLICY),
}
#: policy -> arguments of it that keep its networks small.
_SMALL: Mapping[str, Mapping[str, Any]] = {
    "MlpPolicy": {},
    "CnnPolicy": {"features_extractor_kwargs": {"features_dim": 8}},
    "MultiInputPolicy": {"features_extractor_kwargs": {"cnn_output_dim": 8}},
}


def make_trainings(
    algorithms: str,
    scenario: str,
    networks: Mapping[str, Any] = {},
    default_sizes: bool = False,
    policy: str = "",
    or_plain: bool = False,
    **options: Any,
) -> dict[str, ScenarioTraining]:
    """Return the trainings of a scenario by title, one for each algorithm.

    Args:
        algorithms: their names, separated by blanks.
        networks: arguments of the policy.
        default_sizes: hidden layers are as wide as they are by default.
        or_plain: whether a training without options follows if the library refuses this one.
        **options: arguments of the algorithm's class, and fields of ``Environments`` and of
            ``ScenarioTraining``.
    """

    def take_fields_of(kind: type) -> dict[str, Any]:
        return {name: options.pop(name) for name in options.keys() & kind.__annotations__.keys()}

    environments = Environments(**take_fields_of(Environments))
    fields = take_fields_of(ScenarioTraining)
    return {
        f"{name} {scenario}": ScenarioTraining(
            partial(find_algorithm_class, name.upper()),
            replace(environments, actions="discrete") if name == "dqn" else environments,
            {**_ARGUMENTS[name], **options},
            _make_network_arguments(policy or environments.policy, default_sizes, networks),
            policy,
            instead=make_trainings(name, "")[f"{name} "] if or_plain else None,
            **{"steps": _choose_steps(name), **fields},
        )
        for name in algorithms.split()
    }


#: trainings that the library may refuse: then follow those without options.
make_refusable_trainings = partial(make_trainings, or_plain=True)


def _make_network_arguments(
    policy: str, default_sizes: bool, options: Mapping[str, Any]
) -> dict[str, Any]:
    sizes = {} if default_sizes else {"net_arch": [16, 16]}
    small = {} if "features_extractor_class" in options else _SMALL[policy]
    return {**sizes, **options, **small}


def _make_timeout_arguments(handled: bool) -> dict[str, Any]:
    """Return arguments of a replay buffer, with ``handle_timeout_termination`` as ``handled``."""
    options = {"handle_timeout_termination": handled}
    raise_if_argument_unknown(find_in_library("common.buffers", "ReplayBuffer"), options)
    return options


def _make_hindsight_options(goals: str) -> dict[str, Any]:
    buffer = find_in_library("her", "HerReplayBuffer")
    options: dict[str, Any] = {"goal_selection_strategy": goals, "n_sampled_goal": 4}
    # what the environment does not tell
    return {**options, **compat.select_known_arguments(buffer, max_episode_length=10)}


def _make_hindsight_arguments(goals: str) -> dict[str, Any]:
    """Return arguments of an agent whose hindsight goals are selected by the strategy ``goals``."""
    return {
        "replay_buffer_class": LazyValue(find_in_library, "her", "HerReplayBuffer"),
        "replay_buffer_kwargs": LazyValue(_make_hindsight_options, goals),
    }


def _stop_after_nine_episodes(session: Session) -> Any:
    """Return the library's own callback that ends a training after nine episodes."""
    del session
    return find_in_library("common.callbacks", "StopTrainingOnMaxEpisodes")(9)


_TIMELESS = LazyValue(_make_timeout_arguments, False)
_learn_anew = partial(learn_again, reset=True)
_evaluate_stochastic = partial(play_three_episodes, deterministic=False)
_evaluate_returns = partial(play_three_episodes, capture_returns=True)
_act_stochastic = partial(act_with_agent_in_bare_environment, deterministic=False)
_act_with_trusted = partial(act_with_reloaded_policy, trusted=True)

_FALLING = user_code.make_falling_rate(3e-3)
BATCH_NORM, WITHOUT_BIAS, _DROPOUT = (
    {"features_extractor_class": LazyValue(user_code.make_extractor_class, kind)}
    for kind in ("batch norm", "without bias", "dropout")
)
_net_arch = partial(LazyValue, compat.convert_networks_to_net_arch)
_RMSPROP = {
    "optimizer_class": LazyValue(
        find_in_library, "common.sb2_compat.rmsprop_tf_like", "RMSpropTFLike"
    ),
    "optimizer_kwargs": {"centered": True, "momentum": 0.5, "weight_decay": 0.01},
}
_MONITOR = make_vector_wrapper("VecMonitor")
_CHECK_NAN = make_vector_wrapper("VecCheckNan", raise_exception=True)
_BARE_ATARI = partial(
    make_atari_environment, noop_max=0, frame_skip=3, terminal_on_life_loss=False, clip_reward=False
)

TRAININGS: Mapping[str, TraceTraining] = {
    "ppo": _make_plain_training("ppo"),
    "a2c": _make_plain_training("a2c", discrete=True),
    "sac": _make_plain_training("sac"),
    "td3": _make_plain_training("td3"),
    "ddpg": _make_plain_training("ddpg"),
    "dqn": _make_plain_training("dqn", discrete=True),
    # -- what users switch on around SAC, TD3 and DDPG
    # one environment, collected by episodes, as many updates as steps; noise with a state
    **make_trainings("sac td3 ddpg", "episodes", train_freq=(1, "episode"),
        action_noise=_correlated(0.4), learning_rate=_FALLING, gradient_steps=-1, steps=70),
    # noise with a state, one for each of several environments that end at different steps
    **make_trainings("sac td3 ddpg", "vectorised-noise", copies=3, action_noise=_correlated(0.4),
        learning_starts=12),
    **make_trainings("sac", "gsde", train_freq=8, gradient_steps=4, use_sde=True, sde_sample_freq=4,
        use_sde_at_warmup=True,
        networks={"log_std_init": -1.0, "use_expln": True, "clip_mean": 0.5},
        then=[play_three_episodes, _evaluate_stochastic]),
    **make_trainings("sac", "temperature", ent_coef="auto_0.1", target_update_interval=3,
        target_entropy=-1.0, networks={"n_critics": 1}),
    **make_trainings("sac", "fixed-temperature", actions="float64", observations="float64",
        ent_coef=0.2, networks={"net_arch": {"pi": [16, 16], "qf": [8]}, "n_critics": 3},
        then=[predict_with_reloaded_policy]),
    # returns of several steps across every kind of end, in a buffer that wraps around
    **make_trainings("sac td3 ddpg", "n-step", copies=2, gamma=0.9, n_steps=3),
    **make_trainings("sac td3", "dictionary", copies=2, observations="dict-image",
        replay_buffer_kwargs=_TIMELESS, networks={"share_features_extractor": True}, steps=60),
    **make_trainings("sac td3", "images", observations="image-channels-first", default_sizes=True,
        steps=40),
    **make_trainings("td3", "delays", actions="float64", observations="float64",
        action_noise=_gaussian(0.2), policy_delay=3, target_policy_noise=0.6, target_noise_clip=0.3,
        networks={"net_arch": {"pi": [16, 16], "qf": [8]}, "n_critics": 3},
        then=[predict_with_reloaded_policy]),
    **make_trainings("sac td3 ddpg", "batch-norm", networks=BATCH_NORM),
    # features that are left out by chance in training, neither in acting nor in targets
    **make_trainings("sac td3", "dropout", networks=_DROPOUT, steps=60),
    **make_trainings("sac td3 ddpg", "goals", copies=2, observations="goal",
        **_make_hindsight_arguments("future")),
    # hindsight: goals of the whole episode; a buffer that is saved and loaded in between
    **make_trainings("sac", "goals-of-episodes", observations="goal",
        **_make_hindsight_arguments("episode"), steps=80, then=[save_load_and_continue]),
    # a normalised environment, whose replay buffer keeps what was seen; saved and loaded
    **make_trainings("sac td3 ddpg", "normalised", copies=2,
        normalize={"clip_obs": 1.5, "clip_reward": 1.0}, action_noise=_gaussian(0.3),
        callbacks=[make_evaluation_callback], steps=STEPS,
        then=[save_load_and_continue, play_three_episodes]),
    **make_trainings("sac td3 ddpg", "memory", copies=2, replay_buffer_kwargs=_TIMELESS,
        optimize_memory_usage=True, callbacks=[_stop_after_nine_episodes], then=[_learn_anew]),
    **make_trainings("sac", "gsde-unclipped", use_sde=True, networks={"clip_mean": 0.0}, steps=64),
    **make_refusable_trainings("sac", "gsde-saved", use_sde=True, then=[save_load_and_continue]),
    **make_trainings("sac td3", "own-features", networks=BATCH_NORM, default_sizes=True, steps=60),
    **make_refusable_trainings("sac td3", "matrix-actions", own=user_code.MatrixActions),
    **make_trainings("sac td3", "integers", observations="integer"),
    **make_refusable_trainings("sac td3", "double-actions", actions="float64",
        networks={"net_arch": [8]}, steps=60),
    **make_refusable_trainings("sac td3", "unscaled-images", observations="image",
        networks={"normalize_images": False}, default_sizes=True, steps=40,
        then=[_act_with_trusted]),
    # hindsight with a reward that tells what was achieved from what was desired
    **make_trainings("sac", "lopsided-goals", observations="goal", own=user_code.LopsidedGoals,
        **_make_hindsight_arguments("future")),
    **make_trainings("sac td3 ddpg dqn", "n-step-of-two", gamma=0.9, n_steps=2),
    **make_trainings("ppo a2c sac td3 ddpg dqn", "policy-class", steps=64, policy_as_class=True,
        then=[save_load_and_continue]),
    # what a replay buffer is given, in several environments; rates fall
    **make_trainings("sac td3", "own-rows", copies=2,
        replay_buffer_class=LazyValue(user_code.make_recording_buffer_class, "ReplayBuffer"),
        learning_rate=_FALLING, steps=64, then=[capture_learning_rates]),
    # steps are collected, nothing is updated: no rate falls and no network is trained
    **make_trainings("sac td3 ddpg dqn", "without-updates", learning_rate=_FALLING,
        gradient_steps=0, then=[capture_learning_rates, partial(train_by_call_of_user, updates=2)]),
    **make_trainings("sac", "fixed-temperature-saved", ent_coef=0.3, steps=64,
        then=[save_load_and_continue]),
    # targets that follow at every other update of several
    **make_trainings("sac", "target-between-updates", gradient_steps=3, target_update_interval=2),
    # -- around PPO and A2C
    # the ratio leaves the clip range on both sides, the value its own, the gradient its norm
    **make_trainings("ppo", "clip-active", copies=2, learning_rate=0.03, batch_size=24,
        max_grad_norm=0.1, n_epochs=4, clip_range=0.1, clip_range_vf=0.1),
    # the divergence stops an update in the middle of its epochs; advantages as they are
    **make_trainings("ppo", "kl-stop", copies=3, actions="multi-discrete",
        observations="multi-discrete", learning_rate=0.02, n_epochs=6, normalize_advantage=False,
        ent_coef=0.05, target_kl=0.01, then=[play_three_episodes]),
    **make_trainings("ppo a2c", "gsde", copies=2, use_sde=True, sde_sample_freq=4,
        networks={"use_expln": True, "squash_output": True}),
    **make_trainings("ppo", "gsde-every-step", use_sde=True, sde_sample_freq=1, steps=64),
    # images that actor and critic extract apart, each from orthogonal layers
    **make_trainings("ppo", "images-apart", observations="image-channels-first",
        networks={"share_features_extractor": False}, default_sizes=True, steps=32),
    **make_trainings("a2c", "gsde-simple", actions="float64", observations="float64",
        gae_lambda=0.9, normalize_advantage=True, use_sde=True,
        networks={"log_std_init": -1.0, "full_std": False},
        then=[play_three_episodes, _evaluate_stochastic]),
    **make_trainings("ppo a2c", "dictionary", copies=2, actions="multi-binary", observations="dict",
        around=[_MONITOR, _CHECK_NAN], networks={"share_features_extractor": False},
        then=[play_three_episodes, predict_with_reloaded_policy]),
    # observations and rewards normalised and clipped; statistics frozen, saved and loaded
    **make_trainings("ppo a2c", "normalised", copies=2,
        normalize={"clip_obs": 1.5, "clip_reward": 1.0, "gamma": 0.9}, learning_rate=_FALLING,
        gamma=0.9, ent_coef=0.01, callbacks=[make_evaluation_callback],
        then=[save_load_and_continue, play_three_episodes, _evaluate_stochastic]),
    **make_trainings("ppo a2c", "images", copies=2, actions="discrete", observations="image",
        stack=2, default_sizes=True, steps=64),
    **make_trainings("ppo a2c", "stacked-dictionary", copies=2, observations="dict-image",
        normalize={"norm_reward": False, "norm_obs_keys": ["state"]}, stack=2, steps=64),
    **make_trainings("ppo", "integers", actions="discrete", observations="integer",
        learning_rate=user_code.make_falling_rate(0.001),
        networks={"net_arch": _net_arch({"pi": [16, 16], "vf": [8]})},
        callbacks=[_stop_after_nine_episodes], then=[learn_again, _evaluate_stochastic]),
    # binary observations, Adam, and an agent that is trained again from zero
    **make_trainings("a2c", "again", actions="multi-discrete", observations="multi-binary",
        use_rms_prop=False, learning_rate=_FALLING, then=[_learn_anew]),
    **make_trainings("a2c", "rmsprop", copies=2, actions="discrete", observations="discrete",
        max_grad_norm=0.05, vf_coef=0.25, networks={"ortho_init": False, **_RMSPROP}),
    **make_trainings("ppo a2c", "batch-norm", copies=2, networks=BATCH_NORM, default_sizes=True),
    **make_refusable_trainings("ppo a2c", "gsde-saved", ent_coef=0.05, use_sde=True,
        networks={"squash_output": True}, then=[save_load_and_continue, _act_with_trusted]),
    **make_refusable_trainings("ppo", "squash-alone",
        networks={"net_arch": [8], "squash_output": True}),
    **make_refusable_trainings("ppo", "unbounded", own=user_code.UnboundedActions),
    **make_refusable_trainings("ppo", "matrix-dictionary", copies=2, observations="dict",
        own=user_code.MatrixActions, around=[_MONITOR], then=[capture_episode_infos]),
    **make_refusable_trainings("ppo", "matrix-bits", actions="discrete",
        observations="multi-binary", own=user_code.MatrixBits,
        then=[act_with_agent_in_bare_environment]),
    # the last minibatch of an epoch has one row, whose advantage has no deviation
    **make_refusable_trainings("ppo", "one-left", batch_size=31),
    **make_refusable_trainings("ppo", "actor-layers",
        networks={"net_arch": _net_arch({"pi": [16, 16]})}),
    **make_trainings("ppo", "apart",
        networks={"ortho_init": False, "net_arch": _net_arch({"pi": [16, 16], "vf": [8, 8]})}),
    **make_refusable_trainings("ppo", "without-bias", networks=WITHOUT_BIAS),
    **make_refusable_trainings("ppo", "stacked-channels-first", actions="discrete",
        observations="image-channels-first", stack=2, default_sizes=True, steps=64),
    # what a monitor of all copies notes of an episode, with a word of the environment's
    **make_refusable_trainings("a2c", "informed", copies=2, own=user_code.PlaceInInfo,
        around=[make_vector_wrapper("VecMonitor", info_keywords=("place",))],
        then=[capture_episode_infos]),
    # which steps of a first rollout start an episode, as its buffer keeps them
    **make_trainings("ppo a2c", "starts", n_steps=32, steps=32,
        then=[capture_episode_starts_of_last_rollout]),
    **make_trainings("ppo", "double-rewards", copies=2, around=[user_code.ReducedFloat64Rewards],
        normalize={"norm_obs": False}),
    # what the buffer of a rollout is given, of choices in several environments
    **make_trainings("ppo a2c", "own-rows", copies=3, actions="discrete", steps=48,
        rollout_buffer_class=LazyValue(user_code.make_recording_buffer_class, "RolloutBuffer")),
    # what the buffer of a rollout is given, of dictionaries in one environment
    **make_trainings("ppo", "own-rows-of-dictionaries", observations="dict", steps=32,
        rollout_buffer_class=LazyValue(user_code.make_recording_buffer_class, "DictRolloutBuffer")),
    # -- one environment
    **make_trainings("td3", "one-environment", action_noise=_gaussian(0.8), tau=0.2,
        policy_delay=3),
    **make_trainings("dqn", "one-environment", tau=0.5, train_freq=4, target_update_interval=10,
        exploration_initial_eps=0.9, exploration_final_eps=0.1, exploration_fraction=0.5),
    # -- around any agent, and what users do with one
    **make_refusable_trainings("ppo sac td3 dqn", "saved",
        then=[save_load_and_continue, act_with_reloaded_policy]),
    # an agent that is saved compiled, and loaded as it was before
    **make_refusable_trainings("ppo sac", "saved-compiled",
        then=[partial(save_load_and_continue, compiled=True)]),
    **make_refusable_trainings("ppo sac", "saved-numbers",
        networks={"optimizer_kwargs": {"eps": np.float64(1e-5)}}, then=[save_load_and_continue]),
    **make_refusable_trainings("ppo sac", "saved-rate",
        learning_rate=user_code.make_falling_rate(0.003, np.float64),
        then=[save_load_and_continue]),
    **make_refusable_trainings("ppo td3", "saved-without-sizes", networks={"net_arch": None},
        steps=60, then=[save_load_and_continue]),
    **make_refusable_trainings("ppo sac", "loaded-for-more",
        then=[partial(save_load_and_continue, copies=2)]),
    **make_refusable_trainings("sac", "loaded-for-other-steps", steps=64,
        then=[partial(save_load_and_continue, train_freq=4)]),
    # a normalised environment in place of another, in which the training goes on
    **make_refusable_trainings("ppo sac", "another-environment", normalize={},
        then=[set_other_environment, learn_again]),
    # a callback that does not say whether to go on
    **make_trainings("ppo sac", "silent-callback",
        callbacks=[lambda session: user_code.SilentCallback()], steps=STEPS, then=[learn_again]),
    **make_trainings("ppo sac", "stopped",
        callbacks=[lambda session: user_code.CountingCallback(50)], then=[learn_again]),
    # a device by its number that this machine lacks; other layers than the plain ones
    **make_refusable_trainings("ppo sac", "missing-device", device=LazyValue(name_missing_device),
        networks={"net_arch": [8]}, steps=60),
    # a loaded agent goes on with a replay buffer from a machine with another device
    **make_refusable_trainings("sac td3", "rows-from-elsewhere",
        then=[partial(save_load_and_continue, rows_from_elsewhere=True)]),
    # no update while steps are collected; the user asks for some afterwards
    **make_trainings("sac td3", "by-hand", gradient_steps=0,
        then=[partial(train_by_call_of_user, updates=5)]),
    # a plain environment with rewards in single precision, whose episodes are counted; single steps
    **make_trainings("ppo sac", "counted", own=user_code.PlaceInInfo,
        then=[capture_episode_infos, _evaluate_returns, act_with_agent_in_bare_environment,
            _act_stochastic]),
    **make_refusable_trainings("ppo sac", "evaluated-together", evaluation_copies=2,
        callbacks=[make_evaluation_callback],
        then=[partial(_evaluate_returns, deterministic=False)]),
    # environments that are made by name with arguments, and seeded by chance
    **make_refusable_trainings("ppo", "made-by-name", copies=2, together=make_environments_by_name,
        seed=None),
    **make_refusable_trainings("ppo", "in-processes", copies=2,
        together=make_environments_in_processes),
    # one environment that stands for two
    **make_refusable_trainings("ppo", "same-instance", copies=2, together=repeat_one_environment),
    **make_refusable_trainings("ppo sac", "own-space", own=user_code.OwnSpace,
        then=[act_with_agent_in_bare_environment]),
    **make_refusable_trainings("ppo sac", "float-images", observations="dict-image",
        own=user_code.FloatImages, networks={"normalize_images": False}, steps=60),
    # images that are transposed below another wrapper
    **make_refusable_trainings("ppo sac", "transposed", observations="image",
        around=[make_vector_wrapper("VecTransposeImage"), _CHECK_NAN], default_sizes=True,
        steps=40),
    **make_refusable_trainings("ppo sac", "normalised-images", observations="image",
        normalize={"norm_reward": False}, default_sizes=True, steps=40),
    **make_trainings("ppo", "normalised-images-own-features", observations="image-channels-first",
        normalize={"norm_reward": False}, networks=BATCH_NORM, steps=40),
    **make_refusable_trainings("ppo sac", "normalised-images-saved",
        observations="image-channels-first", normalize={"norm_reward": False},
        networks={"normalize_images": False}, default_sizes=True, steps=40,
        then=[save_load_and_continue]),
    **make_trainings("ppo sac", "normalised-integers", observations="integer", normalize={}),
    **make_refusable_trainings("ppo sac", "normalised-rewards", observations="dict",
        normalize={"norm_obs": False}, callbacks=[make_evaluation_callback], steps=STEPS),
    **make_refusable_trainings("ppo", "normalised-rewards-of-dictionaries", observations="dict",
        normalize={"norm_obs": False}),
    **make_refusable_trainings("ppo", "normalised-rewards-of-choices", observations="discrete",
        normalize={"norm_obs": False}),
    **make_refusable_trainings("ppo sac", "gsde-of-choices", observations="discrete", use_sde=True),
    **make_trainings("ppo sac", "gsde-apart", use_sde=True, networks={"sde_net_arch": [8]}),
    **make_refusable_trainings("sac td3", "memory-and-timeouts",
        replay_buffer_kwargs=LazyValue(_make_timeout_arguments, True), optimize_memory_usage=True),
    **make_refusable_trainings("ppo dqn", "atari", actions="discrete", observations="image",
        own=make_atari_environment, default_sizes=True, steps=64, then=[_evaluate_returns]),
    **make_refusable_trainings("ppo dqn", "atari-bare", actions="discrete", observations="image",
        own=_BARE_ATARI, default_sizes=True, steps=64),
    # what users call by themselves: counts, parameters, a row of a rollout, loading
    **make_trainings("ppo", "helpers", steps=64,
        callbacks=[lambda session: user_code.StartingCallback()],
        then=[utility_calls.capture_counts_of_monitor,
            utility_calls.act_with_halved_parameter_vector,
            utility_calls.reset_three_times_after_seed, utility_calls.fill_rollout_row_by_row,
            utility_calls.load_with_and_without_force_reset,
            utility_calls.reload_agent_with_listed_net_arch]),
    **make_trainings("sac", "helpers-of-critics", steps=64,
        then=[utility_calls.act_with_reloaded_actor]),
    # an agent that sees two categories acts by itself
    **make_trainings("ppo", "single-categories", observations="multi-discrete", steps=64,
        then=[act_with_agent_in_bare_environment]),
    # an environment that stands in a monitor of the user's, which notes a word of its own
    **make_trainings("ppo sac", "monitored", own=user_code.make_monitored_environment, steps=64,
        then=[capture_episode_infos, _evaluate_returns]),
    # numbers in a dictionary that have the shape of an image and are none
    **make_trainings("ppo sac", "numbers-like-images", observations="dict-image",
        own=user_code.FloatImages, steps=60),
    # callbacks of the library, each in its place, and files of an agent that is used again
    **make_trainings("ppo a2c sac td3 ddpg dqn", "callbacks", copies=2, normalize={},
        own=user_code.SuccessInInfo, steps=64,
        callbacks=[utility_calls.make_checkpoint_callback, utility_calls.make_callback_list,
            utility_calls.make_early_stopping_callback],
        then=[learn_again, utility_calls.capture_contents_of_file,
            utility_calls.set_parameters_and_act, utility_calls.reload_agent_from_memory]),
    **make_trainings("ppo", "looked-into", copies=2, own=user_code.SuccessInInfo,
        around=[_MONITOR, make_vector_wrapper("VecCheckNan")], normalize={}, steps=64,
        then=[utility_calls.inspect_vectorised_environments,
            utility_calls.learn_in_registered_environment]),
    **make_trainings("ppo sac", "errors", steps=64,
        then=[utility_calls.capture_errors_of_wrong_calls]),
    # -- around DQN
    **make_trainings("dqn", "target-interval", copies=3,
        learning_rate=user_code.make_falling_rate(0.01), max_grad_norm=0.05, tau=0.5,
        target_update_interval=10, exploration_initial_eps=0.8, exploration_final_eps=0.1,
        exploration_fraction=0.6),
    # one environment, collected by two episodes, as many updates as steps; integer observations
    **make_trainings("dqn", "episodes", observations="integer", train_freq=(2, "episode"),
        gradient_steps=-1, target_update_interval=15,
        then=[play_three_episodes, _evaluate_stochastic]),
    # returns of several steps across every kind of end, in a buffer that wraps around
    **make_trainings("dqn", "n-step", copies=2, gamma=0.9, n_steps=3, target_update_interval=20),
    **make_trainings("dqn", "images", copies=2, observations="image", stack=2,
        target_update_interval=10, default_sizes=True, steps=60),
    **make_trainings("dqn", "dictionary", copies=2, observations="dict", around=[_MONITOR],
        normalize={"norm_reward": False, "norm_obs_keys": ["state"]}, target_update_interval=20,
        then=[save_load_and_continue, play_three_episodes, predict_with_reloaded_policy]),
    **make_trainings("dqn", "batch-norm", observations="float64", replay_buffer_kwargs=_TIMELESS,
        target_update_interval=20, networks=BATCH_NORM),
    **make_trainings("dqn", "memory", observations="dict",
        around=[make_vector_wrapper("VecExtractDictObs", key="state")],
        replay_buffer_kwargs=_TIMELESS, target_update_interval=20, optimize_memory_usage=True,
        policy="MlpPolicy", callbacks=[make_evaluation_callback]),
    **make_trainings("dqn", "goals", observations="goal", **_make_hindsight_arguments("final"),
        target_update_interval=20),
    # targets after a number of steps that goes on when the agent is trained again from zero
    **make_trainings("dqn", "again", target_update_interval=30, steps=110, then=[_learn_anew]),
    **make_trainings("dqn", "own-features", target_update_interval=20, networks=BATCH_NORM,
        default_sizes=True),
    **make_refusable_trainings("dqn", "chances", exploration_final_eps=0.6,
        then=[act_with_agent_in_bare_environment, _act_stochastic]),
    **make_refusable_trainings("dqn", "chances-of-choices", observations="discrete",
        exploration_final_eps=0.6, then=[_act_stochastic]),
    **make_refusable_trainings("dqn", "chances-of-images", observations="image",
        exploration_final_eps=0.6, default_sizes=True, steps=60, then=[_act_stochastic]),
    **make_refusable_trainings("dqn", "stacked-channels-first", observations="image-channels-first",
        stack=2, default_sizes=True, steps=60),
    # what a replay buffer is given, of dictionaries in several environments; rates fall
    **make_trainings("dqn", "own-rows", copies=2, observations="dict", learning_rate=_FALLING,
        replay_buffer_class=LazyValue(user_code.make_recording_buffer_class, "DictReplayBuffer"),
        steps=64, then=[capture_learning_rates]),
    # more environments than steps between copies of the target
    **make_trainings("dqn", "target-at-every-step", copies=3, train_freq=1,
        target_update_interval=2),
}  # fmt: skip


def list_builtin_trainings() -> Mapping[str, TraceTraining]:
    """Return title -> training."""
    return TRAININGS
