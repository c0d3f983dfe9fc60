"""Calls of the library's utilities by a user, with an agent that was trained.

The trace records their results. Runs inside old environments: Python 3.10 syntax.
"""

from __future__ import annotations

import io
import os
import warnings
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.library import find_in_library
from rlregress.frameworks.sb3.train.recorded_training import (
    Session,
    act_in_bare_environment,
    capture_numbers,
)
from rlregress.probing.interface import Unsupported


def capture_counts_of_monitor(session: Session) -> None:
    """Capture the counts of a ``Monitor`` after episodes, and its error if a reset is missing."""
    environment = session.environments.make_one_environment()
    monitor = find_in_library("common.monitor", "Monitor")(environment)
    # of 7 and 10 steps
    for _ in range(2):
        gyms.reset_to_observation(monitor)
        is_over = False
        while not is_over:
            _, _, is_over = gyms.step_to_triple(monitor, monitor.action_space.low)
    counts = [monitor.get_total_steps(), monitor.get_episode_lengths()]
    counts += [monitor.get_episode_rewards(), len(monitor.get_episode_times())]
    step = partial(gyms.step_to_triple, monitor, monitor.action_space.low)
    capture_numbers([*counts, _describe_error_of_call(step)])


def act_with_halved_parameter_vector(session: Session) -> None:
    """Read the parameters as one vector, load half of it, and capture an action."""
    if not hasattr(session.model.policy, "load_from_vector"):
        raise Unsupported("this version's policies have no load_from_vector")
    session.model.policy.load_from_vector(0.5 * session.model.policy.parameters_to_vector())
    observation = gyms.reset_to_observation(session.environments.make_one_environment())
    capture_numbers([session.model.predict(observation, deterministic=True)[0]])


def act_with_reloaded_actor(session: Session) -> None:
    """Save the actor alone, load it, and capture an action."""
    path = session.get_path("actor.pkl")
    session.model.policy.actor.save(path)
    actor = type(session.model.policy.actor).load(path)
    observation, _ = session.model.policy.obs_to_tensor(
        gyms.reset_to_observation(session.environments.make_one_environment())
    )
    capture_numbers([actor(observation, deterministic=True).detach().numpy()])


def reset_three_times_after_seed(session: Session) -> None:
    """Seed a vectorised environment once, and capture the observations of three resets."""
    environment = DummyVecEnv([session.environments.make_one_environment])
    environment.seed(3)
    capture_numbers([np.array(environment.reset()) for _ in range(3)])


def fill_rollout_row_by_row(session: Session) -> None:
    """Fill a rollout of two steps as a user does; log-probabilities and values are scalars."""
    kind = find_in_library("common.buffers", "RolloutBuffer")
    environment = session.environments.make_one_environment()
    buffer = kind(2, environment.observation_space, environment.action_space, device="cpu")
    observation = gyms.reset_to_observation(environment)
    action = environment.action_space.low
    for step in range(2):
        numbers = [torch.tensor(0.5 * (step + 1)), torch.tensor(-0.3 * (step + 1))]
        buffer.add(observation, action, np.ones(1), np.zeros(1), *numbers)
    buffer.compute_returns_and_advantage(torch.tensor([0.25]), np.zeros(1))
    capture_numbers([buffer.values, buffer.log_probs, buffer.advantages, buffer.returns])


def load_with_and_without_force_reset(session: Session) -> None:
    """Load an agent with ``force_reset`` on and off; capture whether the next ``learn`` resets."""
    path = session.save_model("whole")
    environment = DummyVecEnv([session.environments.make_one_environment])
    is_anew = []
    for anew in (True, False):
        loaded = type(session.model).load(path, env=environment, force_reset=anew)
        is_anew.append(float(loaded._last_obs is None))
    capture_numbers(is_anew)


# -- callbacks and files ------------------------------------------------------------------------


def make_checkpoint_callback(session: Session) -> Any:
    """Return a callback that saves the agent every few steps."""
    callback = find_in_library("common.callbacks", "CheckpointCallback")
    return callback(9, session.get_path("checkpoints"))


def make_callback_list(session: Session) -> Any:
    """Return callbacks in a list, one of them only every few steps."""
    periodic, make_list = (
        find_in_library("common.callbacks", n) for n in ("EveryNTimesteps", "CallbackList")
    )
    own = [user_code.CountingCallback(session.steps), user_code.StartingCallback()]
    return make_list([periodic(7, own[0]), own[1]])


def make_early_stopping_callback(session: Session) -> Any:
    """Return an ``EvalCallback`` that saves the best agent, and stops without improvement."""
    better, worse = (find_in_library("common.callbacks", f"StopTrainingOn{name}")
                     for name in ("RewardThreshold", "NoModelImprovement"))  # fmt: skip
    environment = session.environments.make_wrapped_environment(training=False)
    return session.evaluation("EvalCallback")(
        environment, better(1e9), worse(2), n_eval_episodes=1, eval_freq=5, verbose=0,
        log_path=session.get_path("log"), best_model_save_path=session.get_path("best"),
    )  # fmt: skip


def set_parameters_and_act(session: Session) -> None:
    """Set all parameters from a file, then those of the policy alone; act after each."""
    model, path = session.model, session.save_model("parameters")
    halved = {name: 0.5 * value for name, value in model.get_parameters()["policy"].items()}
    for parameters in (path, {"policy": halved}):
        model.set_parameters(parameters, exact_match=parameters is path)
        act_in_bare_environment(model, session.environments)


