"""Buffers that a user fills row by row, samples, empties and fills again."""

from __future__ import annotations

from typing import Any, Dict, List, Tuple

import numpy as np
import torch

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

_BUFFERS = "common.buffers"
_COPIES = 2


def _spaces(kind: str) -> Tuple[Any, Any]:
    """Spaces of observations and actions: "box", "choices" or "dict"."""
    spaces = gyms.spaces
    box = spaces.Box(-9.0, 9.0, (2,), np.float32)
    if kind == "choices":
        return spaces.Discrete(50), spaces.MultiDiscrete([9, 9])
    if kind == "dict":
        return spaces.Dict({"box": box, "mode": spaces.Discrete(50)}), spaces.Discrete(9)
    return box, spaces.Box(-1.0, 1.0, (2,), np.float64)


def _observed(kind: str, number: int) -> Any:
    """An observation of each of the environments."""
    modes = np.array([number, number + 20])
    box = np.stack([modes, -modes], axis=1).astype(np.float32) / 10.0
    return {"choices": modes, "dict": {"box": box, "mode": modes}}.get(kind, box)


def _acted(kind: str, number: int) -> Any:
    ones = np.array([number % 9, (number + 1) % 9])
    pairs = np.stack([ones, ones[::-1]], axis=1)
    return {"choices": pairs, "dict": ones}.get(kind, pairs / 10.0)


def _row(kind: str, number: int) -> Tuple[Any, ...]:
    """A transition of two environments, which end at different rows, by each kind of end."""
    done = np.array([number % 4 == 3, number % 5 == 2])
    infos: List[Dict[str, Any]] = [{"TimeLimit.truncated": number % 8 == 3}, {}]
    reward = np.array([number + 1.0, -0.5 * number])
    return (
        _observed(kind, number),
        _observed(kind, number + 1),
        _acted(kind, number),
        reward,
        done,
        infos,
    )


def _replay(name: str, kind: str, rows: int = 6, **options: Any) -> Any:
    made = library(_BUFFERS, name)
    if options.get("n_steps") is None and "handle_timeout_termination" not in compat.keywords(made):
        raise Unsupported(f"{name} does not tell truncation from termination")
    return made(_COPIES * rows, *_spaces(kind), device="cpu", n_envs=_COPIES, **options)


def _fill(buffer: Any, kind: str, begin: int, end: int) -> None:
    for number in range(begin, end):
        buffer.add(*_row(kind, number))


def _show(buffer: Any, size: int = 7) -> None:
    """How full it is, and a sample of it."""
    np.random.seed(5)
    counts = [buffer.size(), int(buffer.full), int(buffer.pos)]
    sample = buffer.sample(size)
    parts = [part for part in sample if part is not None]
    user_code.Capture().capture([*counts, *parts])


def _fill_and_empty(buffer: Any, kind: str) -> None:
    """Rows before it is full, after it has wrapped around, and after it was emptied."""
    for begin, end in ((0, 4), (4, 6), (6, 9)):
        _fill(buffer, kind, begin, end)
        _show(buffer)
    buffer.reset()
    user_code.Capture().capture([buffer.size(), int(buffer.full), int(buffer.pos)])
    _fill(buffer, kind, 10, 12)
    _show(buffer)


