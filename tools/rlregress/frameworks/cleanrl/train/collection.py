"""Stored transitions of CleanRL's scripts: rollouts of PPO, replay rows of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.cleanrl.running import ScriptRun
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.train.training import run_script_of_request
from rlregress.probing.interface import TrainingRequest, Transitions


class _UnchangedEnv(gymnasium.Wrapper):
    """A wrapper without effect in place of a normalising one: stored numbers stay as observed."""

    def __init__(self, env: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(env)


#: patches of a run whose stored observations and rewards are those of the environment.
NOT_NORMALISED = (
    (gymnasium.wrappers, "NormalizeObservation", _UnchangedEnv),
    (gymnasium.wrappers, "NormalizeReward", _UnchangedEnv),
)


def make_zero_grad_patch(callback: Callable[[], None]) -> Any:
    """Return a patch that calls ``callback`` before the script empties its gradients."""
    original = torch.optim.Optimizer.zero_grad

    def call_and_empty_gradients(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        callback()
        original(optimizer, *args, **kwargs)

    return (torch.optim.Optimizer, "zero_grad", call_and_empty_gradients)


def collect_transitions(request: TrainingRequest, environments: int, source: Source) -> Transitions:
    """Run the script on ``environments`` copies; return the transitions that it stores.

    PPO's script normalises observations and rewards before it stores them; Gymnasium's wrappers for
    that are removed here. The other scripts update after every step, so their segments have one
    step. Their buffer does not store that an episode was truncated.
    """
    if request.algorithm != "ppo":
        return _read_replay_buffer(run_script_of_request(request, source, environments)["rb"])
    rollouts: list[Any] = []
    collected: list[ScriptRun] = []

    def copy_rollout() -> None:
        if collected:
            run = collected.pop()
            # the flag of a row is about the step before it
            ends = torch.cat([run["dones"][1:], run["next_done"].reshape(1, -1)])
            done = ends.numpy().astype(bool)
            rollouts.append((run["obs"].numpy().copy(), run["rewards"].numpy().copy(), done))

    def note_step(run: ScriptRun) -> None:
        collected[:] = [run]

    # the script has stored the last step when it first empties its gradients
    patches = [*NOT_NORMALISED, make_zero_grad_patch(copy_rollout)]
    run_script_of_request(request, source, environments, on_step=note_step, patches=patches)
    observations, rewards, done = map(np.stack, zip(*rollouts, strict=False))
    return Transitions(observations, None, rewards, done, None)


def _read_replay_buffer(buffer: Any) -> Transitions:
    def read_rows(stored: np.ndarray) -> np.ndarray:
        return stored[: buffer.size()].copy()[:, None]

    return Transitions(
        observations=read_rows(buffer.observations),
        next_observations=read_rows(buffer.next_observations),
        rewards=read_rows(buffer.rewards),
        done=None,
        terminated=read_rows(buffer.dones).astype(bool),
    )