def capture_contents_of_file(session: Session) -> None:
    """Capture the names of objects in a saved file, and the policy's training mode on and off."""
    model, path = session.model, session.save_model("parts")
    data, parameters, variables = find_in_library("common.save_util", "load_from_zip_file")(path)
    objects = ("policy", "actor", "critic", "replay_buffer", "rollout_buffer", "log_ent_coef")
    found = [name in data for name in objects]
    capture_numbers([sorted(parameters), sorted(variables or ()), found])
    for mode in (True, False):
        getattr(model.policy, "set_training_mode", model.policy.train)(mode)
        parts = (model.policy, *model.policy.children())
        capture_numbers([int(part.training) for part in parts])


def reload_agent_with_listed_net_arch(session: Session) -> None:
    """Save and load an agent whose ``net_arch`` is a list, as before 1.8; capture rates, error."""
    environment, path = session.environments.make_wrapped_environment(), session.get_path("listed")
    layers = {"net_arch": [{"pi": [8], "vf": [4]}]}

    def reload_agent() -> Any:
        rate = user_code.make_falling_rate(0.01)
        model = type(session.model)("MlpPolicy", environment, rate, 16, policy_kwargs=layers)
        capture_numbers(user_code.list_learning_rates(model))
        model.save(path)
        act_in_bare_environment(type(model).load(path, device="cpu"), session.environments)

    capture_numbers([_describe_error_of_call(reload_agent)])


def inspect_vectorised_environments(session: Session) -> None:
    """Capture attributes, methods, wrappers, resets and warnings of a vectorised environment."""
    environment = session.environments.make_wrapped_environment()
    if not hasattr(environment, "has_attr"):
        raise Unsupported("this version's vectorised environments have no has_attr")
    environment.set_attr("mark", 3)
    environment.set_attr("mark", 4, indices=[1])
    marks = [environment.get_attr("mark"), environment.get_attr("mark", 1)]
    marks += [environment.has_attr("mark"), environment.has_attr("nothing")]
    notes = environment.env_method("make_extra_info", np.ones(3), indices=[1, 0])
    # of the wrapper below the outermost one
    notes.append(list(environment.info_keywords))
    kinds = (user_code.SuccessInInfo, user_code.MatrixActions)
    wrapped = [environment.env_is_wrapped(kind, indices=0) for kind in kinds]
    capture_numbers([*marks, notes, wrapped])
    for options in ({"level": 1}, [{"level": 2}, {}]):
        environment.seed(3)
        environment.set_options(options)
        capture_numbers([environment.reset(), environment.reset()])
        capture_numbers(
            [environment.get_original_obs(), environment.old_reward, environment.returns]
        )
    capture_numbers([str(environment.metadata), str(environment.render_mode)])
    capture_numbers([environment.unnormalize_reward(np.array([0.25, 7.0]))])
    actions = np.full((environment.num_envs, *environment.action_space.shape), np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for wrong in (actions, np.inf * np.ones_like(actions), actions):
            environment.step_async(wrong)
    capture_numbers([str(warning.category.__name__) for warning in caught])
    environment.close()


def capture_errors_of_wrong_calls(session: Session) -> None:
    """Capture errors for wrong environments, names, policies, files and observations."""
    model, path = session.model, session.save_model("refused")
    kind, environments = type(model), session.environments.make_wrapped_environment(copies=3)
    other_spaces = user_code.UnboundedActions(session.environments.make_one_environment())
    capture_numbers([_describe_error_of_call(call) for call in (
        lambda: model.set_env(environments), lambda: model.set_parameters({"none": {}}),
        lambda: model.set_parameters({}), lambda: kind.load(path, policy_kwargs={"net_arch": [3]}),
        lambda: kind.load(path, env=other_spaces),
        lambda: kind("NoPolicy", environments), lambda: kind("MultiInputPolicy", environments),
        lambda: model.predict((environments.reset(), {})), lambda: model.predict(np.zeros(7)),
        lambda: kind("MlpPolicy", environments, train_freq=(2, "month")),
        lambda: kind("MlpPolicy", environments, train_freq=(2.5, "step")),
    )])  # fmt: skip


def _describe_error_of_call(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "none"


def learn_in_registered_environment(session: Session) -> None:
    """Train an agent in an environment given by its registered name, with the default logger."""
    name, folder = "RlregressAlone-v0", {"SB3_LOGDIR": session.folder}
    make = session.environments.make_one_environment
    # it takes no arguments, as most environments
    with gyms.register_temporarily(name, lambda: make()), mock.patch.dict(os.environ, folder):
        model = type(session.model)("MlpPolicy", name, n_steps=16, batch_size=8, device="cpu")
        model.learn(session.steps, callback=lambda own, global_variables: len(own) > 0)
    act_in_bare_environment(model, session.environments)


def reload_agent_from_memory(session: Session) -> None:
    """Save an agent to memory without seed and gamma, and load it with another gamma."""
    memory = io.BytesIO()
    session.model.save(memory, exclude=["seed", "gamma"])
    loaded = type(session.model).load(memory, device="cpu", custom_objects={"gamma": 0.25})
    capture_numbers([loaded.gamma, loaded.num_timesteps])
    act_in_bare_environment(loaded, session.environments)
