"""Files that Stable-Baselines3 saves, in every documented way, and how they are loaded."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.errors import UserError
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.library import (
    find_algorithm_class,
    find_in_library,
    make_agent,
    silence_agent,
)
from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.file_kinds import FileKind, Item, TrainingWithFiles
from rlregress.probing.interface import Unsupported
from rlregress.probing.trace_trainings import LazyValue, resolve_lazy_arguments

#: environment steps of the training, and of what goes on after it.
_STEPS, _MORE = 64, 32
#: files in the folder of a kind.
_MODEL, _ROWS = "model.zip", "rows.pkl"
#: attributes of an agent that are no settings: they are compared elsewhere, or are the machine's.
_NO_SETTINGS = {
    "env", "eval_env", "device", "logger", "verbose", "start_time", "tensorboard_log",
    "policy", "actor", "critic", "actor_target", "critic_target", "q_net", "q_net_target",
    "quantile_net", "quantile_net_target", "ent_coef_optimizer", "replay_buffer", "rollout_buffer",
    "ep_info_buffer", "ep_success_buffer", "system_info",
}  # fmt: skip
#: no setting has its default value: otherwise a file that lost it would load the same agent.
ON_POLICY = {"n_steps": 16, "gamma": 0.97, "gae_lambda": 0.9, "vf_coef": 0.6,
             "max_grad_norm": 0.4}  # fmt: skip
OFF_POLICY = {
    "buffer_size": 48, "learning_starts": 16, "batch_size": 16, "train_freq": 1, "gamma": 0.97,
    "tau": 0.02, "learning_rate": 1e-3,
}  # fmt: skip


_NOISE = LazyValue(user_code.make_noise, "Normal", 0.1)
_FALLING = user_code.make_falling_rate(1e-3)


@dataclass(frozen=True)
class AgentRecipe:
    """How to make an agent of an algorithm that is then saved.

    Attributes:
        title: of its class.
        arguments: of its class.
        library: the package that has the class.
        policy: name of the policy.
        networks: arguments of the policy.
        discrete: whether its actions are discrete.
        several: whether it trains on two environments side by side.
        normalised: whether ``VecNormalize`` is around its environments.
        around: what an environment has to be wrapped with.
    """

    title: str
    arguments: Mapping[str, Any]
    library: Any = stable_baselines3
    policy: str = "MlpPolicy"
    networks: Mapping[str, Any] = field(default_factory=lambda: {"net_arch": [8, 8]})
    discrete: bool = False
    several: bool = False
    normalised: bool = False
    around: Callable[[Any], Any] = lambda environment: environment

    @property
    def name(self) -> str:
        """The name of the algorithm, as in "sac model"."""
        return self.title.lower()

    def find_class(self) -> Any:
        """Return the class; Unsupported where this version has none."""
        return find_algorithm_class(self.title, self.library)


# until 1.2 no other algorithm takes several environments
_RECIPES = (
    AgentRecipe("PPO", {**ON_POLICY, "batch_size": 16, "n_epochs": 2, "clip_range_vf": 0.2,
                        "learning_rate": _FALLING}, several=True, normalised=True),
    AgentRecipe("A2C", {**ON_POLICY, "ent_coef": 0.01}, discrete=True, several=True),
    AgentRecipe("SAC", {**OFF_POLICY, "ent_coef": "auto_0.5"}),
    AgentRecipe("TD3", {**OFF_POLICY, "action_noise": _NOISE}),
    AgentRecipe("DDPG", {**OFF_POLICY, "action_noise": _NOISE}),
    AgentRecipe("DQN", {**OFF_POLICY, "exploration_fraction": 0.9, "target_update_interval": 20,
                        "learning_rate": _FALLING}, discrete=True),
)  # fmt: skip


def _make_environments(recipe: AgentRecipe, make_env: Callable[..., Any]) -> Any:
    def make_environment() -> Any:
        return recipe.around(gyms.convert_environment(make_env(discrete=recipe.discrete)))

    return DummyVecEnv([make_environment] * (2 if recipe.several else 1))


def _train_agent(recipe: AgentRecipe, make_env: Callable[..., Any], seed: int) -> Any:
    environment: Any = _make_environments(recipe, make_env)
    if recipe.normalised:
        environment = VecNormalize(environment, clip_reward=5.0, clip_obs=2.0, gamma=0.97)
    return _make_agent(recipe, environment, seed).learn(_STEPS)


def _make_agent(recipe: AgentRecipe, environment: Any, seed: int) -> Any:
    return make_agent(
        recipe.find_class(), recipe.policy, environment, seed=seed,
        policy_kwargs=dict(recipe.networks), **resolve_lazy_arguments(recipe.arguments),
    )  # fmt: skip


# -- what is compared ------------------------------------------------------------------------------


def _make_observations() -> np.ndarray:
    return np.random.RandomState(0).uniform(-1.0, 1.0, (8, 3)).astype(np.float32)


def _list_items_of_agent(agent: Any) -> Iterator[Item]:
    yield _get_parameter_item(agent)
    yield "settings", read_settings_of_agent(agent), type(agent).load
    yield from _list_actions_as_items(agent, agent.policy)


def read_settings_of_agent(agent: Any) -> dict[str, Any]:
    """Return public attributes of an agent that are no networks, environments or buffers."""
    return {
        name: value
        for name, value in vars(agent).items()
        if not name.startswith("_") and name not in _NO_SETTINGS
    }


def _get_parameter_item(agent: Any) -> Item:
    return "parameters", agent.get_parameters(), type(agent).set_parameters


def _list_actions_as_items(actor: Any, policy: Any) -> Iterator[Item]:
    """Yield actions of an agent or of a policy, and the values of its critics."""
    observations, act = _make_observations(), type(actor).predict
    actions = actor.predict(observations, deterministic=True)[0]
    yield "deterministic actions", actions, act
    set_random_seed(0)
    yield "sampled actions", actor.predict(observations, deterministic=False)[0], act
    tensor = compat.convert_to_policy_tensor(policy, observations)
    with torch.no_grad():
        if hasattr(policy, "value_net"):
            compat.add_current_methods_to_policy(policy)
            memory: tuple[Any, ...] = ()
            if hasattr(policy, "lstm_actor"):
                state = actor.predict(observations, deterministic=True)[1]
                yield "recurrent state", state, act
                memory = tuple(map(torch.as_tensor, state)), torch.zeros(len(observations))
            yield "values", policy.predict_values(tensor, *memory), policy.predict_values
            return
        inputs = [tensor]
        if hasattr(policy, "critic"):
            inputs.append(torch.as_tensor(policy.scale_action(actions), dtype=torch.float32))
        for name in ("q_net", "quantile_net", "critic"):
            for title, attribute in (("values", name), ("target values", f"{name}_target")):
                if hasattr(policy, attribute):
                    network = getattr(policy, attribute)
                    yield title, network(*inputs), type(network).forward


def _learn_and_list_parameters(agent: Any) -> Iterator[Item]:
    """Train for one rollout, or one step, and yield the parameters; then for more steps, again."""
    learn = type(agent).learn
    steps = agent.get_env().num_envs * getattr(agent, "n_steps", 1)
    agent.set_random_seed(0)
    for name, further_steps in (("next update", steps), ("continued training", _MORE)):
        agent.learn(further_steps, reset_num_timesteps=False)
        yield name, [agent.get_parameters(), agent.num_timesteps], learn


def _update_and_list_parameters(agent: Any) -> Iterator[Item]:
    """Update once on the loaded replay rows, and yield the parameters; then train on new ones."""
    agent.set_random_seed(0)
    agent.train(gradient_steps=1, batch_size=16)
    yield "next update", agent.get_parameters(), type(agent).train
    agent.learn(_MORE, reset_num_timesteps=False)
    after = [agent.get_parameters(), agent.num_timesteps]
    yield "continued training", after, type(agent).learn


# -- kinds -----------------------------------------------------------------------------------------


def _load_agent(recipe: AgentRecipe, make_env: Callable[..., Any], path: str) -> Any:
    environment = _make_environments(recipe, make_env)
    return silence_agent(recipe.find_class().load(path, env=environment, device="cpu"))


def _make_new_agent(recipe: AgentRecipe, make_env: Callable[..., Any]) -> Any:
    return _make_agent(recipe, _make_environments(recipe, make_env), seed=2)


def _load_parameters(recipe: AgentRecipe, make_env: Callable[..., Any], path: str) -> Any:
    agent = _make_new_agent(recipe, make_env)
    agent.set_parameters(path, device="cpu")
    return agent


def _list_parameters_and_actions(agent: Any) -> Iterator[Item]:
    yield _get_parameter_item(agent)
    yield from _list_actions_as_items(agent, agent.policy)


def _get_policy(agent: Any) -> Any:
    if not hasattr(agent.policy, "save"):
        raise Unsupported("this version cannot save a policy alone")
    return agent.policy


def _load_policy(recipe: AgentRecipe, make_env: Callable[..., Any], path: str) -> Any:
    return type(_make_new_agent(recipe, make_env).policy).load(path, device="cpu")


def _list_items_of_policy(policy: Any) -> Iterator[Item]:
    yield "parameters", policy.state_dict(), type(policy).load
    yield from _list_actions_as_items(policy, policy)


def _save_agent_and_buffer(agent: Any, folder: str) -> None:
    agent.save(os.path.join(folder, _MODEL))
    agent.save_replay_buffer(os.path.join(folder, _ROWS))


def _load_agent_and_buffer(recipe: AgentRecipe, make_env: Callable[..., Any], folder: str) -> Any:
    agent = _load_agent(recipe, make_env, os.path.join(folder, _MODEL))
    agent.load_replay_buffer(os.path.join(folder, _ROWS))
    return agent


def _list_items_of_buffer(agent: Any) -> Iterator[Item]:
    rows = agent.replay_buffer
    attributes = {name: value for name, value in vars(rows).items() if name != "device"}
    yield "rows", attributes, type(agent).load_replay_buffer
    set_random_seed(0)
    yield "sampled rows", tuple(rows.sample(8)), type(rows).sample


def _get_normaliser(frozen: bool, agent: Any) -> Any:
    normaliser = agent.get_vec_normalize_env()
    # as the documentation evaluates
    normaliser.training, normaliser.norm_reward = not frozen, not frozen
    return normaliser


def _load_normaliser(recipe: AgentRecipe, make_env: Callable[..., Any], path: str) -> Any:
    return VecNormalize.load(path, _make_environments(recipe, make_env))


def _list_items_of_normaliser(normaliser: Any) -> Iterator[Item]:
    # what is loaded; ``__setattr__`` of no release adds to it
    settings = {name: value for name, value in vars(normaliser).items()
                if name not in ("venv", "class_attributes") and not name.startswith("_")
                }  # fmt: skip
    yield "statistics and settings", settings, VecNormalize.load
    observations, normalize = _make_observations(), VecNormalize.normalize_obs
    yield "observations", normaliser.normalize_obs(observations), normalize
    rewards = np.linspace(-3.0, 3.0, 4)
    yield "rewards", normaliser.normalize_reward(rewards), VecNormalize.normalize_reward


def _normalise_further(normaliser: Any) -> Iterator[Item]:
    normaliser.seed(0)
    observed = [normaliser.reset()]
    for action in np.random.RandomState(1).uniform(-1.0, 1.0, (12, normaliser.num_envs, 2)):
        observed += normaliser.step(action.astype(np.float32))[:3]
    yield "observations and rewards of steps", observed, VecNormalize.step_wait
    yield "statistics after steps", [normaliser.obs_rms, normaliser.ret_rms], VecNormalize.step_wait


def _save_checkpoint(option: str, agent: Any, folder: str) -> None:
    """Write files by the library's checkpoint callback, with an option of it on."""
    callback = find_in_library("common.callbacks", "CheckpointCallback")
    raise_if_argument_unknown(callback, {option: True})
    writing = callback(save_freq=1, save_path=folder, name_prefix="agent", **{option: True})
    writing.init_callback(agent)
    writing.num_timesteps, writing.n_calls = agent.num_timesteps, 1
    writing._on_step()


