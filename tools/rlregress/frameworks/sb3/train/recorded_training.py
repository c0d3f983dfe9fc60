"""A training that a trace records, and the steps that follow with its agent.

The steps after a training are functions of a ``Session``: evaluate, save, load, act, learn again.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import torch
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, sync_envs_normalization

from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.library import (
    find_in_library,
    find_policy_class,
    is_raised_by_library,
    make_agent,
    name_missing_device,
    silence_agent,
)
from rlregress.frameworks.sb3.train.trace_environments import Environments
from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.framework_errors import ExpectedError
from rlregress.probing.interface import Unsupported
from rlregress.probing.trace_trainings import resolve_lazy_arguments

#: steps of an agent that acts alone: two ends of episodes are among them.
_ALONE = 18
#: tells PyTorch since 2.6 to load what is not only numbers.
_TRUST = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def find_evaluation(name: str) -> Any:
    """Return a function or class of the library that evaluates, by name."""
    return find_in_library(
        "common.callbacks" if name == "EvalCallback" else "common.evaluation", name
    )


@dataclass
class Session:
    """An agent that is trained, its environments, and a folder for files.

    Attributes:
        trained: the agent of the first training.
        model: the one that goes on: the same, or one that was loaded from its file.
        steps: of the first training.
        evaluation: name -> the function or class that evaluates.
    """

    trained: Any
    model: Any
    environments: Environments
    folder: str
    steps: int
    evaluation: Callable[[str], Any]

    def get_path(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.folder, name)

    def save_model(self, name: str) -> str:
        """Save the agent to a file in the folder, and return its path."""
        path = self.get_path(name)
        self.model.save(path)
        return path


Step = Callable[[Session], Any]


@dataclass(frozen=True)
class ScenarioTraining:
    """A short training, to be called with ``make_env`` and a seed.

    Attributes:
        algorithm: returns its class.
        arguments: of the class, without those of the policy. ``seed`` None: all generators are
            seeded, the agent and its environments are not.
        networks: arguments of the policy.
        policy: its name; empty: that which fits the observations.
        policy_as_class: it is given as a class, and not by its name.
        steps: of environments, over all copies.
        first: what the user does with the agent before it learns.
        callbacks: each makes a callback of the training.
        make_learn_arguments: returns further arguments of ``learn``.
        then: what is done with the agent afterwards, in this order.
        instead: the training that follows if the library refuses this one, so that the trace holds
            its error and more; None: the error ends the trace.
        evaluation: name -> the function or class that evaluates.
    """

    algorithm: Callable[[], Any]
    environments: Environments = Environments()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    networks: Mapping[str, Any] = field(default_factory=dict)
    policy: str = ""
    policy_as_class: bool = False
    steps: int = 96
    first: Sequence[Step] = ()
    callbacks: Sequence[Step] = ()
    make_learn_arguments: Callable[[Session], Mapping[str, Any]] = lambda session: {}
    then: Sequence[Step] = ()
    instead: ScenarioTraining | None = None
    evaluation: Callable[[str], Any] = find_evaluation

    def __call__(self, make_env: Callable[..., Any], seed: int) -> Mapping[str, Any]:
        """Train; if the library refuses that, train as ``instead`` says and return the error."""
        with warnings.catch_warnings(), TemporaryDirectory(prefix="rlregress-") as folder:
            # about what a training does on purpose
            warnings.simplefilter("ignore")
            try:
                self._train_in_folder(make_env, seed, folder)
            except Unsupported:
                raise
            except Exception as error:
                if self.instead is None or not is_raised_by_library(error):
                    raise
                expected = ExpectedError(error)
                self.instead._train_in_folder(make_env, seed, folder)
                return {"refused": expected}
        return {}

    def _train_in_folder(self, make_env: Callable[..., Any], seed: int, folder: str) -> None:
        algorithm = self.algorithm()
        environments = replace(self.environments, make_env=make_env)
        # a user makes one to look at its spaces
        environments.make_one_environment()
        policy: Any = self.policy or environments.policy
        networks = resolve_lazy_arguments(self.networks)
        own_policy = find_policy_class(algorithm, policy)
        raise_if_argument_unknown(own_policy, networks, f"{algorithm.__name__}'s policy")
        arguments = {
            "seed": seed,
            **resolve_lazy_arguments(self.arguments),
            "policy_kwargs": networks,
        }
        is_seeded = arguments["seed"] is not None
        if not is_seeded:
            set_random_seed(seed)
        environment = environments.make_wrapped_environment()
        if not is_seeded:
            environment.seed(None)
        model = make_agent(
            algorithm, own_policy if self.policy_as_class else policy, environment, **arguments
        )
        session = Session(model, model, environments, folder, self.steps, self.evaluation)
        for step in self.first:
            step(session)
        callbacks = [make(session) for make in self.callbacks] or None
        further = self.make_learn_arguments(session)
        model.learn(self.steps, callback=callbacks, **further)
        for step in self.then:
            step(session)
        if isinstance(environment, VecEnv):
            environment.close()


# -- callbacks --------------------------------------------------------------------------------


def make_evaluation_callback(session: Session) -> Any:
    """Return a callback that plays two episodes every 40 calls."""
    aside = session.environments.make_wrapped_environment(training=False)
    callback = session.evaluation("EvalCallback")
    return callback(aside, n_eval_episodes=2, eval_freq=40, verbose=0)


# -- looks ------------------------------------------------------------------------------------


def capture_numbers(numbers: list[Any]) -> None:
    """Make the trace record numbers that a user would look at."""
    user_code.Capture().capture(numbers)


def capture_episode_infos(session: Session) -> None:
    """Capture returns, lengths and further fields of the agent's episodes for the trace."""
    keys = ("r", "l", "place")
    episodes = session.model.ep_info_buffer
    rows: list[Any] = [[row[key] for key in keys if key in row] for row in episodes]
    capture_numbers([len(rows), *rows])


