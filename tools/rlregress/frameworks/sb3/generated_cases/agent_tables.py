"""Agents that are made with every option, trained for some steps, called, saved and loaded."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from rlregress.frameworks.sb3 import compat, user_code
from rlregress.frameworks.sb3.generated_cases.call_sequences import (
    Named,
    done,
    environment,
    several,
)
from rlregress.frameworks.sb3.library import library, silent
from rlregress.probing.interface import Unsupported
from rlregress.probing.option_variants import Items, Kit, Subject

_BUFFERS = ("rollout_buffer", "replay_buffer")
#: numbers that an agent counts with.
_COUNTERS = (
    *("num_timesteps", "_total_timesteps", "_num_timesteps_at_start", "_episode_num"),
    *("_n_updates", "_n_calls", "_current_progress_remaining", "exploration_rate", "n_envs"),
)
_ON: dict[str, Any] = {"n_steps": 8, "learning_rate": 0.01}
_OFF: dict[str, Any] = {
    "buffer_size": 20, "learning_starts": 6, "batch_size": 4, "train_freq": 2,
    "learning_rate": 0.01,
}  # fmt: skip
#: algorithm -> what makes it small.
_SMALL: dict[str, Any] = {
    "PPO": {**_ON, "batch_size": 4, "n_epochs": 2}, "A2C": _ON,
    "SAC": _OFF, "TD3": _OFF, "DDPG": _OFF, "DQN": {**_OFF, "target_update_interval": 6},
}  # fmt: skip
_POLICIES = {"image": "CnnPolicy", "dict": "MultiInputPolicy", "goal": "MultiInputPolicy"}
#: steps of a training.
STEPS = 16


def arguments(name: str, observations: str = "box", copies: int = 1, **more: Any) -> dict[str, Any]:
    """What an agent is made with."""
    actions = "discrete" if name == "DQN" else more.pop("actions", "box")
    networks: dict[str, Any] = {"net_arch": [5]}
    if observations == "image":
        networks["features_extractor_kwargs"] = {"features_dim": 4}
    if observations == "goal":
        more["replay_buffer_class"] = library("her", "HerReplayBuffer")
    given = {"policy": _POLICIES.get(observations, "MlpPolicy"), "policy_kwargs": networks}
    given["env"] = several(copies, observations, actions)
    return {**given, **_SMALL[name], "device": "cpu", "seed": 0, **more}


def other(agent: Any, **options: Any) -> Any:
    """Another agent of the kind, with other options."""
    kind = type(agent)
    return silent(kind(**{**arguments(kind.__name__), **options}))


# -- what is shown of an agent ------------------------------------------------------------------


def rows_of(agent: Any) -> Iterator[tuple[str, Any]]:
    """Its buffers by name."""
    for name in _BUFFERS:
        if getattr(agent, name, None) is not None:
            yield name, getattr(agent, name)


def counted(agent: Any) -> list[Any]:
    """Counters, how full the rows are, and what the next action is chosen by."""
    results = [getattr(agent, name, None) for name in _COUNTERS]
    for name, rows in rows_of(agent):
        results.append([name, rows.pos, int(rows.full), rows.size(), str(rows.device)])
        results.append(getattr(rows, "generator_ready", None))
    return [*results, *(getattr(agent, n, None) for n in ("_last_obs", "_last_episode_starts"))]


def state(agent: Any) -> list[Any]:
    """What is counted, modes of all networks, optimisers, what is drawn next."""
    results: list[Any] = [[n for n, part in agent.policy.named_modules() if part.training]]
    results += counted(agent)
    for optimizer in user_code.optimizers(agent):
        kept = optimizer.state_dict()["state"].values()
        results.append([*(float(one.get("step", -1)) for one in kept), *user_code.rates(agent)])
    results.append([int(value.requires_grad) for value in agent.policy.parameters()])
    results.append(copy.deepcopy(agent.action_space).sample())
    return [*results, len(getattr(agent, "ep_info_buffer", None) or ())]


def networks(agent: Any) -> list[Any]:
    """Weights by name and device, what is optimised how, temperature and target entropy."""
    weights = agent.policy.state_dict()
    groups = [optimizer.param_groups for optimizer in user_code.optimizers(agent)]
    plain = [{k: v for k, v in group.items() if k != "params"} for some in groups for group in some]
    results: list[Any] = [list(weights), repr(plain), str(agent.device), str(agent.policy.device)]
    for name in ("log_ent_coef", "ent_coef_tensor", "target_entropy"):
        value = getattr(agent, name, None)
        device, moved = getattr(value, "device", None), getattr(value, "requires_grad", None)
        # numbers of a device that has none are none
        value = value if str(device) in ("cpu", "None") else None
        results.append([name in vars(agent), value, type(value).__name__, str(device), moved])
    values = [[str(value.device), tuple(value.shape)] for value in weights.values()]
    return results + (
        values if str(agent.device) == "meta" else [value.sum() for value in weights.values()]
    )


def settings(agent: Any) -> Items:
    """What an agent and its networks keep of what they were made with."""
    hidden = ("start_time", "num_timesteps", "exploration_rate")
    kept = Items((k, v) for k, v in vars(agent).items() if k[0] != "_" and k not in hidden)
    for part in (agent.policy, *agent.policy.children()):
        own: Mapping[str, Any] = getattr(part, "_get_constructor_parameters", dict)()
        kept.update((f"{type(part).__name__} {name}", value) for name, value in own.items())
    plain = (bool, int, float, str, list, tuple)
    return Items((name, value) for name, value in kept.items() if isinstance(value, plain))


class Looks(BaseCallback):
    """A callback that looks at the agent whenever it is called.

    Args:
        steps: calls after which the training ends.
        look: what is seen of the agent at each step; in between it is all of its state.
    """

    def __init__(self, steps: int = 10**6, look: Callable[[Any], Any] = counted) -> None:
        super().__init__()
        self.results: list[Any] = []
        self._steps, self._look = steps, look

    def _note(self, when: str, look: Callable[[Any], Any] = state) -> None:
        given = len((self.locals or {}).get("rewards", ())), type(self.parent).__name__
        self.results.append([when, self.n_calls, self.num_timesteps, *given, look(self.model)])

    def _on_training_start(self) -> None:
        self._note("training starts")

    def _on_rollout_start(self) -> None:
        self._note("rollout starts")

    def _on_rollout_end(self) -> None:
        self._note("rollout ends")

    def _on_training_end(self) -> None:
        self._note("training ends")

    def _on_step(self) -> bool:
        self._note("step", self._look)
        return self.n_calls < self._steps


def learnt(agent: Any, steps: int = STEPS, look: Any = counted, **options: Any) -> Any:
    """What is seen of an agent in a training, and after it."""
    looks = Looks(look=look)
    agent.learn(steps * agent.n_envs, callback=looks, **options)
    return [looks.results, networks(agent), [len(rows.rewards) for _, rows in rows_of(agent)]]


def _trained(agent: Any, folder: str) -> Any:
    """Before, in and after a training."""
    del folder
    results = done(agent, networks, state, learnt, answers)
    return Items([*results.items(), *settings(agent).items()])


def _rows(observations: list[Any]) -> Any:
    if isinstance(observations[0], dict):
        return {name: _rows([one[name] for one in observations]) for name in observations[0]}
    return np.stack(observations)


def answers(agent: Any) -> Any:
    """Actions, values and probabilities of one observation, and of one, two and three together."""
    agent.observation_space.seed(5)
    single = [agent.observation_space.sample() for _ in range(3)]

    def answered(given: Any, acts: Any) -> Any:
        alone = given if isinstance(given, dict) else {"none": given}
        best = Named(deterministic=True)

        def predicted(_: Any) -> Any:
            action, _ = acts.predict(given)
            return [action, type(action).__name__]

        return done(acts.policy, predicted, lambda _: acts.predict(given, **best),
                    ("is_vectorized_observation", alone), ("obs_to_tensor", given),
                    partial(_valued, given))  # fmt: skip

    inputs = [single[0], *(_rows(single[:n]) for n in (1, 2, 3))]
    wrong = [np.zeros(5), np.zeros((2, 2, 3)), {"box": np.zeros(3)}, (single[0], {})]
    return done(agent, *(partial(answered, given) for given in inputs),
                *(("predict", one) for one in wrong))  # fmt: skip


def _valued(given: Any, policy: Any) -> Any:
    """What an actor-critic makes of observations."""
    if not hasattr(policy, "evaluate_actions"):
        raise Unsupported("a policy has no values")
    tensor, _ = policy.obs_to_tensor(given)
    actions, values, chances = policy(tensor)
    best, again = policy(tensor, deterministic=True)[0], policy.evaluate_actions(tensor, actions)
    mode = policy.get_distribution(tensor).mode()
    return [actions, values, chances, best, again, policy.predict_values(tensor), mode]


def matrices(agent: Any) -> Any:
    """The matrices by which an agent explores."""
    part = agent.policy if hasattr(agent, "rollout_buffer") else agent.actor
    return [part.action_dist.exploration_mat, part.action_dist.exploration_matrices]


# -- options ------------------------------------------------------------------------------------


def linear_rate() -> Any:
    """A rate that falls from the beginning on."""
    return user_code.linear(0.5)


def walk() -> Any:
    """Noise that does not begin at zero."""
    kind, size = library("common.noise", "OrnsteinUhlenbeckActionNoise"), (2,)
    return kind(np.zeros(size), 3.0 * np.ones(size), initial_noise=np.full(size, 0.4))


def unbounded() -> Any:
    """Actions without bounds."""
    return user_code.UnboundedActions(environment())


def _options(name: str) -> dict[str, Any]:
    on, acts = name in ("PPO", "A2C"), "discrete" if name == "DQN" else "box"
    apart = {"pi": [4], "vf" if on else "qf": [3, 2]}
    sized: list[Any] = [[], [5, 4], None] if name == "DQN" else [[], [5, 4], None, apart]
    if on:
        sized += [[apart], compat.networks(apart)][: 1 + (compat.networks(apart) != apart)]
    policies: list[Any] = [{"net_arch": sizes} for sizes in sized]
    policies += [{"n_critics": 1}, {"n_critics": 3}, {"share_features_extractor": True}, {},
                 {"ortho_init": False}, {"log_std_init": -1.5}, {"full_std": False}, {"none": 1},
                 {"optimizer_kwargs": {"eps": 0.01}}, {"activation_fn": nn.ELU},
                 {"optimizer_class": torch.optim.SGD}]  # fmt: skip
    known = {
        "policy_kwargs": policies,
        "policy": ["NoPolicy", "CnnPolicy", "MultiInputPolicy"],
        "env": [unbounded, partial(environment, "box", "discrete"),
                *(partial(environment, kind, acts) for kind in ("dict", "discrete"))],
        "learning_rate": [0.25, linear_rate, "fast"],
        "device": ["meta"],
        "batch_size": [1], "n_steps": [1, 2], "clip_range_vf": [0.2, -1.0],
        "train_freq": [3, (2, "episode"), (2, "month"), (2.5, "step")],
        "learning_starts": [0, 1, 2],
        "ent_coef": [0.1] if on else ["auto", "auto_0.5", "auto_0", "auto_none", "0.25", "low"],
        "target_entropy": ["auto", "-1.5", -2, "low", None],
        "action_noise": [walk],
    }  # fmt: skip
    taken = compat.keywords(library(name.lower(), name))
    return {option: values for option, values in known.items() if option in taken}


def _in_folder(call: Callable[[Any, str], Any], agent: Any, _: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return call(agent, folder)


def agents(name: str, calls: Mapping[str, Callable[[Any, str], Any]], *thorough: str,
           together: Sequence[Mapping[str, Any]] = ()) -> Subject:  # fmt: skip
    """An algorithm: with every option, on other observations, and what is done with an agent.

    Args:
        thorough: kits and calls that are made with them too, beside the one of numbers.
        together: options at once.
    """
    made = {kind: Kit(partial(arguments, name, kind), str) for kind in ("box", "dict", "image")}
    if name in ("PPO", "A2C"):
        choices = partial(arguments, name, "multi-discrete", actions="multi-discrete")
        made["choices"] = Kit(choices, str)
    if name == "SAC":
        made["goal"] = Kit(partial(arguments, name, "goal"), str)
    made["two"] = Kit(partial(arguments, name, copies=2), str)
    try:
        options = _options(name)
    except Unsupported:
        options = {}
    uses: dict[str, Any] = {"": _trained, **calls}
    return Subject(f"{name.lower()}:{name}", made, ("",), options=options, together=together,
                   calls={label: partial(_in_folder, call) for label, call in uses.items()},
                   prepare=silent, thorough=thorough,
                   skip=("holds", "verbose", "tensorboard_log", "_init_setup_model"))  # fmt: skip