def _load_checkpoint(recipe: AgentRecipe, make_env: Callable[..., Any], folder: str) -> Any:
    # agent_64_steps.zip, agent_replay_buffer_64_steps.pkl or agent_vecnormalize_64_steps.pkl
    files = [os.path.join(folder, name) for name in os.listdir(folder)]
    model, companion = sorted(files, key=lambda path: path.endswith(".pkl"))
    if not recipe.normalised:
        agent = _load_agent(recipe, make_env, model)
        agent.load_replay_buffer(companion)
        return agent
    environment = _load_normaliser(recipe, make_env, companion)
    return silence_agent(recipe.find_class().load(model, env=environment, device="cpu"))


def _list_kinds_of_files(recipe: AgentRecipe) -> Iterator[FileKind]:
    name, title = recipe.name, recipe.title
    yield FileKind(
        f"{name} model", f"{title}.save, {title}.load", partial(_load_agent, recipe),
        _list_items_of_agent, _learn_and_list_parameters, file=_MODEL,
    )  # fmt: skip
    # a new agent takes only the parameters of a saved one
    yield FileKind(
        f"{name} parameters", f"{title}.save, set_parameters", partial(_load_parameters, recipe),
        _list_parameters_and_actions, file=_MODEL,
    )  # fmt: skip
    yield FileKind(
        f"{name} policy", "policy.save, policy.load", partial(_load_policy, recipe),
        _list_items_of_policy, of=_get_policy, file="policy.pth",
    )  # fmt: skip
    if "buffer_size" in recipe.arguments:
        yield FileKind(
            f"{name} replay buffer", "save_replay_buffer, load_replay_buffer",
            partial(_load_agent_and_buffer, recipe), _list_items_of_buffer,
            _update_and_list_parameters, _save_agent_and_buffer,
        )  # fmt: skip
    for word in ("", "frozen ") if recipe.normalised else ():
        yield FileKind(
            f"{name} {word}normaliser", "VecNormalize.save, VecNormalize.load",
            partial(_load_normaliser, recipe), _list_items_of_normaliser, _normalise_further,
            of=partial(_get_normaliser, bool(word)), file="statistics.pkl",
        )  # fmt: skip
    if name in ("ppo", "sac"):
        option = "save_vecnormalize" if recipe.normalised else "save_replay_buffer"
        yield FileKind(
            f"{name} checkpoint", f"CheckpointCallback({option})",
            partial(_load_checkpoint, recipe), _list_items_of_agent,
            _learn_and_list_parameters if recipe.normalised else _update_and_list_parameters,
            partial(_save_checkpoint, option),
        )  # fmt: skip