def capture_episode_starts_of_last_rollout(session: Session) -> None:
    """Capture for the trace which steps of the last rollout start an episode."""
    capture_numbers(compat.read_episode_starts_of_rollout(session.model).astype(int).tolist())


def capture_learning_rates(session: Session) -> None:
    """Capture learning rates, and whether the policy is in training mode, for the trace."""
    capture_numbers(
        [int(session.model.policy.training), *user_code.list_learning_rates(session.model)]
    )


# -- learning, saving and loading -------------------------------------------------------------


def learn_again(session: Session, reset: bool = False) -> None:
    """Call ``learn`` again; ``reset``: whether its steps count from 0 again."""
    session.model.learn(session.steps // 2, reset_num_timesteps=reset)


def train_by_call_of_user(session: Session, updates: int) -> None:
    """Call ``train`` as a user does, for so many gradient steps."""
    session.model.train(gradient_steps=updates, batch_size=16)


def set_other_environment(session: Session) -> None:
    """Give the agent another environment."""
    session.model.set_env(session.environments.make_wrapped_environment())


def save_load_and_continue(
    session: Session,
    compiled: bool = False,
    copies: int = 0,
    rows_from_elsewhere: bool = False,
    **options: Any,
) -> None:
    """Save agent, buffer and statistics, load them, and continue the training.

    Args:
        compiled: the policy is saved within a module, as ``torch.compile`` wraps one.
        copies: environments side by side after loading, with no buffer; 0: those of the first
            training.
        rows_from_elsewhere: the buffer comes from a device that this machine lacks.
        **options: further arguments of ``load``.
    """
    model = session.model
    if compiled:
        model.policy = user_code.CompiledModule(model.policy)
    path = session.save_model("model.zip")
    if copies:
        environment = session.environments.make_wrapped_environment(copies=copies)
    else:
        environment = session.environments.save_and_reload_statistics(
            model.get_env(), session.folder
        )
    session.model = silence_agent(type(model).load(path, env=environment, device="cpu", **options))
    if hasattr(model, "save_replay_buffer") and not copies:
        if rows_from_elsewhere:
            model.replay_buffer.device = torch.device(name_missing_device())
        rows = session.get_path("rows.pkl")
        model.save_replay_buffer(rows)
        session.model.load_replay_buffer(rows)
    learn_again(session)


def _reload_policy(session: Session, trusted: bool) -> Any:
    """Save the policy alone, and return it as it is loaded.

    Args:
        trusted: PyTorch loads unknown types, too, if the library does not decide on it.
    """
    policy, path = session.model.policy, session.get_path("policy.pkl")
    if not hasattr(policy, "save"):
        raise Unsupported("this version cannot save a policy alone")
    policy.save(path)
    with mock.patch.dict(os.environ, {_TRUST: "1"} if trusted else {}):
        return type(policy).load(path)


def predict_with_reloaded_policy(session: Session) -> None:
    """Save the policy alone, load it, and call its ``predict``."""
    # whether a version trusts its own files is checked by ``act_with_reloaded_policy``
    policy = _reload_policy(session, trusted=True)
    environment = DummyVecEnv([session.environments.make_one_environment])
    policy.predict(environment.reset(), deterministic=True)


def act_with_reloaded_policy(session: Session, trusted: bool = False) -> None:
    """Save the policy alone, load it, and let it act in an environment, captured for the trace."""
    act_in_bare_environment(_reload_policy(session, trusted), session.environments)


# -- evaluating and acting --------------------------------------------------------------------


def play_three_episodes(
    session: Session, deterministic: bool = True, capture_returns: bool = False
) -> None:
    """Play three episodes after the training.

    Args:
        capture_returns: the trace records their returns and lengths.
    """
    environment = session.environments.make_wrapped_environment(training=False)
    if session.environments.normalize is not None:
        sync_envs_normalization(session.model.get_env(), environment)
    options = {"return_episode_rewards": True} if capture_returns else {}
    returned = session.evaluation("evaluate_policy")(
        session.model, environment, 3, deterministic=deterministic, **options
    )
    if capture_returns:
        capture_numbers([list(map(float, numbers)) for numbers in returned])


def act_with_agent_in_bare_environment(session: Session, deterministic: bool = True) -> None:
    """Let the session's agent act in one environment without wrappers of the library."""
    act_in_bare_environment(session.model, session.environments, deterministic)


def act_in_bare_environment(
    actor: Any, environments: Environments, deterministic: bool = True
) -> None:
    """Act with an agent or policy in one environment without wrappers; capture the actions."""
    environment = environments.make_one_environment()
    observation = gyms.reset_to_observation(environment)
    for _ in range(_ALONE):
        action, _ = actor.predict(observation, deterministic=deterministic)
        capture_numbers([type(action).__name__, action])
        observation, _, is_over = gyms.step_to_triple(environment, action)
        if is_over:
            observation = gyms.reset_to_observation(environment)
