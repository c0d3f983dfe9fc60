"""What CleanRL's scripts store while they train: rollouts of PPO, replay rows of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, List, Mapping, Optional

import gymnasium
import numpy as np
import torch

from rlregress.frameworks.base import TrainingRequest, Transitions
from rlregress.frameworks.cleanrl.running import ScriptRun, run_script
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.training import heads, prepared
from rlregress.frameworks.heads import prepare


class _Untouched(gymnasium.Wrapper):
    """In place of a normalising wrapper: what is stored can be read as it was observed."""

    def __init__(self, env: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(env)


#: patches of a run whose stored observations and rewards are those of the environment.
NOT_NORMALISED = (
    (gymnasium.wrappers, "NormalizeObservation", _Untouched),
    (gymnasium.wrappers, "NormalizeReward", _Untouched),
)


class _Rollouts:
    """Copies every rollout between its collection and the update."""

    def __init__(self) -> None:
        self.observations: List[np.ndarray] = []
        self.rewards: List[np.ndarray] = []
        self.done: List[np.ndarray] = []
        self._collected: Optional[ScriptRun] = None

    def on_step(self, run: ScriptRun) -> None:
        self._collected = run

    def patch(self) -> Any:
        """The script has stored the last step when it first empties its gradients."""
        original = torch.optim.Optimizer.zero_grad

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            run, self._collected = self._collected, None
            if run is not None:
                self._copy(run)
            original(optimizer, *args, **kwargs)

        return (torch.optim.Optimizer, "zero_grad", zero_grad)

    def _copy(self, run: ScriptRun) -> None:
        self.observations.append(run["obs"].numpy().copy())
        self.rewards.append(run["rewards"].numpy().copy())
        # a row says whether the step before it has ended an episode
        ends = torch.cat([run["dones"][1:], run["next_done"].reshape(1, -1)])
        self.done.append(ends.numpy().astype(bool))


def transitions(request: TrainingRequest, environments: int, source: Source) -> Transitions:
    """Run the script on ``environments`` copies in its ``SyncVectorEnv``.

    PPO's script normalises observations and rewards before it stores them; Gymnasium's wrappers
    for that are taken out of the way here. The others update after every step: a segment has one.
    Their buffer does not say that an episode was truncated.
    """
    read = _rollouts if request.algorithm == "ppo" else _replay
    return read(request, *prepared(request, source, environments))


def _rollouts(request: TrainingRequest, path: Path, arguments: Mapping[str, Any]) -> Transitions:
    rollouts = _Rollouts()
    run_script(
        path,
        arguments,
        make_env=request.make_env,
        on_step=rollouts.on_step,
        on_start=lambda run: prepare(request, lambda: heads(run)),
        guard_random=False,
        patches=[*NOT_NORMALISED, rollouts.patch()],
    )
    return Transitions(
        observations=np.stack(rollouts.observations),
        next_observations=None,
        rewards=np.stack(rollouts.rewards),
        done=np.stack(rollouts.done),
        terminated=None,
    )


def _replay(request: TrainingRequest, path: Path, arguments: Mapping[str, Any]) -> Transitions:
    run = run_script(
        path,
        arguments,
        make_env=request.make_env,
        on_start=lambda run: prepare(request, lambda: heads(run)),
    )
    buffer = run["rb"]

    def rows(stored: np.ndarray) -> np.ndarray:
        return stored[: buffer.size()].copy()[:, None]

    return Transitions(
        observations=rows(buffer.observations),
        next_observations=rows(buffer.next_observations),
        rewards=rows(buffer.rewards),
        done=None,
        terminated=rows(buffer.dones).astype(bool),
    )
