"""What a scenario does with an agent in between and afterwards: evaluate, save, load, act."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from typing import Any
from unittest import mock

import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, gyms, user_code, utility_calls
from rlregress.frameworks.sb3.scenario_request import (
    ScenarioOptions,
    library,
    missing_device,
    silent,
)
from rlregress.frameworks.sb3.wrappers import Wrappers

#: steps of an agent that acts alone: two ends of episodes are among them.
_ALONE = 18
#: tells PyTorch since 2.6 to load what is not only numbers.
_TRUST = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


class PostTraining:
    """What a scenario asks for beside the first training.

    Attributes:
        wrappers: the environments.
    """

    def evaluation(self, name: str) -> Any:
        """A function or class of the library that evaluates, by name."""
        return library("common.callbacks" if name == "EvalCallback" else "common.evaluation", name)

    def __init__(self, options: ScenarioOptions, wrappers: Wrappers, folder: str) -> None:
        self.wrappers = wrappers
        self._folder = folder
        self._save_load, self._save_policy = options.take("save_load"), options.take("save_policy")
        self._loaded_copies = int(options.take("loaded_copies", 0))
        frequency = options.take("loaded_frequency")
        self._loaded_with = {} if frequency is None else {"train_freq": int(frequency)}
        self._compiled, self._learn_again = options.take("compiled"), options.take("learn_again")
        self._another = options.take("another_environment")
        self._by_hand = int(options.take("updates_by_hand", 0))
        self._evaluations = list(options.take("evaluate", []))
        self._reports = list(options.take("report", []))
        self._alone = list(options.take("act_alone", []))
        self._policy_again = options.take("policy_again")
        self._stop = options.take("stop_after_episodes")
        self._stop_at = options.take("stop_after_steps")
        self._silent_callback = options.take("silent_callback")
        self._starting_callback = options.take("starting_callback")
        self._helpers = list(options.take("helpers", []))
        self._elsewhere = missing_device() if options.take("rows_from_elsewhere") else ""

    def callbacks(self) -> Any:
        """What is called at every step of the first training."""
        callbacks = []
        if "callback" in self._evaluations:
            aside = self.wrappers.wrapped_environment(training=False)
            callback = self.evaluation("EvalCallback")
            callbacks.append(callback(aside, n_eval_episodes=2, eval_freq=40, verbose=0))
        if self._stop is not None:
            callbacks.append(library("common.callbacks", "StopTrainingOnMaxEpisodes")(self._stop))
        if self._stop_at is not None:
            callbacks.append(user_code.CountingCallback(self._stop_at))
        if self._silent_callback:
            callbacks.append(user_code.SilentCallback())
        if self._starting_callback:
            callbacks.append(user_code.StartingCallback())
        return callbacks or None

    def all(self, model: Any, steps: int) -> None:
        """Everything that comes after the first training of so many steps."""
        if "episodes" in self._reports:
            _report_episodes(model)
        if "starts" in self._reports:
            user_code.Capture().capture(compat.episode_starts(model).astype(int).tolist())
        if "rates" in self._reports:
            user_code.Capture().capture([int(model.policy.training), *user_code.rates(model)])
        if self._by_hand:
            model.train(gradient_steps=self._by_hand, batch_size=16)
        if self._another:
            model.set_env(self.wrappers.wrapped_environment())
        if self._save_load:
            model = self._saved_and_loaded(model)
        if self._learn_again or self._save_load or self._another:
            model.learn(steps // 2, reset_num_timesteps=self._learn_again == "reset")
        self._evaluate(model)
        if self._save_policy:
            _save_policy(model, self.wrappers, self._folder)
        for kind in self._alone:
            act(model, self.wrappers, kind == "deterministic")
        if self._policy_again:
            self._load_policy(model)
        for name in self._helpers:
            utility_calls.USED[name](model, self.wrappers, self._folder)

    def _evaluate(self, model: Any) -> None:
        from stable_baselines3.common.vec_env import sync_envs_normalization

        reports = "evaluations" in self._reports
        for kind in self._evaluations:
            if kind == "callback":
                continue
            environment: Any = self.wrappers.wrapped_environment(training=False)
            if self.wrappers.normalizes:
                sync_envs_normalization(model.get_env(), environment)
            options = {"return_episode_rewards": True} if reports else {}
            returned = self.evaluation("evaluate_policy")(
                model, environment, 3, deterministic=kind == "deterministic", **options
            )
            if reports:
                user_code.Capture().capture([list(map(float, numbers)) for numbers in returned])

    def _saved_and_loaded(self, model: Any) -> Any:
        """The agent as it comes back from its file, with its replay buffer and its statistics."""
        path = os.path.join(self._folder, "model.zip")
        if self._compiled:
            model.policy = user_code.Compiled(model.policy)
        model.save(path)
        if self._loaded_copies:
            environment = self.wrappers.wrapped_environment(copies=self._loaded_copies)
        else:
            environment = self.wrappers.again(model.get_env(), self._folder)
        given = {"env": environment, "device": "cpu", **self._loaded_with}
        loaded = silent(type(model).load(path, **given))
        if hasattr(model, "save_replay_buffer") and not self._loaded_copies:
            rows = os.path.join(self._folder, "rows.pkl")
            if self._elsewhere:
                # as if they came from a machine that has it
                model.replay_buffer.device = torch.device(self._elsewhere)
            model.save_replay_buffer(rows)
            loaded.load_replay_buffer(rows)
        return loaded

    def _load_policy(self, model: Any) -> None:
        """Save the policy alone, load it, and let it act in an environment."""
        path = os.path.join(self._folder, "alone.pkl")
        _check_saving(model)
        model.policy.save(path)
        with _trusting() if self._policy_again == "trusted" else contextlib.nullcontext():
            policy = type(model.policy).load(path)
        act(policy, self.wrappers, deterministic=True)


def _report_episodes(model: Any) -> None:
    """Show the returns and lengths that the agent knows of, and what else is noted with them."""
    keys = ("r", "l", "place")
    rows: list[Any] = [[row[key] for key in keys if key in row] for row in model.ep_info_buffer]
    user_code.Capture().capture([len(rows), *rows])


def act(actor: Any, wrappers: Wrappers, deterministic: bool) -> None:
    """Act in one environment that nothing is wrapped around."""
    environment = wrappers.made(0)
    observation = gyms.reset(environment)
    for _ in range(_ALONE):
        action, _ = actor.predict(observation, deterministic=deterministic)
        user_code.Capture().capture([type(action).__name__, action])
        observation, _, ended = gyms.step(environment, action)
        if ended:
            observation = gyms.reset(environment)


def _check_saving(model: Any) -> None:
    if not hasattr(model.policy, "save"):
        raise Unsupported("a policy cannot be saved alone")


def _save_policy(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Save the policy alone, load it, and let it act."""
    path = os.path.join(folder, "policy.pkl")
    _check_saving(model)
    model.policy.save(path)
    # that a version does not trust its own files is another scenario's question
    with _trusting():
        policy = type(model.policy).load(path)
    environment = DummyVecEnv([partial(wrappers.made, 0)])
    policy.predict(environment.reset(), deterministic=True)


def _trusting() -> Any:
    """Let PyTorch load what it does not know, where the library does not say otherwise."""
    return mock.patch.dict(os.environ, {_TRUST: "1"})