def _replay_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Replay buffers of numbers, choices and dictionaries, of two environments."""
    del model, wrappers, folder
    for kind in ("box", "choices"):
        _fill_and_empty(_replay("ReplayBuffer", kind), kind)
    _fill_and_empty(_replay("DictReplayBuffer", "dict"), "dict")
    timeless = {"handle_timeout_termination": False}
    _fill_and_empty(_replay("ReplayBuffer", "box", **timeless), "box")
    _fill_and_empty(_replay("DictReplayBuffer", "dict", **timeless), "dict")
    _fill_and_empty(_replay("ReplayBuffer", "box", optimize_memory_usage=True, **timeless), "box")
    for name, kind in (("ReplayBuffer", "box"), ("DictReplayBuffer", "dict")):
        buffer = library(_BUFFERS, name)
        options = {"device": "cpu", "optimize_memory_usage": True}
        user_code.Capture().capture([accepted(buffer, 4, *_spaces(kind), **options)])
    user_code.Capture().capture(
        [accepted(library(_BUFFERS, "DictReplayBuffer"), 4, *_spaces("box"))]
    )
    for name, kind in (("ReplayBuffer", "box"), ("DictReplayBuffer", "dict")):
        # fewer rows than there are environments
        buffer = library(_BUFFERS, name)(1, *_spaces(kind), device="cpu", n_envs=_COPIES)
        _fill(buffer, kind, 0, 1)
        _show(buffer)


def _many_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rows that are added together; too few of one kind are refused; arrays as tensors."""
    del model, wrappers, folder
    buffer = _replay("ReplayBuffer", "box")
    rows = list(zip(*(_row("box", number) for number in range(4))))
    buffer.extend(*rows)
    _show(buffer)
    user_code.Capture().capture([accepted(buffer.extend, *rows[:-1], rows[-1][:2]), buffer.size()])
    numbers = np.zeros(2, np.float32)
    kept = [buffer.to_torch(numbers), buffer.to_torch(numbers, copy=False)]
    numbers += 1.0
    user_code.Capture().capture(kept)
    flat = [buffer.swap_and_flatten(np.arange(n).reshape(shape)) for n, shape in _SHAPES]
    user_code.Capture().capture(flat)


#: numbers, and how they are laid out: step, environment, and what is left.
_SHAPES = ((6, (3, 2)), (12, (3, 2, 2)), (24, (3, 2, 2, 2)))


