"""Loads a file of the user, and describes its contents for a comparison.

The caller has asked the user whether the file is to be trusted.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from rlregress.frameworks.base import Adapter
from rlregress.probing.file_kinds import FileKind, Item

#: in how many steps of an environment a loaded agent's actions are compared.
_STEPS = 32
#: how many episodes a loaded agent plays in its user's environment.
_EPISODES = 20


def make_kind_of_user_file(user: dict[str, Any], adapter: Adapter) -> FileKind:
    """Return functions that load, save and describe a user's file, as for a framework's files.

    Args:
        user: ``file``; ``loader``, a file with a function ``load(path)``, and ``act(policy,
            observations)`` if the policy cannot be called; empty: the framework loads the
            file; ``observations``, a file of NumPy, or empty; ``environment``, an id,
            or empty.
    """
    name = os.path.basename(user["file"])

    def find_functions() -> tuple[Any, Any]:
        if not user["loader"]:
            return adapter.load.load_user_agent, None
        loader = _import_user_file(user["loader"])
        return loader.load, getattr(loader, "act", None)

    def save_agent(agent: Any, path: str) -> None:
        if hasattr(agent, "get_parameters"):
            agent.save(path)
        else:
            # only its own writer knows the format
            shutil.copy(user["file"], path)

    def list_items_of_agent(agent: Any) -> Iterator[Item]:
        load, act = find_functions()
        loading = getattr(type(agent), "load", getattr(type(agent), "load_state_dict", load))
        if hasattr(agent, "get_parameters"):
            yield "parameters", agent.get_parameters(), type(agent).set_parameters
            yield "settings", adapter.load.read_settings_of_agent(agent), loading
        elif hasattr(agent, "state_dict"):
            yield "parameters", agent.state_dict(), loading
        else:
            yield "content", agent, loading
        observations = _choose_observations(user, agent)
        if observations is not None:
            yield from _list_actions_as_items(agent, act, observations)
        if user["environment"] and (act or hasattr(agent, "predict")):
            played = np.array([
                _play_episode(agent, act, user["environment"], n) for n in range(_EPISODES)
            ])  # fmt: skip
            acting = act or type(agent).predict
            yield f"mean return of episodes 1 to {_EPISODES}", float(played[:, 0].mean()), acting
            yield "returns of episodes", played[:, 0], acting
            yield "lengths of episodes", played[:, 1], acting

    return FileKind(
        name, "load of the loader" if user["loader"] else "load",
        save=save_agent, load=lambda make_env, path: find_functions()[0](path),
        state=list_items_of_agent, file=name,
    )  # fmt: skip


@functools.cache
def _import_user_file(file: str) -> Any:
    spec = importlib.util.spec_from_file_location("rlregress_loader", file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _choose_observations(user: dict[str, Any], agent: Any) -> Any:
    """Return observations: from the user's file, else of random actions, else random numbers."""
    if user["observations"]:
        return np.load(user["observations"], allow_pickle=False)
    if user["environment"]:
        import gymnasium

        environment = gymnasium.make(user["environment"])
        environment.action_space.seed(0)
        rows = [environment.reset(seed=0)[0]]
        for _ in range(_STEPS):
            observation, _, terminated, truncated, _ = environment.step(
                environment.action_space.sample()
            )
            is_over = terminated or truncated
            rows.append(environment.reset()[0] if is_over else observation)
        return np.stack(rows)
    space: Any = getattr(agent, "observation_space", None)
    if getattr(space, "shape", None) is None:
        return None
    draws = np.random.RandomState(0).uniform(-1.0, 1.0, (8, *space.shape))
    bounded = np.clip(draws, space.low, space.high) if hasattr(space, "low") else draws
    return bounded.astype(space.dtype)


def _play_episode(agent: Any, act: Any, environment_id: str, seed: int) -> tuple[float, float]:
    """Play a deterministic episode; return its return and its length."""
    import gymnasium

    environment = gymnasium.make(environment_id)
    observation, _ = environment.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        if act:
            action = np.asarray(_act_with_fixed_seed(act, agent, observation[None]))[0]
        else:
            action, _ = agent.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = environment.step(action)
        total, steps, is_over = total + float(reward), steps + 1, bool(terminated or truncated)
    return total, float(steps)


def _act_with_fixed_seed(act: Callable[..., Any], *arguments: Any) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        return act(*arguments)


def _list_actions_as_items(agent: Any, act: Any, observations: Any) -> Iterator[Item]:
    if act:
        yield "deterministic actions", _act_with_fixed_seed(act, agent, observations), act
    elif hasattr(agent, "predict"):
        for name, deterministic in (("deterministic", True), ("sampled", False)):
            torch.manual_seed(0)
            np.random.seed(0)
            actions = agent.predict(observations, deterministic=deterministic)[0]
            yield f"{name} actions", actions, type(agent).predict
    elif callable(agent) and type(agent).forward is not torch.nn.Module.forward:
        actions = _act_with_fixed_seed(agent, torch.as_tensor(observations))
        yield "deterministic actions", actions, type(agent).forward
