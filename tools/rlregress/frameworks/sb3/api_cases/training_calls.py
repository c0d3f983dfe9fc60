"""Parts of a training that a user calls: rollouts, evaluations, callbacks."""

from __future__ import annotations

import os
from typing import Any, Dict, List

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library, silent
from rlregress.frameworks.sb3.wrappers import Wrappers

_CALLBACKS = "common.callbacks"


def _callback(model: Any, inner: Any) -> Any:
    """A callback that knows its agent."""
    inner.init_callback(model)
    return inner


def _collect(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A rollout by hand: one that ends, and one that a callback ends."""
    del wrappers, folder
    environment = model.get_env()
    for most in (model.num_timesteps + 2 * model.n_envs, 10**6):
        callback = _callback(model, user_code.CountingCallback(most))
        if hasattr(model, "rollout_buffer"):
            ended = model.collect_rollouts(environment, callback, model.rollout_buffer, 5)
            user_code.Capture().capture([int(ended), model.num_timesteps, model.rollout_buffer.pos])
            continue
        rows = model.replay_buffer
        found = model.collect_rollouts(environment, callback, model.train_freq, rows)
        user_code.Capture().capture([*map(int, found), model.num_timesteps, rows.pos])


def _count_more(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Whether more steps or episodes are to be collected; frequencies that are none."""
    del folder
    more = library("common.utils", "should_collect_more_steps")
    frequency = library("common.type_aliases", "TrainFreq")
    unit = library("common.type_aliases", "TrainFrequencyUnit")
    for word in (unit.STEP, unit.EPISODE):
        for steps, episodes in ((0, 0), (2, 0), (0, 2), (3, 1)):
            user_code.Capture().capture([int(more(frequency(2, word), steps, episodes))])
    user_code.Capture().capture([answer(more, frequency(2, "month"), 0, 0)])
    kind = type(model)
    for given in (3, (2, "episode"), (2, "month"), (2.5, "step")):
        options = compat.taken(kind, train_freq=given, buffer_size=10)
        if options:
            made = answer(kind, "MlpPolicy", wrappers.made(0), device="cpu", **options)
            user_code.Capture().capture([repr(getattr(made, "train_freq", made))])


class _Remembering:
    """An agent that looks at what it is asked beside the observation, and has a state."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, observation: Any, **named: Any) -> Any:
        """The action of the library's agent; the state counts."""
        for name, value in sorted(named.items()):
            user_code.Capture().capture([name, "none" if value is None else np.array(value)])
        action, _ = self._model.predict(observation, deterministic=named["deterministic"])
        return action, np.array(named.get("state") or 0) + 1


class _Drawn(VecEnvWrapper):
    """Environments that tell when they are drawn."""

    def reset(self) -> Any:
        """As it is."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """As it is."""
        return self.venv.step_wait()

    def render(self, *given: Any, **named: Any) -> Any:
        """Nothing to see."""
        del given, named
        user_code.Capture().capture(["drawn"])


def _evaluate(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Evaluations of one and several, in a monitor or not, with a callback, under a threshold."""
    del folder
    judge = library("common.evaluation", "evaluate_policy")
    monitor = library("common.monitor", "Monitor")
    recorded: List[Any] = []

    def look(known: Dict[str, Any], _: Dict[str, Any]) -> None:
        recorded.append([float(known["reward"]), int(known["done"]), int(known["i"])])

    for around in (lambda item: item, monitor):
        for copies in (1, 2):
            made = [around(wrappers.made(k)) for k in range(copies)]
            environment = made[0] if copies == 1 else gyms.side_by_side(*made)
            returned = judge(model, environment, 3, callback=look, return_episode_rewards=True)
            user_code.Capture().capture([[float(number) for number in value] for value in returned])
            user_code.Capture().capture(
                list(map(float, judge(model, environment, 2, deterministic=True)))
            )
    user_code.Capture().capture(recorded)
    environment = _Drawn(gyms.side_by_side(*(wrappers.made(k) for k in range(2))))
    for best in (True, False):
        judge(_Remembering(model), environment, 3, deterministic=best, render=best)
    for threshold in (-1e9, 1e9):
        options = {"reward_threshold": threshold, "n_eval_episodes": 1}
        user_code.Capture().capture([accepted(judge, model, wrappers.made(0), **options)])


class _Counting(BaseCallback):
    """A callback that looks at what is called, and when."""

    def __init__(self, name: str, most: int = 10**6) -> None:
        super().__init__()
        self._name, self._most = name, most

    def _on_training_start(self) -> None:
        self._note("training starts")

    def _on_rollout_start(self) -> None:
        self._note("rollout starts")

    def _on_rollout_end(self) -> None:
        self._note("rollout ends")

    def _on_training_end(self) -> None:
        self._note("training ends")

    def _on_step(self) -> bool:
        self._note("step")
        return self.n_calls < self._most

    def _note(self, what: str) -> None:
        user_code.Capture().capture([self._name, what, self.n_calls, self.num_timesteps])
        user_code.Capture().capture(
            [len(self.locals.get("rewards", ())), type(self.parent).__name__]
        )


def _call_back(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Callbacks in lists, every few steps, as functions; each can end the training."""
    del wrappers, folder
    every = library(_CALLBACKS, "EveryNTimesteps")
    several = library(_CALLBACKS, "CallbackList")
    steps = 4 * model.n_envs

    def function(known: Dict[str, Any], others: Dict[str, Any]) -> bool:
        user_code.Capture().capture([len(known["rewards"]), int("np" in others)])
        return True

    cases = [
        [_Counting("first"), _Counting("second", 2)],
        several([_Counting("first", 3), several([_Counting("inner")])]),
        every(3, _Counting("every", 2)),
        function,
        None,
    ]
    for given in cases:
        model.learn(steps, callback=given, reset_num_timesteps=True)
        user_code.Capture().capture([model.num_timesteps])


def _evaluate_between(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Evaluations in between that keep files, call others, and end the training."""
    kind = library(_CALLBACKS, "EvalCallback")
    stop = library(_CALLBACKS, "StopTrainingOnRewardThreshold")
    stuck = library(_CALLBACKS, "StopTrainingOnNoModelImprovement")
    cases: List[Dict[str, Any]] = [
        {"callback_on_new_best": stop(-1e9)},
        {"callback_on_new_best": stop(1e9), "callback_after_eval": _Counting("after", 3)},
        {"callback_after_eval": stuck(1, min_evals=1)},
        {"callback_after_eval": stuck(0, min_evals=2)},
    ]
    for number, given in enumerate(cases):
        place = os.path.join(folder, f"between-{number}")
        files = {"log_path": place, "best_model_save_path": os.path.join(place, "best")}
        check_arguments(kind, {**given, **files})
        environment = wrappers.wrapped_environment(training=False)
        callback = kind(environment, n_eval_episodes=2, eval_freq=3, verbose=0, **files, **given)
        model.learn(24 * model.n_envs, callback=callback)
        user_code.Capture().capture(
            [model.num_timesteps, callback.n_calls, callback.best_mean_reward]
        )
        user_code.Capture().capture([callback.last_mean_reward, *sorted(os.listdir(place))])
        with np.load(os.path.join(place, "evaluations.npz")) as kept:
            user_code.Capture().capture([kept[name] for name in sorted(kept.files)])
    user_code.Capture().capture([accepted(_callback(model, stop(1.0)).on_step)])
    user_code.Capture().capture([accepted(_callback(model, stuck(1)).on_step)])


def _keep_between(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Files of the agent, its rows and its statistics every few calls."""
    del wrappers
    kind = library(_CALLBACKS, "CheckpointCallback")
    options = {"save_replay_buffer": True, "save_vecnormalize": True}
    check_arguments(kind, options)
    for number, given in enumerate(({}, options)):
        place = os.path.join(folder, f"kept-{number}")
        model.learn(7 * model.n_envs, callback=kind(3, place, name_prefix="agent", **given))
        user_code.Capture().capture(sorted(os.listdir(place)))


def _make_wrongly(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Agents that are refused: names of policies, spaces, numbers of environments, exploration."""
    del folder
    kind = type(model)
    dictionary, choices = wrappers.like("dict"), wrappers.like("discrete")
    cases: List[Any] = [
        ("NoPolicy", wrappers.made(0), {}),
        ("MlpPolicy", dictionary, {}),
        ("CnnPolicy", dictionary, {}),
        ("CnnPolicy", choices, {}),
        ("MlpPolicy", user_code.UnboundedActions(wrappers.made(0)), {}),
        ("MultiInputPolicy", wrappers.made(0), {}),
        ("MlpPolicy", wrappers.made(0), {"learning_rate": "fast"}),
        ("MlpPolicy", wrappers.made(0), {"policy_kwargs": {"none": 1}}),
    ]
    if "use_sde" in compat.keywords(kind):
        discrete = wrappers.like(actions="discrete")
        cases.append(("MlpPolicy", discrete, {"use_sde": True}))
    if "n_steps" in compat.keywords(kind) and "buffer_size" in compat.keywords(kind):
        cases.append(("MultiInputPolicy", dictionary, {"n_steps": 2, "buffer_size": 10}))
    if "batch_size" in compat.keywords(kind) and "n_epochs" in compat.keywords(kind):
        cases += [
            ("MlpPolicy", wrappers.made(0), {"batch_size": 1}),
            ("MlpPolicy", wrappers.made(0), {"n_steps": 1}),
            ("MlpPolicy", wrappers.made(0), {"clip_range_vf": -1.0}),
        ]
    for policy, environment, options in cases:
        user_code.Capture().capture(
            [policy, accepted(kind, policy, environment, device="cpu", **options)]
        )
    user_code.Capture().capture(
        [accepted(kind("MlpPolicy", None, device="cpu", _init_setup_model=False).learn, 1)]
    )


def _look_at_rates(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rates of an agent's optimisers before any update, when they fall from the beginning on."""
    del folder
    kind = type(model)
    smaller = compat.taken(kind, buffer_size=20)
    for rate in (0.25, user_code.linear(0.5)):
        options = {"learning_rate": rate, "device": "cpu", **smaller}
        user_code.Capture().capture(user_code.rates(kind("MlpPolicy", model.get_env(), **options)))
    user_code.Capture().capture(user_code.rates(model))


def _make_by_name(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Agents in environments that are made by name, with and without a word on showing them."""
    del folder
    kind = type(model)
    smaller = compat.taken(kind, buffer_size=20, learning_starts=4, n_steps=8, batch_size=8)

    def making(whole: bool) -> Any:
        def make(**given: Any) -> Any:
            user_code.Capture().capture([*sorted(given), *map(str, given.values())])
            if not whole:
                # as most environments that were not asked to show themselves
                given.pop("render_mode", None)
            if given:
                raise TypeError("no such argument")
            return wrappers.made(0)

        return make

    for whole in (False, True):
        with gyms.registered("RlregressAlone-v0", making(whole)):
            agent = silent(kind("MlpPolicy", "RlregressAlone-v0", device="cpu", seed=1, **smaller))
        user_code.Capture().capture(
            [agent.get_env().num_envs, type(agent.get_env().envs[0]).__name__]
        )
        agent.learn(10)
        user_code.Capture().capture(
            [agent.num_timesteps, agent.predict(agent.get_env().reset())[0].shape]
        )


def _count_successes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Successes that an environment tells of, in a training and in evaluations in between."""
    kind = library(_CALLBACKS, "EvalCallback")
    place = os.path.join(folder, "successes")
    callback = kind(
        gyms.side_by_side(user_code.Successes(wrappers.made(1))),
        n_eval_episodes=3,
        eval_freq=20,
        log_path=place,
        verbose=0,
        **compat.taken(kind, deterministic=False),
    )
    copies = [user_code.Successes(wrappers.made(k)) for k in range(model.n_envs)]
    model.set_env(gyms.side_by_side(*copies))
    model.learn(40 * model.n_envs, callback=callback)
    user_code.Capture().capture(list(map(int, model.ep_success_buffer)))
    with np.load(os.path.join(place, "evaluations.npz")) as kept:
        user_code.Capture().capture([kept[name] for name in sorted(kept.files)])


def _train_with_evaluation(model: Any, wrappers: Wrappers, folder: str) -> None:
    """The environment and the normaliser that an agent has; a new number of steps in each."""
    del folder
    if not hasattr(model, "get_vec_normalize_env"):
        raise Unsupported("an agent does not tell its normaliser")
    normaliser = library("common.vec_env", "VecNormalize")
    user_code.Capture().capture(
        [type(model.get_env()).__name__, type(model.get_vec_normalize_env()).__name__]
    )
    copies = gyms.side_by_side(*(wrappers.made(k) for k in range(model.n_envs)))
    model.set_env(normaliser(copies))
    user_code.Capture().capture(
        [type(model.get_env()).__name__, type(model.get_vec_normalize_env()).__name__]
    )
    model.learn(8 * model.n_envs)
    user_code.Capture().capture([model.num_timesteps, model.get_vec_normalize_env().ret_rms.count])


USED = {
    "rollout": _collect,
    "collection-counted": _count_more,
    "evaluations": _evaluate,
    "callbacks": _call_back,
    "evaluations-between": _evaluate_between,
    "files-between": _keep_between,
    "agents-refused": _make_wrongly,
    "agents-made-by-name": _make_by_name,
    "successes": _count_successes,
    "rates-before-updates": _look_at_rates,
    "normaliser-put-around": _train_with_evaluation,
}