def _rows_of_steps(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Returns of one, two, three and more steps than an episode has."""
    del model, wrappers, folder
    for steps in (1, 2, 3, 6):
        buffer = _replay("NStepReplayBuffer", "box", n_steps=steps, gamma=0.5)
        _fill_and_empty(buffer, "box")
    options = {"optimize_memory_usage": True, "handle_timeout_termination": False}
    made = library(_BUFFERS, "NStepReplayBuffer")
    user_code.Capture().capture([accepted(made, 4, *_spaces("box"), device="cpu", **options)])


def _rows_of_normalised(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rows of observations and rewards that are normalised where they are sampled."""
    del model, folder
    environment = library("common.vec_env", "VecNormalize")(
        gyms.side_by_side(wrappers.made(0)), clip_obs=1.5, clip_reward=1.0
    )
    environment.obs_rms.mean, environment.ret_rms.var = np.array([0.5, 1.0, -1.0]), np.array(4.0)
    space = environment.observation_space
    for name, options in (("ReplayBuffer", {}), ("NStepReplayBuffer", {"n_steps": 2})):
        buffer = library(_BUFFERS, name)(4, space, environment.action_space, "cpu", **options)
        for number in range(4):
            row = np.full((1, 3), float(number))
            done = np.array([number == 2])
            buffer.add(row, row + 1.0, np.zeros((1, 2)), np.array([number - 1.0]), done, [{}])
        np.random.seed(6)
        for given in (environment, None):
            user_code.Capture().capture(
                [part for part in buffer.sample(4, env=given) if part is not None]
            )


def _rollout(name: str, kind: str, decay: float) -> Any:
    options = {"device": "cpu", "gae_lambda": decay, "gamma": 0.9, "n_envs": _COPIES}
    return library(_BUFFERS, name)(3, *_spaces(kind), **options)


def _step(buffer: Any, kind: str, number: int) -> None:
    observation, _, action, reward, done, _ = _row(kind, number)
    values = torch.tensor([[0.1], [-0.2]]) * (number + 1)
    chances = torch.tensor([-0.5, -1.5]) - number
    buffer.add(observation, action, reward, done, values, chances)


def _show_rollout(buffer: Any, size: Any) -> None:
    np.random.seed(7)
    for batch in buffer.get(size):
        user_code.Capture().capture([part for part in batch if part is not None])


def _rollout_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Rollouts that are half full, full, taken in batches, and filled anew."""
    del model, wrappers, folder
    cases = [("RolloutBuffer", "box"), ("RolloutBuffer", "choices"), ("DictRolloutBuffer", "dict")]
    for name, kind in cases:
        for decay in (1.0, 0.0, 0.7):
            buffer = _rollout(name, kind, decay)
            for _ in range(2):
                _step(buffer, kind, 0)
                user_code.Capture().capture([buffer.size(), accepted(next, buffer.get(2))])
                _step(buffer, kind, 1)
                _step(buffer, kind, 2)
                buffer.compute_returns_and_advantage(torch.tensor([0.5, 1.0]), np.array([0, 1]))
                user_code.Capture().capture([buffer.size(), buffer.advantages, buffer.returns])
                _show_rollout(buffer, None)
                _show_rollout(buffer, 4)
                buffer.reset()
                user_code.Capture().capture([buffer.size(), buffer.returns, buffer.actions])
    user_code.Capture().capture([accepted(_rollout, "DictRolloutBuffer", "box", 1.0)])


def _first(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: array[:1] for name, array in observation.items()}
    return observation[:1]


def _single_rows(model: Any, wrappers: Wrappers, folder: str) -> None:
    """A rollout of one environment, whose probabilities are single numbers."""
    del model, wrappers, folder
    for name, kind in (("RolloutBuffer", "choices"), ("DictRolloutBuffer", "dict")):
        buffer = library(_BUFFERS, name)(2, *_spaces(kind), device="cpu", gamma=0.5)
        for number in range(2):
            observation, _, action, reward, done, _ = _row(kind, number)
            first = _first(observation)
            numbers = [torch.tensor(0.5), torch.tensor(-0.3 * (number + 1))]
            buffer.add(first, action[:1], reward[:1], done[:1], *numbers)
        buffer.compute_returns_and_advantage(torch.tensor([0.25]), np.zeros(1))
        user_code.Capture().capture([buffer.log_probs, buffer.advantages, buffer.actions])


def _goals(model: Any, **options: Any) -> Any:
    space, actions = model.observation_space, model.action_space
    buffer = library("her", "HerReplayBuffer")
    if "copy_info_dict" not in compat.keywords(buffer):
        raise Unsupported("hindsight keeps its own episodes in this version")
    return buffer(12, space, actions, env=model.get_env(), device="cpu", **options)


def _fill_goals(buffer: Any, begin: int, end: int) -> None:
    for number in range(begin, end):
        place = np.array([[number / 10.0, 0.5]], np.float32)
        observation = {"observation": np.zeros((1, 3), np.float32), "achieved_goal": place}
        observation["desired_goal"] = np.ones((1, 2), np.float32)
        after = {**observation, "achieved_goal": place + 0.1}
        done, reward = np.array([number % 4 == 3]), np.array([-1.0])
        buffer.add(observation, after, np.zeros((1, 2)), reward, done, [{"number": number}])


def _rows_of_goals(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Hindsight of every kind: before an episode has ended, with none and many goals, cut off."""
    del wrappers, folder
    for strategy, goals in (("future", 4), ("final", 1), ("episode", 2), ("Future", 0)):
        options = {"goal_selection_strategy": strategy, "n_sampled_goal": goals}
        buffer = _goals(model, copy_info_dict=goals == 1, **options)
        _fill_goals(buffer, 0, 2)
        user_code.Capture().capture([accepted(buffer.sample, 3)])
        _fill_goals(buffer, 2, 6)
        _show_goals(buffer)
        buffer.truncate_last_trajectory()
        user_code.Capture().capture([buffer.dones, buffer.timeouts, buffer.ep_length])
        _fill_goals(buffer, 6, 15)
        _show_goals(buffer)
        user_code.Capture().capture([buffer.ep_start, buffer.ep_length])
    user_code.Capture().capture([accepted(_goals(model).set_env, model.get_env())])
    for wrong in ("whenever", None):
        user_code.Capture().capture([answer(_goals, model, goal_selection_strategy=wrong)])


def _show_goals(buffer: Any) -> None:
    np.random.seed(8)
    sample = buffer.sample(6)
    user_code.Capture().capture(
        [sample.observations, sample.next_observations, sample.rewards, sample.dones]
    )


USED = {
    "rows-of-a-replay": _replay_rows,
    "many-rows": _many_rows,
    "rows-of-several-steps": _rows_of_steps,
    "rows-of-a-normaliser": _rows_of_normalised,
    "rows-of-a-rollout": _rollout_rows,
    "single-rows": _single_rows,
    "rows-of-goals": _rows_of_goals,
}