# -- a user's own ----------------------------------------------------------------------------------

#: (part of the policies' module, or a setting, algorithm's class): the first that fits decides.
_TELLING = (
    ("sb3_contrib.common.recurrent", "RecurrentPPO"),
    ("sb3_contrib.common.maskable", "MaskablePPO"),
    ("sb3_contrib.qrdqn", "QRDQN"), ("sb3_contrib.tqc", "TQC"), ("sb3_contrib.crossq", "CrossQ"),
    ("sb3_contrib.ars", "ARS"), ("cg_max_steps", "TRPO"), ("clip_range", "PPO"),
    ("dqn.policies", "DQN"), ("sac.policies", "SAC"), ("policy_delay", "TD3"),
    ("td3.policies", "TD3"), ("rms_prop", "A2C"), ("ent_coef", "A2C"),
)  # fmt: skip


def load_user_agent(path: str) -> Any:
    """Load an agent's zip file with the class that is inferred from its contents.

    Raises:
        UserError: the contents do not determine a class.
    """
    with zipfile.ZipFile(path) as archive:
        data = json.loads(archive.read("data"))
    policies = str(data.get("policy_class", {}).get("__module__", ""))
    name = next((n for part, n in _TELLING if part in data or part in policies), "")
    if not name:
        raise UserError(f"{path} does not name its algorithm; give --loader FILE")
    for module in ("stable_baselines3", "sb3_contrib"):
        kind = None
        with contextlib.suppress(ImportError):
            kind = getattr(importlib.import_module(module), name, None)
        if kind is not None:
            return silence_agent(kind.load(path, device="cpu"))
    raise Unsupported(f"{name} is not installed")


def make_trainings_with_files(
    recipes: Sequence[AgentRecipe], stored_kinds: Sequence[str]
) -> Mapping[str, tuple[TrainingWithFiles]]:
    """Return algorithm -> the training of its agent, with the kinds of files saved after it."""
    return {
        recipe.name: (
            TrainingWithFiles(
                partial(_train_agent, recipe), [*_list_kinds_of_files(recipe)], stored_kinds
            ),
        )
        for recipe in recipes
    }


#: one of each form, and not of each algorithm: other agents are written by the same functions.
_STORED_KINDS = (
    "ppo model", "ppo parameters", "ppo policy", "ppo normaliser", "sac model", "sac parameters",
    "sac replay buffer", "td3 model", "dqn model", "dqn parameters",
)  # fmt: skip


def list_trainings_with_files() -> Mapping[str, Sequence[TrainingWithFiles]]:
    """Return algorithm -> built-in trainings, each with the kinds of files saved after it."""
    return make_trainings_with_files(_RECIPES, _STORED_KINDS)
