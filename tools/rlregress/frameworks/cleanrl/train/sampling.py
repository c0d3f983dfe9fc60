"""Minibatches of CleanRL's updates: rows that PPO indexes, and samples of a replay buffer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from rlregress.frameworks.cleanrl.running import ScriptRun
from rlregress.frameworks.cleanrl.script_sources import Source
from rlregress.frameworks.cleanrl.train.collection import NOT_NORMALISED, make_zero_grad_patch
from rlregress.frameworks.cleanrl.train.training import run_script_of_request
from rlregress.probing.interface import Minibatch, TrainingRequest, TrainingVariant
from rlregress.probing.samples import copy_to_array, note_compared_targets, note_sampled_minibatches

#: the script's name of a flattened rollout -> the field that its rows are
_ROLLOUT = {
    "b_obs": "observations",
    "b_actions": "actions",
    "b_logprobs": "log_probs",
    "b_values": "values",
    "b_advantages": "advantages",
    "b_returns": "returns",
}


def collect_minibatches(
    request: TrainingRequest, environments: int, variant: TrainingVariant, source: Source
) -> Sequence[Minibatch]:
    """Run the script on ``environments`` copies; return the minibatches of its updates.

    As in ``collect_transitions``, PPO's observations and rewards are not normalised. A rollout's
    values are recorded only if an update clips values.
    """
    variant.raise_if_unsupported("CleanRL", "autoreset")
    run_requested = partial(run_script_of_request, request, source, environments)
    patches = _make_reset_patches(variant)
    if request.algorithm == "ppo":
        recorder = _RolloutMinibatchRecorder()
        patches += [*NOT_NORMALISED, make_zero_grad_patch(recorder.store_minibatch)]
        with recorder:
            run_requested(on_step=recorder.note_step, patches=patches)
        return recorder.read
    read: list[Minibatch] = []

    def note_step(run: ScriptRun) -> None:
        buffer = run["rb"]
        if "sample" not in vars(buffer):
            note_sampled_minibatches(buffer, read)

    with note_compared_targets(read):
        run_requested(on_step=note_step, patches=patches)
    return read


def _make_reset_patches(variant: TrainingVariant) -> list[Any]:
    """Return patches that make the script's environments reset as the variant says."""
    if variant.autoreset in ("", "same_step"):
        return []
    mode = gymnasium.vector.AutoresetMode[variant.autoreset.upper()]

    class SyncVectorEnv(gymnasium.vector.SyncVectorEnv):
        """Gymnasium's class, with the reset mode of the variant."""

        def __init__(self, env_fns: Any) -> None:
            super().__init__(env_fns, autoreset_mode=mode)

    return [(gymnasium.vector, "SyncVectorEnv", SyncVectorEnv)]


class _RolloutMinibatchRecorder(TorchFunctionMode):
    """Records the rows of each minibatch, where the script indexes its flattened rollout.

    A minibatch ends when the script empties its gradients, after it has read all rows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Minibatch] = []
        self._rows: dict[str, np.ndarray] = {}
        self._run: ScriptRun | None = None

    def note_step(self, run: ScriptRun) -> None:
        if self._run is None:
            self.record_policy_log_probs(run["agent"])
        self._run = run

    def record_policy_log_probs(self, agent: Any) -> None:
        get_action_and_value = agent.get_action_and_value

        def act_and_note(observations: Any, action: Any = None) -> Any:
            answer = get_action_and_value(observations, action)
            if action is not None:
                self._rows["policy_log_probs"] = copy_to_array(answer[1])
            return answer

        agent.get_action_and_value = act_and_note

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        if func is torch.Tensor.__getitem__ and self._run is not None:
            for name, field in _ROLLOUT.items():
                if name in self._run and self._run[name] is args[0]:
                    self._rows[field] = copy_to_array(answer)
        return answer

    def store_minibatch(self) -> None:
        self.read.append(Minibatch(**self._rows))
        self._rows = {}
